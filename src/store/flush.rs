//! One flush: many appends in one statement and one commit, in either of two forms.
//!
//! [`Form::Fast`] calls the function of the schema; [`Form::Plain`] is one SQL statement that any
//! Postgres-compatible engine can run. Both refuse the whole flush when any part is refused.

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Connection, PgConnection, Postgres};
use uuid::Uuid;

use super::append::{Append, NewEvent, StreamAppend};
use super::ledger;
use super::owner::Lane;
use super::receipt::{RETENTION_MS, ReceiptOutcome, ReceiptWrite};

/// How a flush is spoken to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    #[default]
    Fast,
    Plain,
}

impl Form {
    fn sql(self) -> &'static str {
        match self {
            Self::Fast => FAST,
            Self::Plain => PLAIN,
        }
    }
}

const FAST: &str = "select es.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36)";

const PLAIN: &str = include_str!("flush/plain.sql");

/// Writes all of `batch` in one transaction on `lane`.
///
/// Appends with ledger changes come alone: their changes share an explicit transaction with it.
pub async fn write(
    conn: &mut PgConnection,
    form: Form,
    lane: Lane,
    batch: &[&Append],
) -> Result<(), sqlx::Error> {
    let columns = Columns::of(batch);
    if batch.iter().all(|append| append.ledger.is_empty()) {
        return columns.bind(form, lane).execute(conn).await.map(drop);
    }
    let mut transaction = conn.begin().await?;
    // The lane first, as in every append: whoever holds a lane may ask for ledger rows, never the
    // other way round.
    columns.bind(form, lane).execute(&mut *transaction).await?;
    for change in batch.iter().flat_map(|append| &append.ledger) {
        ledger::apply(&mut transaction, change).await?;
    }
    transaction.commit().await
}

/// The batch turned on its side: one array a column, as `unnest` wants it.
#[derive(Default)]
struct Columns<'a> {
    guards: Vec<Uuid>,
    receipts: Receipts<'a>,
    streams: Streams<'a>,
    events: Events<'a>,
}

#[derive(Default)]
struct Receipts<'a> {
    owner: Vec<&'a [u8]>,
    operation: Vec<&'a str>,
    key: Vec<&'a [u8]>,
    request: Vec<&'a [u8]>,
    state: Vec<&'static str>,
    status: Vec<Option<i16>>,
    key_id: Vec<Option<Uuid>>,
    body: Vec<Option<&'a [u8]>>,
    subject: Vec<&'a str>,
    claim: Vec<Option<Uuid>>,
    claimed: Vec<Option<i64>>,
    lease_ms: Vec<i64>,
}

#[derive(Default)]
struct Streams<'a> {
    id: Vec<Uuid>,
    kind: Vec<&'static str>,
    owner: Vec<&'a [u8]>,
    was: Vec<i64>,
    prev: Vec<&'a [u8]>,
    version: Vec<i64>,
    head: Vec<Vec<u8>>,
    at_ms: Vec<i64>,
    status: Vec<&'a str>,
    due_ms: Vec<Option<i64>>,
    key_id: Vec<Option<Uuid>>,
    body: Vec<Option<&'a [u8]>>,
}

