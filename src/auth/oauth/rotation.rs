//! What a presented refresh token of a live grant is worth (`access` 3.5).
//!
//! Processes of one app share a stored credential, so the same token may honestly arrive several
//! times within a moment. After that moment, or once a successor is in use, a second use means that
//! two parties hold the token, and nobody can tell which is the thief.
//!
//! What stays true: a token has at most three successors; nothing that is refused for its number
//! ends a grant; a token with a used successor never yields another.
//!
//! Deliberately absent: whether the token is known, whose it is and whether its grant lives. Those
//! come first, and a token of another client's changes nothing.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// Successors of one token, siblings included.
pub const MAX_SUCCESSORS: u32 = 3;

/// After this the stored credential has been replaced, and reading it again helps. It is short
/// because the token that was refused must not be kept until its overlap is over.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// For how long after its first use a token may be presented again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap(Duration);

impl Overlap {
    pub const DEFAULT: Self = Self(Duration::from_secs(30));

    const MAX_SECONDS: u64 = 60;

    /// 0 to 60 seconds; at 0 every second use is a reuse.
    pub const fn of_seconds(seconds: u64) -> Option<Self> {
        if seconds <= Self::MAX_SECONDS {
            Some(Self(Duration::from_secs(seconds)))
        } else {
            None
        }
    }
}

/// What the ledger says of a presented token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Unused,
    Used {
        /// Since the first use; zero if the clock has gone back.
        age: Duration,
        /// How many tokens were issued for it, one at least.
        successors: u32,
        line: Line,
    },
}

/// Whether the line goes on below a token's successors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// No successor was used.
    Children,
    /// One was, so the token is a grandparent.
    Grandchildren,
}

/// What the refresh does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The first pair for this token.
    Rotate,
    /// One more pair beside the unused ones.
    Sibling,
    /// 429, nothing revoked.
    TooMany { retry_after: Duration },
    /// `invalid_grant`; the grant ends and its owner is told.
    Reused,
}

/// Judges a token of a live grant, presented by its own client.
pub fn decide(standing: Standing, overlap: Overlap) -> Decision {
    match standing {
        Standing::Unused => Decision::Rotate,
        Standing::Used {
            line: Line::Grandchildren,
            ..
        } => Decision::Reused,
        Standing::Used { age, .. } if age >= overlap.0 => Decision::Reused,
        Standing::Used { successors, .. } if successors < MAX_SUCCESSORS => Decision::Sibling,
        Standing::Used { .. } => Decision::TooMany {
            retry_after: RETRY_AFTER,
        },
    }
}
