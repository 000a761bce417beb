//! A run as aligned lines: the three statuses, then what stands between it and completion.

use serde_json::Value;

use crate::cli::Context;
use crate::cli::failure::{Exit, Failure};

/// Prints a run; always a positive answer, whatever its status.
pub fn run(run: &Value, context: &Context) -> Result<Exit, Failure> {
    context.output.answer(run, |out| out.pairs(&lines(run)))?;
    Ok(Exit::Ok)
}

fn lines(run: &Value) -> Vec<(&'static str, String)> {
    let word = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let status = [
        "lifecycle_status",
        "completion_status",
        "terminal_authority_status",
    ];
    let status: Vec<String> = status.iter().map(|name| word(&run[*name])).collect();
    let budget = &run["budget"];
    let steps = format!("{} of {}", budget["steps_used"], budget["max_steps"]);
    let mut lines = vec![
        ("run", word(&run["run_id"])),
        ("status", status.join(" / ")),
        ("version", run["version"].to_string()),
        (
            "steps",
            format!("{steps}, expires {}", word(&budget["expires_at"])),
        ),
        ("objective", word(&run["objective"])),
    ];
    if let Some(summary) = run["summary"].as_str() {
        lines.push(("summary", summary.to_owned()));
    }
    for (key, field) in [
        ("unresolved", "unresolved_requirements"),
        ("conflict", "contradictions"),
    ] {
        lines.extend(items(&run[field]).map(|item| (key, word(item))));
    }
    for question in items(&run["pending_questions"]) {
        let text = format!(
            "{}: {}",
            word(&question["question_id"]),
            word(&question["prompt"])
        );
        let options = items(&question["options"])
            .map(|option| format!("\n  {}: {}", word(&option["value"]), word(&option["label"])));
        lines.push(("question", text + &options.collect::<String>()));
    }
    lines.extend(items(&run["evidence"]["evidence_refs"]).map(|item| ("evidence", word(item))));
    let next = &run["recommended_next_action"];
    lines.push((
        "next",
        format!("{} ({})", word(&next["operation"]), word(&next["reason"])),
    ));
    lines
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
