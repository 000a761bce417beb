//! A run as aligned lines: the three statuses, then what stands between it and completion.

use serde_json::Value;

use crate::cli::Context;
use crate::cli::failure::{Exit, Failure};

/// Prints a run; always a positive answer, whatever its status. What is no run came from elsewhere.
pub fn run(run: &Value, context: &Context) -> Result<Exit, Failure> {
    if run["schema"] != "helix.agent_run.v1" || !run["run_id"].is_string() {
        let other = "the server's answer is not a run";
        return Err(
            Failure::unavailable("not_helix", other).fix("check that --url names a helix server")
        );
    }
    context.output.answer(run, |out| out.pairs(&lines(run)))?;
    Ok(Exit::Ok)
}

fn lines(run: &Value) -> Vec<(&'static str, String)> {
    let status = [
        "lifecycle_status",
        "completion_status",
        "terminal_authority_status",
    ];
    let status = status.map(|name| word(&run[name]));
    let budget = &run["budget"];
    let expiry = word(&budget["expires_at"]);
    let mut lines = vec![
        ("run", word(&run["run_id"])),
        ("status", status.join(" / ")),
        ("version", run["version"].to_string()),
        (
            "steps",
            format!(
                "{} of {}, expires {expiry}",
                budget["steps_used"], budget["max_steps"]
            ),
        ),
        ("objective", word(&run["objective"])),
    ];
    lines.extend(
        run["summary"]
            .as_str()
            .map(|summary| ("summary", summary.to_owned())),
    );
    let product = &run["latest_result"]["terminal_product"]["text"];
    lines.extend(product.as_str().map(|answer| ("answer", answer.to_owned())));
    for (key, field) in [
        ("unresolved", "unresolved_requirements"),
        ("conflict", "contradictions"),
    ] {
        lines.extend(items(&run[field]).map(|item| (key, word(item))));
    }
    lines.extend(items(&run["pending_questions"]).map(|asked| ("question", question(asked))));
    lines.extend(items(&run["evidence"]["evidence_refs"]).map(|item| ("evidence", word(item))));
    let next = &run["recommended_next_action"];
    lines.push((
        "next",
        format!("{} ({})", word(&next["operation"]), word(&next["reason"])),
    ));
    lines
}

/// The id to answer under, the prompt, and the options below.
fn question(asked: &Value) -> String {
    let options = items(&asked["options"])
        .map(|option| format!("\n  {}: {}", word(&option["value"]), word(&option["label"])));
    let prompt = format!(
        "{}: {}",
        word(&asked["question_id"]),
        word(&asked["prompt"])
    );
    options.fold(prompt, |text, option| text + &option)
}

/// Texts without their quotes.
fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