#[derive(Default)]
struct Events<'a> {
    stream: Vec<Uuid>,
    seq: Vec<i64>,
    at: Vec<&'a str>,
    kind: Vec<&'static str>,
    ver: Vec<i16>,
    key_id: Vec<Option<Uuid>>,
    payload: Vec<&'a [u8]>,
    meta: Vec<&'a [u8]>,
    hash: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(batch: &[&'a Append]) -> Self {
        let mut columns = Self::default();
        for append in batch {
            columns.guards.extend(&append.guards);
            if let Some(receipt) = &append.receipt {
                columns.receipts.push(receipt);
            }
            for stream in &append.streams {
                columns.streams.push(stream);
                for (index, event) in stream.events.iter().enumerate() {
                    columns
                        .events
                        .push(stream.stream, stream.was + 1 + index as u64, event);
                }
            }
        }
        columns.guards.sort_unstable();
        columns.guards.dedup();
        columns
    }

    fn bind(self, form: Form, lane: Lane) -> Query<'a, Postgres, PgArguments> {
        let Self {
            guards,
            receipts: r,
            streams: s,
            events: e,
        } = self;
        sqlx::query(form.sql())
            .bind(lane.number())
            .bind(guards)
            .bind(r.owner)
            .bind(r.operation)
            .bind(r.key)
            .bind(r.request)
            .bind(r.state)
            .bind(r.status)
            .bind(r.key_id)
            .bind(r.body)
            .bind(r.subject)
            .bind(r.claim)
            .bind(r.claimed)
            .bind(r.lease_ms)
            .bind(RETENTION_MS)
            .bind(s.id)
            .bind(s.kind)
            .bind(s.owner)
            .bind(s.was)
            .bind(s.prev)
            .bind(s.version)
            .bind(s.head)
            .bind(s.at_ms)
            .bind(s.status)
            .bind(s.due_ms)
            .bind(s.key_id)
            .bind(s.body)
            .bind(e.stream)
            .bind(e.seq)
            .bind(e.at)
            .bind(e.kind)
            .bind(e.ver)
            .bind(e.key_id)
            .bind(e.payload)
            .bind(e.meta)
            .bind(e.hash)
    }
}

impl<'a> Receipts<'a> {
    fn push(&mut self, receipt: &'a ReceiptWrite) {
        self.owner.push(receipt.key.owner.as_bytes());
        self.operation.push(&receipt.key.operation);
        self.key.push(&receipt.key.key_hash);
        self.request.push(&receipt.request_mac);
        self.subject.push(&receipt.subject);
        match &receipt.outcome {
            ReceiptOutcome::Processing {
                claim,
                claimed_version,
                lease_ms,
            } => {
                self.state.push("processing");
                self.status.push(None);
                self.key_id.push(None);
                self.body.push(None);
                self.claim.push(Some(*claim));
                self.claimed.push(Some(number(*claimed_version)));
                self.lease_ms.push(*lease_ms);
            }
            ReceiptOutcome::Completed {
                claim,
                status,
                key_id,
                body,
            } => {
                self.state.push("completed");
                self.status.push(i16::try_from(*status).ok());
                self.key_id.push(Some(*key_id));
                self.body.push(Some(body));
                self.claim.push(*claim);
                self.claimed.push(None);
                self.lease_ms.push(0);
            }
        }
    }
}

impl<'a> Streams<'a> {
    fn push(&mut self, stream: &'a StreamAppend) {
        self.id.push(stream.stream);
        self.kind.push(stream.kind);
        self.owner.push(stream.owner.as_bytes());
        self.was.push(number(stream.was));
        self.prev.push(stream.prev.as_bytes());
        self.version.push(number(stream.version()));
        self.head.push(stream.head().as_bytes().to_vec());
        self.at_ms.push(stream.at_ms);
        self.status.push(&stream.row.status);
        self.due_ms.push(stream.row.due_ms);
        self.key_id.push(stream.row.key_id);
        self.body.push(stream.row.body.as_deref());
    }
}

impl<'a> Events<'a> {
    fn push(&mut self, stream: Uuid, seq: u64, event: &'a NewEvent) {
        self.stream.push(stream);
        self.seq.push(number(seq));
        self.at.push(&event.at);
        self.kind.push(event.kind);
        self.ver.push(i16::try_from(event.ver).unwrap_or(i16::MAX));
        self.key_id.push(event.key_id);
        self.payload.push(&event.payload);
        self.meta.push(&event.meta);
        self.hash.push(event.hash.as_bytes());
    }
}

/// Postgres has no unsigned integers; versions and positions stay far below 2^63.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
