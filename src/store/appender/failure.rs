//! What a failed flush says: whether the database refused it, or nobody knows.

use crate::store::StoreError;

#[derive(Debug)]
pub struct Failure {
    pub kind: FailureKind,
    /// An attempt before this one may have committed unheard.
    pub lost_commit: bool,
    pub error: sqlx::Error,
}

impl Failure {
    pub fn code(&self) -> Option<String> {
        self.error
            .as_database_error()?
            .code()
            .map(std::borrow::Cow::into_owned)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The database judged the flush: splitting it finds the part that was refused.
    Refused,
    /// A deadlock or serialisation failure: the same flush may pass when tried again.
    Contended,
    /// Nobody answered, or the line broke: the flush may or may not have happened.
    Away,
    /// No room on the device: certain to be undone, and as certain to fail again at once.
    Full,
}

impl FailureKind {
    /// What callers hear of a whole flush that failed this way.
    pub fn turned_away(self) -> StoreError {
        match self {
            // Undone for certain, so that nobody has to ask what became of it.
            Self::Full => StoreError::Overloaded,
            Self::Away | Self::Refused | Self::Contended => StoreError::TimedOut,
        }
    }

    pub fn of(error: &sqlx::Error) -> Self {
        let Some(database) = error.as_database_error() else {
            return Self::Away;
        };
        match database.code().as_deref() {
            Some("40001" | "40P01" | "55P03") => Self::Contended,
            // Shutting down, crashed, starting up, too many connections.
            Some("57P01" | "57P02" | "57P03" | "53300") => Self::Away,
            Some("53100" | "58030" | "53200") => Self::Full,
            _ => Self::Refused,
        }
    }
}

/// The unique rules that a command can break, by the names the schema gives them.
pub fn unique_rule(error: &sqlx::Error) -> &'static str {
    match error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::constraint)
    {
        Some("account_email") => "account_email",
        _ => "a unique value",
    }
}

/// A database error without the values it may quote.
#[derive(Debug)]
pub struct Redacted<'a>(pub &'a sqlx::Error);

impl std::fmt::Display for Redacted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(database) = self.0.as_database_error() {
            return write!(f, "database error {}", database.code().unwrap_or_default());
        }
        if let sqlx::Error::Io(error) = self.0 {
            return write!(f, "connection error: {}", error.kind());
        }
        if matches!(self.0, sqlx::Error::PoolTimedOut) {
            return f.write_str("no connection became free in time");
        }
        f.write_str("the connection failed")
    }
}
