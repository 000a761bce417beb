//! What tools of the workspace door take and answer, as JSON Schema 2020-12 (`access` 6.2, 11).
//!
//! What must stay true: inputs are made from the registry's fields, so that what is published is what is
//! checked; a test holds real answers of every tool against the outputs. Deliberately absent: references
//! between schemas, because tools have to be self-contained.

mod reviews;

use serde_json::{Map, Value, json};

use super::arguments::{Field, Kind, Need};
use super::operations::{Keyed, Op, Operation};
use crate::app::agent::contract::{LARGEST, number, object, text, told};

/// The longest id or cursor, as [`super::arguments`] takes it.
const ID: u32 = 500;
const MARKDOWN: u32 = 65_536;

/// The arguments of a tool.
pub fn input(operation: &Operation) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in operation.fields {
        properties.insert(field.name.to_owned(), of(*field));
        if field.need == Need::Required {
            required.push(field.name);
        }
    }
    if operation.keyed == Keyed::Yes {
        let key = json!({"type": "string", "minLength": 8, "maxLength": 200,
            "description": "Names this request; sent again with the same content it is answered as before."});
        properties.insert("idempotency_key".to_owned(), key);
        required.push("idempotency_key");
    }
    object(&Value::Object(properties), &required)
}

fn of(field: Field) -> Value {
    let most = |most: usize| text(u32::try_from(most).unwrap_or(u32::MAX));
    match field.kind {
        Kind::Id | Kind::Handle => text(ID),
        Kind::Name(length) | Kind::Text(length) => most(length),
        Kind::Markdown => told(text(MARKDOWN), "Markdown, at most 64 KiB."),
        Kind::Number(least, most) => number(least, most),
        Kind::Word(words) => json!({"type": "string", "enum": words}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Texts(count, length) => {
            json!({"type": "array", "maxItems": count, "items": most(length)})
        }
        Kind::Findings => reviews::findings(),
        Kind::Scopes => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Reach => reach(),
        Kind::Projects => json!({"type": "array", "maxItems": 200, "items": {"type": "string"}}),
    }
}

/// What a tool answers: a success, or the error envelope. Clients hold error results against this schema
/// too.
pub fn output(operation: &Operation) -> Value {
    json!({"type": "object", "anyOf": [success(operation), error()]})
}

fn success(operation: &Operation) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema) in members(operation.op) {
        properties.insert(name.to_owned(), schema);
        // A brief may begin without a text.
        if name != "proposal" || operation.op != Op::BriefCreate {
            required.push(name);
        }
    }
    if operation.keyed == Keyed::Yes {
        let said = json!({"const": operation.name});
        properties.insert("operation".to_owned(), said);
        let replayed = json!({"type": "boolean"});
        properties.insert("idempotency_replayed".to_owned(), replayed);
        required.extend(["operation", "idempotency_replayed"]);
    }
    object(&Value::Object(properties), &required)
}

/// The members of an answer, by operation.
fn members(op: Op) -> Vec<(&'static str, Value)> {
    let page = |name, item| {
        let items = json!({"type": "array", "items": item});
        vec![(name, items), ("next_cursor", or_null(&plain()))]
    };
    match op {
        Op::WorkspaceGet => vec![("workspace", workspace()), ("caller", caller())],
        Op::ProjectList => page("projects", project()),
        Op::ProjectCreate => vec![
            ("project", project()),
            ("in_reach", json!({"type": "boolean"})),
        ],
        Op::CodebaseLink => vec![("project", project())],
        Op::BriefList => page("briefs", brief()),
        Op::BriefGet => vec![("brief", brief_with_text())],
        Op::BriefCreate => vec![("brief", brief()), ("proposal", proposal())],
        Op::ProposalList => page("proposals", proposal_with_text()),
        Op::ProposalCreate | Op::ProposalWithdraw => vec![("proposal", proposal())],
        Op::ReviewStart | Op::ReviewCancel | Op::StepRelease => {
            vec![("review", reviews::review())]
        }
        Op::ReviewList => page("reviews", reviews::review()),
        Op::ReviewGet => [
            page("findings", reviews::finding()),
            vec![
                ("review", reviews::review()),
                ("steps", reviews::steps()),
                ("run", reviews::run()),
                ("constraints", json!({"type": "array", "items": plain()})),
            ],
        ]
        .concat(),
        Op::StepClaim => vec![("claim", reviews::claim()), ("review", reviews::review())],
        Op::StepSubmit => vec![
            ("finding_ids", json!({"type": "array", "items": plain()})),
            ("review", reviews::review()),
        ],
        Op::WorkspaceList
        | Op::ReviewDecide
        | Op::BriefEdit
        | Op::BriefRevert
        | Op::ProposalDecide
        | Op::ProposalCommit
        | Op::ProposalRebase
        | Op::MemberList
        | Op::MemberInvite
        | Op::MemberChange
        | Op::MemberRemove
        | Op::InviteAccept
        | Op::InviteWithdraw
        | Op::RepositoryList
        | Op::RepositoryConnect
        | Op::RepositoryDisconnect
        | Op::TokenList
        | Op::TokenCreate
        | Op::TokenRotate
        | Op::TokenRevoke
        | Op::ConnectionList
        | Op::ConnectionRevoke
        | Op::RecordRead
        | Op::Unbuilt => Vec::new(),
    }
}

