//! Reading accounts and bindings: the rows every credential resolves to (`access` 2).

use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::StoreError;
use super::patience::in_time;
use super::read_pool::ReadPool;

/// The account behind an identity, with the ledger row that says it may act.
#[derive(Debug, Clone)]
pub struct BoundAccount {
    pub row_id: Uuid,
    pub account: Uuid,
    pub account_type: String,
    pub key_id: Uuid,
    pub body: Vec<u8>,
}

/// The live binding of an exact tuple, to a living account that is linked to its subject.
pub async fn bound(
    reads: &ReadPool,
    tuple_mac: &[u8; 32],
    subject_mac: &[u8; 32],
) -> Result<Option<BoundAccount>, StoreError> {
    let query = || {
        sqlx::query(
            "select b.row_id, b.account_id, a.account_type, a.key_id, a.body
           from access.agent_binding b
           join access.ledger l on l.row_id = b.row_id and l.live
           join access.account a on a.account_id = b.account_id and a.deleted_at_ms is null
           join access.linked_provider p
             on p.account_id = b.account_id and p.provider = b.provider and p.subject_mac = $2
          join es.data_key k on k.key_id = a.key_id and k.dropped_at_ms is null
          where b.tuple_mac = $1",
        )
        .bind(&tuple_mac[..])
        .bind(&subject_mac[..])
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    Ok(Some(BoundAccount {
        row_id: row.try_get("row_id")?,
        account: row.try_get("account_id")?,
        account_type: row.try_get("account_type")?,
        key_id: row.try_get("key_id")?,
        body: row.try_get("body")?,
    }))
}

/// The data key of a living account.
pub async fn key_id(pool: &PgPool, account: Uuid) -> Result<Option<Uuid>, StoreError> {
    in_time(
        sqlx::query_scalar(
            "select key_id from access.account where account_id = $1 and deleted_at_ms is null",
        )
        .bind(account)
        .fetch_optional(pool),
    )
    .await
}

/// Where a binding is kept.
#[derive(Debug, Clone)]
pub struct BindingPlace {
    pub account: Uuid,
    pub tuple_mac: Vec<u8>,
    pub stream: Uuid,
    pub row_id: Uuid,
    pub key_id: Uuid,
}

/// A binding by its public reference, revoked or not.
pub async fn binding(
    pool: &PgPool,
    ref_mac: &[u8; 32],
) -> Result<Option<BindingPlace>, StoreError> {
    let row = in_time(
        sqlx::query(
            "select account_id, tuple_mac, stream_id, row_id, key_id from access.agent_binding
          where ref_mac = $1",
        )
        .bind(&ref_mac[..])
        .fetch_optional(pool),
    )
    .await?;
    row.as_ref().map(place_of).transpose()
}

/// Bindings of an account, revoked ones too, at most `limit`.
pub async fn bindings_of(
    pool: &PgPool,
    account: Uuid,
    limit: i64,
) -> Result<Vec<BindingPlace>, StoreError> {
    let rows = in_time(
        sqlx::query(
            "select account_id, tuple_mac, stream_id, row_id, key_id from access.agent_binding
              where account_id = $1 order by linked_at_ms desc limit $2",
        )
        .bind(account)
        .bind(limit)
        .fetch_all(pool),
    )
    .await?;
    rows.iter().map(place_of).collect()
}

fn place_of(row: &PgRow) -> Result<BindingPlace, StoreError> {
    Ok(BindingPlace {
        account: row.try_get("account_id")?,
        tuple_mac: row.try_get("tuple_mac")?,
        stream: row.try_get("stream_id")?,
        row_id: row.try_get("row_id")?,
        key_id: row.try_get("key_id")?,
    })
}

/// One line of the account list, its texts still sealed.
#[derive(Debug, Clone)]
pub struct ListedAccount {
    pub account: Uuid,
    pub account_type: String,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub created_at_ms: i64,
    pub bindings: Vec<ListedBinding>,
}

#[derive(Debug, Clone)]
pub struct ListedBinding {
    pub stream: Uuid,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub provider: String,
    pub revoked_at_ms: Option<i64>,
}

/// Living accounts, oldest first, at most `limit`.
pub async fn list(pool: &PgPool, limit: i64) -> Result<Vec<ListedAccount>, StoreError> {
    let rows = in_time(
        sqlx::query(
            "select a.account_id, a.account_type, a.key_id, a.body, a.created_at_ms,
                b.stream_id, b.key_id as binding_key_id, b.body as binding_body, b.provider, l.revoked_at_ms
           from (select * from access.account where deleted_at_ms is null
                  order by created_at_ms, account_id limit $1) a
           left join access.agent_binding b on b.account_id = a.account_id
           left join access.ledger l on l.row_id = b.row_id
          order by a.created_at_ms, a.account_id, b.linked_at_ms",
        )
        .bind(limit)
        .fetch_all(pool),
    )
    .await?;
    let mut accounts: Vec<ListedAccount> = Vec::new();
    for row in rows {
        let account: Uuid = row.try_get("account_id")?;
        if accounts.last().is_none_or(|last| last.account != account) {
            accounts.push(ListedAccount {
                account,
                account_type: row.try_get("account_type")?,
                key_id: row.try_get("key_id")?,
                body: row.try_get("body")?,
                created_at_ms: row.try_get("created_at_ms")?,
                bindings: Vec::new(),
            });
        }
        let stream: Option<Uuid> = row.try_get("stream_id")?;
        if let (Some(stream), Some(last)) = (stream, accounts.last_mut()) {
            last.bindings.push(ListedBinding {
                stream,
                key_id: row.try_get("binding_key_id")?,
                body: row.try_get("binding_body")?,
                provider: row.try_get("provider")?,
                revoked_at_ms: row.try_get("revoked_at_ms")?,
            });
        }
    }
    Ok(accounts)
}
