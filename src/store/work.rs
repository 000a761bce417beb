//! Reading workspaces: whose credential asks, as what it may act, and what it may see (`access` 2, 7).
//!
//! What must stay true: the statement that reads the data judges the credential, its end and the
//! membership behind it; lists are cut to the reach that stands in the credential's own row; what is
//! hidden and what does not exist are looked up alike.

mod people;
mod tokens;

use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::StoreError;
use super::owner::{Lane, OwnerKey};
use super::read::{StoredEvent, StreamHead, event_of, head_of};
use super::read_pool::ReadPool;
use super::receipt::{self, FoundReceipt, ReceiptKey};

pub use people::{Connection, KnownAccount, connection, connections, people};
pub use tokens::{
    FoundApp, FoundToken, ListedToken, TokenPlace, app, list, made_by, named_token, place,
};

/// Who asks, and of which workspace.
#[derive(Debug, Clone, Copy)]
pub struct Asker {
    pub row_id: Uuid,
    pub workspace: Uuid,
    pub lane: Lane,
}

/// What is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    pub project: Option<Uuid>,
    /// A stream of the workspace, and the owner it must have.
    pub stream: (Uuid, OwnerKey),
    pub receipt: Option<&'a ReceiptKey>,
}

/// A credential as its workspace sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The credential lives and is not over.
    pub lives: bool,
    /// The role of a signed-in member, or the word of another credential; `None`: it may not act here.
    pub works_as: Option<String>,
    pub now_ms: i64,
    /// `None` where there is no such workspace.
    pub key_id: Option<Uuid>,
}

#[derive(Debug, Clone)]
pub struct Looked {
    pub standing: Standing,
    pub project_state: Option<String>,
    pub head: Option<StreamHead>,
    pub receipt: Option<FoundReceipt>,
}

/// The columns of [`Standing`], for a row in $1 and a workspace in $2; the workspace is `w`.
const STANDING: &str = "exists (select 1 from access.ledger l where l.row_id = $1 and l.live
                    and (l.expires_at_ms is null or l.expires_at_ms > now_ms)) as lives,
            access.works_as($1, $2) as works_as, now_ms, w.key_id as workspace_key";
const CLOCK: &str = "from (values (es.now_ms())) as clock(now_ms)
        left join access.workspace w on w.workspace_id = $2 and w.deleted_at_ms is null";
const HEAD: &str = "s.kind, s.owner_key, s.version, s.head, s.created_at_ms, s.updated_at_ms,
            s.status, s.key_id, s.body";

fn standing_of(row: &PgRow) -> Result<Standing, StoreError> {
    Ok(Standing {
        lives: row.try_get("lives")?,
        works_as: row.try_get("works_as")?,
        now_ms: row.try_get("now_ms")?,
        key_id: row.try_get("workspace_key")?,
    })
}

/// What a credential is in a workspace.
pub async fn standing(reads: &ReadPool, asker: &Asker) -> Result<Standing, StoreError> {
    let sql = format!("select {STANDING} {CLOCK}");
    let query = || sqlx::query(&sql).bind(asker.row_id).bind(asker.workspace);
    standing_of(&reads.one(query).await?)
}

/// A stream, the project it is asked for in and the receipt of a key, as one credential may see them.
pub async fn look(reads: &ReadPool, asker: &Asker, look: &Look<'_>) -> Result<Looked, StoreError> {
    let (owner, operation, hash) = match look.receipt {
        Some(key) => (key.owner, key.operation.as_str(), key.key_hash),
        None => (look.stream.1, "", [0; 32]),
    };
    let sql = format!(
        "select {STANDING}, p.state as project_state, {HEAD}, {}
           {CLOCK}
           left join access.project p on p.project_id = $3 and p.workspace_id = $2
           left join es.stream s on s.lane = $4 and s.stream_id = $5 and s.owner_key = $6
           left join es.receipt r on r.lane = $4 and r.owner_key = $7 and r.operation = $8
                and r.key_hash = $9 and r.expires_at_ms > now_ms",
        receipt::COLUMNS
    );
    let query = || {
        sqlx::query(&sql)
            .bind(asker.row_id)
            .bind(asker.workspace)
            .bind(look.project)
            .bind(asker.lane.number())
            .bind(look.stream.0)
            .bind(&look.stream.1.as_bytes()[..])
            .bind(&owner.as_bytes()[..])
            .bind(operation)
            .bind(&hash[..])
    };
    let row = reads.one(query).await?;
    let head = match row.try_get::<Option<String>, _>("kind")? {
        Some(_) => Some(head_of(&row)?),
        None => None,
    };
    let receipt = match look.receipt {
        Some(key) => receipt::of_row(reads, asker.lane, key, &row).await?,
        None => None,
    };
    Ok(Looked {
        standing: standing_of(&row)?,
        project_state: row.try_get("project_state")?,
        head,
        receipt,
    })
}

/// Where a page of a list begins: after the row with this creation time and id.
pub type Before = Option<(i64, Uuid)>;

/// Projects within the reach of the credential, newest first.
pub async fn projects(
    reads: &ReadPool,
    asker: &Asker,
    before: Before,
    limit: i64,
) -> Result<(Standing, Vec<(i64, Uuid)>), StoreError> {
    let sql = format!(
        "select {STANDING}, p.project_id, p.created_at_ms as project_ms
           {CLOCK}
           left join lateral
                (select p.* from access.project p join access.ledger l on l.row_id = $1
                  where p.workspace_id = $2 and (l.reach is null or p.project_id = any (l.reach))
                    and ($3::bigint is null or (p.created_at_ms, p.project_id) < ($3, $4))
                  order by p.created_at_ms desc, p.project_id desc limit $5) p on true"
    );
    let (before_ms, before_id) = before.unzip();
    let query = || {
        sqlx::query(&sql)
            .bind(asker.row_id)
            .bind(asker.workspace)
            .bind(before_ms)
            .bind(before_id)
            .bind(limit)
    };
    let rows = reads.all(query).await?;
    let standing = standing_of(first(&rows)?)?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some(project) = row.try_get("project_id")? {
            found.push((row.try_get("project_ms")?, project));
        }
    }
    Ok((standing, found))
}