fn plain() -> Value {
    json!({"type": "string"})
}

fn or_null(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// An object whose members are all there.
fn whole(properties: &Value) -> Value {
    let names = properties.as_object().into_iter().flat_map(Map::keys);
    let required: Vec<&str> = names.map(String::as_str).collect();
    object(properties, &required)
}

fn version() -> Value {
    number(0, LARGEST)
}

fn author() -> Value {
    whole(&json!({
        "kind": {"type": "string", "enum": ["human", "app", "named_token"]},
        "id": plain(),
    }))
}

fn workspace() -> Value {
    whole(&json!({"workspace_id": plain(), "name": plain(), "created_at": plain()}))
}

fn caller() -> Value {
    whole(&json!({
        "kind": {"type": "string", "enum": ["app", "named_token", "human"]},
        "name": plain(),
        "role": or_null(&plain()),
        "scopes": {"type": "array", "items": plain()},
        "expires_at": or_null(&plain()),
        "reach": reach(),
    }))
}

fn reach() -> Value {
    let listed = json!({"type": "array", "minItems": 1, "maxItems": 200, "items": plain()});
    json!({"type": "object", "anyOf": [
        whole(&json!({"kind": {"const": "all"}})),
        whole(&json!({"kind": {"const": "listed"}, "project_ids": listed})),
    ]})
}

fn repository() -> Value {
    whole(&json!({"repository_id": plain(), "name": plain(), "url": plain()}))
}

fn project() -> Value {
    whole(&json!({
        "project_id": plain(),
        "name": plain(),
        "description": plain(),
        "version": version(),
        "state": {"type": "string", "enum": ["active", "archived"]},
        "author": author(),
        "linked_repository": or_null(&repository()),
        "linkable_repositories": {"type": "array", "items": repository()},
        "created_at": plain(),
        "updated_at": plain(),
    }))
}

fn brief_members() -> Value {
    json!({
        "brief_id": plain(),
        "project_id": plain(),
        "title": plain(),
        "version": version(),
        "content_sha256": or_null(&plain()),
        "open_proposals": number(0, LARGEST),
        "author": author(),
        "created_at": plain(),
        "updated_at": plain(),
    })
}

fn brief() -> Value {
    whole(&brief_members())
}

/// A brief at one of its versions; of one without a text yet, nothing beyond the brief is there.
fn brief_with_text() -> Value {
    let mut seen = brief();
    seen["properties"]["body"] = or_null(&plain());
    seen["properties"]["current_version"] = version();
    seen["properties"]["committed_at"] = plain();
    seen
}

fn proposal() -> Value {
    let mut seen = whole(&json!({
        "proposal_id": plain(),
        "brief_id": plain(),
        "project_id": plain(),
        "base_version": version(),
        "summary": plain(),
        "content_sha256": plain(),
        "version": version(),
        "state": {"type": "string",
            "enum": ["open", "approved", "committed", "rejected", "withdrawn", "stale"]},
        "author": author(),
        "created_at": plain(),
        "updated_at": plain(),
    }));
    seen["properties"]["decision"] = whole(&json!({
        "decision": {"type": "string", "enum": ["approve", "reject"]},
        "by": {},
        "reason": or_null(&plain()),
    }));
    seen["properties"]["committed"] = whole(&json!({"brief_version": version(), "by": {}}));
    seen
}

fn proposal_with_text() -> Value {
    let mut seen = proposal();
    seen["properties"]["body"] = told(plain(), "Only where the proposal was asked for by its id.");
    seen
}

/// The error envelope of this door.
pub fn error() -> Value {
    object(
        &json!({
            "schema": {"const": "helix.workspace.error.v1"},
            "error": told(plain(), "What a program decides by."),
            "message": told(plain(), "For people; its wording may change."),
            "request_id": plain(),
            "retryable": told(json!({"type": "boolean"}), "Whether the same request may pass later."),
            "details": {"type": "object"},
        }),
        &["schema", "error", "message", "request_id", "retryable"],
    )
}
