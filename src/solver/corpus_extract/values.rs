//! Times, dates, amounts and measures in a sentence, in one spelling each.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::solver::corpora::words;

/// What a value measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::solver) enum Kind {
    Time,
    Date,
    Year,
    Money,
    Percent,
    /// A length, weight, speed and the like.
    Measure,
    /// A number of things.
    Count,
}

/// A value in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solver) struct Value {
    pub kind: Kind,
    /// What is measured: a dimension or the things counted; empty when the kind says it all.
    pub of: String,
    /// Equal texts are equal values.
    pub canonical: String,
    pub range: Range<usize>,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const MONTH: &str = r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const NUMBER: &str = r"(\d{1,3}(?:[,\u{a0}\u{202f}]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)";
const CURRENCY: &str = r"(kr|kroner|nok|sek|dkk|crowns?|euros?|eur|dollars?|usd|pounds?|gbp)";
const SCALE: &str = r"(?:\s*(thousand|million|billion))?";

/// Unit, what it measures, and how many of the smallest unit it is.
const UNITS: &[(&str, &str, f64)] = &[
    ("mm", "length", 0.001),
    ("millimetre", "length", 0.001),
    ("millimeter", "length", 0.001),
    ("cm", "length", 0.01),
    ("centimetre", "length", 0.01),
    ("centimeter", "length", 0.01),
    ("m", "length", 1.0),
    ("metre", "length", 1.0),
    ("meter", "length", 1.0),
    ("km", "length", 1000.0),
    ("kilometre", "length", 1000.0),
    ("kilometer", "length", 1000.0),
    ("ft", "length", 0.3048),
    ("foot", "length", 0.3048),
    ("feet", "length", 0.3048),
    ("mile", "length", 1609.344),
    ("kg", "weight", 1.0),
    ("kilogram", "weight", 1.0),
    ("tonne", "weight", 1000.0),
    ("ton", "weight", 1000.0),
    ("litre", "volume", 1.0),
    ("liter", "volume", 1.0),
    ("knot", "speed", 1.852),
    ("km/h", "speed", 1.0),
    ("second", "duration", 1.0),
    ("minute", "duration", 60.0),
    ("min", "duration", 60.0),
    ("hour", "duration", 3600.0),
    ("day", "duration", 86_400.0),
    ("week", "duration", 604_800.0),
    ("month", "span of months", 1.0),
    ("year", "span of months", 12.0),
    ("degree", "temperature", 1.0),
    ("kw", "power", 1.0),
    ("mw", "power", 1000.0),
];
const NUMBER_WORDS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

type Rule = (
    LazyLock<Option<Regex>>,
    fn(&Captures) -> Option<(Kind, String, String)>,
);

