//! The main job over HTTP: a run from its start to a cited answer, and everything that can be read
//! of it afterwards.

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::Demo;
use super::proof;
use super::ticks::{Done, text, wrong};
use crate::cli::client::{fresh_key, piece};
use crate::cli::failure::Failure;

/// The sample documents fit this question equally well twice, so the run has to ask back.
const OBJECTIVE: &str = "When does the harbour office open?";
/// What the demo answers when it is asked which of them is meant.
const MEANT: &str = "south";
const MAX_TURNS: usize = 4;
/// Events on a page; small, so that the demo turns pages.
const PAGE: usize = 3;
/// Largest log of a demo's run, in bytes.
const MAX_LOG: usize = 8 << 20;
const RUNS: [&str; 3] = ["api", "v1", "agent-runs"];

pub async fn run(demo: &Demo<'_>) -> Result<(), Failure> {
    let (key, body) = (fresh_key()?, start_body());
    let started = demo
        .ticks
        .step("start", "run started", start(demo, &key, &body))
        .await?;
    let run = text(&started, "run_id")?.to_owned();
    demo.ticks
        .step(
            "replay",
            "same key again",
            replay(demo, &key, &body, &started),
        )
        .await?;
    let completed = converse(demo, &started).await?;
    let events = demo
        .ticks
        .step("events", "events polled", events(demo, &run))
        .await?;
    let item = demo
        .ticks
        .step(
            "evidence",
            "evidence bundle",
            evidence(demo, &run, &completed),
        )
        .await?;
    demo.ticks
        .step(
            "ref",
            "one ref read back",
            proof::read_back(demo, &run, &item),
        )
        .await?;
    demo.ticks
        .step("log", "run log verified", log(demo, &run, events))
        .await
}

fn start_body() -> Value {
    json!({
        "objective": OBJECTIVE,
        "database_scope": [crate::solver::corpora::LIBRARY_SCOPE],
        "completion_contract": { "min_evidence_refs": 1 },
    })
}

