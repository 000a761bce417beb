//! The three requests of a run, validated with defaults applied (`agent-api` 2.1–2.3).
//!
//! Their serialised form is what an idempotency key is bound to: meaning, not bytes.

use helix_aggregates::agent::run::command::{
    Answer, Budget, CompletionContract, DEFAULT_CANCEL_REASON,
};
use helix_aggregates::canonical;
use helix_aggregates::ids::RunId;
use helix_aggregates::text::Text;
use serde::Serialize;
use serde_json::{Value, json};

use super::schema::{Issues, Object};
use crate::app::problem::Problem;

/// The body of a start.
#[derive(Debug, Clone, Serialize)]
pub struct StartRequest {
    pub objective: Text<20_000>,
    pub constraints: Vec<String>,
    pub database_scope: Vec<String>,
    pub completion_contract: CompletionContract,
    pub budget: Budget,
}

impl StartRequest {
    pub fn parse(body: &Value) -> Result<Self, Problem> {
        Self::parse_at(body, Vec::new())
    }

    /// As [`Self::parse`], for a body that stands at `path` of what was sent.
    pub fn parse_at(body: &Value, path: Vec<Value>) -> Result<Self, Problem> {
        let mut issues = Issues::default();
        let issues_ref = &mut issues;
        let mut root = Object::open(body, path, issues_ref);
        let objective = root.text("objective", 20_000, issues_ref);
        let constraints = root.texts("constraints", 64, 2_000, issues_ref);
        let database_scope = root.texts("database_scope", 64, 240, issues_ref);
        let completion_contract =
            contract(root.object("completion_contract", issues_ref), issues_ref);
        let budget = budget(root.object("budget", issues_ref), issues_ref);
        root.finish(issues_ref);
        let objective = objective.and_then(|text| Text::parse(&text).ok());
        match objective {
            Some(objective) if issues.is_empty() => Ok(Self {
                objective,
                constraints,
                database_scope,
                completion_contract,
                budget,
            }),
            _ => Err(issues.into_problem()),
        }
    }

    pub fn spelled(&self) -> Vec<u8> {
        canonical::to_vec(&json!(self))
    }
}

fn contract(mut object: Object<'_>, issues: &mut Issues) -> CompletionContract {
    let default = CompletionContract::default();
    let small =
        |value: Option<u64>, default| value.and_then(|v| u32::try_from(v).ok()).unwrap_or(default);
    let contract = CompletionContract {
        min_evidence_refs: small(
            object.integer("min_evidence_refs", 0, 128, issues),
            default.min_evidence_refs,
        ),
        require_terminal_authority: object
            .boolean("require_terminal_authority", issues)
            .unwrap_or(default.require_terminal_authority),
        required_output_fields: object.texts("required_output_fields", 32, 120, issues),
        max_unresolved_requirements: small(
            object.integer("max_unresolved_requirements", 0, 128, issues),
            default.max_unresolved_requirements,
        ),
        allow_conflicts: object
            .boolean("allow_conflicts", issues)
            .unwrap_or(default.allow_conflicts),
    };
    object.finish(issues);
    contract
}

fn budget(mut object: Object<'_>, issues: &mut Issues) -> Budget {
    let default = Budget::default();
    let max_steps = object
        .integer("max_steps", 1, 64, issues)
        .and_then(|v| u32::try_from(v).ok());
    let expires_in_seconds = object.integer("expires_in_seconds", 60, 604_800, issues);
    object.finish(issues);
    Budget {
        max_steps: max_steps.unwrap_or(default.max_steps),
        expires_in_seconds: expires_in_seconds.unwrap_or(default.expires_in_seconds),
    }
}

/// The body of a continue.
#[derive(Debug, Clone, Serialize)]
pub struct ContinueRequest {
    pub expected_version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    pub answers: Vec<Answer>,
}