/// In order of precedence: a later rule does not touch what an earlier one has taken.
static RULES: [Rule; 11] = [
    (
        LazyLock::new(|| compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")),
        iso_date,
    ),
    (
        LazyLock::new(|| {
            compile(&format!(
                r"\b(\d{{1,2}})(?:st|nd|rd|th)?\.?\s+(?:of\s+)?{MONTH}\b(?:,?\s+(\d{{4}}))?"
            ))
        }),
        day_month,
    ),
    (
        LazyLock::new(|| {
            compile(&format!(
                r"\b{MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}}))?"
            ))
        }),
        month_day,
    ),
    (
        LazyLock::new(|| compile(&format!(r"\b{MONTH}\s+(\d{{4}})\b"))),
        month_year,
    ),
    (
        LazyLock::new(|| compile(r"\b(\d{1,2})(?:[:.](\d{2}))?\s?([ap])\.?m\b")),
        twelve_hours,
    ),
    (
        LazyLock::new(|| compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")),
        clock,
    ),
    (
        LazyLock::new(|| compile(&format!(r"([€$£])\s?{NUMBER}{SCALE}"))),
        sign_first,
    ),
    (
        LazyLock::new(|| compile(&format!(r"\b{NUMBER}{SCALE}\s*{CURRENCY}\b"))),
        amount,
    ),
    (
        LazyLock::new(|| compile(&format!(r"\b{NUMBER}\s*(?:%|percent\b|per cent\b)"))),
        percent,
    ),
    (LazyLock::new(|| compile(r"\b(1[5-9]\d\d|20\d\d)\b")), year),
    (
        LazyLock::new(|| {
            compile(&format!(
                r"\b(?:{NUMBER}|(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve))[\s-]+(?:nautical\s+)?([a-z][a-z/]*)"
            ))
        }),
        measured,
    ),
];

fn compile(pattern: &str) -> Option<Regex> {
    Regex::new(&format!("(?i){pattern}")).ok()
}

/// The values of a text, in order.
pub(in crate::solver) fn find(text: &str) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for (pattern, read) in &RULES {
        let Some(pattern) = &**pattern else { continue };
        for captures in pattern.captures_iter(text) {
            let Some(range) = captures.get(0).map(|whole| whole.range()) else {
                continue;
            };
            let taken = values
                .iter()
                .any(|v| v.range.start < range.end && range.start < v.range.end);
            if taken {
                continue;
            }
            if let Some((kind, of, canonical)) = read(&captures) {
                values.push(Value {
                    kind,
                    of,
                    canonical,
                    range,
                });
            }
        }
    }
    values.sort_by_key(|value| value.range.start);
    values
}

fn part<'a>(captures: &'a Captures, place: usize) -> &'a str {
    captures.get(place).map_or("", |found| found.as_str())
}

fn date(year: &str, month: usize, day: &str) -> Option<(Kind, String, String)> {
    let day: u32 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    // A date without a year is another statement than one with it, so each is compared to its like.
    let of = if year.is_empty() {
        "day of the year"
    } else {
        ""
    };
    Some((
        Kind::Date,
        of.to_owned(),
        format!("{year}-{month:02}-{day:02}"),
    ))
}

fn month(name: &str) -> Option<usize> {
    let short: String = name.to_lowercase().chars().take(3).collect();
    MONTHS
        .iter()
        .position(|known| *known == short)
        .map(|place| place + 1)
}

fn iso_date(c: &Captures) -> Option<(Kind, String, String)> {
    let month = part(c, 2)
        .parse()
        .ok()
        .filter(|month| (1..=12).contains(month))?;
    date(part(c, 1), month, part(c, 3))
}

fn day_month(c: &Captures) -> Option<(Kind, String, String)> {
    date(part(c, 3), month(part(c, 2))?, part(c, 1))
}

fn month_day(c: &Captures) -> Option<(Kind, String, String)> {
    date(part(c, 3), month(part(c, 1))?, part(c, 2))
}

fn month_year(c: &Captures) -> Option<(Kind, String, String)> {
    let month = month(part(c, 1))?;
    Some((
        Kind::Date,
        "month".to_owned(),
        format!("{}-{month:02}", part(c, 2)),
    ))
}

fn clock(c: &Captures) -> Option<(Kind, String, String)> {
    let hour: u32 = part(c, 1).parse().ok()?;
    Some((
        Kind::Time,
        String::new(),
        format!("{hour:02}:{}", part(c, 2)),
    ))
}

fn twelve_hours(c: &Captures) -> Option<(Kind, String, String)> {
    let hour: u32 = part(c, 1)
        .parse()
        .ok()
        .filter(|hour| (1..=12).contains(hour))?;
    let noon = if part(c, 3).eq_ignore_ascii_case("p") {
        12
    } else {
        0
    };
    let minute = if part(c, 2).is_empty() {
        "00"
    } else {
        part(c, 2)
    };
    Some((
        Kind::Time,
        String::new(),
        format!("{:02}:{minute}", hour % 12 + noon),
    ))
}

fn number(text: &str) -> Option<f64> {
    text.replace([',', '\u{a0}', '\u{202f}'], "").parse().ok()
}

