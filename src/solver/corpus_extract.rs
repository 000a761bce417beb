//! The built-in solver: finds, quotes and compares sentences; it never writes one of its own.
//!
//! Exists so that a server without any model does real work on real documents. What must stay true:
//! deterministic (same input over the same snapshot and the same answers of other servers, same
//! bytes), and offline unless the run admits a scope that is read through a server; each line of its
//! digest is a quoted sentence with its mark; a contradiction is reported as a contradiction, never
//! as a question. It asks only when nothing matches the objective, or when the objective fits
//! several documents equally well. Deliberately absent: judging constraints. They steer the search,
//! and a person reads whether they were met.

use super::host::ToolHost;
use super::seam::{Draft, Progress, Solver, SolverError, Solving, TurnInput};
use choice::Choice;
use query::Query;
use rank::Ranked;
use reading::Reading;

mod ambiguity;
mod choice;
mod contradictions;
mod digest;
mod facts;
mod fields;
mod query;
mod rank;
mod reading;
mod retrieve;
pub(in crate::solver) mod sentences;
pub(in crate::solver) mod values;

pub(super) use fields::without_value;

/// The solver of `--solver corpus-extract`.
#[derive(Debug, Clone, Copy)]
pub struct CorpusExtract;

impl Solver for CorpusExtract {
    fn name(&self) -> &'static str {
        "corpus-extract"
    }

    fn solve<'a>(&'a self, input: &'a TurnInput, host: &'a ToolHost) -> Solving<'a> {
        let (input, host) = (input.clone(), host.clone());
        Box::pin(async move {
            retrieve::fill(&input, &host).await?;
            let work = tokio::task::spawn_blocking(move || solve(&input, &host));
            work.await
                .map_err(|_| SolverError::Failed("corpus-extract stopped"))?
        })
    }
}

fn solve(input: &TurnInput, host: &ToolHost) -> Result<Draft, SolverError> {
    let choice = Choice::of(input, host)?;
    let query = Query::of(input, host, &choice);
    let reading = Reading::of(input, host, &query, &choice)?;
    let ranked = Ranked::of(&query, &reading, &choice);
    host.checkpoint()?;
    let mut draft = Draft::default();
    draft.unresolved.extend(reading.limitations());
    if ranked.selected().is_empty() {
        nothing_found(input, host, &reading, &mut draft)?;
        return Ok(draft);
    }
    let conflicts = contradictions::find(ranked.relevant());
    host.checkpoint()?;
    if conflicts.is_empty()
        && let Some(question) = ambiguity::question(input, &query, &ranked, &choice)
    {
        draft
            .summary
            .push_str("The objective fits several documents equally well.");
        draft.questions.push(question);
        return Ok(draft);
    }
    digest::write(&ranked, &conflicts, &mut draft);
    draft
        .unresolved
        .extend(ranked.scopes_without_match(&reading));
    fields::propose(input, &ranked, &conflicts, &mut draft);
    draft.progress = Progress::Made;
    settle(input, &choice, &mut draft);
    Ok(draft)
}

/// Asks once; when the answer leads nowhere either, the turn has made no progress.
fn nothing_found(
    input: &TurnInput,
    host: &ToolHost,
    reading: &Reading,
    draft: &mut Draft,
) -> Result<(), SolverError> {
    draft
        .summary
        .push_str("No passage of the admitted documents matches the objective.");
    let answered = input
        .answers
        .iter()
        .any(|answer| answer.question_id == ambiguity::NO_MATCH);
    if !answered && let Some(question) = ambiguity::no_match(host, reading)? {
        draft.questions.push(question);
    } else {
        draft.unresolved.push(draft.summary.clone());
    }
    Ok(())
}

/// What earlier turns missed and this one does not miss again is settled, as are contradictions
/// of which the caller has chosen one side.
fn settle(input: &TurnInput, choice: &Choice, draft: &mut Draft) {
    let before = input.previous_unresolved_requirements.iter().enumerate();
    draft.settled_requirements = before
        .filter(|(_, requirement)| !draft.unresolved.contains(requirement))
        .map(|(place, _)| place)
        .collect();
    let before = input.previous_contradictions.iter().enumerate();
    draft.settled_contradictions = before
        .filter(|(_, text)| {
            let repeated = draft
                .conflicts
                .iter()
                .any(|conflict| conflict.text == **text);
            !repeated && choice.settles(text)
        })
        .map(|(place, _)| place)
        .collect();
}

#[cfg(test)]
mod tests;
