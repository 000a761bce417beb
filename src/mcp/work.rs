//! `/workspace/mcp`: the tools of the workspace door (`access` 6.2, 10, 11).
//!
//! The same use cases as the REST door behind another envelope. What must stay true: who asks is known
//! before the body is read; tools are the rows of the registry and nothing else; a credential is pinned
//! to one workspace, so no argument names one. Deliberately absent: any rule of a workspace.

use std::sync::{Arc, LazyLock};

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value, json};

use super::bridge::{self, Asking};
use super::envelope::{self, Fault, Messages};
use super::{Face, dispatch, is_version_served, refusal, unacceptable};
use crate::app::idempotency::IdempotencyKey;
use crate::app::problem::Problem;
use crate::app::redaction;
use crate::app::work::arguments::Arguments;
use crate::app::work::caller::WorkCaller;
use crate::app::work::operations::{Face as Faces, Haste, Keyed, OPERATIONS, Operation};
use crate::app::work::{Ask, contract, policy};
use crate::http::arrival;
use crate::http::door::Doors;
use crate::http::permits::Demand;
use crate::http::pipeline::{self, Exchange, Stop};
use crate::http::work::bearer;
use crate::strict_json;

pub const PATH: &str = "/workspace/mcp";
pub const INSTRUCTIONS: &str = "Begin with workspace_get and project_list: every other tool takes a project_id. A brief \
    changes by proposal: brief_proposal_create sends the full text with expected_version, the brief's version you saw \
    last, and a person decides about it. A review is driven step by step: \
    review_step_claim, then review_step_submit, final on the last submission of a step; a person decides at its gate. \
    expected_version of a review is the version its last answer showed. What changes something takes an idempotency_key; send the same one again to \
    repeat a request safely. After version_conflict read the brief again. What answers human_action_required is a \
    person's to do, whatever the credential may do.";

/// What a tool is called and said to do.
struct Words {
    name: &'static str,
    title: &'static str,
    description: &'static str,
}

const fn words(name: &'static str, title: &'static str, description: &'static str) -> Words {
    Words {
        name,
        title,
        description,
    }
}

static WORDS: [Words; 17] = [
    words(
        "workspace_get",
        "Look at the workspace",
        "Shows the workspace of this credential, and what the credential may do in it.",
    ),
    words(
        "project_list",
        "List projects",
        "Lists the projects within reach, newest first. Ask again with next_cursor for more.",
    ),
    words(
        "project_create",
        "Create a project",
        "Creates a project. Where the credential reaches listed projects alone, the new one is not among them (in_reach).",
    ),
    words(
        "project_codebase_link",
        "Link a codebase",
        "Links a project to a repository that a person has connected and opened to it; linkable_repositories has them.",
    ),
    words(
        "brief_list",
        "List briefs",
        "Lists the briefs of a project, newest first, or those whose title holds q.",
    ),
    words(
        "brief_get",
        "Read a brief",
        "Shows a brief with its text, as it is now or at an earlier version.",
    ),
    words(
        "brief_create",
        "Create a brief",
        "Creates a brief without a text, and a first proposal where a body is given. A person commits the text.",
    ),
    words(
        "brief_proposal_create",
        "Propose a text",
        "Proposes a full text in place of the brief's. expected_version is the brief's version it was written for.",
    ),
    words(
        "brief_proposal_list",
        "List proposals",
        "Lists the proposals of a brief, newest first; with proposal_id that one, and its text.",
    ),
    words(
        "brief_proposal_withdraw",
        "Withdraw a proposal",
        "Takes back a proposal of one's own. expected_version is the proposal's.",
    ),
    words(
        "review_start",
        "Start a review",
        "Starts a review of one version of a brief. Its steps are the ## headings of that version. It ends after \
            expires_in_seconds, a day unless told otherwise.",
    ),
    words(
        "review_list",
        "List reviews",
        "Lists the reviews of a project, newest first, or those of a brief or in a state.",
    ),
    words(
        "review_get",
        "Read a review",
        "Shows a review with its steps, the statuses of its run and its findings, the oldest first.",
    ),
    words(
        "review_cancel",
        "Cancel a review",
        "Ends a review that this caller started. Its findings stay.",
    ),
    words(
        "review_step_claim",
        "Claim a step",
        "Takes a step of a review, or the first that is open, for lease_seconds. A review has one live claim. The \
            holder's repeated call makes the lease longer.",
    ),
    words(
        "review_step_submit",
        "Submit findings",
        "Records findings of the claimed step. final ends the claim and marks the step done; after the last step a \
            person decides.",
    ),
    words(
        "review_step_release",
        "Release a step",
        "Gives a claimed step back undone. What was submitted stays.",
    ),
];

/// In the order of the registry.
fn tools() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().filter(|one| one.face == Faces::Tool)
}

pub fn named(name: &str) -> Option<&'static Operation> {
    tools().find(|tool| tool.name == name)
}

pub fn listed() -> &'static [Value] {
    static LISTED: LazyLock<Vec<Value>> = LazyLock::new(|| tools().map(shown).collect());
    &LISTED
}

