//! What a sentence is about, apart from its values: enough to tell whether two sentences speak of
//! the same thing.

use std::collections::BTreeSet;

use super::values::{Kind, Value};
use crate::solver::corpora::words;

/// Stems of one class exclude each other: what is said of weekdays is not said of Sundays.
const CLASSES: &[(Class, &[&str])] = &[
    (
        Class::Day,
        &[
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
            "weekday",
            "weekend",
            "daily",
            "holiday",
        ],
    ),
    (Class::Season, &["spring", "summer", "autumn", "winter"]),
    (
        Class::Ordinal,
        &[
            "first", "last", "second", "third", "fourth", "next", "previous", "earlier", "later",
            "final",
        ],
    ),
    (
        Class::Direction,
        &[
            "north", "south", "east", "west", "inbound", "outbound", "return", "northern",
            "southern", "eastern", "western", "inner", "outer", "upper", "lower",
        ],
    ),
    (
        Class::Audience,
        &[
            "adult", "child", "children", "senior", "student", "infant", "car", "bicycl", "dog",
            "group", "singl", "season",
        ],
    ),
    (
        Class::Extreme,
        &[
            "minimum", "maximum", "highest", "lowest", "high", "low", "least", "averag", "mean",
        ],
    ),
    (
        Class::DayPart,
        &["morn", "afternoon", "even", "night", "noon", "midnight"],
    ),
    (
        Class::State,
        &["open", "clos", "start", "end", "depart", "arriv"],
    ),
];

/// Stems that change a sentence but not what it is about.
const SOFT: &[&str] = &[
    "accord",
    "alway",
    "approximat",
    "approximately",
    "around",
    "current",
    "depart",
    "exact",
    "exactly",
    "expect",
    "go",
    "goe",
    "new",
    "normal",
    "normally",
    "now",
    "off",
    "offici",
    "officially",
    "plan",
    "present",
    "quay",
    "regular",
    "run",
    "sail",
    "schedul",
    "servic",
    "set",
    "stand",
    "still",
    "take",
    "today",
    "total",
    "usual",
    "usually",
    "notic",
    "timetabl",
    "reach",
    "measur",
    "state",
    "say",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Day,
    Season,
    Ordinal,
    Direction,
    Audience,
    Extreme,
    DayPart,
    State,
}

/// The subject of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    /// Stems outside its values, and its directions such as `to vik`.
    features: BTreeSet<String>,
    /// Stems of capitalised words that do not begin the sentence.
    names: BTreeSet<String>,
    /// Stems of the sentence, its heading and its document's title.
    context: BTreeSet<String>,
}

impl Subject {
    pub fn of(sentence: &str, values: &[Value], heading: &str, title: &str) -> Self {
        let mut features = BTreeSet::new();
        let mut names = BTreeSet::new();
        let mut direction: Option<&'static str> = None;
        for (place, word) in words::words(sentence).enumerate() {
            if values.iter().any(|value| value.range.contains(&word.start)) {
                direction = None;
                continue;
            }
            let lower = word.text.to_lowercase();
            if words::is_stop(&lower) {
                direction = DIRECTIONS
                    .iter()
                    .copied()
                    .find(|known| *known == lower)
                    .or(direction);
                continue;
            }
            if let Some(towards) = direction.take() {
                features.insert(format!("{towards} {}", word.stem));
            }
            if place > 0 && word.text.starts_with(char::is_uppercase) {
                names.insert(word.stem.clone());
            }
            features.insert(word.stem);
        }
        let mut context: BTreeSet<String> = features.clone();
        context.extend(words::stems(heading));
        context.extend(words::stems(title));
        Self {
            features,
            names,
            context,
        }
    }

