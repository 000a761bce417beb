//! One turn: ask, answer the model's calls in order, judge what it hands in.
//!
//! What must stay true: rounds, calls, tokens and bytes are bounded whatever the model does; a call
//! of anything that is not offered is answered with an error and counted like any other; what is
//! wrong with a product is told once, and then what holds of it is taken.

use helix_aggregates::agent::run::turn::ModelFailure;
use serde_json::{Value, json};

use super::client::{Exchange, ModelClient, ModelFault};
use super::draft::{self, Fault};
use super::functions::{self, SUBMIT, capability_of};
use super::product::{Malformed, Product};
use super::prompt::{self, fenced};
use super::talk::{Answer, Call, Entry, Function, Prompt, Said};
use crate::solver::host::{ToolError, ToolHost};
use crate::solver::seam::{Draft, SolverError, TurnInput};
use crate::strict_json;

/// Requests of one turn, repeated ones not counted.
const ROUNDS: u32 = 32;
/// The last rounds, in which only the product is wanted: one for it, one for its repair.
const CLOSING_ROUNDS: u32 = 2;
/// Bytes of one answer that is shown to the model.
const SHOWN_BYTES: usize = 256 << 10;
/// Faults of a product that are told.
const TOLD_FAULTS: usize = 32;
/// Bytes of a token, on the low side, where the server does not count.
const TOKEN_BYTES: u64 = 3;

pub(super) struct Turn<'a> {
    client: &'a ModelClient,
    input: &'a TurnInput,
    host: &'a ToolHost,
    entries: Vec<Entry>,
    calls: u32,
    tokens: u64,
    /// Whether the model was told once what is wrong.
    repair: Repair,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    Due,
    Done,
}

/// What became of a product.
enum Handed {
    Taken(Box<Draft>),
    Again(Value),
}

impl<'a> Turn<'a> {
    pub fn new(client: &'a ModelClient, input: &'a TurnInput, host: &'a ToolHost) -> Self {
        Self {
            client,
            input,
            host,
            entries: vec![Entry::User(prompt::briefing(input))],
            calls: 0,
            tokens: 0,
            repair: Repair::Due,
        }
    }

    pub async fn run(mut self) -> Result<Draft, SolverError> {
        let capabilities = self.host.capabilities();
        if capabilities.is_empty() {
            return Ok(draft::unreadable(self.input, self.host));
        }
        let all = functions::offered(self.input, capabilities);
        let closing = [functions::submit(self.input)];
        for left in (0..ROUNDS).rev() {
            self.host.checkpoint()?;
            if left == 0 {
                // Nothing could be corrected any more: what holds is taken.
                self.repair = Repair::Done;
            }
            let offered = if left >= CLOSING_ROUNDS && !self.is_nearly_spent() {
                all.as_slice()
            } else {
                self.tell(prompt::SUBMIT_NOW);
                &closing
            };
            let said = self.ask(offered).await?;
            self.entries.push(Entry::Model(said.clone()));
            if let Some(draft) = self.answer(&said.calls).await? {
                return Ok(draft);
            }
        }
        Err(self.failed(ModelFailure::AllowanceSpent))
    }

    async fn ask(&mut self, functions: &[Function]) -> Result<Said, SolverError> {
        let prompt = Prompt {
            system: prompt::SYSTEM,
            entries: &self.entries,
            functions,
        };
        let asked = async {
            let size = self.client.body(prompt)?.len() as u64;
            let after = self.tokens.saturating_add(size / TOKEN_BYTES);
            if after > self.client.settings().turn_tokens {
                return Err(ModelFault::TooMuch);
            }
            let until = self.input.allowance.deadline;
            self.client.ask(prompt, until, &self.input.turn_id).await
        };
        match asked.await {
            Ok(Exchange { reply, bytes }) => {
                let estimate = bytes as u64 / TOKEN_BYTES;
                let counted = reply.tokens.filter(|tokens| *tokens > 0);
                self.tokens = self.tokens.saturating_add(counted.unwrap_or(estimate));
                Ok(reply.said)
            }
            Err(fault) => Err(self.stopped(fault)),
        }
    }

