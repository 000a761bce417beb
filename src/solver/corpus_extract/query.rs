//! What to look for: the weighted words of the objective and of what came with it.

use std::collections::{BTreeMap, BTreeSet};

use super::choice::Choice;
use super::values::Kind;
use crate::solver::corpora::{WeightedTerm, words};
use crate::solver::host::ToolHost;
use crate::solver::seam::TurnInput;

/// Terms searched for; the heaviest are kept.
const TERM_LIMIT: usize = 64;
/// A text of many words is matched when a passage holds as much as its heaviest few weigh.
const HEAVY_TERMS: usize = 8;

/// Words that ask for an answer and say nothing about it.
const ASKING: &[&str] = &[
    "anyth", "describ", "detail", "everyth", "explain", "inform", "informat", "know", "known",
    "overview", "prepar", "provid", "report", "someth", "summar", "summariz", "summary",
    "summaris", "write",
];
/// Words of an instruction that say nothing about the documents.
const GENERIC: &[&str] = &[
    "again", "ahead", "answer", "citat", "cite", "continu", "document", "evidenc", "exact", "go",
    "instruct", "kindly", "library", "next", "now", "objectiv", "ok", "passag", "proceed", "quot",
    "quote", "question", "read", "research", "run", "search", "sourc", "start", "step", "thank",
    "try", "turn", "yes",
];
/// Words that ask for all documents rather than for one.
const ASKS_FOR_ALL: &[&str] = &[
    "all", "list", "every", "each", "compar", "both", "summar", "overview", "which", "differ",
    "summary",
];

/// Whether a stem says something about what is looked for.
pub(super) fn says_something(stem: &str) -> bool {
    !ASKING.contains(&stem) && !GENERIC.contains(&stem)
}

/// One word to look for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub stem: String,
    /// Its importance times its rarity in the admitted corpora.
    pub weight: f64,
}

/// The words of one text.
#[derive(Debug, Clone, Default)]
pub(super) struct Facet {
    /// In order of stem.
    pub terms: Vec<Term>,
    /// What a passage that covers the facet weighs.
    pub total: f64,
}

/// The whole query.
#[derive(Debug)]
pub(super) struct Query {
    pub objective: Facet,
    pub instruction: Facet,
    pub answers: Facet,
    pub constraints: Facet,
    /// The kinds of value that the objective asks for.
    pub expects: Vec<Kind>,
    /// Every stem of objective and instruction.
    pub asked: BTreeSet<String>,
    /// Whether the objective asks for everything that fits.
    pub asks_for_all: bool,
}

impl Query {
    pub fn of(input: &TurnInput, host: &ToolHost, choice: &Choice) -> Self {
        let rarity = Rarity::of(host);
        let objective = rarity.facet(&input.objective, ASKING);
        let spoken = words::words(&input.objective)
            .map(|word| word.stem)
            .collect::<Vec<_>>();
        let both = format!("{} {}", input.objective, input.instruction).to_lowercase();
        Self {
            objective,
            instruction: rarity.facet(&input.instruction, GENERIC),
            answers: rarity.facet(&choice.words.join("\n"), GENERIC),
            constraints: rarity.facet(&input.constraints.join("\n"), GENERIC),
            expects: expected(&both),
            asked: words::words(&both).map(|word| word.stem).collect(),
            asks_for_all: spoken
                .iter()
                .any(|stem| ASKS_FOR_ALL.contains(&stem.as_str())),
        }
    }

    /// Whether any of the words stands in a sentence or above it.
    pub fn touches(&self, sentence: &BTreeSet<String>, context: &BTreeSet<String>) -> bool {
        let facets = [&self.objective, &self.answers, &self.instruction];
        facets
            .iter()
            .flat_map(|facet| &facet.terms)
            .any(|term| sentence.contains(&term.stem) || context.contains(&term.stem))
    }