    /// Whether two sentences speak of the same attribute of the same thing.
    pub fn is_same(&self, other: &Self) -> bool {
        let shared = self.features.intersection(&other.features).count();
        let ours = hard(&self.features, &other.features);
        let theirs = hard(&other.features, &self.features);
        let fewest = self.features.len().min(other.features.len());
        let alike = shared >= 3 || (shared >= 2 && ours.is_empty() && theirs.is_empty());
        alike
            && shared * 10 >= fewest * 6
            && (ours.is_empty() || theirs.is_empty())
            && ours.len().max(theirs.len()) <= 4
            && !self.is_set_apart(other)
            && CLASSES
                .iter()
                .all(|(class, members)| self.agrees(other, *class, members))
    }

    /// Whether the sentence speaks of other circumstances than the words ask for: of Sundays when
    /// they say weekdays.
    pub fn misses(&self, asked: &BTreeSet<String>) -> bool {
        CLASSES
            .iter()
            .filter(|(class, _)| !matches!(class, Class::State))
            .any(|(_, members)| {
                let (ours, wanted) = (within(&self.features, members), within(asked, members));
                !ours.is_empty() && !wanted.is_empty() && ours.is_disjoint(&wanted)
            })
    }

    /// Whether each names something that the other does not.
    pub fn is_set_apart(&self, other: &Self) -> bool {
        let ours = self.names.difference(&other.context).next().is_some();
        let theirs = other.names.difference(&self.context).next().is_some();
        ours && theirs
    }

    /// Whether the context of each holds a name or a class word that the other's does not.
    pub fn is_about_another(&self, other: &Self) -> bool {
        let excluded = CLASSES.iter().any(|(_, members)| {
            let (ours, theirs) = (
                within(&self.context, members),
                within(&other.context, members),
            );
            !ours.is_empty() && !theirs.is_empty() && ours.is_disjoint(&theirs)
        });
        excluded || self.is_set_apart(other)
    }

    fn agrees(&self, other: &Self, class: Class, members: &[&str]) -> bool {
        let (ours, theirs) = (
            within(&self.context, members),
            within(&other.context, members),
        );
        if !ours.is_empty() && !theirs.is_empty() {
            return !ours.is_disjoint(&theirs);
        }
        // A word of the sentence itself narrows what it says; one of the title may not.
        let narrowed = !within(&self.features, members).is_empty()
            || !within(&other.features, members).is_empty();
        let one_sided = ours.is_empty() != theirs.is_empty();
        let tolerated = matches!(class, Class::Season | Class::State);
        !(one_sided && narrowed && !tolerated)
    }
}

const DIRECTIONS: &[&str] = &["from", "to", "before", "after"];

fn hard<'a>(ours: &'a BTreeSet<String>, theirs: &'a BTreeSet<String>) -> Vec<&'a String> {
    ours.difference(theirs)
        .filter(|stem| !SOFT.contains(&stem.as_str()))
        .collect()
}

fn within<'a>(stems: &BTreeSet<String>, members: &[&'a str]) -> BTreeSet<&'a str> {
    members
        .iter()
        .copied()
        .filter(|member| stems.contains(*member))
        .collect()
}

/// The spellings of one kind of value.
pub(super) fn spellings<'a>(values: &'a [Value], kind: Kind, of: &str) -> BTreeSet<&'a str> {
    values
        .iter()
        .filter(|value| value.kind == kind && value.of == of)
        .map(|value| value.canonical.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_class_are_spelled_as_their_stems() {
        for (spoken, class) in [
            ("mondays weekdays holidays", Class::Day),
            ("winter spring", Class::Season),
            ("first previous", Class::Ordinal),
            ("bicycles single children adults", Class::Audience),
            ("average highest", Class::Extreme),
            ("mornings evening", Class::DayPart),
            ("closes opening starts arrives leaves ends", Class::State),
        ] {
            let members = CLASSES.iter().find(|(known, _)| *known == class).unwrap().1;
            for word in spoken.split(' ') {
                let stem = words::stem(word);
                assert!(members.contains(&stem.as_str()), "{word}: {stem}");
            }
        }
    }
}