    /// Answers every call in order; `Some` once a product was taken.
    async fn answer(&mut self, calls: &[Call]) -> Result<Option<Draft>, SolverError> {
        if calls.is_empty() {
            self.repair_or(ModelFailure::UnusableProduct)?;
            self.tell(prompt::NOT_SUBMITTED);
            return Ok(None);
        }
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            let content = if call.name == SUBMIT {
                match self.handed_in(&call.arguments).await? {
                    Handed::Taken(draft) => return Ok(Some(*draft)),
                    Handed::Again(told) => told,
                }
            } else {
                self.call(call).await?
            };
            answers.push(Answer {
                id: call.id.clone(),
                content: shown(&content),
            });
        }
        self.entries.push(Entry::Answers(answers));
        Ok(None)
    }

    /// One call through the host; whatever is wrong with it is told to the model.
    async fn call(&mut self, call: &Call) -> Result<Value, SolverError> {
        self.calls = self.calls.saturating_add(1);
        if self.calls > self.input.allowance.tool_calls {
            return Ok(refusal(&ToolError::Exhausted.to_string()));
        }
        let spelled = match call.arguments.trim() {
            "" => "{}",
            text => text,
        };
        // A JSON text within one has escapes of its own.
        let spelled = self.client.known().conceal_json(spelled.as_bytes());
        let Ok(arguments) = strict_json::read(&spelled) else {
            return Ok(refusal("the arguments are not JSON"));
        };
        let capability = capability_of(&call.name);
        match self.host.call(&capability, &arguments).await {
            Ok(answer) => Ok(answer.body),
            Err(ToolError::Stopped(error)) => Err(error),
            Err(error) => Ok(refusal(&error.to_string())),
        }
    }

    async fn handed_in(&mut self, arguments: &str) -> Result<Handed, SolverError> {
        let arguments = self.client.known().conceal_json(arguments.as_bytes());
        let product = match Product::read(&String::from_utf8_lossy(&arguments)) {
            Ok(product) => product,
            Err(Malformed(detail)) => {
                self.repair_or(ModelFailure::UnusableProduct)?;
                return Ok(Handed::Again(again(&[detail])));
            }
        };
        let (input, host) = (self.input.clone(), self.host.clone());
        let judging = tokio::task::spawn_blocking(move || draft::judge(product, &input, &host));
        let judged = judging
            .await
            .map_err(|_| SolverError::Failed("a product could not be judged"))?;
        if judged.faults.is_empty() {
            return Ok(Handed::Taken(Box::new(judged.draft)));
        }
        tracing::debug!(
            run.id = %self.input.run_id,
            faults = judged.faults.len(),
            "parts of the model's product do not hold"
        );
        if self.repair == Repair::Done {
            return Ok(Handed::Taken(Box::new(judged.draft)));
        }
        self.repair = Repair::Done;
        let told = judged.faults.iter().take(TOLD_FAULTS);
        let told: Vec<String> = told.map(Fault::to_string).collect();
        Ok(Handed::Again(again(&told)))
    }

    /// Says something once. Some servers refuse two messages of one side in a row.
    fn tell(&mut self, text: &'static str) {
        match self.entries.last_mut() {
            Some(Entry::User(last)) if last.ends_with(text) => {}
            Some(Entry::User(last)) => {
                last.push_str("\n\n");
                last.push_str(text);
            }
            Some(Entry::Model(_) | Entry::Answers(_)) | None => {
                self.entries.push(Entry::User(text.to_owned()));
            }
        }
    }

    /// Takes the one repair, or ends the turn.
    fn repair_or(&mut self, failure: ModelFailure) -> Result<(), SolverError> {
        if self.repair == Repair::Done {
            return Err(self.failed(failure));
        }
        self.repair = Repair::Done;
        Ok(())
    }

    /// Whether what is left is better kept for the product.
    fn is_nearly_spent(&self) -> bool {
        let all = self.client.settings().turn_tokens;
        self.tokens >= all - all / 4 || self.calls >= self.input.allowance.tool_calls
    }

    /// One line of the log for a turn that a fault ends; the fault holds no text of the server.
    fn stopped(&self, fault: ModelFault) -> SolverError {
        let Some(failure) = fault.failure() else {
            return SolverError::DeadlinePassed;
        };
        let code = failure.code();
        tracing::warn!(run.id = %self.input.run_id, code, %fault, "the model server gave nothing");
        SolverError::Model(failure)
    }

    fn failed(&self, failure: ModelFailure) -> SolverError {
        let code = failure.code();
        tracing::warn!(run.id = %self.input.run_id, code, "the model handed in nothing of use");
        SolverError::Model(failure)
    }
}

fn refusal(message: &str) -> Value {
    json!({ "error": message })
}

fn again(faults: &[String]) -> Value {
    json!({
        "error": "not taken",
        "faults": faults,
        "now": "Correct these and call submit once more, with the whole result. It is the last time.",
    })
}

fn shown(content: &Value) -> String {
    let text = fenced(content);
    if text.len() <= SHOWN_BYTES {
        return text;
    }
    fenced(&refusal("the answer is too long; ask for a smaller part"))
}