fn scaled(text: &str, scale: &str) -> Option<f64> {
    let factor = match scale.to_lowercase().as_str() {
        "thousand" => 1e3,
        "million" => 1e6,
        "billion" => 1e9,
        _ => 1.0,
    };
    Some(number(text)? * factor)
}

/// Rounded, so that the same value reached through two units is the same text.
fn spelled(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

fn sign_first(c: &Captures) -> Option<(Kind, String, String)> {
    let currency = match part(c, 1) {
        "€" => "eur",
        "$" => "usd",
        _ => "gbp",
    };
    Some((
        Kind::Money,
        String::new(),
        format!("{} {currency}", spelled(scaled(part(c, 2), part(c, 3))?)),
    ))
}

fn amount(c: &Captures) -> Option<(Kind, String, String)> {
    let currency = match part(c, 3).to_lowercase().as_str() {
        "kr" | "kroner" | "crown" | "crowns" => "kr",
        "euro" | "euros" | "eur" => "eur",
        "dollar" | "dollars" | "usd" => "usd",
        "pound" | "pounds" | "gbp" => "gbp",
        "sek" => "sek",
        "dkk" => "dkk",
        _ => "nok",
    };
    Some((
        Kind::Money,
        String::new(),
        format!("{} {currency}", spelled(scaled(part(c, 1), part(c, 2))?)),
    ))
}

fn percent(c: &Captures) -> Option<(Kind, String, String)> {
    Some((Kind::Percent, String::new(), spelled(number(part(c, 1))?)))
}

#[expect(clippy::unnecessary_wraps, reason = "every rule has the same shape")]
fn year(c: &Captures) -> Option<(Kind, String, String)> {
    Some((Kind::Year, String::new(), part(c, 1).to_owned()))
}

fn measured(c: &Captures) -> Option<(Kind, String, String)> {
    let value = match part(c, 1) {
        "" => {
            let word = part(c, 2).to_lowercase();
            let place = NUMBER_WORDS.iter().position(|known| *known == word)?;
            spelled(f64::from(u32::try_from(place).ok()?))
                .parse()
                .ok()?
        }
        digits => number(digits)?,
    };
    let noun = part(c, 3).to_lowercase();
    let singular = noun.strip_suffix('s').unwrap_or(&noun);
    let unit = UNITS
        .iter()
        .find(|(name, _, _)| *name == noun || *name == singular);
    if let Some((_, of, factor)) = unit {
        return Some((Kind::Measure, (*of).to_owned(), spelled(value * factor)));
    }
    (!words::is_stop(&noun)).then(|| (Kind::Count, words::stem(&noun), spelled(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Kind, String)> {
        find(text)
            .into_iter()
            .map(|value| (value.kind, value.canonical))
            .collect()
    }

    #[test]
    fn every_rule_is_a_pattern() {
        assert!(RULES.iter().all(|(pattern, _)| pattern.is_some()));
    }

    #[test]
    fn equal_values_share_one_spelling() {
        for group in [
            &[
                "leaves at 07:10",
                "leaves at 7:10 am",
                "leaves at 7.10 a.m.",
            ][..],
            &["on 3 May 2026", "on May 3rd, 2026", "on 2026-05-03"],
            &["costs 2.4 million kroner", "costs 2,400,000 kr"],
            &["1.2 km long", "1200 metres long"],
            &["four boats", "4 boats"],
            &["12 percent", "12%"],
        ] {
            let values: Vec<_> = group.iter().map(|text| found(text)).collect();
            assert_eq!(values[0].len(), 1, "{group:?}: {values:?}");
            assert!(
                values.iter().all(|other| *other == values[0]),
                "{group:?}: {values:?}"
            );
        }
    }

    #[test]
    fn different_units_are_different_values() {
        assert_ne!(found("40 kr"), found("40 euros"));
        assert_ne!(found("32 metres"), found("32 feet"));
    }
}
