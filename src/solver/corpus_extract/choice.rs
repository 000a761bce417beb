//! Documents that the caller has named, in an answer or in the instruction.

use crate::solver::host::{Provider, SourceCard, ToolError, ToolHost};
use crate::solver::seam::{SolverError, SourceHandle, TurnInput};

/// Documents looked through for a name.
const LIST_LIMIT: usize = 500;
/// Shorter names are met by chance.
const NAME_BYTES: usize = 6;

/// How the caller named the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// Nothing was named.
    Nowhere,
    InInstruction,
    /// Picked as the answer to a question: the choice is not to be argued with.
    InAnswer,
}

/// The caller's choice of documents.
#[derive(Debug)]
pub(super) struct Choice {
    pub named: Named,
    pub sources: Vec<SourceHandle>,
    titles: Vec<String>,
    /// Answers that name no document; they are words to look for.
    pub words: Vec<String>,
}

impl Choice {
    pub fn of(input: &TurnInput, host: &ToolHost) -> Result<Self, SolverError> {
        let mut choice = Self {
            named: Named::Nowhere,
            sources: Vec::new(),
            titles: Vec::new(),
            words: Vec::new(),
        };
        let answers: Vec<String> = input
            .answers
            .iter()
            .flat_map(super::super::seam::Answer::texts)
            .collect();
        if answers.is_empty() && input.instruction.is_empty() {
            return Ok(choice);
        }
        let cards = cards(host)?;
        for answer in answers {
            let picked: Vec<&SourceCard> = cards
                .iter()
                .filter(|card| is_named(card, &answer))
                .collect();
            if picked.is_empty() {
                choice.words.push(answer);
            } else {
                choice.named = Named::InAnswer;
                for card in picked {
                    choice.take(card);
                }
            }
        }
        if choice.named == Named::Nowhere {
            let instruction = input.instruction.to_lowercase();
            for card in cards.iter().filter(|card| is_mentioned(card, &instruction)) {
                choice.named = Named::InInstruction;
                choice.take(card);
            }
        }
        Ok(choice)
    }

    fn take(&mut self, card: &SourceCard) {
        if !self.sources.contains(&card.source) {
            self.sources.push(card.source);
            self.titles.push(card.title.clone());
        }
    }

    /// Whether a contradiction has the chosen documents on one side only.
    pub fn settles(&self, contradiction: &str) -> bool {
        let quoted = super::contradictions::titles_of(contradiction);
        let chosen = quoted
            .iter()
            .filter(|title| self.titles.iter().any(|known| known == *title));
        let sides = chosen.count();
        sides > 0 && sides < quoted.len()
    }
}

fn cards(host: &ToolHost) -> Result<Vec<SourceCard>, SolverError> {
    let mut cards = Vec::new();
    for admitted in host.scopes() {
        if admitted.provider == Provider::Absent {
            continue;
        }
        match host.list(admitted.scope.id, LIST_LIMIT) {
            Ok(listed) => cards.extend(listed),
            Err(ToolError::Stopped(error)) => return Err(error),
            // The reading that follows reports what the run does not admit.
            Err(_) => {}
        }
    }
    Ok(cards)
}

fn is_named(card: &SourceCard, answer: &str) -> bool {
    let answer = answer.trim().to_lowercase();
    answer == card.locator.to_lowercase() || answer == card.title.to_lowercase()
}

/// A title of several words, or a file name with its ending.
fn is_mentioned(card: &SourceCard, text: &str) -> bool {
    let (title, locator) = (card.title.to_lowercase(), card.locator.to_lowercase());
    let said = |name: &str| name.len() >= NAME_BYTES && text.contains(name);
    (title.contains(' ') && said(&title)) || (locator.contains('.') && said(&locator))
}
