//! What an operator may ask of a store, whatever state it is in. Reads only, each of them bounded.

use helix_aggregates::chain::{Hash, Link};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::StoreError;
use super::database::MIGRATOR;
use super::read::event_of;

/// Streams whose heads are compared with their last event.
const HEADS: i64 = 10_000;
/// Streams whose whole chain is recomputed, the latest first, and the events that may take.
const CHAINS: i64 = 50;
const CHAIN_EVENTS: i64 = 2_000;

/// Where the schema stands against the one this binary brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// No migration was ever applied.
    None,
    Behind {
        applied: usize,
        known: usize,
    },
    Current {
        applied: usize,
    },
    /// The database has a migration this binary does not know.
    Newer {
        found: i64,
    },
}

pub async fn schema(conn: &mut PgConnection) -> Result<Schema, StoreError> {
    let exists: bool =
        sqlx::query_scalar("select to_regclass('public._sqlx_migrations') is not null")
            .fetch_one(&mut *conn)
            .await?;
    if !exists {
        return Ok(Schema::None);
    }
    let applied: Vec<i64> =
        sqlx::query_scalar("select version from public._sqlx_migrations where success")
            .fetch_all(conn)
            .await?;
    let known = MIGRATOR.iter().count();
    Ok(
        match applied
            .iter()
            .find(|version| !MIGRATOR.version_exists(**version))
        {
            Some(found) => Schema::Newer { found: *found },
            None if applied.len() < known => Schema::Behind {
                applied: applied.len(),
                known,
            },
            None => Schema::Current {
                applied: applied.len(),
            },
        },
    )
}

/// What a key file must be to open this database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysWanted {
    /// `None`: no key file was ever adopted.
    pub file_id: Option<Uuid>,
    /// The wrapping keys that are in use.
    pub kek_ids: Vec<String>,
    /// Data keys that are wrapped.
    pub data_keys: i64,
}

/// Of a migrated database.
pub async fn keys_wanted(conn: &mut PgConnection) -> Result<KeysWanted, StoreError> {
    let file_id = sqlx::query_scalar("select file_id from es.key_file")
        .fetch_optional(&mut *conn)
        .await?;
    let kek_ids = sqlx::query_scalar(
        "select distinct kek_id from es.data_key where dropped_at_ms is null order by 1",
    )
    .fetch_all(&mut *conn)
    .await?;
    let data_keys =
        sqlx::query_scalar("select count(*) from es.data_key where dropped_at_ms is null")
            .fetch_one(conn)
            .await?;
    Ok(KeysWanted {
        file_id,
        kek_ids,
        data_keys,
    })
}

/// Worker tokens that live, of a migrated database.
pub async fn worker_tokens(conn: &mut PgConnection) -> Result<i64, StoreError> {
    let live = sqlx::query_scalar(
        "select count(*) from access.worker_token t
           join access.ledger l on l.row_id = t.row_id and l.live",
    );
    Ok(live.fetch_one(conn).await?)
}

/// How the server and its cluster are set up, and its clock in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    pub version: String,
    pub encoding: String,
    pub collation: String,
    pub checksums: bool,
    pub now_ms: i64,
}

pub async fn setup(conn: &mut PgConnection) -> Result<Setup, StoreError> {
    let row = sqlx::query(
        "select current_setting('server_version') as version,
                pg_encoding_to_char(d.encoding)::text as encoding, d.datcollate::text as collation,
                current_setting('data_checksums') = 'on' as checksums,
                (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
           from pg_database d where d.datname = current_database()",
    )
    .fetch_one(conn)
    .await?;
    Ok(Setup {
        version: row.try_get("version")?,
        encoding: row.try_get("encoding")?,
        collation: row.try_get("collation")?,
        checksums: row.try_get("checksums")?,
        now_ms: row.try_get("now_ms")?,
    })
}

/// What is waiting, in milliseconds of waiting; `None`: nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// The oldest reservation whose lease has run out without an answer.
    pub reservation_ms: Option<i64>,
    /// The oldest run that should have been looked at.
    pub due_ms: Option<i64>,
    /// Streams that a projection has put aside.
    pub parked: i64,
}

