//! The event store: load → decide → append over one hash-chained Postgres log (ADR 0001).
//!
//! What must stay true: a caller is answered only after its commit; the bytes that are hashed are
//! the bytes that are stored; a version check is a chain check; nothing personal is written in
//! clear. Nothing outside this module knows the tables of schema `es`.

pub mod accounts;
pub mod append;
pub mod appender;
pub mod clock;
pub mod database;
pub mod event_store;
pub mod flush;
pub mod guarded;
pub mod handles;
pub mod inline;
pub mod key_export;
pub mod keyfile;
pub mod keyring;
pub mod lease;
pub mod ledger;
pub mod log;
pub mod oauth_clients;
pub mod oauth_grants;
pub mod oauth_tokens;
pub mod offers;
pub mod owner;
mod patience;
pub mod people;
pub mod read;
pub mod read_pool;
pub mod receipt;
pub mod sealing;
pub mod survey;
pub mod upcast;
pub mod uses;
pub mod watch;
pub mod webhooks;
pub mod work;
pub mod worker_tokens;
pub mod writable;

mod core;
#[cfg(test)]
pub(crate) mod tests;

pub use appender::Redacted;

pub use self::core::{ADMISSION_CONNECTIONS, Core, CoreConfig, Line, WITHDRAWAL_CONNECTIONS};

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("another writer moved the stream")]
    HeadMoved,
    #[error("the idempotency key is already in use")]
    ReceiptTaken,
    #[error("the credential behind this command was revoked")]
    Revoked,
    #[error("the one-time handle is spent")]
    Spent,
    #[error("the passphrase that was entered is no longer the account's")]
    PassphraseChanged,
    #[error("there is no room for one more")]
    Full,
    /// The unique rule that was broken, by its name in the schema.
    #[error("{0} holds this value already")]
    Duplicate(&'static str),
    #[error("the wrapping key of a new data key was retired by another process")]
    KeyRetired,
    #[error("the append queue is full")]
    Overloaded,
    #[error("the database is not available")]
    Unavailable(#[source] sqlx::Error),
    #[error("the database did not answer in time")]
    TimedOut,
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    #[error("the key {0} is missing from the key file")]
    KeyMissing(String),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Unavailable(error)
    }
}
