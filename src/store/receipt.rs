//! Idempotency receipts as the log keeps them (`agent-api` 1.6). Rules live in `app::idempotency`.

use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::StoreError;
use super::owner::{Lane, OwnerKey};
use super::patience::in_time;
use super::read_pool::ReadPool;

/// How long a key is remembered from its reservation: 24 hours.
pub const RETENTION_MS: i64 = 24 * 3_600_000;

/// What names a receipt. Only hashes and MACs: the key and the request are not recoverable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptKey {
    pub owner: OwnerKey,
    /// `start`, `continue:<run_id>`, `cancel:<run_id>`.
    pub operation: String,
    pub key_hash: [u8; 32],
}

/// The part of a receipt that an append writes.
#[derive(Debug, Clone)]
pub struct ReceiptWrite {
    pub key: ReceiptKey,
    pub request_mac: [u8; 32],
    pub subject: String,
    pub outcome: ReceiptOutcome,
}

#[derive(Debug, Clone)]
pub enum ReceiptOutcome {
    /// Reserved by `claim`; only that claim may complete it.
    Processing {
        claim: Uuid,
        claimed_version: u64,
        lease_ms: i64,
    },
    Completed {
        claim: Option<Uuid>,
        status: u16,
        key_id: Uuid,
        body: Vec<u8>,
    },
}

impl ReceiptWrite {
    /// Whether this write completes a reservation made earlier.
    pub fn is_completion(&self) -> bool {
        matches!(
            self.outcome,
            ReceiptOutcome::Completed { claim: Some(_), .. }
        )
    }

    pub fn weight(&self) -> usize {
        match &self.outcome {
            ReceiptOutcome::Processing { .. } => 0,
            ReceiptOutcome::Completed { body, .. } => body.len(),
        }
    }
}

/// A receipt found in the log that is not yet forgotten.
#[derive(Debug, Clone)]
pub struct FoundReceipt {
    pub request_mac: Vec<u8>,
    pub subject: String,
    pub state: FoundState,
}

#[derive(Debug, Clone)]
pub enum FoundState {
    Processing {
        lease_until_ms: i64,
    },
    Completed {
        status: u16,
        key_id: Uuid,
        body: Vec<u8>,
    },
    OutcomeUnknown,
}

/// The columns that [`of_row`] reads, of a receipt `r`.
pub const COLUMNS: &str =
    "r.request_mac as receipt_mac, r.subject as receipt_subject, r.state as receipt_state,
    r.status as receipt_status, r.key_id as receipt_key_id, r.body as receipt_body,
    r.lease_until_ms as receipt_lease_ms, r.lease_until_ms <= es.now_ms() as receipt_lapsed";

/// Looks a receipt up; a forgotten one is not found.
async fn find(
    reads: &ReadPool,
    lane: Lane,
    key: &ReceiptKey,
) -> Result<Option<FoundReceipt>, StoreError> {
    let sql = format!(
        "select {COLUMNS} from es.receipt r
          where r.lane = $1 and r.owner_key = $2 and r.operation = $3 and r.key_hash = $4
            and r.expires_at_ms > es.now_ms()"
    );
    let query = || {
        sqlx::query(&sql)
            .bind(lane.number())
            .bind(&key.owner.as_bytes()[..])
            .bind(&key.operation)
            .bind(&key.key_hash[..])
    };
    match reads.optional(query).await? {
        Some(row) => of_row(reads, lane, key, &row).await,
        None => Ok(None),
    }
}

/// The receipt of a row with [`COLUMNS`]. A reservation whose lease has passed becomes
/// `outcome_unknown` here, once and for all.
pub async fn of_row(
    reads: &ReadPool,
    lane: Lane,
    key: &ReceiptKey,
    row: &PgRow,
) -> Result<Option<FoundReceipt>, StoreError> {
    let Some(stored) = row.try_get::<Option<String>, _>("receipt_state")? else {
        return Ok(None);
    };
    let state = match stored.as_str() {
        "completed" => FoundState::Completed {
            status: u16::try_from(row.try_get::<i16, _>("receipt_status")?)
                .map_err(|_| damaged("status"))?,
            key_id: row.try_get("receipt_key_id")?,
            body: row.try_get("receipt_body")?,
        },
        "processing" if row.try_get::<bool, _>("receipt_lapsed")? => {
            if !lapse(reads, lane, key).await? {
                // Completed in this very moment: it is no longer what was read.
                return Box::pin(find(reads, lane, key)).await;
            }
            FoundState::OutcomeUnknown
        }
        "processing" => FoundState::Processing {
            lease_until_ms: row.try_get("receipt_lease_ms")?,
        },
        "outcome_unknown" => FoundState::OutcomeUnknown,
        _ => return Err(damaged("state")),
    };
    Ok(Some(FoundReceipt {
        request_mac: row.try_get("receipt_mac")?,
        subject: row.try_get("receipt_subject")?,
        state,
    }))
}

fn damaged(column: &str) -> StoreError {
    StoreError::Damaged(format!("a receipt has an unreadable {column}"))
}

/// Turns a lapsed reservation into one of unknown outcome; `false` when it is none any more.
async fn lapse(reads: &ReadPool, lane: Lane, key: &ReceiptKey) -> Result<bool, StoreError> {
    let query = || {
        sqlx::query(
            "update es.receipt set state = 'outcome_unknown'
          where lane = $1 and owner_key = $2 and operation = $3 and key_hash = $4
            and state <> 'completed' and lease_until_ms <= es.now_ms()
      returning 1",
        )
        .bind(lane.number())
        .bind(&key.owner.as_bytes()[..])
        .bind(&key.operation)
        .bind(&key.key_hash[..])
    };
    Ok(reads.optional(query).await?.is_some())
}

/// Whether a receipt of this key is kept.
pub async fn is_kept(pool: &PgPool, lane: Lane, key: &ReceiptKey) -> Result<bool, StoreError> {
    in_time(
        sqlx::query_scalar(
            "select exists (select 1 from es.receipt
              where lane = $1 and owner_key = $2 and operation = $3 and key_hash = $4
                and expires_at_ms > es.now_ms())",
        )
        .bind(lane.number())
        .bind(&key.owner.as_bytes()[..])
        .bind(&key.operation)
        .bind(&key.key_hash[..])
        .fetch_one(pool),
    )
    .await
}

/// Records that the outcome of `claim`'s reservation will never be known from the receipt alone.
pub async fn mark_unknown(
    pool: &PgPool,
    lane: Lane,
    key: &ReceiptKey,
    claim: Uuid,
) -> Result<(), StoreError> {
    in_time(
        sqlx::query(
            "update es.receipt set state = 'outcome_unknown'
              where lane = $1 and owner_key = $2 and operation = $3 and key_hash = $4
                and state = 'processing' and claim = $5",
        )
        .bind(lane.number())
        .bind(&key.owner.as_bytes()[..])
        .bind(&key.operation)
        .bind(&key.key_hash[..])
        .bind(claim)
        .execute(pool),
    )
    .await?;
    Ok(())
}

/// Deletes receipts that are forgotten anyway, at most 1,000 a call.
pub async fn sweep(pool: &PgPool) -> Result<u64, StoreError> {
    let done = in_time(
        sqlx::query(
            // Judged again outside: a key may be reserved anew between the two looks.
            "with clock as materialized (select es.now_ms() as now_ms)
             delete from es.receipt using clock
              where expires_at_ms <= now_ms and ctid in
            (select r.ctid from es.receipt r, clock where r.expires_at_ms <= now_ms limit 1000)",
        )
        .execute(pool),
    )
    .await?;
    Ok(done.rows_affected())
}
