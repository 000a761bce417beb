//! Instants as the contracts write them: ISO 8601, UTC, milliseconds, `Z`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const FORMAT: &[BorrowedFormatItem<'static>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// The last instant that has a four-digit year.
const MAX_MILLIS: i64 = 253_402_300_799_999;

/// Milliseconds since 1970-01-01T00:00:00Z, between the years 1970 and 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Takes milliseconds since the epoch; values outside the years 1970 to 9999 are clamped.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, MAX_MILLIS))
    }

    pub fn millis(self) -> i64 {
        self.0
    }

    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(MAX_MILLIS);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// The time from `earlier` to `self`, zero when `earlier` is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// Reads exactly the form that [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let parsed = time::PrimitiveDateTime::parse(text, FORMAT).ok()?;
        let millis = i64::try_from(parsed.assume_utc().unix_timestamp_nanos() / 1_000_000).ok()?;
        (0..=MAX_MILLIS).contains(&millis).then_some(Self(millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .map_err(|_| fmt::Error)?;
        f.write_str(&instant.format(FORMAT).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom("a timestamp is written YYYY-MM-DDTHH:MM:SS.mmmZ")
        })
    }
}

/// The moment a command is judged at, taken from the database clock by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_always_has_three_decimals_and_z() {
        let at = Timestamp::from_millis(1_796_040_000_000);
        assert_eq!(at.to_string(), "2026-11-30T12:00:00.000Z");
        assert_eq!(Timestamp::parse("2026-11-30T12:00:00.000Z"), Some(at));
        assert_eq!(
            Timestamp::from_millis(1_796_040_000_120).to_string(),
            "2026-11-30T12:00:00.120Z"
        );
    }

    #[test]
    fn other_spellings_of_an_instant_are_refused() {
        for text in [
            "2026-11-30T12:00:00Z",
            "2026-11-30T12:00:00.000+00:00",
            "2026-11-30 12:00:00.000Z",
            "2026-02-30T12:00:00.000Z",
            "",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
