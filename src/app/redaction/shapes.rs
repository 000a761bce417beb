//! The nine patterns of agent-api 1.10, in its order.
//!
//! The contract writes them for ECMAScript without the `u` flag: `\b`, `\w` and case folding are
//! ASCII, and `\s` is its own list of characters (it has U+FEFF and lacks U+0085). The macros spell
//! that out, because this crate's regex engine means Unicode by all three.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{NoExpand, Regex, RegexSet};

use super::REPLACEMENT;

/// The members of ECMAScript's `\s`, to stand inside a class.
macro_rules! white {
    () => {
        r"\t\n\x0B\x0C\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}"
    };
}

macro_rules! boundary {
    () => {
        r"(?-u:\b)"
    };
}

const PATTERNS: [&str; 9] = [
    concat!(boundary!(), "helix_room_src_[A-Za-z0-9_-]+"),
    concat!(boundary!(), "room_source_claim_[A-Za-z0-9:._~-]+"),
    concat!(boundary!(), "agent_chat_claim_[A-Za-z0-9:._~-]+"),
    concat!(boundary!(), "helix_env_device_[A-Za-z0-9_-]{24,}"),
    concat!(boundary!(), "helix_probe_lease_[A-Za-z0-9_-]{24,}"),
    concat!(
        boundary!(),
        "(?i-u:Authorization)[",
        white!(),
        "]*:[",
        white!(),
        "]*",
        "(?i-u:Bearer)[",
        white!(),
        r#"]+[^"#,
        white!(),
        r#",;"']+"#,
    ),
    concat!(
        boundary!(),
        "(?i-u:Bearer)[",
        white!(),
        r"]+[A-Za-z0-9._~+/-]{12,}={0,2}"
    ),
    concat!(
        boundary!(),
        "(?i-u:access_token|refresh_token|bearer_token|token_value|claim_handle)[",
        white!(),
        "]*[=:][",
        white!(),
        r#"]*["']?[^"'"#,
        white!(),
        ",;}&]+",
    ),
    concat!("[?&](?i-u:access_token|key|token)=[^&#", white!(), "]+"),
];

/// The first of [`PATTERNS`] are credentials by their own prefix.
const ISSUED: usize = 5;

struct Shapes {
    /// All patterns in one pass: the answer for ordinary text.
    any: RegexSet,
    each: Vec<Regex>,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    compile().unwrap_or_else(|error| unreachable!("the patterns are constants: {error}"))
});

fn compile() -> Result<Shapes, regex::Error> {
    Ok(Shapes {
        any: RegexSet::new(PATTERNS)?,
        each: PATTERNS
            .iter()
            .map(|pattern| Regex::new(pattern))
            .collect::<Result<_, _>>()?,
    })
}

/// Whether any pattern matches.
pub(super) fn any(text: &str) -> bool {
    SHAPES.any.is_match(text)
}

/// Whether a pattern that names a kind of credential of this server matches; those of words around one
/// do not count.
pub(super) fn any_issued(text: &str) -> bool {
    SHAPES.any.is_match(text) && SHAPES.each[..ISSUED].iter().any(|one| one.is_match(text))
}

/// Applies the patterns one after another, each to the outcome of those before it.
pub(super) fn replace(text: &str) -> Cow<'_, str> {
    let mut outcome = Cow::Borrowed(text);
    if !any(text) {
        return outcome;
    }
    for pattern in &SHAPES.each {
        if let Cow::Owned(changed) = pattern.replace_all(&outcome, NoExpand(REPLACEMENT)) {
            outcome = Cow::Owned(changed);
        }
    }
    outcome
}

/// The numbers, from 1, of the patterns that match.
#[cfg(test)]
pub(super) fn matching(text: &str) -> Vec<usize> {
    SHAPES
        .any
        .matches(text)
        .into_iter()
        .map(|index| index + 1)
        .collect()
}
