//! What a used key means (`agent-api` 1.6). Below the doors, so every door has it.

use std::fmt;

use helix_aggregates::text::{trim, utf16_len};
use helix_aggregates::time::Timestamp;
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::problem::{Code, Problem};
use super::redaction;
use crate::metrics::Metrics;
use crate::store::receipt::{FoundReceipt, FoundState, ReceiptKey, ReceiptOutcome, ReceiptWrite};
use crate::store::sealing::DataKey;
use crate::store::{Core, StoreError};

/// A caller's key: 8 to 200 characters after trimming. Only its hash is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyKey([u8; 32]);

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdempotencyKey")
    }
}

impl IdempotencyKey {
    /// Reads a header or argument. The quoted form of the header draft names the same key.
    pub fn parse(raw: Option<&str>) -> Result<Self, Problem> {
        let raw = raw.ok_or_else(|| Problem::invalid("An Idempotency-Key is required."))?;
        let text = trim(raw);
        let quoted = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let text = quoted.map_or(text, trim);
        // What a header cannot carry would name a request at one door alone.
        if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(Problem::invalid(
                "An Idempotency-Key has no characters but printable ASCII.",
            ));
        }
        if redaction::text_is_protected(text) {
            return Err(Problem::credential_material());
        }
        if !(8..=200).contains(&utf16_len(text)) {
            return Err(Problem::invalid(
                "An Idempotency-Key has 8 to 200 characters.",
            ));
        }
        Ok(Self(Sha256::digest(text.as_bytes()).into()))
    }

    pub fn hash(&self) -> [u8; 32] {
        self.0
    }
}

/// One keyed request, by hashes alone.
#[derive(Debug, Clone)]
pub struct KeyedRequest {
    /// What names its receipt.
    pub key: ReceiptKey,
    /// A MAC, because a plain hash of a short request could be guessed.
    pub request_mac: [u8; 32],
}

/// The answer to an earlier identical request.
#[derive(Debug, Clone)]
pub struct StoredAnswer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl KeyedRequest {
    /// The answer that `found` stores, `None` for a fresh key.
    pub async fn stored(
        &self,
        core: &Core,
        found: Option<FoundReceipt>,
    ) -> Result<Option<StoredAnswer>, Problem> {
        match judge(found, &self.request_mac, &core.metrics)? {
            Judged::Fresh => Ok(None),
            Judged::Replay {
                status,
                key_id,
                body,
            } => {
                let key = core.key(Some(key_id)).await?;
                let key = key.ok_or_else(|| StoreError::KeyMissing(key_id.to_string()))?;
                let body = key.open(&self.place(), &body)?;
                Ok(Some(StoredAnswer { status, body }))
            }
        }
    }

    /// The outcome that stores `body` as the answer.
    pub fn completed(
        &self,
        key: &DataKey,
        status: u16,
        body: &[u8],
        claim: Option<Uuid>,
    ) -> Result<ReceiptOutcome, StoreError> {
        Ok(ReceiptOutcome::Completed {
            claim,
            status,
            key_id: key.id(),
            body: key.seal(&self.place(), body)?,
        })
    }

    /// The receipt of a thing called `subject`.
    pub fn write(&self, subject: String, outcome: ReceiptOutcome) -> ReceiptWrite {
        ReceiptWrite {
            key: self.key.clone(),
            request_mac: self.request_mac,
            subject,
            outcome,
        }
    }

    fn place(&self) -> String {
        format!(
            "receipt/{}/{}",
            self.key.operation,
            hex::encode(self.key.key_hash)
        )
    }
}

/// What to do with a keyed request.
#[derive(Debug, Clone)]
enum Judged {
    /// Nobody used the key: go on.
    Fresh,
    /// Answer with what is stored.
    Replay {
        status: u16,
        key_id: Uuid,
        body: Vec<u8>,
    },
}

/// Judges the record found for a key. Before version, state, policy and answers are looked at.
fn judge(
    found: Option<FoundReceipt>,
    request_mac: &[u8; 32],
    metrics: &Metrics,
) -> Result<Judged, Problem> {
    let count = |result: &str| metrics.idempotency.with_label_values(&[result]).inc();
    let Some(found) = found else {
        count("fresh");
        return Ok(Judged::Fresh);
    };
    if found.request_mac != request_mac {
        count("conflict");
        return Err(Problem::new(Code::IdempotencyConflict));
    }
    match found.state {
        FoundState::Completed {
            status,
            key_id,
            body,
        } => {
            count("replayed");
            Ok(Judged::Replay {
                status,
                key_id,
                body,
            })
        }
        FoundState::Processing { lease_until_ms } => {
            count("in_progress");
            let until = Timestamp::from_millis(lease_until_ms);
            let details = json!({"lease_expires_at": until, "run_id": found.subject});
            Err(Problem::new(Code::IdempotencyInProgress).with(details))
        }
        FoundState::OutcomeUnknown => {
            count("outcome_unknown");
            Err(Problem::new(Code::OutcomeUnknown).with(json!({"run_id": found.subject})))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_8_to_200_printable_characters_once_trimmed_and_no_credential() {
        for (raw, accepted) in [
            ("k".repeat(7), false),
            ("k".repeat(8), true),
            ("k".repeat(200), true),
            ("k".repeat(201), false),
            (format!("  {} ", "k".repeat(8)), true),
            (String::new(), false),
            ("ferry-plan-é".to_owned(), false),
            ("ferry\tplan".to_owned(), false),
            ("Bearer abcdefghijkl".to_owned(), false),
        ] {
            assert_eq!(
                IdempotencyKey::parse(Some(&raw)).is_ok(),
                accepted,
                "{raw:?}"
            );
        }
        assert!(IdempotencyKey::parse(None).is_err());
    }

    #[test]
    fn blanks_and_quotes_around_a_key_do_not_change_it() {
        let plain = IdempotencyKey::parse(Some("ferry-plan-0001")).unwrap();
        assert_eq!(
            IdempotencyKey::parse(Some("  ferry-plan-0001 ")).unwrap(),
            plain
        );
        assert_eq!(
            IdempotencyKey::parse(Some("\"ferry-plan-0001\"")).unwrap(),
            plain
        );
    }
}
