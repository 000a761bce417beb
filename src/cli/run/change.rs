//! Start, continue and cancel: calls with an idempotency key, safe to repeat.

use std::io::Read;

use clap::Args;
use helix_aggregates::agent::scope;
use serde_json::{Map, Value, json};

use super::call::{Call, CallArgs};
use super::{path, run_id, show};
use crate::cli::Context;
use crate::cli::client::Client;
use crate::cli::failure::{Exit, Failure};

/// Longest text read from standard input, in bytes; the door takes 20,000 characters.
const MAX_STDIN: u64 = 1 << 20;

#[derive(Debug, Args)]
pub struct StartArgs {
    /// What the run is to find out; `-` reads standard input
    objective: String,
    /// A rule the result must keep (repeatable)
    #[arg(long = "constraint", value_name = "TEXT")]
    constraints: Vec<String>,
    #[arg(long = "scope", value_name = "ID", help = scope_help())]
    scopes: Vec<String>,
    /// A field the result must have (repeatable)
    #[arg(long = "field", value_name = "NAME")]
    fields: Vec<String>,
    /// Least number of evidence refs (0..128)
    #[arg(long, value_name = "N")]
    min_evidence: Option<u32>,
    /// Most unresolved requirements at completion (0..128)
    #[arg(long, value_name = "N")]
    max_unresolved: Option<u32>,
    /// Most turns (1..64) [default: 12]
    #[arg(long, value_name = "N")]
    max_steps: Option<u32>,
    /// Seconds until the run expires (60..604800) [default: 3600, an hour]
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u32>,
    /// Complete although sources contradict each other
    #[arg(long)]
    allow_conflicts: bool,
    /// Complete without terminal authority
    #[arg(long)]
    no_terminal_authority: bool,
    #[command(flatten)]
    call: CallArgs,
}

#[derive(Debug, Args)]
pub struct ContinueArgs {
    /// The run id
    #[arg(value_parser = run_id)]
    run: String,
    /// What to do next; `-` reads standard input
    #[arg(long, short, value_name = "TEXT")]
    instruction: Option<String>,
    /// The answer to a pending question: its value as JSON, or as plain text (repeatable)
    #[arg(long = "answer", value_name = "QUESTION=VALUE")]
    answers: Vec<String>,
    /// The version this builds on; without it, the present one
    #[arg(long, value_name = "N")]
    expected_version: Option<u64>,
    #[command(flatten)]
    call: CallArgs,
}

#[derive(Debug, Args)]
pub struct CancelArgs {
    /// The run id
    #[arg(value_parser = run_id)]
    run: String,
    /// Why, kept with the run
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The version this builds on; without it, the present one
    #[arg(long, value_name = "N")]
    expected_version: Option<u64>,
    #[command(flatten)]
    call: CallArgs,
}

pub async fn start(args: StartArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let call = Call::new(&args.call, context)?;
    if args.scopes.is_empty() {
        context
            .output
            .note("note: without --scope this run can read nothing; see `helix run start --help`");
    }
    let body = start_body(args)?;
    let answer = call
        .send(client, &["api", "v1", "agent-runs"], &body)
        .await?;
    show::run(&answer.body, context)
}

pub async fn resume(
    args: ContinueArgs,
    client: &Client,
    context: &Context,
) -> Result<Exit, Failure> {
    let call = Call::new(&args.call, context)?;
    let mut body = json!({});
    if let Some(instruction) = &args.instruction {
        body["instruction"] = text(instruction)?.into();
    }
    if !args.answers.is_empty() {
        let answers: Result<Vec<Value>, Failure> =
            args.answers.iter().map(|pair| answer(pair)).collect();
        body["answers"] = answers?.into();
    }
    body["expected_version"] = version(args.expected_version, &args.run, client)
        .await?
        .into();
    let answer = call
        .send(client, &path(&args.run, &["continue"]), &body)
        .await?;
    show::run(&answer.body, context)
}

pub async fn cancel(args: CancelArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let call = Call::new(&args.call, context)?;
    let mut body = json!({});
    if let Some(reason) = args.reason {
        body["reason"] = reason.into();
    }
    body["expected_version"] = version(args.expected_version, &args.run, client)
        .await?
        .into();
    let answer = call
        .send(client, &path(&args.run, &["cancel"]), &body)
        .await?;
    show::run(&answer.body, context)
}

fn scope_help() -> String {
    let ids: Vec<&str> = scope::CATALOG.iter().map(|scope| scope.id).collect();
    format!(
        "A data scope the run may read (repeatable; without one it reads nothing): {}",
        ids.join(", ")
    )
}

/// Only what was said: the server's defaults stay the server's.
fn start_body(args: StartArgs) -> Result<Value, Failure> {
    let list = |items: Vec<String>| (!items.is_empty()).then(|| Value::from(items));
    let contract = said([
        ("min_evidence_refs", args.min_evidence.map(Value::from)),
        (
            "max_unresolved_requirements",
            args.max_unresolved.map(Value::from),
        ),
        ("allow_conflicts", args.allow_conflicts.then(|| true.into())),
        (
            "require_terminal_authority",
            args.no_terminal_authority.then(|| false.into()),
        ),
        ("required_output_fields", list(args.fields)),
    ]);
    let budget = said([
        ("max_steps", args.max_steps.map(Value::from)),
        ("expires_in_seconds", args.expires_in.map(Value::from)),
    ]);
    let body = said([
        ("objective", Some(text(&args.objective)?.into())),
        ("constraints", list(args.constraints)),
        ("database_scope", list(args.scopes)),
        ("completion_contract", contract),
        ("budget", budget),
    ]);
    Ok(body.unwrap_or_default())
}

/// An object of the fields that have a value; `None` when there is none.
fn said<const N: usize>(fields: [(&str, Option<Value>); N]) -> Option<Value> {
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let object: Map<String, Value> = fields.collect();
    (!object.is_empty()).then(|| object.into())
}

fn text(given: &str) -> Result<String, Failure> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .take(MAX_STDIN)
        .read_to_string(&mut text)
        .map_err(|error| {
            Failure::usage("stdin", format!("standard input cannot be read: {error}"))
        })?;
    Ok(text)
}

fn answer(pair: &str) -> Result<Value, Failure> {
    let (question, value) = pair.split_once('=').ok_or_else(|| {
        Failure::usage("answer", "an answer is written QUESTION=VALUE")
            .fix("take the question's id from `helix run inspect RUN`")
    })?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok(json!({ "question_id": question, "value": value }))
}

async fn version(given: Option<u64>, run: &str, client: &Client) -> Result<u64, Failure> {
    if let Some(version) = given {
        return Ok(version);
    }
    let run = client.get(&path(run, &[]), &[]).await?;
    run.body["version"]
        .as_u64()
        .ok_or_else(|| Failure::unavailable("not_helix", "the server's answer is not a run"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_json_or_plain_text() {
        assert_eq!(
            answer("q=3").unwrap(),
            json!({ "question_id": "q", "value": 3 })
        );
        assert_eq!(
            answer("q=a=b").unwrap(),
            json!({ "question_id": "q", "value": "a=b" })
        );
        assert!(answer("q").is_err());
    }
}