impl ContinueRequest {
    pub fn parse(body: &Value) -> Result<Self, Problem> {
        Self::parse_at(body, Vec::new())
    }

    /// As [`Self::parse`], for a body that stands at `path` of what was sent.
    pub fn parse_at(body: &Value, path: Vec<Value>) -> Result<Self, Problem> {
        let mut issues = Issues::default();
        let mut root = Object::open(body, path, &mut issues);
        let expected_version = expected_version(&mut root, &mut issues);
        let instruction = root.optional_text("instruction", 20_000, &mut issues);
        let answers = answers(&mut root, &mut issues);
        if issues.is_empty() && instruction.is_none() && answers.is_empty() {
            issues.add("custom", &[], "give an instruction or at least one answer");
        }
        root.finish(&mut issues);
        match expected_version {
            Some(expected_version) if issues.is_empty() => Ok(Self {
                expected_version,
                instruction,
                answers,
            }),
            _ => Err(issues.into_problem()),
        }
    }

    pub fn spelled(&self, run: RunId) -> Vec<u8> {
        with_run(json!(self), run)
    }
}

fn answers(root: &mut Object<'_>, issues: &mut Issues) -> Vec<Answer> {
    let path = root.path_of("answers");
    let mut answers = Vec::new();
    for (index, item) in root.items("answers", 64, issues).iter().enumerate() {
        let mut path = path.clone();
        path.push(Value::from(index));
        let mut answer = Object::open(item, path, issues);
        let question_id = answer.text("question_id", 240, issues);
        // A missing value counts as null (`agent-api` 2.2).
        let value = answer.get("value").cloned().unwrap_or(Value::Null);
        if !is_kept(&value) {
            let message = "holds a number that cannot be kept as it is written";
            issues.add("custom", &answer.path_of("value"), message);
        }
        answer.finish(issues);
        answers.extend(question_id.map(|question_id| Answer { question_id, value }));
    }
    answers
}

/// Whether the log gives the value back unchanged; a negative zero comes back without its sign.
fn is_kept(value: &Value) -> bool {
    serde_json::from_slice::<Value>(&canonical::to_vec(value)).is_ok_and(|kept| kept == *value)
}

/// The body of a cancel.
#[derive(Debug, Clone)]
pub struct CancelRequest {
    pub expected_version: u64,
    /// Absent means [`DEFAULT_CANCEL_REASON`], which is what the key is bound to.
    pub reason: Option<Text<1_000>>,
}

impl CancelRequest {
    pub fn parse(body: &Value) -> Result<Self, Problem> {
        Self::parse_at(body, Vec::new())
    }

    /// As [`Self::parse`], for a body that stands at `path` of what was sent.
    pub fn parse_at(body: &Value, path: Vec<Value>) -> Result<Self, Problem> {
        let mut issues = Issues::default();
        let mut root = Object::open(body, path, &mut issues);
        let expected_version = expected_version(&mut root, &mut issues);
        let reason = root.optional_text("reason", 1_000, &mut issues);
        root.finish(&mut issues);
        match expected_version {
            Some(expected_version) if issues.is_empty() => {
                let reason = reason.and_then(|reason| Text::parse(&reason).ok());
                Ok(Self {
                    expected_version,
                    reason,
                })
            }
            _ => Err(issues.into_problem()),
        }
    }

    pub fn spelled(&self, run: RunId) -> Vec<u8> {
        let reason = self
            .reason
            .as_ref()
            .map_or(DEFAULT_CANCEL_REASON, Text::as_str);
        with_run(
            json!({"expected_version": self.expected_version, "reason": reason}),
            run,
        )
    }
}

fn expected_version(root: &mut Object<'_>, issues: &mut Issues) -> Option<u64> {
    root.required_integer("expected_version", 1, 1 << 53, issues)
}

fn with_run(mut request: Value, run: RunId) -> Vec<u8> {
    request["run_id"] = json!(run);
    canonical::to_vec(&request)
}
