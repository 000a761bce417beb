//! The same judgement by other means: expressions over the whole of a stream, that look at every
//! byte again and again. Says what passes and whether the rest is refused; not why, and nothing of
//! limits.

use std::sync::LazyLock;

use actix_web::http::{Method, Uri};
use regex::bytes::Regex;

/// What becomes of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub passed: Vec<u8>,
    pub bodies: Vec<Vec<u8>>,
    pub refused: bool,
}

const T: &str = r"[0-9A-Za-z!#$%&'*+\-.^_`|~]";
const V: &str = r"[\t\x20-\x7e\x80-\xff]";

fn expression(text: &str) -> Regex {
    let text = text.replace('T', T).replace('V', V);
    Regex::new(&format!(r"\A(?-u:{text})")).unwrap()
}

static HEAD: LazyLock<Regex> =
    LazyLock::new(|| expression(r"T+\x20[\x20-\x7e]*\r\n(?:T+:V*\r\n)*\r\n"));
static HEAD_BEGUN: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?:T*|T+\x20[\x20-\x7e]*\r?|T+\x20[\x20-\x7e]*\r\n(?:T+:V*\r\n)*(?:T*|T+:V*\r?|\r))\z",
    )
});
static SIZE: LazyLock<Regex> = LazyLock::new(|| expression(r"([0-9A-Fa-f]{1,16})(?:;V*)?\r\n"));
static SIZE_BEGUN: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?:[0-9A-Fa-f]{0,16}|[0-9A-Fa-f]{1,16}(?:;V*)?\r?)\z"));
static TRAILERS: LazyLock<Regex> = LazyLock::new(|| expression(r"(?:T+:V*\r\n)*\r\n"));
static TRAILERS_BEGUN: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?:T+:V*\r\n)*(?:T*|T+:V*\r?|\r)\z"));

/// Judges a whole stream.
pub fn judge(stream: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut rest = stream;
    loop {
        rest = rest.strip_prefix(b"\r\n").unwrap_or(rest);
        let Some(head) = HEAD.find(rest) else {
            outcome.refused = rest != b"\r" && !HEAD_BEGUN.is_match(rest);
            return outcome;
        };
        let text = String::from_utf8_lossy(head.as_bytes()).into_owned();
        let Some(last) = acceptable(&text) else {
            outcome.refused = true;
            return outcome;
        };
        outcome.passed.extend_from_slice(head.as_bytes());
        rest = &rest[head.end()..];
        outcome.bodies.push(Vec::new());
        let Some(length) = body(&text, rest, &mut outcome) else {
            return outcome;
        };
        rest = &rest[length..];
        if last {
            return outcome;
        }
    }
}

/// Whether a head is one, and then whether it is the last.
fn acceptable(head: &str) -> Option<bool> {
    let request = head.lines().next()?;
    let parts: Vec<&str> = request.split(' ').collect();
    let [method, target, version] = parts[..] else {
        return None;
    };
    let lower = target.to_ascii_lowercase();
    let target_is_one = target.parse::<Uri>().is_ok()
        && !target.contains('#')
        && (target.starts_with('/')
            || lower.starts_with("http://")
            || lower.starts_with("https://")
            || (method == "OPTIONS" && target == "*"));
    let [hosts, lengths, codings, connection, upgrade] = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "upgrade",
    ]
    .map(|name| values(head, name));
    let digits = |text: &String| text.parse::<u64>().is_ok() && !text.starts_with('+');
    let says = |values: &[String], word: &str| {
        let joined = values.join(",").to_ascii_lowercase();
        joined.split(',').any(|item| item.trim() == word)
    };
    let old = version == "HTTP/1.0";
    let good = target_is_one
        && (old || version == "HTTP/1.1")
        && method.parse::<Method>().is_ok()
        && method != "CONNECT"
        && !says(&upgrade, "websocket")
        && (hosts.len() == 1 || (old && hosts.is_empty()))
        && lengths.len() + codings.len() < 2
        && lengths.iter().all(digits)
        && codings
            .iter()
            .all(|coding| !old && coding.eq_ignore_ascii_case("chunked"))
        && !(old && method == "POST" && lengths.is_empty());
    let close = says(&connection, "close") || (old && !says(&connection, "keep-alive"));
    good.then_some(close)
}

fn values(head: &str, name: &str) -> Vec<String> {
    head.split("\r\n")
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .filter(|(field, _)| field.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim_matches([' ', '\t']).to_owned())
        .collect()
}

/// The length of a body that is all there.
fn body(head: &str, rest: &[u8], outcome: &mut Outcome) -> Option<usize> {
    if !values(head, "transfer-encoding").is_empty() {
        return chunked(rest, outcome);
    }
    let lengths = values(head, "content-length");
    let length = lengths.first().map_or(0, |length| length.parse().unwrap());
    let there = rest.len().min(length);
    outcome.passed.extend_from_slice(&rest[..there]);
    outcome
        .bodies
        .last_mut()
        .unwrap()
        .extend_from_slice(&rest[..there]);
    (there == length).then_some(length)
}

fn chunked(stream: &[u8], outcome: &mut Outcome) -> Option<usize> {
    let mut rest = stream;
    loop {
        let Some(line) = SIZE.captures(rest) else {
            unfinished(&SIZE_BEGUN, rest, outcome);
            return None;
        };
        let end = line.get(0).unwrap().end();
        outcome.passed.extend_from_slice(&rest[..end]);
        rest = &rest[end..];
        let size = u64::from_str_radix(std::str::from_utf8(&line[1]).unwrap(), 16).unwrap();
        if size == 0 {
            break;
        }
        let there = usize::try_from(size).map_or(rest.len(), |size| size.min(rest.len()));
        outcome.passed.extend_from_slice(&rest[..there]);
        outcome
            .bodies
            .last_mut()
            .unwrap()
            .extend_from_slice(&rest[..there]);
        rest = &rest[there..];
        for byte in *b"\r\n" {
            let (first, others) = rest.split_first()?;
            if *first != byte {
                outcome.refused = true;
                return None;
            }
            outcome.passed.push(byte);
            rest = others;
        }
    }
    let Some(trailers) = TRAILERS.find(rest) else {
        unfinished(&TRAILERS_BEGUN, rest, outcome);
        return None;
    };
    outcome.passed.extend_from_slice(trailers.as_bytes());
    rest = &rest[trailers.end()..];
    Some(stream.len() - rest.len())
}

/// What can still become what it should be passes.
fn unfinished(begun: &Regex, rest: &[u8], outcome: &mut Outcome) {
    let longest = (0..=rest.len())
        .rev()
        .find(|end| begun.is_match(&rest[..*end]));
    let longest = longest.unwrap();
    outcome.passed.extend_from_slice(&rest[..longest]);
    outcome.refused = longest < rest.len();
}
