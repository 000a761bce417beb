//! Every ratio that is measured, and the one table of what each has to reach.

use std::fmt;

use serde::{Serialize, Serializer};

/// One line of the answer, by its permanent name (`operations` 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ratio {
    Append1,
    Append8,
    Append32,
    Append128,
    Raw32,
    Raw128,
    Execute32,
    P99At32,
    HttpUnit16,
    Page1m,
    Replay,
    MissedEvents,
    BrokenLinks,
    LostAcks,
    McpVsRest,
    OverloadGoodput,
    CancelP99,
}

/// What a value is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
}

/// Name, target and meaning of each ratio, in the order they are printed.
pub const TABLE: &[(Ratio, &str, Target, &str)] = &[
    (
        Ratio::Append1,
        "append_1",
        Target::AtLeast(0.9),
        "appends/s against postgres-es, 1 writer",
    ),
    (
        Ratio::Append8,
        "append_8",
        Target::AtLeast(1.1),
        "appends/s against postgres-es, 8 writers",
    ),
    (
        Ratio::Append32,
        "append_32",
        Target::AtLeast(2.5),
        "appends/s against postgres-es, 32 writers",
    ),
    (
        Ratio::Append128,
        "append_128",
        Target::AtLeast(3.5),
        "appends/s against postgres-es, 128 writers",
    ),
    (
        Ratio::Raw32,
        "raw_32",
        Target::AtLeast(1.2),
        "appends/s against raw INSERT commits, 32 writers",
    ),
    (
        Ratio::Raw128,
        "raw_128",
        Target::AtLeast(1.8),
        "appends/s against raw INSERT commits, 128 writers",
    ),
    (
        Ratio::Execute32,
        "execute_32",
        Target::AtLeast(4.0),
        "commands/s against cqrs-es on postgres-es, 32 writers",
    ),
    (
        Ratio::P99At32,
        "p99_32",
        Target::AtMost(0.5),
        "p99 of an append against postgres-es, 32 writers",
    ),
    (
        Ratio::HttpUnit16,
        "http_unit_16",
        Target::AtLeast(0.5),
        "start, turn and events over HTTP against bare SQL, 16 clients",
    ),
    (
        Ratio::Page1m,
        "page_1m",
        Target::AtMost(1.2),
        "time of a page of a million events against one of a hundred",
    ),
    (
        Ratio::Replay,
        "replay",
        Target::AtLeast(50.0),
        "replayed events/s against raw INSERT commits/s",
    ),
    (
        Ratio::MissedEvents,
        "missed_events",
        Target::AtMost(0.0),
        "committed events that a tail reader never saw",
    ),
    (
        Ratio::BrokenLinks,
        "broken_links",
        Target::AtMost(0.0),
        "events and heads that do not follow from the one before",
    ),
    (
        Ratio::LostAcks,
        "lost_acks",
        Target::AtMost(0.0),
        "acknowledged appends that a kill -9 of Postgres undid",
    ),
    (
        Ratio::McpVsRest,
        "mcp_vs_rest",
        Target::AtMost(1.15),
        "p50 of start and continue by MCP tool against REST, 8 clients",
    ),
    (
        Ratio::OverloadGoodput,
        "overload_goodput",
        Target::AtLeast(0.8),
        "starts/s with ten times the clients that saturate against those alone",
    ),
    (
        Ratio::CancelP99,
        "cancel_p99",
        Target::AtMost(3.0),
        "p99 of a cancel with ten times the clients that saturate against none",
    ),
];

impl Ratio {
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// The ratio called `name`, spelled exactly.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    pub fn name(self) -> &'static str {
        self.row().1
    }

    pub fn target(self) -> Target {
        self.row().2
    }

    /// What is compared with what, for people.
    pub fn meaning(self) -> &'static str {
        self.row().3
    }

    fn row(self) -> &'static (Self, &'static str, Target, &'static str) {
        // A test holds every variant against the table.
        TABLE.iter().find(|row| row.0 == self).unwrap_or(&TABLE[0])
    }
}

impl Target {
    pub fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }

    pub fn bound(self) -> f64 {
        match self {
            Self::AtLeast(bound) | Self::AtMost(bound) => bound,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, "≥ {bound}"),
            Self::AtMost(bound) => write!(f, "≤ {bound}"),
        }
    }
}

/// The bound alone: which side is good follows from the name.
impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.bound())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_own_row() {
        for (index, ratio) in Ratio::all().enumerate() {
            assert_eq!(Ratio::named(ratio.name()), Some(ratio));
            assert_eq!(TABLE[index].1, ratio.name());
        }
        assert_eq!(TABLE.len(), Ratio::CancelP99 as usize + 1);
        assert_eq!(Ratio::named("append_2"), None);
        assert_eq!(Ratio::named("APPEND_1"), None);
    }

    #[test]
    fn a_value_on_the_bound_meets_it_and_no_number_never_does() {
        assert!(Target::AtLeast(2.5).is_met_by(2.5) && !Target::AtLeast(2.5).is_met_by(2.49));
        assert!(Target::AtMost(0.0).is_met_by(0.0) && !Target::AtMost(0.0).is_met_by(1.0));
        assert!(
            !Target::AtLeast(1.0).is_met_by(f64::NAN) && !Target::AtMost(1.0).is_met_by(f64::NAN)
        );
    }
}
