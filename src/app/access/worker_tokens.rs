//! The credentials of external workers: issued, listed and revoked by the operator, judged on every
//! request (settled question 86).
//!
//! What must stay true: the text is shown once and stored nowhere; look-up is by its hash.

use std::sync::Arc;

use helix_aggregates::access::worker_token::WorkerToken;
use helix_aggregates::access::worker_token::command::{NewWorkerToken, WorkerTokenCommand};
use helix_aggregates::access::worker_token::error::WorkerTokenError;
use helix_aggregates::ids::WorkerTokenId;
use helix_aggregates::text::{Text, without_controls};
use helix_aggregates::time::Timestamp;
use helix_projections::agent::ERASED;
use secrecy::SecretString;
use serde::Serialize;
use uuid::Uuid;

use crate::app::problem::{Code, Problem};
use crate::app::redaction::issued_token;
use crate::store::append::{Append, Priority};
use crate::store::ledger::{LedgerChange, WorkerTokenRow};
use crate::store::log::{ExecuteError, Log, Meta, Stream};
use crate::store::owner::Lane;
use crate::store::worker_tokens::{self, ListedToken};
use crate::store::{Core, StoreError};

/// The kind in a worker token's text (`access` 1.1).
pub const KIND: &str = "wk";
/// Tokens a list shows.
const LISTED: i64 = 1_000;

/// An authenticated worker.
#[derive(Debug, Clone, Copy)]
pub struct WorkerCaller {
    /// The ledger row its credential resolves to; every statement it causes checks that it lives.
    pub row_id: Uuid,
}

