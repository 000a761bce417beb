//! Given events, when a command, then events or a refusal.

mod bounds;
mod claim;
mod close;
mod erased;
mod outcome;
mod resolve;

use std::time::Duration;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::Run;
use super::command::{
    AdmittedPolicy, Answer, Budget, ClaimHolder, ClaimTurn, CompletionContract, FinishTurn,
    RunBrief, RunCommand,
};
use super::error::RunError;
use super::event::{ClosingPublic, RunEvent};
use super::turn::{Question, TerminalAuthority, TerminalProduct, TurnResult};
use crate::agent::scope::NO_TOOLS;
use crate::decider::{Decider, WireEvent};
use crate::ids::{OperationId, OwnerTuple};
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

const FAMILY: &str = "research_library_evidence";
const ABANDON: Duration = Duration::from_secs(61);

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + seconds * 1000),
    }
}

fn operation(number: u128) -> OperationId {
    OperationId::new(Uuid::from_u128(number))
}

fn policy(tools: &[&str], families: &[&str]) -> AdmittedPolicy {
    AdmittedPolicy {
        allowed_tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        required_evidence: families.iter().map(|&family| family.to_owned()).collect(),
        policy_hash: "sha256:policy".to_owned(),
    }
}

fn brief() -> RunBrief {
    RunBrief {
        owner: OwnerTuple {
            tenant: "harbour".to_owned(),
            issuer: "https://id.example".to_owned(),
            subject: "ada".to_owned(),
            profile: "acct_1".to_owned(),
        },
        objective: Text::parse("List the ferries that stop at Vik").unwrap(),
        constraints: vec![" only summer ".to_owned(), "only summer".to_owned()],
        database_scope: Vec::new(),
        completion_contract: CompletionContract::default(),
        budget: Budget {
            max_steps: 3,
            expires_in_seconds: 600,
        },
        policy: policy(&[NO_TOOLS], &[]),
    }
}

/// A brief that requires library evidence and may read the library.
fn library_brief() -> RunBrief {
    RunBrief {
        database_scope: vec!["research_library".to_owned()],
        policy: policy(&["research-library.read_document"], &[FAMILY]),
        ..brief()
    }
}

fn claim(expected: u64, number: u128) -> ClaimTurn {
    ClaimTurn {
        expected,
        operation: operation(number),
        credential: Some(Uuid::from_u128(77)),
        instruction: Some("Look in the timetable".to_owned()),
        answers: Vec::new(),
        policy: policy(&["research-library.read_document"], &[]),
        abandon_after: ABANDON,
        holder: ClaimHolder::Live,
    }
}

fn answer(question_id: &str, value: Value) -> Answer {
    Answer {
        question_id: question_id.to_owned(),
        value,
    }
}

fn question(question_id: &str) -> Question {
    Question {
        question_id: question_id.to_owned(),
        prompt: "Which one?".to_owned(),
        required_fields: Vec::new(),
        options: Vec::new(),
    }
}

fn texts(items: &[&str]) -> Vec<String> {
    items.iter().map(|&item| item.to_owned()).collect()
}

/// A turn that reports success and nothing else.
fn result() -> TurnResult {
    TurnResult {
        ok: true,
        status_code: 200,
        summary: "Read the timetable".to_owned(),
        observation_refs: Vec::new(),
        evidence_refs: Vec::new(),
        receipt_refs: Vec::new(),
        claims_supported: Vec::new(),
        claims_contradicted: Vec::new(),
        unresolved_requirements: Vec::new(),
        resolved_requirements: Vec::new(),
        satisfied_evidence_requirements: Vec::new(),
        contradictions: Vec::new(),
        resolved_contradictions: Vec::new(),
        pending_questions: Vec::new(),
        terminal_authority_status: TerminalAuthority::NotEvaluated,
        terminal_product: None,
        output_fields: Map::new(),
        failure_code: None,
        needs_input: false,
        sanitized_result: object(json!({ "ok": true })),
    }
}