pub async fn backlog(conn: &mut PgConnection) -> Result<Backlog, StoreError> {
    let row = sqlx::query(
        "select (select es.now_ms() - min(lease_until_ms) from es.receipt
                  where state = 'processing' and lease_until_ms < es.now_ms()) as reservation_ms,
                (select es.now_ms() - min(due_at_ms) from es.stream where due_at_ms <= es.now_ms()) as due_ms,
                (select count(*) from es.projection_parked) as parked",
    )
    .fetch_one(conn)
    .await?;
    Ok(Backlog {
        reservation_ms: row.try_get("reservation_ms")?,
        due_ms: row.try_get("due_ms")?,
        parked: row.try_get("parked")?,
    })
}

/// How much of the chains was checked, and which streams failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chains {
    pub heads: usize,
    pub recomputed: usize,
    pub broken: Vec<Uuid>,
}

/// Compares heads with last events, and recomputes whole chains of the streams changed last.
pub async fn chains(conn: &mut PgConnection) -> Result<Chains, StoreError> {
    let rows = sqlx::query(
        "select s.stream_id, (e.hash is not distinct from s.head and next.seq is null) as sound
           from (select * from es.stream order by updated_at_ms desc limit $1) s
           left join es.event e on (e.lane, e.stream_id, e.seq) = (s.lane, s.stream_id, s.version)
           left join es.event next on (next.lane, next.stream_id, next.seq) = (s.lane, s.stream_id, s.version + 1)",
    )
    .bind(HEADS)
    .fetch_all(&mut *conn)
    .await?;
    let mut chains = Chains {
        heads: rows.len(),
        ..Chains::default()
    };
    for row in &rows {
        if !row.try_get::<bool, _>("sound")? {
            chains.broken.push(row.try_get("stream_id")?);
        }
    }
    let streams = sqlx::query("select lane, stream_id from es.stream where version <= $2 order by updated_at_ms desc limit $1")
        .bind(CHAINS)
        .bind(CHAIN_EVENTS)
        .fetch_all(&mut *conn)
        .await?;
    for row in streams {
        let (lane, stream): (i16, Uuid) = (row.try_get("lane")?, row.try_get("stream_id")?);
        if !is_linked(conn, lane, stream).await? && !chains.broken.contains(&stream) {
            chains.broken.push(stream);
        }
        chains.recomputed += 1;
    }
    Ok(chains)
}