fn shown(tool: &Operation) -> Value {
    let said = WORDS.iter().find(|words| words.name == tool.name);
    let (title, description) = said.map_or((tool.name, ""), |said| (said.title, said.description));
    let schemes = json!([{"type": "oauth2", "scopes": tool.scopes}]);
    json!({
        "name": tool.name,
        "title": title,
        "description": description,
        "inputSchema": contract::input(tool),
        "outputSchema": contract::output(tool),
        "annotations": {
            "title": title,
            "readOnlyHint": tool.method == "GET",
            "destructiveHint": tool.name == "review_cancel",
            "idempotentHint": true,
            "openWorldHint": false,
        },
        "securitySchemes": schemes,
        "_meta": {"securitySchemes": schemes},
    })
}

/// The steps of `access` 4.1 and 11 in their order.
pub(super) async fn answer(
    door: &Arc<Doors>,
    request: &HttpRequest,
    payload: Payload,
    exchange: &mut Exchange,
) -> Result<HttpResponse, Stop> {
    arrival::check(door, request, exchange)?;
    if redaction::is_protected(&json!(request.query_string())) {
        return Err(Problem::credential_material().into());
    }
    let caller = bearer(door, request, Demand::Ordinary).await?;
    let limits = door.limits(exchange.surface);
    let principal = caller.row_id.to_string();
    let verdict = limits.by_principal.hit(&principal, pipeline::now_ms(door));
    pipeline::count(exchange, verdict)?;
    policy::floor(&caller)?;
    if let Some(refused) = unacceptable(request) {
        return Ok(refused);
    }
    pipeline::check_encoding(request)?;
    let bytes = pipeline::read_bytes(limits.body, request, payload).await?;
    let Ok(body) = strict_json::read(&bytes) else {
        let text = "The body is not one strict JSON value.";
        return Ok(refusal(400, -32700, text));
    };
    if !request.query_string().is_empty() {
        return Err(Problem::invalid("This address takes no parameters.").into());
    }
    let fault = Face::Workspace.envelope_fault();
    let messages = match envelope::read(&body) {
        Ok(Messages::Batch(_)) => {
            return Ok(refusal(400, fault, "Batches are not taken here."));
        }
        Ok(messages @ Messages::One(_)) => messages,
        Err(Fault(text)) => return Ok(refusal(400, fault, text)),
    };
    if !is_version_served(request, &messages) {
        let text = "This MCP-Protocol-Version is not supported.";
        return Ok(refusal(400, -32000, text));
    }
    let turn = bridge::Turn {
        door: Arc::clone(door),
        asking: Asking::Workspace(Arc::new(caller)),
        request_id: exchange.request_id.clone(),
        logged_id: exchange.logged_id.clone(),
        ended: Arc::default(),
    };
    let demand = demand_of(&messages);
    pipeline::placed(door, demand, dispatch(turn, request, &messages)).await
}

fn demand_of(messages: &Messages<'_>) -> Demand {
    let [message] = messages.all() else {
        return Demand::Ordinary;
    };
    let called = message["params"]["name"].as_str().and_then(named);
    match called.map(|tool| tool.demand) {
        Some(Haste::Withdrawal) if message["method"] == "tools/call" => Demand::Withdrawal,
        Some(Haste::Withdrawal | Haste::Ordinary) | None => Demand::Ordinary,
    }
}

/// Calls a tool; the value of a successful result.
pub(super) async fn call(
    door: &Doors,
    caller: &WorkCaller,
    tool: &'static Operation,
    arguments: Map<String, Value>,
) -> Result<Value, Problem> {
    let ask = |(arguments, key)| Ask {
        caller,
        operation: tool,
        workspace: None,
        key,
        arguments,
    };
    let answer = match wish(caller, tool, arguments) {
        Ok(wish) => door.work.perform(&ask(wish)).await?,
        Err(problem) => {
            let ask = ask((Arguments::default(), None));
            return Err(door.work.refused(&ask, problem).await);
        }
    };
    Ok(Value::Object(answer.body))
}

fn wish(
    caller: &WorkCaller,
    tool: &Operation,
    mut arguments: Map<String, Value>,
) -> Result<(Arguments, Option<IdempotencyKey>), Problem> {
    policy::admit(caller, tool)?;
    let sent = match tool.keyed {
        Keyed::Yes => arguments.remove("idempotency_key"),
        Keyed::No => None,
    };
    // In the order of the routes.
    let checked = Arguments::check(&Value::Object(arguments), tool.fields)?;
    let key = match tool.keyed {
        Keyed::Yes => {
            let text = sent.as_ref().and_then(Value::as_str);
            Some(IdempotencyKey::parse(text)?)
        }
        Keyed::No => None,
    };
    Ok((checked, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_words_and_no_words_are_without_a_tool() {
        let names: Vec<&str> = tools().map(|tool| tool.name).collect();
        let said: Vec<&str> = WORDS.iter().map(|words| words.name).collect();
        assert_eq!(said, names);
    }
}
