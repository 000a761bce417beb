//! Contradictions: same subject and attribute, other value, unit or date, in another document.

use std::collections::BTreeSet;

use super::facts::spellings;
use super::rank::{Scored, place_order};
use super::reading::Sentence;
use super::values::Kind;

const CONFLICT_LIMIT: usize = 8;
/// Characters of each side that a contradiction shows.
const SIDE_CHARS: usize = 300;

/// Two sentences that cannot both be right; places in the list that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contradiction {
    pub first: usize,
    pub second: usize,
    pub text: String,
}

/// The contradictions among sentences, in the order of the sentences.
pub(super) fn find(relevant: &[Scored]) -> Vec<Contradiction> {
    let mut found: Vec<Contradiction> = Vec::new();
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    for (first, a) in relevant.iter().enumerate() {
        for (second, b) in relevant.iter().enumerate().skip(first + 1) {
            if found.len() >= CONFLICT_LIMIT {
                return found;
            }
            if taken.contains(&second) && taken.contains(&first) {
                continue;
            }
            if contradicts(a.sentence, b.sentence, relevant) {
                taken.extend([first, second]);
                found.push(Contradiction {
                    first,
                    second,
                    text: describe(a.sentence, b.sentence),
                });
            }
        }
    }
    found
}

fn contradicts(a: &Sentence, b: &Sentence, all: &[Scored]) -> bool {
    if a.source == b.source {
        return false;
    }
    let kinds: BTreeSet<(Kind, &str)> = a
        .values
        .iter()
        .chain(&b.values)
        .map(|value| (value.kind, value.of.as_str()))
        .collect();
    let differing: Vec<(Kind, &str)> = kinds
        .into_iter()
        .filter(|(kind, of)| differs(a, b, *kind, of))
        .collect();
    // Two differences at once mean two circumstances, not one fact told twice.
    let [(kind, of)] = differing[..] else {
        return false;
    };
    a.subject.is_same(&b.subject)
        && !is_told_elsewhere(a, b, kind, of, all)
        && !is_told_elsewhere(b, a, kind, of, all)
}

fn differs(a: &Sentence, b: &Sentence, kind: Kind, of: &str) -> bool {
    let (ours, theirs) = (
        spellings(&a.values, kind, of),
        spellings(&b.values, kind, of),
    );
    !ours.is_empty() && ours.len() == theirs.len() && ours != theirs
}

/// Whether the document of `a` also says what `b` says: then it lists several values.
fn is_told_elsewhere(a: &Sentence, b: &Sentence, kind: Kind, of: &str, all: &[Scored]) -> bool {
    let wanted = spellings(&b.values, kind, of);
    all.iter().map(|scored| scored.sentence).any(|other| {
        other.source == a.source
            && other.span != a.span
            && spellings(&other.values, kind, of) == wanted
            && other.subject.is_same(&b.subject)
    })
}

/// The same text whichever side was found first.
fn describe(a: &Sentence, b: &Sentence) -> String {
    let (a, b) = if place_order(a, b).is_le() {
        (a, b)
    } else {
        (b, a)
    };
    format!("{} {} {}", side(a), BETWEEN, side(b))
}

const BETWEEN: &str = "but";
const SAYS: &str = " says: ";

fn side(sentence: &Sentence) -> String {
    let shown: String = sentence.display.chars().take(SIDE_CHARS).collect();
    format!(
        "\u{201c}{}\u{201d}{SAYS}{shown}",
        quoted_title(&sentence.title)
    )
}

fn quoted_title(title: &str) -> String {
    title.replace(['\u{201c}', '\u{201d}'], "\"")
}

/// The titles that a contradiction's text names.
pub(super) fn titles_of(text: &str) -> Vec<String> {
    let mut titles = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('\u{201c}') {
        let Some((title, after)) = after.split_once('\u{201d}') else {
            break;
        };
        if after.starts_with(SAYS) {
            titles.push(title.to_owned());
        }
        rest = after;
    }
    titles
}
