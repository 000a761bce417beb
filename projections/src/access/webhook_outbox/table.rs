//! The rows in `access.webhook_delivery`, made page by page of a lane.

use helix_aggregates::ids::MessageId;
use sqlx::{PgConnection, PgPool, Row};
use uuid::Uuid;

use super::source::{self, Listener, Origin, Point, Spelled};
use crate::feed::{self, FeedError, PAGE, Upcast, signed, unsigned};
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

/// Messages on their way into the table, one vector a column.
#[derive(Default)]
pub(super) struct Rows {
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
           left join es.projection p on p.name = $1 and p.version = $2 and p.lane = l.lane
          cross join lateral (select min(after_pos[l.lane + 1]) as after from access.webhook
                               where deleted_at_ms is null and disabled_at_ms is null) w
          where l.pos > coalesce(p.pos, 0) and l.pos > w.after
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
    let points = source::points(conn, lane, after, until).await?;
    let mut told = Told {
        caught_up: until == head,
        ..nothing()
    };
    if !points.is_empty() {
        let mut rows = Rows::default();
        told.parked = source::collect(conn, upcast, lane, &points, &mut rows).await?;
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

impl Rows {
    /// The messages of one event, to each endpoint that wants it.
    pub(super) fn add(
        &mut self,
        point: &Point,
        notice: &Spelled,
        origin: Origin,
        listeners: &[Listener],
    ) {
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