/// Why a command on worker tokens had no effect.
#[derive(Debug, thiserror::Error)]
pub enum WorkerTokensError {
    #[error(transparent)]
    Refused(#[from] WorkerTokenError),
    #[error("name: {0}")]
    Name(String),
    #[error("there is no such worker token")]
    NoToken,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ExecuteError<WorkerTokenError>> for WorkerTokensError {
    fn from(error: ExecuteError<WorkerTokenError>) -> Self {
        match error {
            ExecuteError::Refused(refusal) => refusal.into(),
            ExecuteError::Store(error) => error.into(),
        }
    }
}

/// A token on the one occasion that its text is known.
#[derive(Debug)]
pub struct Minted {
    pub token: SecretString,
    pub token_id: WorkerTokenId,
    pub name: String,
    pub created_at: Timestamp,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenLine {
    pub token_id: WorkerTokenId,
    pub name: String,
    pub last_four: String,
    pub state: &'static str,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Debug)]
pub struct WorkerTokens {
    core: Arc<Core>,
    log: Log<WorkerToken>,
}

impl WorkerTokens {
    pub fn new(core: Arc<Core>) -> Self {
        Self {
            log: Log::new(Arc::clone(&core)),
            core,
        }
    }

    /// Issues a token with a data key of its own.
    pub async fn create(&self, name: &str) -> Result<Minted, WorkerTokensError> {
        let name: Text<80> = without_controls(name)
            .and_then(Text::parse)
            .map_err(|reason| WorkerTokensError::Name(reason.to_string()))?;
        match self.create_once(&name).await {
            // Another process has rotated the key file since it was read.
            Err(WorkerTokensError::Store(StoreError::KeyRetired)) => {
                self.core.keyring.reload()?;
                self.create_once(&name).await
            }
            other => other,
        }
    }

    async fn create_once(&self, name: &Text<80>) -> Result<Minted, WorkerTokensError> {
        let issued_token::Minted {
            text,
            hash: token_hash,
        } = issued_token::mint(KIND)?;
        let owner = self.core.keyring.owner("worker-token", &[&token_hash]);
        let lane = self.core.lane(&owner).await?;
        let token_id = self.core.ids.worker_token(lane);
        let row_id = token_id.uuid();
        let stamp = self.core.clock.stamp();
        let at_ms = stamp.at.millis();
        let (wrapped, key) = self
            .core
            .keyring
            .make(self.core.ids.uuid(), &owner, at_ms)?;
        let row = WorkerTokenRow {
            token_hash,
            row_id,
            last_four: issued_token::last_four(&text),
            key_id: key.id(),
            body: key.seal(&place(row_id), name.as_str().as_bytes())?,
            at_ms,
        };
        let stream = Stream {
            id: row_id,
            lane,
            owner,
            key,
        };
        let fingerprint = hex::encode(&token_hash[..8]);
        let command = WorkerTokenCommand::Issue(Box::new(NewWorkerToken {
            name: name.clone(),
            fingerprint: Text::parse(&fingerprint)
                .map_err(|reason| WorkerTokensError::Name(reason.to_string()))?,
        }));
        let ledger = vec![
            LedgerChange::AddDataKey(wrapped),
            LedgerChange::AddWorkerToken(row),
        ];
        self.log
            .execute_with(&stream, &command, stamp, &Meta::new(), |append| Append {
                ledger: ledger.clone(),
                ..append
            })
            .await?;
        Ok(Minted {
            token: text,
            token_id,
            name: name.as_str().to_owned(),
            created_at: stamp.at,
        })
    }

    /// Revokes a token: whatever it asks from the commit on is refused. Done once, it stays done.
    pub async fn revoke(&self, token: WorkerTokenId) -> Result<(), WorkerTokensError> {
        let id = token.uuid();
        let key_id = worker_tokens::key_id(&self.core.pool, id).await?;
        let key = self.core.key(key_id).await?;
        let key = key.ok_or(WorkerTokensError::NoToken)?;
        let lane = Lane::of_stream(id).ok_or(WorkerTokensError::NoToken)?;
        let head = crate::store::read::head(&self.core.pool, lane, id).await?;
        let head = head.ok_or(WorkerTokensError::NoToken)?;
        let stream = Stream {
            id,
            lane,
            owner: head.owner,
            key,
        };
        let stamp = self.core.clock.stamp();
        let change = LedgerChange::Revoke {
            row_id: id,
            reason: "revoked_by_operator",
            at_ms: stamp.at.millis(),
        };
        let command = WorkerTokenCommand::Revoke;
        let revoked = self
            .log
            .execute_with(&stream, &command, stamp, &Meta::new(), |append| Append {
                ledger: vec![change.clone()],
                priority: Priority::Withdrawal,
                ..append
            })
            .await;
        match revoked.map_err(WorkerTokensError::from) {
            Ok(_) | Err(WorkerTokensError::Refused(WorkerTokenError::AlreadyRevoked)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Every token, oldest first, at most 1,000.
    pub async fn list(&self) -> Result<Vec<TokenLine>, WorkerTokensError> {
        let listed = worker_tokens::list(&self.core.pool, LISTED).await?;
        let mut lines = Vec::with_capacity(listed.len());
        for one in listed {
            lines.push(self.line(one).await?);
        }
        Ok(lines)
    }

    async fn line(&self, listed: ListedToken) -> Result<TokenLine, StoreError> {
        let key = self.core.key(Some(listed.key_id)).await?;
        let name = key
            .and_then(|key| key.open(&place(listed.row_id), &listed.body).ok())
            .and_then(|plain| String::from_utf8(plain).ok());
        Ok(TokenLine {
            token_id: WorkerTokenId::new(listed.row_id),
            name: name.unwrap_or_else(|| ERASED.to_owned()),
            last_four: listed.last_four,
            state: if listed.revoked_at_ms.is_none() {
                "live"
            } else {
                "revoked"
            },
            created_at: Timestamp::from_millis(listed.issued_at_ms),
            last_used_at: listed.last_used_at_ms.map(Timestamp::from_millis),
            revoked_at: listed.revoked_at_ms.map(Timestamp::from_millis),
        })
    }
}

/// The worker behind the hash of a token's text, or `unauthorized`.
pub async fn admit(core: &Core, token_hash: &[u8; 32]) -> Result<WorkerCaller, Problem> {
    let row_id = worker_tokens::live(&core.admissions, token_hash).await?;
    row_id
        .map(|row_id| WorkerCaller { row_id })
        .ok_or_else(|| Problem::new(Code::Unauthorized))
}

fn place(row_id: Uuid) -> String {
    format!("{row_id}/worker_token")
}
