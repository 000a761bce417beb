//! What the log says of the runs whose events are to be told.

use std::collections::{BTreeMap, HashMap};

use helix_aggregates::access::webhook::kind::TURNING_POINTS;
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::event::RunEvent;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{AccountId, RunId, WebhookId};
use helix_aggregates::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::fold::Notice;
use super::table::Rows;
use crate::feed::{FeedError, FeedEvent, PAGE, Poison, Upcast, signed, unsigned};
use crate::projector::Parked;

/// An event after which a run may rest.
pub(super) struct Point {
    pub(super) stream: Uuid,
    pub(super) seq: u64,
    pub(super) pos: u64,
}

/// Whose a run is, as its first event says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) account: AccountId,
    pub(super) credential: Uuid,
}

pub(super) struct Listener {
    pub(super) webhook: WebhookId,
    pub(super) kinds: Vec<String>,
    pub(super) after: u64,
}

/// What there is to tell of one event.
pub(super) struct Spelled {
    pub(super) kind: &'static str,
    pub(super) at_ms: i64,
    pub(super) body: Vec<u8>,
}

/// The events of a part of a lane after which a run may rest.
pub(super) async fn points(
    conn: &mut PgConnection,
    lane: i16,
    after: u64,
    until: u64,
) -> Result<Vec<Point>, FeedError> {
    let found: i64 = sqlx::query_scalar(
        "select count(*) from es.event where lane = $1 and pos > $2 and pos <= $3",
    )
    .bind(lane)
    .bind(signed(after))
    .bind(signed(until))
    .fetch_one(&mut *conn)
    .await?;
    let (found, expected) = (unsigned(found), until - after);
    if found != expected {
        return Err(FeedError::Short {
            lane,
            after,
            expected,
            found,
        });
    }
    let rows = sqlx::query(
        "select e.stream_id, e.seq, e.pos
           from es.event e join es.stream s on s.lane = e.lane and s.stream_id = e.stream_id
          where e.lane = $1 and e.pos > $2 and e.pos <= $3 and e.kind = any ($4) and s.kind = $5
          order by e.pos",
    )
    .bind(lane)
    .bind(signed(after))
    .bind(signed(until))
    .bind(&TURNING_POINTS[..])
    .bind(Run::KIND)
    .fetch_all(conn)
    .await?;
    let point = |row: &PgRow| {
        Ok(Point {
            stream: row.try_get("stream_id")?,
            seq: unsigned(row.try_get("seq")?),
            pos: unsigned(row.try_get("pos")?),
        })
    };
    let points: Result<Vec<Point>, sqlx::Error> = rows.iter().map(point).collect();
    Ok(points?)
}

/// What there is to tell of `points`, and the runs that cannot be read.
pub(super) async fn collect(
    conn: &mut PgConnection,
    upcast: Upcast,
    lane: i16,
    points: &[Point],
    rows: &mut Rows,
) -> Result<Vec<Parked>, FeedError> {
    let mut by_run: BTreeMap<Uuid, Vec<&Point>> = BTreeMap::new();
    for point in points {
        by_run.entry(point.stream).or_default().push(point);
    }
    let streams: Vec<Uuid> = by_run.keys().copied().collect();
    let (origins, mut parked) = origins(conn, upcast, lane, &streams).await?;
    let accounts: Vec<Uuid> = origins.values().map(|one| one.account.uuid()).collect();
    let listeners = listeners(conn, lane, &accounts).await?;
    for (stream, points) in by_run {
        let Some(origin) = origins.get(&stream) else {
            continue;
        };
        let Some(listeners) = listeners.get(&origin.account) else {
            continue;
        };
        let last = points.last().map_or(0, |point| point.seq);
        match notices(conn, upcast, lane, stream, last).await? {
            Ok(notices) => {
                for point in points {
                    if let Some(notice) = notices.get(&point.seq) {
                        rows.add(point, notice, *origin, listeners);
                    }
                }
            }
            Err(unreadable) => parked.push(unreadable),
        }
    }
    Ok(parked)
}

