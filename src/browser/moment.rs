//! Instants and spans as pages say them.
//!
//! What must stay true: the machine-readable instant is always there, and what stands beside it is
//! right without any script; `pages.js` turns it into the reader's own time. Deliberately absent: the
//! reader's time zone, which a server cannot know.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use askama::filters::HtmlSafe;
use helix_aggregates::time::Timestamp;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A `time` element. What it writes is made of digits and constants, so it needs no escaping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    at: Timestamp,
    /// How long ago it was, when that says more than the date.
    ago: Option<String>,
}

impl Moment {
    /// "1 December 2026, 04:20 UTC".
    pub fn at(at: Timestamp) -> Self {
        Self { at, ago: None }
    }

    /// "5 minutes ago", with the date on hover.
    pub fn ago(at: Timestamp, now: Timestamp) -> Self {
        let ago = Some(ago(now.since(at)));
        Self { at, ago }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, date) = (self.at, date(self.at));
        match &self.ago {
            Some(ago) => write!(
                f,
                "<time datetime=\"{at}\" title=\"{date}\" data-ago>{ago}</time>"
            ),
            None => write!(f, "<time datetime=\"{at}\">{date}</time>"),
        }
    }
}

impl HtmlSafe for Moment {}

/// An instant in words, to the minute.
fn date(at: Timestamp) -> String {
    let text = at.to_string();
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let number = |range| part(range).parse::<usize>().unwrap_or_default();
    let month = number(5..7).checked_sub(1).and_then(|at| MONTHS.get(at));
    let (day, month, year, clock) = (
        number(8..10),
        month.copied().unwrap_or_default(),
        part(0..4),
        part(11..16),
    );
    format!("{day} {month} {year}, {clock} UTC")
}

fn ago(span: Duration) -> String {
    let seconds = span.as_secs();
    let (count, unit) = match seconds {
        0..MINUTE => return "just now".to_owned(),
        MINUTE..HOUR => (seconds / MINUTE, "minute"),
        HOUR..DAY => (seconds / HOUR, "hour"),
        _ => (seconds / DAY, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn an_instant_is_said_in_words_and_kept_for_machines() {
        assert_eq!(
            Moment::at(at("2026-12-01T04:20:59.123Z")).to_string(),
            "<time datetime=\"2026-12-01T04:20:59.123Z\">1 December 2026, 04:20 UTC</time>"
        );
    }

    #[test]
    fn what_was_a_while_ago_keeps_its_date_for_whoever_hovers() {
        let moment = Moment::ago(
            at("2026-12-01T04:20:00.000Z"),
            at("2026-12-01T04:25:59.000Z"),
        );
        assert_eq!(
            moment.to_string(),
            "<time datetime=\"2026-12-01T04:20:00.000Z\" title=\"1 December 2026, 04:20 UTC\" \
             data-ago>5 minutes ago</time>"
        );
    }

    #[test]
    fn spans_are_said_in_their_largest_unit() {
        for (seconds, said) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (HOUR - 1, "59 minutes ago"),
            (2 * HOUR, "2 hours ago"),
            (DAY, "1 day ago"),
            (40 * DAY, "40 days ago"),
        ] {
            assert_eq!(ago(Duration::from_secs(seconds)), said);
        }
    }
}
