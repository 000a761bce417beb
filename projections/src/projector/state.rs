//! Cursors, versions and parked streams of projections, as the database keeps them.

use std::collections::{BTreeMap, HashSet};

use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::{Parked, ProjectError, Scope};
use crate::feed::{signed, unsigned};

/// How firmly the live version is held until the transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    None,
    /// It stays live.
    Share,
    /// It is about to change; no page of it is being folded.
    Update,
}

/// The version that reads are served from.
pub(super) async fn live_version(
    conn: &mut PgConnection,
    name: &'static str,
    lock: Lock,
) -> Result<i32, ProjectError> {
    let sql = match lock {
        Lock::None => "select version from es.projection_live where name = $1",
        Lock::Share => "select version from es.projection_live where name = $1 for share",
        Lock::Update => "select version from es.projection_live where name = $1 for update",
    };
    let version: Option<i32> = sqlx::query_scalar(sql)
        .bind(name)
        .fetch_optional(conn)
        .await?;
    version.ok_or(ProjectError::NoVersion(name))
}

/// Holds the cursor of a lane until the transaction ends and tells its position.
pub(crate) async fn lock_cursor(
    conn: &mut PgConnection,
    name: &str,
    scope: Scope,
) -> Result<u64, sqlx::Error> {
    sqlx::query(
        "insert into es.projection (name, version, lane) values ($1, $2, $3) on conflict do nothing",
    )
    .bind(name)
    .bind(scope.version)
    .bind(scope.lane)
    .execute(&mut *conn)
    .await?;
    let pos = sqlx::query_scalar(
        "select pos from es.projection where name = $1 and version = $2 and lane = $3 for update",
    )
    .bind(name)
    .bind(scope.version)
    .bind(scope.lane)
    .fetch_one(conn)
    .await?;
    Ok(unsigned(pos))
}

pub(crate) async fn move_cursor(
    conn: &mut PgConnection,
    name: &str,
    scope: Scope,
    pos: u64,
) -> Result<(), sqlx::Error> {
    sqlx::query("update es.projection set pos = $4 where name = $1 and version = $2 and lane = $3")
        .bind(name)
        .bind(scope.version)
        .bind(scope.lane)
        .bind(signed(pos))
        .execute(conn)
        .await
        .map(drop)
}

/// The cursors of a version, by lane.
pub(super) async fn cursors(
    conn: &mut PgConnection,
    name: &str,
    version: i32,
) -> Result<BTreeMap<i16, u64>, sqlx::Error> {
    let rows: Vec<(i16, i64)> =
        sqlx::query_as("select lane, pos from es.projection where name = $1 and version = $2")
            .bind(name)
            .bind(version)
            .fetch_all(conn)
            .await?;
    Ok(rows
        .into_iter()
        .map(|(lane, pos)| (lane, unsigned(pos)))
        .collect())
}

/// Which of `streams` are parked.
pub(super) async fn parked_of(
    conn: &mut PgConnection,
    name: &str,
    scope: Scope,
    streams: &[Uuid],
) -> Result<HashSet<Uuid>, sqlx::Error> {
    let rows: Vec<Uuid> = sqlx::query_scalar(
        "select stream_id from es.projection_parked
          where name = $1 and version = $2 and lane = $3 and stream_id = any ($4)",
    )
    .bind(name)
    .bind(scope.version)
    .bind(scope.lane)
    .bind(streams)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().collect())
}

pub(crate) async fn park(
    conn: &mut PgConnection,
    name: &str,
    scope: Scope,
    parked: &[Parked],
) -> Result<(), sqlx::Error> {
    for one in parked {
        sqlx::query(
            "insert into es.projection_parked (name, version, lane, stream_id, seq, reason, parked_at_ms)
             values ($1, $2, $3, $4, $5, $6, es.now_ms()) on conflict do nothing",
        )
        .bind(name)
        .bind(scope.version)
        .bind(scope.lane)
        .bind(one.stream)
        .bind(signed(one.seq))
        .bind(&one.reason)
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// The parked streams of a lane in their order, each with its event.
pub(super) async fn all_parked(
    conn: &mut PgConnection,
    name: &str,
    scope: Scope,
) -> Result<BTreeMap<Uuid, u64>, sqlx::Error> {
    let rows: Vec<(Uuid, i64)> = sqlx::query_as(
        "select stream_id, seq from es.projection_parked where name = $1 and version = $2 and lane = $3",
    )
    .bind(name)
    .bind(scope.version)
    .bind(scope.lane)
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|(stream, seq)| (stream, unsigned(seq)))
        .collect())
}

/// Forgets cursors and parked streams of a version.
pub(super) async fn forget(
    conn: &mut PgConnection,
    name: &str,
    version: i32,
) -> Result<(), sqlx::Error> {
    for sql in [
        "delete from es.projection where name = $1 and version = $2",
        "delete from es.projection_parked where name = $1 and version = $2",
    ] {
        sqlx::query(sql)
            .bind(name)
            .bind(version)
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

/// How far the live version of a projection is behind one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    pub lane: i16,
    pub events: u64,
}

/// The lag in each lane that holds events, fresh from the database.
pub async fn lag(conn: &mut PgConnection, name: &str) -> Result<Vec<Lag>, sqlx::Error> {
    let rows = sqlx::query(
        "select l.lane, l.pos - coalesce(p.pos, 0) as behind
           from es.lane l
           left join es.projection_live v on v.name = $1
           left join es.projection p on p.name = v.name and p.version = v.version and p.lane = l.lane
          where l.pos > 0 order by l.lane",
    )
    .bind(name)
    .fetch_all(conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Lag {
                lane: row.try_get("lane")?,
                events: unsigned(row.try_get("behind")?),
            })
        })
        .collect()
}

/// How many streams the live version of a projection has parked.
pub async fn parked_streams(conn: &mut PgConnection, name: &str) -> Result<u64, sqlx::Error> {
    let count = sqlx::query_scalar(
        "select count(*) from es.projection_parked p
           join es.projection_live v on v.name = p.name and v.version = p.version
          where p.name = $1",
    )
    .bind(name)
    .fetch_one(conn)
    .await?;
    Ok(unsigned(count))
}