    /// The terms for the index, heaviest first.
    pub fn search_terms(&self) -> Vec<WeightedTerm> {
        let parts = [
            (&self.objective, 1.0),
            (&self.answers, 1.0),
            (&self.instruction, 0.7),
            (&self.constraints, 0.3),
        ];
        let mut heaviest: BTreeMap<&str, f64> = BTreeMap::new();
        for (facet, share) in parts {
            for term in &facet.terms {
                let weight = heaviest.entry(&term.stem).or_default();
                *weight = weight.max(term.weight * share);
            }
        }
        let mut terms: Vec<(&str, f64)> = heaviest.into_iter().collect();
        terms.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        terms.truncate(TERM_LIMIT);
        terms
            .into_iter()
            .map(|(stem, weight)| WeightedTerm {
                stem: stem.to_owned(),
                weight: single(weight),
            })
            .collect()
    }
}

impl Facet {
    /// How much of the facet is found: 1 when everything is.
    pub fn coverage(
        &self,
        in_sentence: impl Fn(&str) -> bool,
        in_context: impl Fn(&str) -> bool,
    ) -> f64 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let mut found = 0.0;
        for term in &self.terms {
            if in_sentence(&term.stem) {
                found += term.weight;
            } else if in_context(&term.stem) {
                found += term.weight * 0.6;
            }
        }
        (found / self.total).min(1.0)
    }
}

/// How rare a word is in all admitted corpora together.
struct Rarity<'a> {
    host: &'a ToolHost,
    scopes: Vec<&'static str>,
}

impl<'a> Rarity<'a> {
    fn of(host: &'a ToolHost) -> Self {
        Self {
            host,
            scopes: host
                .scopes()
                .iter()
                .map(|admitted| admitted.scope.id)
                .collect(),
        }
    }

    /// A name that no document knows weighs double: its absence is telling. Another unknown word
    /// weighs half: documents may say it differently.
    fn weight(&self, stem: &str, is_name: bool) -> f64 {
        let (mut with, mut all) = (0_u64, 0_u64);
        for scope in &self.scopes {
            let (found, passages) = self.host.frequency(scope, stem);
            with += found;
            all += passages;
        }
        let rarity = (1.0 + real(all) / (real(with) + 0.5)).ln();
        match (with, is_name) {
            (0, true) => rarity * 2.0,
            (0, false) => rarity * 0.5,
            _ => rarity,
        }
    }

    fn facet(&self, text: &str, generic: &[&str]) -> Facet {
        let mut names: BTreeMap<String, bool> = BTreeMap::new();
        for (place, word) in words::words(text).enumerate() {
            if words::is_stop(word.text) || generic.contains(&word.stem.as_str()) {
                continue;
            }
            let capital = place > 0 && word.text.starts_with(char::is_uppercase);
            *names.entry(word.stem).or_default() |= capital;
        }
        let mut terms: Vec<Term> = names
            .into_iter()
            .map(|(stem, is_name)| Term {
                weight: self.weight(&stem, is_name),
                stem,
            })
            .collect();
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.stem.cmp(&b.stem)));
        terms.truncate(TERM_LIMIT);
        let total = terms.iter().take(HEAVY_TERMS).map(|term| term.weight).sum();
        terms.sort_by(|a, b| a.stem.cmp(&b.stem));
        Facet { terms, total }
    }
}

fn expected(question: &str) -> Vec<Kind> {
    let asks = |phrases: &[&str]| phrases.iter().any(|phrase| question.contains(phrase));
    let mut kinds = Vec::new();
    if asks(&[
        "when ",
        "what time",
        "departure",
        "at which time",
        "opening hours",
        "how early",
    ]) {
        kinds.extend([Kind::Time, Kind::Date, Kind::Year]);
    }
    if asks(&["how much", "cost", "price", "fare", "fee", "budget"]) {
        kinds.push(Kind::Money);
    }
    if asks(&[
        "how many", "how tall", "how high", "how deep", "how long", "how far", "height", "depth",
        "length",
    ]) {
        kinds.extend([Kind::Measure, Kind::Count]);
    }
    kinds
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of passages stay far below 2^52"
)]
fn real(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a boost needs no more than single precision"
)]
fn single(weight: f64) -> f32 {
    weight as f32
}
