//! Inspect, evidence and list.

use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;
use helix_aggregates::agent::run::status::Lifecycle;
use serde_json::Value;

use super::{path, run_id, show};
use crate::cli::Context;
use crate::cli::client::Client;
use crate::cli::failure::{Exit, Failure};

/// How long `--wait` waits for a turn: the longest one, its lease and the sweeper's delay.
const PATIENCE: Duration = Duration::from_secs(1200);

#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The run id
    #[arg(value_parser = run_id)]
    run: String,
    /// Wait until no turn is running (at most 20 minutes)
    #[arg(long)]
    wait: bool,
}

#[derive(Debug, Args)]
pub struct EvidenceArgs {
    /// The run id
    #[arg(value_parser = run_id)]
    run: String,
    /// Read one item back: source, span, quote, receipt
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<String>,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only runs with this lifecycle status
    #[arg(long, value_name = "STATUS", value_parser = PossibleValuesParser::new(Lifecycle::ALL.map(Lifecycle::as_str)))]
    status: Option<String>,
    /// Runs on a page (1..100)
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Go on where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn inspect(
    args: InspectArgs,
    client: &Client,
    context: &Context,
) -> Result<Exit, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let run = client.get(&path(&args.run, &[]), &[]).await?.body;
        if !args.wait || run["lifecycle_status"] != "running" {
            return show::run(&run, context);
        }
        if Instant::now() > deadline {
            return Err(Failure::new(
                Exit::InUse,
                "run_busy",
                "the turn is still running",
            ));
        }
        next_event(&args.run, client).await?;
    }
}

/// Waits for the next event of a run, or for 25 seconds, whichever comes first.
async fn next_event(run: &str, client: &Client) -> Result<(), Failure> {
    let mut after = 0;
    loop {
        let query = [
            ("after_seq", after.to_string()),
            ("limit", "200".to_owned()),
        ];
        let page = client.get(&path(run, &["events"]), &query).await?.body;
        after = page["next_after_seq"].as_u64().unwrap_or(after);
        if page["has_more"] != true {
            break;
        }
    }
    let query = [
        ("after_seq", after.to_string()),
        ("wait_ms", "25000".to_owned()),
    ];
    client.get(&path(run, &["events"]), &query).await.map(drop)
}

pub async fn evidence(
    args: EvidenceArgs,
    client: &Client,
    context: &Context,
) -> Result<Exit, Failure> {
    let below = match &args.reference {
        Some(reference) => vec!["evidence", reference.as_str()],
        None => vec!["evidence"],
    };
    let answer = client.get(&path(&args.run, &below), &[]).await;
    let body = answer
        .map_err(|failure| match failure.code() {
            "not_found" if args.reference.is_some() => failure.fix(format!(
                "see the refs with `helix run evidence {}`",
                args.run
            )),
            _ => failure,
        })?
        .body;
    context
        .output
        .answer(&body, |out| out.pairs(&flat(&body)))?;
    Ok(Exit::Ok)
}

/// Scalars and lists of an object as lines, nested objects with dotted keys.
fn flat(body: &Value) -> Vec<(&str, String)> {
    let word = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut lines = Vec::new();
    for (key, value) in body.as_object().into_iter().flatten() {
        match value {
            // The flags are always false and say nothing to a person.
            Value::Bool(false) | Value::Null => {}
            Value::Array(items) => {
                lines.extend(items.iter().map(|item| (key.as_str(), word(item))));
            }
            Value::Object(inner) => {
                let inner = inner
                    .iter()
                    .map(|(name, value)| format!("{name}: {}", word(value)));
                lines.push((key, inner.collect::<Vec<_>>().join("\n")));
            }
            Value::Bool(true) | Value::Number(_) | Value::String(_) => {
                lines.push((key, word(value)));
            }
        }
    }
    lines
}

pub async fn list(args: ListArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let query: Vec<(&str, String)> = [
        ("status", args.status),
        ("limit", args.limit.map(|limit| limit.to_string())),
        ("cursor", args.cursor),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect();
    let page = client.get(&["api", "v1", "agent-runs"], &query).await?.body;
    context.output.answer(&page, |out| {
        let runs = page["runs"].as_array().map_or(&[][..], Vec::as_slice);
        if runs.is_empty() {
            out.note("no runs");
        }
        for run in runs {
            let text = |name: &str| run[name].as_str().unwrap_or("?").replace('\n', " ");
            out.line(&format!(
                "{}  {:9}  {:19}  {}  {}",
                text("run_id"),
                text("lifecycle_status"),
                text("completion_status"),
                text("updated_at"),
                text("objective")
            ))?;
        }
        match page["next_cursor"].as_str() {
            Some(cursor) => out.line(&format!("more: --cursor {cursor}")),
            None => Ok(()),
        }
    })?;
    Ok(Exit::Ok)
}
