//! One line a step: what, id, status, milliseconds; under `--json` one object.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::failure::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::serve::IN_USE;

/// Columns of the line for people.
const WHAT: usize = 26;
const ID: usize = 41;
const STATUS: usize = 12;

/// A step that went well.
#[derive(Debug)]
pub struct Done<T> {
    value: T,
    id: String,
    status: String,
    detail: Option<String>,
}

impl<T> Done<T> {
    pub fn new(value: T) -> Self {
        Self {
            value,
            id: String::new(),
            status: String::new(),
            detail: None,
        }
    }

    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    pub fn status(mut self, status: impl Into<String>) -> Self {
        self.status = status.into();
        self
    }

    /// A line of its own below the step.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

/// Prints steps as they end.
#[derive(Debug, Clone, Copy)]
pub struct Ticks {
    output: Output,
}

impl Ticks {
    pub fn new(output: Output) -> Self {
        Self { output }
    }

    /// Does a step and ticks it. A failure carries the step's name with it.
    pub async fn step<T>(
        self,
        step: &'static str,
        what: &str,
        work: impl Future<Output = Result<Done<T>, Failure>>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        let ended = work.await;
        self.tick(step, what, begun.elapsed(), ended)
    }

    /// Ticks a step that took its time before.
    pub fn past<T>(
        self,
        step: &'static str,
        what: &str,
        took: Duration,
        ended: Result<Done<T>, Failure>,
    ) -> Result<T, Failure> {
        self.tick(step, what, took, ended)
    }

    fn tick<T>(
        self,
        step: &'static str,
        what: &str,
        took: Duration,
        ended: Result<Done<T>, Failure>,
    ) -> Result<T, Failure> {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let done = ended
            .map_err(|failure| failure.details(json!({ "step": step, "what": what, "ms": ms })))?;
        let object = json!({
            "step": step, "ok": true, "what": what, "id": done.id, "status": done.status, "ms": ms,
            "detail": done.detail,
        });
        self.output.answer(&object, |output| {
            let id = shortened(&done.id);
            output.line(&format!(
                "✓ {what:WHAT$} {id:ID$} {:STATUS$} {ms:>6} ms",
                done.status
            ))?;
            match &done.detail {
                Some(detail) => output.line(&format!("    {detail}")),
                None => Ok(()),
            }
        })?;
        Ok(done.value)
    }

    /// Says which step went wrong and what to do. The exit code of a demo is then 1, whatever the
    /// failure would be elsewhere; a wrong command line stays one, and so does a held directory.
    pub fn fail(self, failure: Failure) -> Result<Exit, Failure> {
        let Failure::Told(told) = failure else {
            return Err(failure);
        };
        if told.exit == Exit::Usage {
            return Err(Failure::Told(told));
        }
        let from = told
            .details
            .as_ref()
            .filter(|details| details["step"].is_string());
        let place = from.map_or_else(
            || json!({ "step": "start", "what": "start", "ms": 0 }),
            Clone::clone,
        );
        let fix = told
            .fix
            .clone()
            .unwrap_or_else(|| "try again, or start afresh with `helix demo --reset`".to_owned());
        if self.output.is_json() {
            let mut object = place;
            object["ok"] = false.into();
            object["error"] = json!({ "code": told.code, "message": told.message, "fix": fix });
            self.output.object(&object)?;
        } else {
            let what = place["what"].as_str().unwrap_or("start");
            self.output.line(&format!("✗ {what}"))?;
        }
        self.output
            .note(&format!("error[{}]: {}", told.code, told.message));
        self.output.note(&format!("fix: {fix}"));
        Ok(if told.code == IN_USE {
            Exit::InUse
        } else {
            Exit::No
        })
    }
}

fn shortened(id: &str) -> String {
    if id.chars().count() <= ID {
        return id.to_owned();
    }
    id.chars().take(ID - 1).chain(['…']).collect()
}

/// A text field of an answer, or a failure that names it.
pub fn text<'a>(body: &'a Value, field: &str) -> Result<&'a str, Failure> {
    body[field]
        .as_str()
        .ok_or_else(|| wrong(format!("the server's answer has no `{field}`")))
}

/// An answer that is not what it must be.
pub fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(Exit::No, "unexpected_answer", message)
        .fix("try `helix demo --reset`; if that does not help, this build is broken")
}