/// Streams of a kind that belong to a project within the reach of the credential, newest first.
pub async fn of_project(
    reads: &ReadPool,
    asker: &Asker,
    kind: &'static str,
    (project, owner): (Uuid, OwnerKey),
    before: Before,
    limit: i64,
) -> Result<(Standing, Vec<(Uuid, StreamHead)>), StoreError> {
    let sql = format!(
        "select {STANDING}, s.stream_id, {HEAD}
           {CLOCK}
           left join lateral
                (select s.* from access.project p
                   join access.ledger l on l.row_id = $1
                    and (l.reach is null or p.project_id = any (l.reach))
                   join es.stream s on s.lane = $4 and s.owner_key = $5 and s.kind = '{kind}'
                  where p.project_id = $3 and p.workspace_id = $2
                    and ($6::bigint is null or (s.created_at_ms, s.stream_id) < ($6, $7))
                  order by s.created_at_ms desc, s.stream_id desc limit $8) s on true
          order by s.created_at_ms desc, s.stream_id desc"
    );
    let (before_ms, before_id) = before.unzip();
    let query = || {
        sqlx::query(&sql)
            .bind(asker.row_id)
            .bind(asker.workspace)
            .bind(project)
            .bind(asker.lane.number())
            .bind(&owner.as_bytes()[..])
            .bind(before_ms)
            .bind(before_id)
            .bind(limit)
    };
    let rows = reads.all(query).await?;
    let standing = standing_of(first(&rows)?)?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some(stream) = row.try_get("stream_id")? {
            found.push((stream, head_of(row)?));
        }
    }
    Ok((standing, found))
}

/// Those of some ledger rows that may not act in the workspace any more.
pub async fn dead(reads: &ReadPool, asker: &Asker, rows: &[Uuid]) -> Result<Vec<Uuid>, StoreError> {
    let query = || {
        sqlx::query(
            "select r.row_id from unnest($2::uuid[]) r(row_id)
              where access.works_as(r.row_id, $1) is null",
        )
        .bind(asker.workspace)
        .bind(rows)
    };
    let rows = reads.all(query).await?;
    let dead = rows.iter().map(|row| Ok(row.try_get("row_id")?));
    dead.collect()
}

/// Events of a stream of the workspace by their places, for a credential that may act there.
pub async fn events(
    reads: &ReadPool,
    asker: &Asker,
    stream: (Uuid, OwnerKey),
    places: &[u64],
) -> Result<Vec<StoredEvent>, StoreError> {
    let places: Vec<i64> = places
        .iter()
        .map(|place| i64::try_from(*place).unwrap_or(i64::MAX))
        .collect();
    let query = || {
        sqlx::query(
            "select e.seq, e.at, e.kind, e.ver, e.key_id, e.payload, e.meta, e.hash
               from es.stream s
               join es.event e on e.lane = s.lane and e.stream_id = s.stream_id and e.seq = any ($6)
              where s.lane = $3 and s.stream_id = $4 and s.owner_key = $5
                and access.works_as($1, $2) is not null
              order by e.seq",
        )
        .bind(asker.row_id)
        .bind(asker.workspace)
        .bind(asker.lane.number())
        .bind(stream.0)
        .bind(&stream.1.as_bytes()[..])
        .bind(&places)
    };
    let rows = reads.all(query).await?;
    rows.iter().map(event_of).collect()
}

/// A workspace that somebody may act in.
#[derive(Debug, Clone)]
pub struct ListedWorkspace {
    pub workspace: Uuid,
    pub key_id: Uuid,
    pub works_as: String,
}

/// The workspaces of a credential: its own one, or those of whoever is signed in; oldest first.
pub async fn workspaces(
    reads: &ReadPool,
    row_id: Uuid,
    limit: i64,
) -> Result<Vec<ListedWorkspace>, StoreError> {
    let query = || {
        sqlx::query(
            "select w.workspace_id, w.key_id, access.works_as($1, w.workspace_id) as works_as
               from access.ledger l
               join access.workspace w
                 on w.workspace_id = l.workspace_id
                 or (l.kind = 'session' and w.workspace_id in
                        (select workspace_id from access.membership where account_id = l.account_id))
              where l.row_id = $1 and access.works_as($1, w.workspace_id) is not null
              order by w.opened_at_ms, w.workspace_id limit $2",
        )
        .bind(row_id)
        .bind(limit)
    };
    let rows = reads.all(query).await?;
    let listed = |row: &PgRow| {
        Ok(ListedWorkspace {
            workspace: row.try_get("workspace_id")?,
            key_id: row.try_get("key_id")?,
            works_as: row.try_get("works_as")?,
        })
    };
    rows.iter().map(listed).collect()
}

/// The key of a workspace that exists.
pub async fn key_id(reads: &ReadPool, workspace: Uuid) -> Result<Option<Uuid>, StoreError> {
    let query = || {
        sqlx::query(
            "select key_id from access.workspace where workspace_id = $1 and deleted_at_ms is null",
        )
        .bind(workspace)
    };
    let row = reads.optional(query).await?;
    row.map(|row| row.try_get("key_id").map_err(StoreError::from))
        .transpose()
}

fn first(rows: &[PgRow]) -> Result<&PgRow, StoreError> {
    rows.first().ok_or(StoreError::Revoked)
}
