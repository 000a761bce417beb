//! Whether a page costs the same in a stream of a million events as in one of a hundred.
//!
//! Pages are read as the doors read them, the caller's ledger row included, at random places of the
//! long stream and from a thousand short ones, in turn.

use std::time::Instant;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor};
use uuid::Uuid;

use super::ground::Ground;
use super::pace::Pace;
use super::progress::Progress;
use super::report::{Absolute, Judged};
use super::slice::{Slice, median, ratio};
use super::targets::Ratio;
use super::{BenchError, Findings};
use crate::store::database;
use crate::store::guarded::{self, Reader};
use crate::store::owner::{Lane, OwnerKey};
use crate::store::read_pool::ReadPool;

/// Events of a page, and of a short stream.
const PAGE: i64 = 100;
const SHORT_STREAMS: i64 = 200;
const OWNER: [u8; 32] = [7; 32];
const CALLER: Uuid = Uuid::from_u128(0x0197_e4c2_7b1a_7f00_8000_0000_0000_0001);

/// A part of the long stream $1, events $4 to $5, and then the short stream $2, after position $3.
/// Long enough for one sealed note. Pages do not check links, so the hash is any 32 bytes.
const FILL: &str = "insert into es.event (lane, stream_id, seq, pos, at, kind, ver, key_id, payload, meta, hash)
    select 0, stream_id, seq, $3 + row_number() over (), '2026-11-30T12:00:00.000Z', 'ticked', 1, $1,
           convert_to('{\"count\":' || seq || ',\"note\":{\"$sealed\":\"' || repeat(md5(seq::text), 6) || '\"}}', 'UTF8'),
           '{}', decode(repeat(md5(seq::text), 2), 'hex')
      from (select $1::uuid as stream_id, n as seq from generate_series($4::bigint, $5::bigint) as n
             union all
            select $2::uuid, n from generate_series(1, 100) as n) as part";

const HEADS: &str =
    "insert into es.stream (lane, stream_id, kind, owner_key, version, head, was, prev,
        created_at_ms, updated_at_ms)
    select distinct on (stream_id) lane, stream_id, 'tally', $1::bytea, seq, hash, 0, hash, 0, 0
      from es.event order by stream_id, seq desc";

/// A database with one long stream among short ones, and who may read them.
struct Shelf {
    reads: ReadPool,
    reader: Reader,
    lane: Lane,
    long: Uuid,
    short: Vec<Uuid>,
}

pub async fn run(
    ground: &Ground,
    pace: &Pace,
    progress: &Progress,
    found: &mut Findings,
) -> Result<(), BenchError> {
    progress.say(&format!("writing a stream of {} events", pace.long_stream));
    let options = ground.another_database("pages").await?;
    let shelf = Shelf::fill(&options, ground, pace).await?;
    let (mut long, mut short) = (Vec::new(), Vec::new());
    shelf.slices(pace).await?;
    for pass in 0..pace.passes {
        progress.say(&format!("pages, pass {} of {}", pass + 1, pace.passes));
        let (of_long, of_short) = shelf.slices(pace).await?;
        long.push(of_long.p50_ms);
        short.push(of_short.p50_ms);
    }
    shelf.reads.close().await;
    found
        .ratios
        .push(Judged::new(Ratio::Page1m, ratio(&long, &short)?));
    let events = f64::from(i32::try_from(pace.long_stream).unwrap_or(i32::MAX));
    found.absolute.extend([
        Absolute::new("events of the long stream", events, "events"),
        Absolute::new("page of 100 in the long stream, p50", median(long)?, "ms"),
        Absolute::new("page of 100 in a hundred, p50", median(short)?, "ms"),
    ]);
    Ok(())
}

impl Shelf {
    async fn fill(
        options: &PgConnectOptions,
        ground: &Ground,
        pace: &Pace,
    ) -> Result<Self, BenchError> {
        let lane = Lane::new(0).ok_or(BenchError::NothingDone)?;
        let long = ground.core.ids.stream(lane);
        let mut conn = options.connect().await?;
        // Filling is not what is measured. Pages of an unlogged table are the same pages.
        conn.execute("set synchronous_commit = off").await?;
        conn.execute("alter table es.event set unlogged").await?;
        let mut short = Vec::new();
        // Short streams lie between parts of the long one, as they do in a log that grows.
        for number in 0..SHORT_STREAMS {
            let part = |number| pace.long_stream * number / SHORT_STREAMS;
            let stream = ground.core.ids.stream(lane);
            sqlx::query(FILL)
                .bind(long)
                .bind(stream)
                .bind(part(number) + PAGE * number)
                .bind(part(number) + 1)
                .bind(part(number + 1))
                .execute(&mut conn)
                .await?;
            short.push(stream);
        }
        sqlx::query(HEADS)
            .bind(&OWNER[..])
            .execute(&mut conn)
            .await?;
        conn.execute("vacuum (analyze) es.event").await?;
        conn.execute("vacuum (analyze) es.stream").await?;
        may_read(&mut conn).await?;
        conn.close().await?;
        Ok(Self {
            reads: ReadPool::sharing(database::connect(options.clone(), 2).await?),
            reader: Reader {
                row_id: CALLER,
                owner: OwnerKey::from_mac(OWNER),
            },
            lane,
            long,
            short,
        })
    }

    /// As many pages of each kind, in turn.
    async fn slices(&self, pace: &Pace) -> Result<(Slice, Slice), BenchError> {
        let (mut long, mut short) = (Vec::new(), Vec::new());
        let begun = Instant::now();
        for _ in 0..pace.pages {
            let mut random = [0; 8];
            getrandom::fill(&mut random).map_err(BenchError::peer)?;
            let random = u64::from_le_bytes(random);
            let places = u64::try_from(pace.long_stream - PAGE + 1).unwrap_or(1);
            let started = Instant::now();
            self.page(self.long, random % places).await?;
            long.push(started.elapsed());
            let which = usize::try_from(random % self.short.len() as u64).unwrap_or(0);
            let started = Instant::now();
            self.page(self.short[which], 0).await?;
            short.push(started.elapsed());
        }
        Ok((
            Slice::of(long, begun.elapsed())?,
            Slice::of(short, begun.elapsed())?,
        ))
    }

    async fn page(&self, stream: Uuid, after: u64) -> Result<(), BenchError> {
        let seen = guarded::page(&self.reads, &self.reader, self.lane, stream, after, PAGE).await?;
        match seen.found {
            Some((_, events)) if i64::try_from(events.len()) == Ok(PAGE) => Ok(()),
            _ => Err(BenchError::NothingDone),
        }
    }
}

async fn may_read(conn: &mut sqlx::PgConnection) -> Result<(), BenchError> {
    sqlx::query(
        "insert into access.account (account_id, account_type, key_id, body, created_at_ms)
         values ($1, 'user', $1, '', 0)",
    )
    .bind(CALLER)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "insert into access.ledger (row_id, kind, door, account_id, created_at_ms)
         values ($1, 'agent_binding', 'agent', $1, 0)",
    )
    .bind(CALLER)
    .execute(conn)
    .await?;
    Ok(())
}
