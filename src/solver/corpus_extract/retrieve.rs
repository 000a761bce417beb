//! Asking other servers before the reading: a query made of the turn's own words, so that the same
//! turn asks the same.

use helix_aggregates::text::prefix;
use serde_json::{Value, json};

use super::query::says_something;
use crate::solver::corpora::words;
use crate::solver::host::{Provider, ToolAnswer, ToolError, ToolHost};
use crate::solver::seam::{SolverError, TurnInput};
use crate::solver::tools::remote::{SCHOLARLY_SCOPE, WEB_SCOPE};

/// Words of one query.
const WORDS: usize = 16;
/// Characters of a query that has no words to choose.
const WHOLE: usize = 300;
const RESULTS: usize = 10;
/// Papers whose full text is fetched too.
const FULL_TEXTS: usize = 2;

/// Fills the turn with what the servers of its scopes say.
pub(super) async fn fill(input: &TurnInput, host: &ToolHost) -> Result<(), SolverError> {
    let query = query(input);
    for admitted in host.scopes() {
        if !matches!(admitted.provider, Provider::Retrieved(_)) {
            continue;
        }
        let asked = json!({"query": query, "limit": RESULTS});
        match admitted.scope.id {
            WEB_SCOPE => {
                ask(host, "internet-search.search_web", &asked).await?;
            }
            SCHOLARLY_SCOPE => {
                let found = ask(host, "scholarly-research.lookup_papers", &asked).await?;
                for paper in fetchable(found.as_ref()).into_iter().take(FULL_TEXTS) {
                    let asked = json!({"paper": paper, "start": 0, "end": 0});
                    ask(host, "scholarly-research.fetch_full_text", &asked).await?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// One call. What fails is noted by the host, and named by the reading.
async fn ask(
    host: &ToolHost,
    capability: &str,
    arguments: &Value,
) -> Result<Option<ToolAnswer>, SolverError> {
    match host.call(capability, arguments).await {
        Ok(answer) => Ok(Some(answer)),
        Err(ToolError::Stopped(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Papers whose text can be had, those without an abstract first.
fn fetchable(found: Option<&ToolAnswer>) -> Vec<u64> {
    let papers = found.and_then(|answer| answer.body["papers"].as_array());
    let can_be_had = papers
        .into_iter()
        .flatten()
        .filter(|paper| paper["full_text"] == true);
    let (without, with): (Vec<&Value>, Vec<&Value>) =
        can_be_had.partition(|paper| paper["abstract_source"].is_null());
    let all = without.into_iter().chain(with);
    all.filter_map(|paper| paper["paper"].as_u64()).collect()
}

/// The words of objective, instruction and answers that say something, each once. An answer that
/// is an address picks a document and is nothing to look for.
fn query(input: &TurnInput) -> String {
    let answers = input
        .answers
        .iter()
        .flat_map(super::super::seam::Answer::texts);
    let answers: Vec<String> = answers.filter(|text| !text.contains("://")).collect();
    let mut stems: Vec<String> = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    let texts = [input.objective.as_str(), input.instruction.as_str()];
    for text in texts.into_iter().chain(answers.iter().map(String::as_str)) {
        for word in words::words(text) {
            let says = !words::is_stop(word.text) && says_something(&word.stem);
            if says && !stems.contains(&word.stem) && kept.len() < WORDS {
                stems.push(word.stem);
                kept.push(word.text);
            }
        }
    }
    if kept.is_empty() {
        prefix(input.objective.trim(), WHOLE).to_owned()
    } else {
        kept.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::fixture::turn;
    use crate::solver::seam::Answer;

    #[test]
    fn a_query_is_made_of_the_words_that_say_something() {
        let (mut input, _handle) = turn("When does the first ferry leave for Ness?", &[]);
        input.instruction = "Please continue; the winter timetable.".into();
        input.answers = vec![
            Answer {
                question_id: "q".into(),
                value: "\"https://a.example/ferry\"".into(),
            },
            Answer {
                question_id: "r".into(),
                value: "\"Sundays\"".into(),
            },
        ];
        assert_eq!(
            query(&input),
            "first ferry leave Ness winter timetable Sundays"
        );
        let (input, _handle) = turn("Please report!", &[]);
        assert_eq!(query(&input), "Please report!");
    }
}