/// Only up to the head that was there when the look began: the stream may go on meanwhile.
async fn is_linked(conn: &mut PgConnection, lane: i16, stream: Uuid) -> Result<bool, StoreError> {
    let rows = sqlx::query(
        "select seq, at, kind, ver, key_id, payload, meta, hash from es.event
          where lane = $1 and stream_id = $2 order by seq limit $3",
    )
    .bind(lane)
    .bind(stream)
    .bind(CHAIN_EVENTS)
    .fetch_all(conn)
    .await?;
    let mut prev = Hash::ZERO;
    for (row, seq) in rows.iter().zip(1_u64..) {
        let event = event_of(row)?;
        let link = Link {
            stream,
            seq,
            kind: &event.kind,
            ver: event.ver,
            at: &event.at,
            payload: &event.payload,
            meta: &event.meta,
        };
        if event.seq != seq || link.after(&prev) != event.hash {
            return Ok(false);
        }
        prev = event.hash;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use helix_postgres::testing;
    use sqlx::ConnectOptions;

    use super::*;
    use crate::store::database;

    /// Writes a stream of two events; the second one's stored payload is `stored`.
    async fn stream(conn: &mut PgConnection, id: Uuid, stored: &[u8]) {
        let (mut prev, at) = (Hash::ZERO, "2026-11-30T12:00:00.000Z");
        for seq in 1_u64..=2 {
            let (kind, payload, meta) = ("ticked", b"{}".as_slice(), b"{}".as_slice());
            let link = Link {
                stream: id,
                seq,
                kind,
                ver: 1,
                at,
                payload,
                meta,
            };
            prev = link.after(&prev);
            let stored = if seq == 2 { stored } else { payload };
            sqlx::query(
                "insert into es.event (lane, stream_id, seq, pos, at, kind, ver, payload, meta, hash)
                 values (0, $1, $2, (select count(*) + 1 from es.event), $3, $4, 1, $5, $6, $7)",
            )
            .bind(id)
            .bind(i64::try_from(seq).unwrap())
            .bind(at)
            .bind(kind)
            .bind(stored)
            .bind(meta)
            .bind(&prev.as_bytes()[..])
            .execute(&mut *conn)
            .await
            .unwrap();
        }
        sqlx::query(
            "insert into es.stream (lane, stream_id, kind, owner_key, version, head, was, prev,
                                    created_at_ms, updated_at_ms)
             values (0, $1, 'run', ''::bytea, 2, $2, 1, ''::bytea, 0, 0)",
        )
        .bind(id)
        .bind(&prev.as_bytes()[..])
        .execute(conn)
        .await
        .unwrap();
    }

    #[tokio::test]
    async fn an_altered_event_and_an_altered_head_are_named() {
        let template = testing::template("survey", |options| async move {
            database::migrate(&options, Duration::from_secs(30))
                .await
                .map(drop)
        })
        .await;
        let database = template.clone_of_template().await;
        let mut conn = database.options.connect().await.unwrap();
        assert_eq!(
            schema(&mut conn).await.unwrap(),
            Schema::Current {
                applied: MIGRATOR.iter().count()
            }
        );
        stream(&mut conn, Uuid::from_u128(1), b"{}").await;
        let sound = chains(&mut conn).await.unwrap();
        assert_eq!(
            sound,
            Chains {
                heads: 1,
                recomputed: 1,
                broken: Vec::new()
            }
        );
        stream(&mut conn, Uuid::from_u128(2), b"{ }").await;
        stream(&mut conn, Uuid::from_u128(3), b"{}").await;
        sqlx::query("update es.stream set head = sha256(head) where stream_id = $1")
            .bind(Uuid::from_u128(3))
            .execute(&mut conn)
            .await
            .unwrap();
        let mut broken = chains(&mut conn).await.unwrap().broken;
        broken.sort();
        assert_eq!(broken, [Uuid::from_u128(2), Uuid::from_u128(3)]);
    }

    #[tokio::test]
    async fn waiting_is_measured_by_the_clock_of_the_database() {
        let template = testing::template("survey", |options| async move {
            database::migrate(&options, Duration::from_secs(30))
                .await
                .map(drop)
        })
        .await;
        let database = template.clone_of_template().await;
        let mut conn = database.options.connect().await.unwrap();
        let quiet = Backlog {
            reservation_ms: None,
            due_ms: None,
            parked: 0,
        };
        assert_eq!(backlog(&mut conn).await.unwrap(), quiet);
        stream(&mut conn, Uuid::from_u128(1), b"{}").await;
        for statement in [
            "update es.clock set frozen_at_ms = 1000000",
            "update es.stream set due_at_ms = 940000",
            "insert into es.receipt (lane, owner_key, operation, key_hash, request_mac, state, subject,
                                     reserved_at_ms, lease_until_ms, expires_at_ms)
             values (0, '', 'start', '', '', 'processing', '', 0, 970000, 2000000)",
            "insert into es.projection_parked values ('runs', 1, 0, gen_random_uuid(), 1, 'poison', 0)",
        ] {
            sqlx::query(statement).execute(&mut conn).await.unwrap();
        }
        let waiting = Backlog {
            reservation_ms: Some(30_000),
            due_ms: Some(60_000),
            parked: 1,
        };
        assert_eq!(backlog(&mut conn).await.unwrap(), waiting);
    }
}
