//! Words as the index and the solver compare them.
//!
//! Exists so that a query and a passage are cut the same way. What must stay true: a pure function
//! of the text, the same on every machine. Deliberately absent: dictionaries and languages beyond a
//! light English stemmer; other languages are matched by their exact words.

use unicode_segmentation::UnicodeSegmentation;

const STOP: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "between", "both", "but", "by", "can", "could", "did",
    "do", "does", "each", "find", "for", "from", "get", "give", "had", "has", "have", "he", "her",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "list", "many", "may", "me",
    "more", "most", "much", "must", "my", "no", "not", "of", "on", "one", "only", "or", "other",
    "our", "out", "over", "per", "please", "shall", "she", "should", "show", "so", "some", "such",
    "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "under", "up", "us", "use", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
];

/// Words that say the same in the questions people ask of documents.
const SAME: &[(&str, &str)] = &[
    ("arrival", "arriv"),
    ("begin", "start"),
    ("commenc", "start"),
    ("departur", "depart"),
    ("fare", "price"),
    ("cost", "price"),
    ("pric", "price"),
    ("leav", "depart"),
    ("finish", "end"),
    ("complet", "end"),
];

/// A word of a text: where it starts, how it is spelled, and its stem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'a> {
    pub start: usize,
    pub text: &'a str,
    pub stem: String,
}

/// The words of a text in order, stop words included. Names joined by `_` are cut apart.
pub fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    text.unicode_word_indices().flat_map(|(at, joined)| {
        let mut start = at;
        joined.split('_').filter_map(move |part| {
            let here = start;
            start += part.len() + 1;
            (!part.is_empty()).then(|| Word {
                start: here,
                text: part,
                stem: stem(part),
            })
        })
    })
}

/// The stems of a text without stop words, in order, repeats included.
pub fn stems(text: &str) -> Vec<String> {
    words(text)
        .filter(|word| !is_stop(word.text))
        .map(|word| word.stem)
        .collect()
}

pub fn is_stop(word: &str) -> bool {
    let lower = word.to_lowercase();
    STOP.binary_search(&lower.as_str()).is_ok()
}

/// The stem of one word.
pub fn stem(word: &str) -> String {
    let lower = word.to_lowercase();
    let lower = lower
        .strip_suffix("'s")
        .or_else(|| lower.strip_suffix("\u{2019}s"))
        .unwrap_or(&lower);
    if !lower.is_ascii() || lower.len() < 4 || !lower.bytes().all(|b| b.is_ascii_lowercase()) {
        return lower.to_owned();
    }
    let cut = without_final_e(&without_ending(&singular(lower)));
    SAME.iter()
        .find(|(from, _)| *from == cut)
        .map_or(cut, |(_, to)| (*to).to_owned())
}

fn singular(word: &str) -> String {
    if let Some(base) = word.strip_suffix("ies")
        && base.len() > 1
    {
        return format!("{base}y");
    }
    for ending in ["sses", "xes", "ches", "shes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    let kept = ["ss", "us", "is"]
        .iter()
        .any(|ending| word.ends_with(ending));
    match word.strip_suffix('s') {
        Some(base) if !kept => base.to_owned(),
        _ => word.to_owned(),
    }
}

fn without_ending(word: &str) -> String {
    for ending in ["ing", "ed", "ion"] {
        let Some(base) = word.strip_suffix(ending) else {
            continue;
        };
        if base.len() < 4 || !base.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            continue;
        }
        let bytes = base.as_bytes();
        let last = bytes[bytes.len() - 1];
        let doubled = ending != "ion" && bytes[bytes.len() - 2] == last;
        if doubled && !b"ls".contains(&last) {
            return base[..base.len() - 1].to_owned();
        }
        return base.to_owned();
    }
    word.to_owned()
}

fn without_final_e(word: &str) -> String {
    match word.strip_suffix('e') {
        Some(base) if base.len() >= 4 => base.to_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP.is_sorted());
    }

    #[test]
    fn forms_of_one_word_share_a_stem() {
        for group in [
            &[
                "departs",
                "departed",
                "departing",
                "departure",
                "leaves",
                "leaving",
            ][..],
            &["renovation", "renovations", "renovated", "renovate"],
            &["ferry", "ferries", "Ferry's"],
            &["opens", "opened", "opening"],
            &["fares", "price", "costs"],
        ] {
            let stems: std::collections::BTreeSet<_> =
                group.iter().map(|word| stem(word)).collect();
            assert_eq!(stems.len(), 1, "{group:?}: {stems:?}");
        }
    }

    #[test]
    fn words_know_where_they_start() {
        let text = "run_id of Vík, então";
        for word in words(text) {
            assert!(text[word.start..].starts_with(word.text));
        }
        assert_eq!(stems(text), ["run", "id", "vík", "então"]);
    }
}