/// The path of a run, or of something below it.
pub fn path<'a>(run: &'a str, below: &[&'a str]) -> Vec<&'a str> {
    [&RUNS, &[run][..], below].concat()
}

async fn start(demo: &Demo<'_>, key: &str, body: &Value) -> Result<Done<Value>, Failure> {
    let answer = demo.client.post(&RUNS, key, body).await?;
    let run = answer.body;
    let (id, status) = (
        text(&run, "run_id")?.to_owned(),
        text(&run, "lifecycle_status")?.to_owned(),
    );
    Ok(Done::new(run).id(id).status(status).detail(OBJECTIVE))
}

async fn replay(
    demo: &Demo<'_>,
    key: &str,
    body: &Value,
    first: &Value,
) -> Result<Done<()>, Failure> {
    let answer = demo.client.post(&RUNS, key, body).await?;
    let replayed = answer
        .headers
        .get("Idempotency-Replayed")
        .is_some_and(|word| word == "true");
    if !replayed || answer.body != *first {
        return Err(wrong(
            "the same key and request did not bring the same answer",
        ));
    }
    Ok(Done::new(()).id(text(first, "run_id")?).status("replayed"))
}

/// Turn after turn until the run is completed; its questions are answered.
async fn converse(demo: &Demo<'_>, started: &Value) -> Result<Value, Failure> {
    let mut run = started.clone();
    for _ in 0..MAX_TURNS {
        run = demo
            .ticks
            .step("continue", "run continued", turn(demo, &run))
            .await?;
        if run["lifecycle_status"] == "completed" {
            return Ok(run);
        }
        if run["lifecycle_status"] != "waiting" {
            break;
        }
    }
    let status = run["lifecycle_status"].as_str().unwrap_or("unknown");
    Err(wrong(format!("the run did not complete; it is {status}")))
}

async fn turn(demo: &Demo<'_>, run: &Value) -> Result<Done<Value>, Failure> {
    let id = text(run, "run_id")?;
    let mut body = json!({ "expected_version": run["version"] });
    let questions = run["pending_questions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if questions.is_empty() {
        body["instruction"] = "Answer from the documents, with the sentence that says so.".into();
    } else {
        body["answers"] = questions.iter().map(answered).collect();
    }
    let run = demo
        .client
        .post(&path(id, &["continue"]), &fresh_key()?, &body)
        .await?
        .body;
    let status = match text(&run, "completion_status")? {
        "completed" => text(&run, "lifecycle_status")?,
        open => open,
    };
    let done = Done::new(run.clone()).id(id).status(status);
    if let Some(prompt) = run["pending_questions"][0]["prompt"].as_str() {
        return Ok(done.detail(format!("asks: {prompt}")));
    }
    match run["latest_result"]["terminal_product"]["text"].as_str() {
        Some(answer) => Ok(done.detail(format!("answer: {}", one_line(answer)))),
        None => Ok(done),
    }
}

fn answered(question: &Value) -> Value {
    let values: Vec<&str> = question["options"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|option| option["value"].as_str())
        .collect();
    let meant = values
        .iter()
        .find(|value| value.contains(MEANT))
        .or(values.first());
    json!({ "question_id": question["question_id"], "value": meant.unwrap_or(&MEANT) })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads all pages and returns how many events there are.
async fn events(demo: &Demo<'_>, run: &str) -> Result<Done<u64>, Failure> {
    let (mut after, mut pages) = (0_u64, 0);
    loop {
        let query = [
            ("after_seq", after.to_string()),
            ("limit", PAGE.to_string()),
        ];
        let page = demo.client.get(&path(run, &["events"]), &query).await?.body;
        let events = page["events"]
            .as_array()
            .ok_or_else(|| wrong("there is no page of events"))?;
        for event in events {
            after += 1;
            if event["seq"].as_u64() != Some(after) {
                return Err(wrong(format!("event {after} is missing or out of order")));
            }
        }
        pages += 1;
        if page["has_more"] != true {
            break;
        }
    }
    let id = format!("{after} events on {pages} pages");
    Ok(Done::new(after).id(id).status("gapless"))
}

/// The bundle; returns the ref that the answer rests on.
async fn evidence(demo: &Demo<'_>, run: &str, completed: &Value) -> Result<Done<String>, Failure> {
    let bundle = demo.client.get(&path(run, &["evidence"]), &[]).await?.body;
    if bundle != completed["evidence"] {
        return Err(wrong(
            "the evidence bundle is not the one of the completed run",
        ));
    }
    let count = |field: &str| bundle[field].as_array().map_or(0, Vec::len);
    let cited = &completed["latest_result"]["terminal_product"]["supporting_evidence_refs"][0];
    let item = cited.as_str().or(bundle["evidence_refs"][0].as_str());
    let item = item
        .ok_or_else(|| wrong("the answer rests on no evidence"))?
        .to_owned();
    let id = format!(
        "refs {}, receipts {}",
        count("evidence_refs"),
        count("receipt_refs")
    );
    Ok(Done::new(item)
        .id(id)
        .status(text(&bundle, "terminal_authority_status")?))
}

async fn log(demo: &Demo<'_>, run: &str, events: u64) -> Result<Done<()>, Failure> {
    let mut response = demo
        .client
        .stream(&path(run, &["log"]), &[], HeaderMap::new())
        .await?;
    let mut log = Vec::new();
    while let Some(piece) = piece(&mut response).await? {
        log.extend(piece);
        if log.len() > MAX_LOG {
            return Err(wrong("the run's log does not end"));
        }
    }
    let verified = crate::verify::run_log(log.as_slice(), None)
        .map_err(|refusal| wrong(format!("the run's log does not verify: {refusal}")))?;
    if verified.run_id != run || verified.entries != events {
        return Err(wrong(
            "the run's log holds other events than the server serves",
        ));
    }
    Ok(Done::new(())
        .id(format!("head {}", verified.head))
        .status("verified"))
}
