//! Calling a tool: arguments in, the value of its result out.

use serde_json::{Value, json};

use super::catalog::{RunOperation, Tool};
use super::internal;
use crate::app::agent::keyed::Reply;
use crate::app::agent::reads::EventsQuery;
use crate::app::agent::request::{CancelRequest, ContinueRequest, StartRequest};
use crate::app::agent::runs::Runs;
use crate::app::agent::schema::{Issues, Object};
use crate::app::caller::Caller;
use crate::app::idempotency::IdempotencyKey;
use crate::app::problem::Problem;

/// The largest integer that every client reads exactly.
const LARGEST: u64 = (1 << 53) - 1;

/// The value of a successful result. Scopes come before arguments (`agent-api` 10.8).
pub async fn call(
    runs: &Runs,
    caller: &Caller,
    tool: &Tool,
    arguments: &Value,
) -> Result<Value, Problem> {
    for scope in tool.scopes {
        if !caller.scopes.contains(*scope) {
            return Err(Problem::missing_scope(scope, tool.scopes));
        }
    }
    match tool.operation {
        RunOperation::Start => {
            let given = Given::read(arguments, &["idempotency_key", "request"])?;
            let request = StartRequest::parse_at(given.request, under_request())?;
            keyed("start", &runs.start(caller, &given.key()?, request).await?)
        }
        RunOperation::Continue => {
            let given = Given::read(arguments, &["run_id", "idempotency_key", "request"])?;
            let request = ContinueRequest::parse_at(given.request, under_request())?;
            let key = given.key()?;
            let reply = runs.continue_run(caller, &key, given.run_id, &request);
            keyed("continue", &reply.await?)
        }
        RunOperation::Cancel => {
            let given = Given::read(arguments, &["run_id", "idempotency_key", "request"])?;
            let request = CancelRequest::parse_at(given.request, under_request())?;
            let key = given.key()?;
            let reply = runs.cancel(caller, &key, given.run_id, &request);
            keyed("cancel", &reply.await?)
        }
        RunOperation::Inspect => {
            let given = Given::read(arguments, &["run_id"])?;
            let reply = runs.inspect(caller, given.run_id).await?;
            Ok(json!({"operation": "inspect", "run": body(&reply)?}))
        }
        RunOperation::FetchEvidence => {
            let given = Given::read(arguments, &["run_id"])?;
            let evidence = runs.evidence_bundle(caller, given.run_id).await?;
            Ok(json!({"operation": "fetch_evidence", "evidence": evidence}))
        }
        RunOperation::ListEvents => {
            let (run_id, query) = events(arguments)?;
            let page = runs.events(caller, run_id, query).await?;
            let page = serde_json::to_value(&page).map_err(internal)?;
            Ok(json!({"operation": "list_events", "page": page}))
        }
    }
}

/// The arguments that several tools share.
struct Given<'a> {
    run_id: &'a str,
    idempotency_key: &'a str,
    request: &'a Value,
}

impl<'a> Given<'a> {
    fn read(arguments: &'a Value, wanted: &[&str]) -> Result<Self, Problem> {
        static ABSENT: Value = Value::Null;
        let mut issues = Issues::default();
        let mut root = Object::open(arguments, Vec::new(), &mut issues);
        let wants = |name| wanted.contains(&name);
        let mut given = Self {
            run_id: "",
            idempotency_key: "",
            request: &ABSENT,
        };
        if wants("run_id") {
            given.run_id = root.string("run_id", &mut issues).unwrap_or_default();
        }
        if wants("idempotency_key") {
            let key = root.string("idempotency_key", &mut issues);
            given.idempotency_key = key.unwrap_or_default();
        }
        if wants("request") {
            given.request = root.required("request", &mut issues).unwrap_or(&ABSENT);
        }
        root.finish(&mut issues);
        if issues.is_empty() {
            Ok(given)
        } else {
            Err(issues.into_problem())
        }
    }

    fn key(&self) -> Result<IdempotencyKey, Problem> {
        IdempotencyKey::parse(Some(self.idempotency_key))
    }
}

fn under_request() -> Vec<Value> {
    vec![Value::from("request")]
}

fn events(arguments: &Value) -> Result<(&str, EventsQuery), Problem> {
    let mut issues = Issues::default();
    let mut root = Object::open(arguments, Vec::new(), &mut issues);
    let run_id = root.string("run_id", &mut issues);
    let after_seq = root.integer("after_seq", 0, LARGEST, &mut issues);
    let limit = root.integer("limit", 1, 200, &mut issues);
    root.finish(&mut issues);
    match run_id {
        Some(run_id) if issues.is_empty() => {
            let query = EventsQuery {
                after_seq: after_seq.unwrap_or(0),
                limit: limit
                    .and_then(|limit| usize::try_from(limit).ok())
                    .unwrap_or(100),
                wait_ms: 0,
            };
            Ok((run_id, query))
        }
        _ => Err(issues.into_problem()),
    }
}

fn keyed(operation: &str, reply: &Reply) -> Result<Value, Problem> {
    Ok(json!({
        "operation": operation,
        "idempotency_replayed": reply.replayed,
        "run": body(reply)?,
    }))
}

fn body(reply: &Reply) -> Result<Value, Problem> {
    serde_json::from_slice(&reply.body).map_err(internal)
}
