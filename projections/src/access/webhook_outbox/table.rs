//! The rows in `access.webhook_delivery`, made page by page of a lane.

use std::collections::{BTreeMap, HashMap};

use helix_aggregates::access::webhook::kind::TURNING_POINTS;
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::event::RunEvent;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{AccountId, MessageId, RunId, WebhookId};
use helix_aggregates::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row};
use uuid::Uuid;

use super::fold::Notice;
use crate::feed::{self, FeedError, FeedEvent, PAGE, Poison, Upcast, signed, unsigned};
use crate::projector::{Lag, Parked, Scope, state};

/// Permanent: cursors are kept under it.
pub const NAME: &str = "webhook_outbox";
/// It is never rebuilt, so there is one.
const VERSION: i32 = 1;

/// What one transaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Whether the lane held nothing more.
    pub caught_up: bool,
    /// Messages made.
    pub messages: u64,
    /// Runs set aside because an event of theirs could not be read.
    pub parked: Vec<Parked>,
}

/// An event after which a run may rest.
struct Point {
    stream: Uuid,
    seq: u64,
    pos: u64,
}

/// Whose a run is, as its first event says.
#[derive(Debug, Clone, Copy)]
struct Origin {
    account: AccountId,
    credential: Uuid,
}

struct Listener {
    webhook: WebhookId,
    kinds: Vec<String>,
    after: u64,
}

/// What there is to tell of one event.
struct Spelled {
    kind: &'static str,
    at_ms: i64,
    body: Vec<u8>,
}

/// Messages on their way into the table, one vector a column.
#[derive(Default)]
struct Rows {
    message: Vec<Uuid>,
    webhook: Vec<Uuid>,
    kind: Vec<&'static str>,
    stream: Vec<Uuid>,
    seq: Vec<i64>,
    credential: Vec<Uuid>,
    at_ms: Vec<i64>,
    body: Vec<Vec<u8>>,
}

/// The lanes that hold something nobody has looked at for an endpoint, and how much. Empty while
/// there is no endpoint.
pub async fn lag(conn: &mut PgConnection) -> Result<Vec<Lag>, sqlx::Error> {
    let rows = sqlx::query(
        "select l.lane, l.pos - greatest(coalesce(p.pos, 0), w.after) as behind
           from es.lane l
          cross join lateral (select min(after_pos[l.lane + 1]) as after from access.webhook
                               where deleted_at_ms is null and disabled_at_ms is null) w
           left join es.projection p on p.name = $1 and p.version = $2 and p.lane = l.lane
          where w.after is not null and l.pos > greatest(coalesce(p.pos, 0), w.after)
          order by l.lane",
    )
    .bind(NAME)
    .bind(VERSION)
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

/// Makes the messages of the next page of a lane, in one transaction with the cursor.
pub async fn advance(pool: &PgPool, upcast: Upcast, lane: i16) -> Result<Told, FeedError> {
    let mut transaction = pool.begin().await?;
    let conn = &mut *transaction;
    let scope = Scope {
        version: VERSION,
        lane,
    };
    let cursor = state::lock_cursor(conn, NAME, scope).await?;
    // The head before the endpoints: whoever committed an endpoint before an event finds it here.
    let head = feed::head(conn, lane).await?;
    let Some(oldest) = oldest(conn, lane).await? else {
        return Ok(nothing());
    };
    let after = cursor.max(oldest);
    let until = head.min(after + u64::from(PAGE));
    if until <= after {
        return Ok(nothing());
    }
    let points = points(conn, lane, after, until).await?;
    let mut told = Told {
        caught_up: until == head,
        ..nothing()
    };
    if !points.is_empty() {
        let mut rows = Rows::default();
        told.parked = collect(conn, upcast, lane, &points, &mut rows).await?;
        state::park(conn, NAME, scope, &told.parked).await?;
        told.messages = insert(conn, rows).await?;
    }
    state::move_cursor(conn, NAME, scope, until).await?;
    transaction.commit().await?;
    Ok(told)
}

fn nothing() -> Told {
    Told {
        caught_up: true,
        messages: 0,
        parked: Vec::new(),
    }
}

/// Where the first of the endpoints begins to listen to a lane.
async fn oldest(conn: &mut PgConnection, lane: i16) -> Result<Option<u64>, sqlx::Error> {
    let oldest: Option<i64> = sqlx::query_scalar(
        "select min(after_pos[$1 + 1]) from access.webhook
          where deleted_at_ms is null and disabled_at_ms is null",
    )
    .bind(i32::from(lane))
    .fetch_one(conn)
    .await?;
    Ok(oldest.map(unsigned))
}

/// The events of a part of a lane after which a run may rest.
async fn points(
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
async fn collect(
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

impl Rows {
    fn add(&mut self, point: &Point, notice: &Spelled, origin: Origin, listeners: &[Listener]) {
        let kind = notice.kind;
        let wanted = |listener: &&Listener| {
            listener.after < point.pos && listener.kinds.iter().any(|known| known == kind)
        };
        for listener in listeners.iter().filter(wanted) {
            let message = MessageId::of(listener.webhook, point.stream, point.seq);
            self.message.push(message.uuid());
            self.webhook.push(listener.webhook.uuid());
            self.kind.push(kind);
            self.stream.push(point.stream);
            self.seq.push(signed(point.seq));
            self.credential.push(origin.credential);
            self.at_ms.push(notice.at_ms);
            self.body.push(notice.body.clone());
        }
    }
}

async fn insert(conn: &mut PgConnection, rows: Rows) -> Result<u64, sqlx::Error> {
    if rows.message.is_empty() {
        return Ok(0);
    }
    let done = sqlx::query(
        "insert into access.webhook_delivery (message_id, webhook_id, kind, stream_id, seq, credential,
                event_at_ms, body, due_at_ms, created_at_ms)
         select m, w, k, s, q, c, a, b, now_ms, now_ms
           from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::bigint[], $6::uuid[],
                       $7::bigint[], $8::bytea[]) as u(m, w, k, s, q, c, a, b),
                (values (es.now_ms())) as clock(now_ms)
         on conflict do nothing",
    )
    .bind(rows.message)
    .bind(rows.webhook)
    .bind(rows.kind)
    .bind(rows.stream)
    .bind(rows.seq)
    .bind(rows.credential)
    .bind(rows.at_ms)
    .bind(rows.body)
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
