//! Ranking: how well a sentence covers the query, with stable ties.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::choice::{Choice, Named};
use super::query::{Facet, Query};
use super::reading::{Reading, Sentence};

/// The least coverage at which a sentence matches.
const FLOOR: f64 = 0.34;
/// Sentences this close to the best one are worth comparing.
const RELEVANT: f64 = 0.5;
/// Sentences this close to the best one are worth quoting.
const QUOTED: f64 = 0.7;
const SELECTED_LIMIT: usize = 6;
const RELEVANT_LIMIT: usize = 64;
/// Words after which a sentence is too long to be an answer.
const LONG: usize = 45;

/// A sentence with its place.
#[derive(Debug, Clone)]
pub(super) struct Scored<'a> {
    pub sentence: &'a Sentence,
    pub score: f64,
    /// The terms of the objective that it covers.
    pub matched: BTreeSet<&'a str>,
}

/// The sentences of a reading, best first.
#[derive(Debug)]
pub(super) struct Ranked<'a> {
    relevant: Vec<Scored<'a>>,
    selected: Vec<usize>,
}

impl<'a> Ranked<'a> {
    pub fn of(query: &'a Query, reading: &'a Reading, choice: &Choice) -> Self {
        // What was asked for later counts only when the objective itself is nowhere answered.
        for primary in [&query.objective, &query.answers, &query.instruction] {
            let relevant = score(query, primary, reading, FLOOR);
            if !relevant.is_empty() {
                return Self::select(relevant);
            }
        }
        if choice.named == Named::InAnswer {
            // A document that was picked may say it in few of the objective's words, not in none.
            let mut chosen = score(query, &query.objective, reading, f64::MIN_POSITIVE);
            chosen.truncate(3);
            return Self::select(chosen);
        }
        Self {
            relevant: Vec::new(),
            selected: Vec::new(),
        }
    }

    fn select(mut relevant: Vec<Scored<'a>>) -> Self {
        let best = relevant.first().map_or(0.0, |scored| scored.score);
        let mut scopes: BTreeSet<&str> = BTreeSet::new();
        // The best sentence of every scope stays: each scope's family has to be proved.
        relevant.retain(|scored| {
            scopes.insert(scored.sentence.scope) || scored.score >= best * RELEVANT
        });
        relevant.truncate(RELEVANT_LIMIT);
        let mut selected: Vec<usize> = Vec::new();
        let mut quoted: BTreeSet<&str> = BTreeSet::new();
        for (place, scored) in relevant.iter().enumerate() {
            let repeated = selected
                .iter()
                .any(|kept| says_the_same(relevant[*kept].sentence, scored.sentence));
            let first_of_scope = !quoted.contains(scored.sentence.scope);
            let close = scored.score >= best * QUOTED && selected.len() < SELECTED_LIMIT;
            if first_of_scope || (close && !repeated) {
                quoted.insert(scored.sentence.scope);
                selected.push(place);
            }
        }
        Self { relevant, selected }
    }

    /// Sentences worth comparing, best first.
    pub fn relevant(&self) -> &[Scored<'a>] {
        &self.relevant
    }

    /// Sentences worth quoting, best first.
    pub fn selected(&self) -> Vec<&Scored<'a>> {
        self.selected
            .iter()
            .filter_map(|place| self.relevant.get(*place))
            .collect()
    }

    /// Names the scopes that were read and gave nothing.
    pub fn scopes_without_match(&self, reading: &Reading) -> Vec<String> {
        let matched: BTreeSet<&str> = self
            .relevant
            .iter()
            .map(|scored| scored.sentence.scope)
            .collect();
        let unmatched = reading
            .scopes_read
            .iter()
            .filter(|scope| !matched.contains(**scope));
        unmatched
            .map(|scope| format!("No passage of the scope {scope} matches the objective."))
            .collect()
    }
}

fn score<'a>(
    query: &'a Query,
    primary: &'a Facet,
    reading: &'a Reading,
    floor: f64,
) -> Vec<Scored<'a>> {
    let mut scored: Vec<Scored<'a>> = reading
        .sentences
        .iter()
        .filter_map(|sentence| {
            let coverage = cover(primary, sentence);
            if coverage < floor {
                return None;
            }
            let share = if query.instruction.terms.len() > 1 {
                0.5
            } else {
                0.2
            };
            let mut score = coverage
                + share * cover(&query.instruction, sentence)
                + 0.5 * cover(&query.answers, sentence)
                + 0.1 * cover(&query.constraints, sentence);
            if sentence
                .values
                .iter()
                .any(|value| query.expects.contains(&value.kind))
            {
                score += 0.15;
            }
            if sentence.subject.misses(&query.asked) {
                score *= 0.4;
            }
            if sentence.stems.len() > LONG {
                score *= 0.8;
            }
            let matched = primary.terms.iter().map(|term| term.stem.as_str());
            let matched = matched
                .filter(|stem| sentence.stems.contains(*stem))
                .collect();
            Some(Scored {
                sentence,
                score,
                matched,
            })
        })
        .collect();
    scored.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| place_order(a.sentence, b.sentence))
    });
    scored
}

fn cover(facet: &Facet, sentence: &Sentence) -> f64 {
    facet.coverage(
        |stem| sentence.stems.contains(stem),
        |stem| sentence.context.contains(stem),
    )
}

/// The order of sentences in the corpora.
pub(super) fn place_order(a: &Sentence, b: &Sentence) -> Ordering {
    (a.scope, &a.locator, a.span.start).cmp(&(b.scope, &b.locator, b.span.start))
}

/// Whether two sentences say the same in nearly the same words.
pub(super) fn says_the_same(a: &Sentence, b: &Sentence) -> bool {
    let shared = a.stems.intersection(&b.stems).count();
    let all = a.stems.union(&b.stems).count();
    let spelled = |sentence: &Sentence| {
        sentence
            .values
            .iter()
            .map(|value| value.canonical.clone())
            .collect::<BTreeSet<_>>()
    };
    shared * 100 >= all * 80 && spelled(a) == spelled(b)
}
