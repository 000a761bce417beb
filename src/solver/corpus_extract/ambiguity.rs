//! The two questions this solver asks: which document is meant, and what to look for instead.

use std::collections::BTreeSet;

use helix_aggregates::agent::run::turn::{Question, QuestionOption};
use helix_aggregates::text::prefix;

use super::choice::{Choice, Named};
use super::query::Query;
use super::rank::{Ranked, Scored, says_the_same};
use super::reading::Reading;
use crate::solver::host::{Provider, SourceCard, ToolError, ToolHost};
use crate::solver::seam::{SolverError, TurnInput};

/// The id of the question that is asked when nothing matches.
pub(super) const NO_MATCH: &str = "corpus.no_match";
/// The id of the question that is asked when several documents fit.
const WHICH_DOCUMENT: &str = "corpus.which_document";
const OPTION_LIMIT: usize = 8;
/// Scores this close are equal.
const TIE: f64 = 0.01;

/// Asks which document is meant, when several fit equally well and speak of different things.
pub(super) fn question(
    input: &TurnInput,
    query: &Query,
    ranked: &Ranked,
    choice: &Choice,
) -> Option<Question> {
    let settled = input
        .answers
        .iter()
        .any(|answer| answer.question_id == WHICH_DOCUMENT);
    if query.asks_for_all || choice.named != Named::Nowhere || settled {
        return None;
    }
    let tied = tied(ranked);
    if tied.len() < 2
        || !tied
            .iter()
            .enumerate()
            .all(|(place, a)| tied[..place].iter().all(|b| are_apart(a, b)))
    {
        return None;
    }
    let options = tied.iter().take(OPTION_LIMIT).map(|scored| QuestionOption {
        value: prefix(&scored.sentence.locator, 500).to_owned(),
        label: prefix(
            &label(&scored.sentence.title, &scored.sentence.locator),
            500,
        )
        .to_owned(),
    });
    Some(Question {
        question_id: WHICH_DOCUMENT.to_owned(),
        prompt: "The objective fits several documents equally well. Which one is meant?".to_owned(),
        required_fields: Vec::new(),
        options: options.collect(),
    })
}

/// The best sentence of each document that is as good as the best of all.
fn tied<'a, 'b>(ranked: &'b Ranked<'a>) -> Vec<&'b Scored<'a>> {
    let Some(best) = ranked.relevant().first() else {
        return Vec::new();
    };
    let mut sources = BTreeSet::new();
    ranked
        .relevant()
        .iter()
        .take_while(|scored| scored.score >= best.score - TIE)
        .filter(|scored| scored.matched == best.matched && sources.insert(scored.sentence.source))
        .collect()
}

fn are_apart(a: &Scored, b: &Scored) -> bool {
    !says_the_same(a.sentence, b.sentence)
        && a.sentence.subject.is_about_another(&b.sentence.subject)
}

fn label(title: &str, locator: &str) -> String {
    if title == locator {
        title.to_owned()
    } else {
        format!("{title} ({locator})")
    }
}

/// Asks what to look for instead; `None` when there is no document to offer.
pub(super) fn no_match(
    host: &ToolHost,
    reading: &Reading,
) -> Result<Option<Question>, SolverError> {
    let mut cards: Vec<SourceCard> = reading
        .found
        .iter()
        .filter_map(|source| host.card(*source))
        .collect();
    cards.truncate(OPTION_LIMIT);
    for admitted in host.scopes() {
        if cards.len() >= OPTION_LIMIT || admitted.provider == Provider::Absent {
            continue;
        }
        match host.list(admitted.scope.id, OPTION_LIMIT) {
            Ok(listed) => {
                let new: Vec<SourceCard> = listed
                    .into_iter()
                    .filter(|card| !cards.contains(card))
                    .collect();
                cards.extend(new);
            }
            Err(ToolError::Stopped(error)) => return Err(error),
            // A scope that cannot be listed offers nothing.
            Err(_) => {}
        }
    }
    if cards.is_empty() {
        return Ok(None);
    }
    let options = cards.iter().take(OPTION_LIMIT).map(|card| QuestionOption {
        value: prefix(&card.locator, 500).to_owned(),
        label: prefix(&label(&card.title, &card.locator), 500).to_owned(),
    });
    Ok(Some(Question {
        question_id: NO_MATCH.to_owned(),
        prompt: "No passage of the admitted documents matches the objective. \
                 Which document should be read, or in which other words can it be said?"
            .to_owned(),
        required_fields: Vec::new(),
        options: options.collect(),
    }))
}