/// Whose each run is. One that names no account, or no credential, is nobody's to be told of.
async fn origins(
    conn: &mut PgConnection,
    upcast: Upcast,
    lane: i16,
    streams: &[Uuid],
) -> Result<(HashMap<Uuid, Origin>, Vec<Parked>), FeedError> {
    let rows = sqlx::query(
        "select stream_id, seq, at, kind, ver, payload, meta from es.event
          where lane = $1 and stream_id = any ($2) and seq = 1",
    )
    .bind(lane)
    .bind(streams)
    .fetch_all(conn)
    .await?;
    let (mut origins, mut parked) = (HashMap::new(), Vec::new());
    for row in &rows {
        let event = event_of(row)?;
        let account = match event.decode::<RunEvent>(upcast) {
            Ok(RunEvent::RunStarted(fact)) => AccountId::parse(&fact.state.profile).ok(),
            Ok(_) => None,
            Err(poison) => {
                parked.push(aside(&event, poison));
                continue;
            }
        };
        let meta: Vec<u8> = row.try_get("meta").map_err(FeedError::from)?;
        if let (Some(account), Some(credential)) = (account, credential(&meta)) {
            let origin = Origin {
                account,
                credential,
            };
            origins.insert(event.stream, origin);
        }
    }
    Ok((origins, parked))
}

/// The ledger row that an event was caused by.
fn credential(meta: &[u8]) -> Option<Uuid> {
    let meta: BTreeMap<String, String> = serde_json::from_slice(meta).ok()?;
    Uuid::try_parse(meta.get("by")?).ok()
}

/// The endpoints of `accounts` that want to be told.
async fn listeners(
    conn: &mut PgConnection,
    lane: i16,
    accounts: &[Uuid],
) -> Result<HashMap<AccountId, Vec<Listener>>, sqlx::Error> {
    let rows = sqlx::query(
        "select webhook_id, account_id, kinds, after_pos[$2 + 1] as after from access.webhook
          where account_id = any ($1) and deleted_at_ms is null and disabled_at_ms is null
          order by webhook_id",
    )
    .bind(accounts)
    .bind(i32::from(lane))
    .fetch_all(conn)
    .await?;
    let mut listeners: HashMap<AccountId, Vec<Listener>> = HashMap::new();
    for row in &rows {
        let listener = Listener {
            webhook: WebhookId::new(row.try_get("webhook_id")?),
            kinds: row.try_get("kinds")?,
            after: unsigned(row.try_get::<Option<i64>, _>("after")?.unwrap_or(0)),
        };
        let account = AccountId::new(row.try_get("account_id")?);
        listeners.entry(account).or_default().push(listener);
    }
    Ok(listeners)
}

/// Folds a run up to event `last` and keeps what each event left to tell, by sequence.
async fn notices(
    conn: &mut PgConnection,
    upcast: Upcast,
    lane: i16,
    stream: Uuid,
    last: u64,
) -> Result<Result<HashMap<u64, Spelled>, Parked>, FeedError> {
    let (mut run, mut after) = (Run::default(), 0);
    let mut notices = HashMap::new();
    while after < last {
        let rows = sqlx::query(
            "select stream_id, seq, at, kind, ver, payload from es.event
              where lane = $1 and stream_id = $2 and seq > $3 and seq <= $4
              order by seq limit $5",
        )
        .bind(lane)
        .bind(stream)
        .bind(signed(after))
        .bind(signed(last))
        .bind(i64::from(PAGE))
        .fetch_all(&mut *conn)
        .await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let event = event_of(row)?;
            after = event.seq;
            let Some(at) = Timestamp::parse(&event.at) else {
                return Ok(Err(aside(&event, Poison::NoTime)));
            };
            let decoded = match event.decode::<RunEvent>(upcast) {
                Ok(decoded) => decoded,
                Err(poison) => return Ok(Err(aside(&event, poison))),
            };
            let run_id = RunId::new(stream);
            let Some(notice) = Notice::after(&mut run, run_id, event.seq, at, &decoded) else {
                continue;
            };
            let Ok(body) = notice.body() else {
                return Ok(Err(aside(&event, Poison::Misplaced)));
            };
            let (kind, at_ms) = (notice.kind.as_str(), at.millis());
            notices.insert(event.seq, Spelled { kind, at_ms, body });
        }
    }
    Ok(Ok(notices))
}

fn event_of(row: &PgRow) -> Result<FeedEvent, sqlx::Error> {
    Ok(FeedEvent {
        stream: row.try_get("stream_id")?,
        stream_kind: Run::KIND.to_owned(),
        seq: unsigned(row.try_get("seq")?),
        at: row.try_get("at")?,
        kind: row.try_get("kind")?,
        ver: u16::try_from(row.try_get::<i16, _>("ver")?).unwrap_or(0),
        payload: row.try_get("payload")?,
    })
}

fn aside(event: &FeedEvent, poison: Poison) -> Parked {
    Parked {
        stream: event.stream,
        seq: event.seq,
        reason: poison.to_string(),
    }
}