/// A turn that fulfils the default contract of a run without required families.
fn good() -> TurnResult {
    TurnResult {
        evidence_refs: texts(&["e:1"]),
        terminal_authority_status: TerminalAuthority::Authorized,
        terminal_product: Some(product()),
        ..result()
    }
}

fn product() -> TerminalProduct {
    TerminalProduct {
        authority_ref: "authority:1".to_owned(),
        artifact_kind: "digest".to_owned(),
        text: "Two ferries stop at Vik [1]".to_owned(),
        supporting_evidence_refs: texts(&["e:1"]),
    }
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(members) = value else {
        panic!("{value} is not an object");
    };
    members
}

/// A run under test: every accepted command is folded in, event by event.
#[derive(Clone, Default)]
struct Tried {
    run: Run,
    log: Vec<RunEvent>,
}

impl Tried {
    fn started(brief: RunBrief) -> Self {
        let mut tried = Self::default();
        tried.accept(&RunCommand::Start(Box::new(brief)), at(0));
        tried
    }

    /// A run whose first turn, begun after one second, is under way at version 2.
    fn running(brief: RunBrief) -> Self {
        let mut tried = Self::started(brief);
        tried.claim(claim(1, 1), at(1));
        tried
    }

    fn accept(&mut self, command: &RunCommand, stamp: Stamp) -> Vec<RunEvent> {
        let events = self.run.decide(command, stamp).unwrap();
        for event in &events {
            self.run.evolve(event);
        }
        self.log.extend(events.iter().cloned());
        events
    }

    fn refuse(&self, command: &RunCommand, stamp: Stamp) -> RunError {
        self.run.decide(command, stamp).unwrap_err()
    }

    fn claim(&mut self, turn: ClaimTurn, stamp: Stamp) -> Vec<RunEvent> {
        self.accept(&RunCommand::Claim(Box::new(turn)), stamp)
    }

    fn refuse_claim(&self, turn: ClaimTurn, stamp: Stamp) -> RunError {
        self.refuse(&RunCommand::Claim(Box::new(turn)), stamp)
    }

    /// Finishes the turn under way.
    fn finish(&mut self, result: TurnResult, stamp: Stamp) -> Vec<RunEvent> {
        let command = self.finishing(result);
        self.accept(&command, stamp)
    }

    fn finishing(&self, result: TurnResult) -> RunCommand {
        let claim = self.run.claim().unwrap();
        RunCommand::Finish(Box::new(FinishTurn {
            operation: claim.operation,
            claimed_version: claim.version,
            result,
        }))
    }

    /// One whole turn, two seconds long.
    fn turn(&mut self, result: TurnResult, begun: i64) -> Vec<RunEvent> {
        let expected = self.run.version();
        self.claim(claim(expected, u128::from(expected)), at(begun));
        self.finish(result, at(begun + 2))
    }

    fn body(&self) -> &super::Body {
        self.run.body().unwrap()
    }

    fn statuses(&self) -> (&'static str, &'static str, TerminalAuthority) {
        (
            self.run.lifecycle().unwrap().as_str(),
            self.run.completion().unwrap().as_str(),
            self.body().terminal_authority,
        )
    }

    fn unresolved(&self) -> Vec<String> {
        self.body().unresolved_requirements.open().unwrap().clone()
    }

    fn questions(&self) -> Vec<String> {
        let questions = self.body().questions.open().unwrap();
        questions
            .iter()
            .map(|question| question.question_id.clone())
            .collect()
    }

    fn latest_result(&self) -> Value {
        let latest = self.body().latest_result.as_ref().unwrap();
        Value::Object(latest.open().unwrap().clone())
    }
}

fn names(events: &[RunEvent]) -> Vec<&'static str> {
    events.iter().map(WireEvent::name).collect()
}

/// The public half as it is stored.
fn public(event: &RunEvent) -> Value {
    serde_json::to_value(event).unwrap()[event.name()]["public"].clone()
}

fn closing(events: &[RunEvent]) -> ClosingPublic {
    serde_json::from_value(public(events.last().unwrap())).unwrap()
}
