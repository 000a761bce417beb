//! What is wrong with a configuration, all of it at once.

use std::fmt;

/// One thing to correct. Never holds the value of a setting that could be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where it was found, as a person would look for it: `HELIX_LISTEN`, `helix.toml line 3`.
    pub place: String,
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// Faults printed at once: a file of another program has one a line.
const MAX_SHOWN: usize = 50;

/// Every fault of one configuration; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("1 fault in the configuration; nothing was started")?,
            count => write!(
                f,
                "{count} faults in the configuration; nothing was started"
            )?,
        }
        for fault in self.0.iter().take(MAX_SHOWN) {
            write!(f, "\n  {fault}")?;
        }
        match self.0.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

impl std::error::Error for Faults {}

/// The candidate most like `word`, if one is near enough to be what was meant.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let reach = (word.len() / 3).clamp(1, 4);
    candidates
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|&(distance, _)| distance <= reach)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance with neighbouring letters swapped counted once, as typing slips go.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_none() {
        let words = ["listen", "lanes", "library"];
        assert_eq!(nearest("listne", words.into_iter()), Some("listen"));
        assert_eq!(nearest("lane", words.into_iter()), Some("lanes"));
        assert_eq!(nearest("colour", words.into_iter()), None);
    }

    #[test]
    fn swapped_neighbours_count_once() {
        assert_eq!(distance("listne", "listen"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
