//! Turns under a test's control.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use helix_aggregates::agent::evidence::item::{ToolOutcome, ToolReceipt};
use helix_aggregates::agent::run::turn::{TurnFailure, TurnResult};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::app::agent::executor::{Executing, TurnExecutor};
use crate::solver::finaliser::TurnOutcome;
use crate::solver::seam::TurnInput;

/// What the next turns answer. An empty script answers with [`Script::nothing`].
#[derive(Debug, Clone, Default)]
pub struct Script {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    steps: Mutex<VecDeque<Step>>,
    inputs: Mutex<Vec<TurnInput>>,
    turns: AtomicUsize,
    started: watch::Sender<usize>,
}

#[derive(Debug)]
enum Step {
    Answer(Box<TurnOutcome>),
    Held { gate: Gate, then: Box<TurnOutcome> },
    Panic,
}

/// Holds a turn until it is opened.
#[derive(Debug, Clone)]
pub struct Gate(watch::Sender<bool>);

impl Gate {
    pub fn open(&self) {
        self.0.send_replace(true);
    }
}

impl Script {
    /// A turn that found nothing and failed at nothing.
    pub fn nothing() -> Value {
        json!({
            "ok": true, "status_code": 200, "summary": "Nothing was found.",
            "observation_refs": [], "evidence_refs": [], "receipt_refs": [],
            "claims_supported": [], "claims_contradicted": [],
            "unresolved_requirements": [], "resolved_requirements": [],
            "satisfied_evidence_requirements": [], "contradictions": [],
            "resolved_contradictions": [], "pending_questions": [],
            "terminal_authority_status": "not_evaluated", "terminal_product": null,
            "output_fields": {}, "failure_code": null, "needs_input": false,
            "sanitized_result": {"ok": true},
        })
    }

    /// A turn that answers everything with one ref and an authorized product.
    pub fn success() -> Value {
        json!({
            "summary": "Answered.", "evidence_refs": ["evidence:test:1"],
            "terminal_authority_status": "authorized",
            "terminal_product": {
                "authority_ref": "terminal:test:1", "artifact_kind": "evidence_digest",
                "text": "Answered. [1]", "supporting_evidence_refs": ["evidence:test:1"],
            },
        })
    }

    /// The next turn answers with these fields over [`Script::nothing`].
    pub fn answer(&self, fields: &Value) {
        self.push(Step::Answer(Box::new(outcome(fields, Vec::new()))));
    }

    /// The next turn waits for its gate, then answers.
    pub fn hold(&self, fields: &Value) -> Gate {
        self.held(outcome(fields, Vec::new()))
    }

    /// As [`Self::hold`], with the receipt of a call.
    pub fn hold_with_receipt(&self, fields: &Value) -> Gate {
        let receipt = ToolReceipt {
            receipt_ref: "receipt:script:1".to_owned(),
            capability: "script".to_owned(),
            scope: "research_library".to_owned(),
            outcome: ToolOutcome::Answered,
            arguments: "{}".to_owned().into(),
            bytes: 0,
            answer_sha256: "0".repeat(64),
        };
        self.held(outcome(fields, vec![receipt]))
    }

    fn held(&self, outcome: TurnOutcome) -> Gate {
        let gate = Gate(watch::channel(false).0);
        self.push(Step::Held {
            gate: gate.clone(),
            then: Box::new(outcome),
        });
        gate
    }

    /// The next turn's executor panics.
    pub fn crash(&self) {
        self.push(Step::Panic);
    }

    /// Forgets the answers that no turn has taken.
    pub fn clear(&self) {
        if let Ok(mut steps) = self.shared.steps.lock() {
            steps.clear();
        }
    }

    /// Turns begun so far.
    pub fn turns(&self) -> usize {
        self.shared.turns.load(Ordering::SeqCst)
    }

    /// Waits until so many turns have begun.
    pub async fn begun(&self, turns: usize) {
        let mut started = self.shared.started.subscribe();
        // The sender lives as long as the script.
        let _closed = started.wait_for(|seen| *seen >= turns).await;
    }

    /// What the turns were given, in order.
    pub fn inputs(&self) -> Vec<TurnInput> {
        self.shared
            .inputs
            .lock()
            .map(|inputs| inputs.clone())
            .unwrap_or_default()
    }

    fn push(&self, step: Step) {
        if let Ok(mut steps) = self.shared.steps.lock() {
            steps.push_back(step);
        }
    }
}

fn outcome(fields: &Value, receipts: Vec<ToolReceipt>) -> TurnOutcome {
    let mut result = Script::nothing();
    if let (Some(result), Some(fields)) = (result.as_object_mut(), fields.as_object()) {
        result.extend(fields.clone());
    }
    match serde_json::from_value::<TurnResult>(result) {
        Ok(result) => TurnOutcome {
            result,
            receipts,
            items: Vec::new(),
        },
        // A misspelt script must not pass for a turn that went well.
        Err(_) => TurnOutcome::failed(TurnFailure::ExecutorFailed, Vec::new()),
    }
}

impl TurnExecutor for Script {
    fn execute(&self, input: TurnInput) -> Executing<'_> {
        let step = self
            .shared
            .steps
            .lock()
            .ok()
            .and_then(|mut steps| steps.pop_front());
        if let Ok(mut inputs) = self.shared.inputs.lock() {
            inputs.push(input);
        }
        let turns = self.shared.turns.fetch_add(1, Ordering::SeqCst) + 1;
        self.shared.started.send_replace(turns);
        Box::pin(async move {
            match step {
                Some(Step::Answer(outcome)) => *outcome,
                Some(Step::Held { gate, then }) => {
                    let mut opened = gate.0.subscribe();
                    let _closed = opened.wait_for(|open| *open).await;
                    *then
                }
                #[expect(
                    clippy::panic,
                    reason = "a crash of the executor is what the test asks for"
                )]
                Some(Step::Panic) => panic!("the script crashes"),
                None => outcome(&Script::nothing(), Vec::new()),
            }
        })
    }
}
