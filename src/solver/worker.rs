//! The `worker` solver: a turn is handed to whoever serves external workers, and its draft awaited.
//!
//! What must stay true: a worker's draft is judged as every solver's is, by the tool host and the
//! finaliser; a turn that is stopped takes its offer with it, because whoever serves it hears that
//! nobody waits any more. Deliberately absent: leases, bearers and the database.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::host::ToolHost;
use super::seam::{Draft, Solver, SolverError, Solving, TurnInput};

/// Turns on their way to the desk; more wait until it has taken some.
const QUEUED: usize = 64;

/// A turn for an external worker, and where its draft is awaited.
#[derive(Debug)]
pub struct OfferedTurn {
    pub work: Work,
    /// Closed when the turn was stopped.
    pub reply: oneshot::Sender<Result<Draft, SolverError>>,
}

/// What serving a turn takes.
#[derive(Debug)]
pub struct Work {
    pub run_id: String,
    /// The claimed version.
    pub run_version: u64,
    pub turn_id: String,
    pub trace_id: String,
    pub allowed_tools: Vec<String>,
    pub deadline: Instant,
    /// Answers the worker's calls.
    pub host: ToolHost,
}

/// Where offered turns arrive. Clones share one queue, which one server takes.
#[derive(Debug, Clone)]
pub struct Desk(Arc<Mutex<Option<mpsc::Receiver<OfferedTurn>>>>);

impl Desk {
    /// The queue; `None` when somebody has it already.
    pub fn take(&self) -> Option<mpsc::Receiver<OfferedTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[derive(Debug)]
pub struct WorkerSolver {
    queue: mpsc::Sender<OfferedTurn>,
}

impl WorkerSolver {
    /// A solver and the desk that its turns arrive at.
    pub fn with_desk() -> (Self, Desk) {
        let (queue, arriving) = mpsc::channel(QUEUED);
        (Self { queue }, Desk(Arc::new(Mutex::new(Some(arriving)))))
    }

    async fn offer(&self, input: &TurnInput, host: &ToolHost) -> Result<Draft, SolverError> {
        let (reply, drafted) = oneshot::channel();
        let work = Work {
            run_id: input.run_id.clone(),
            run_version: input.run_version,
            turn_id: input.turn_id.clone(),
            trace_id: input.trace_id.clone(),
            allowed_tools: input.allowed_tools.clone(),
            deadline: input.allowance.deadline,
            host: host.clone(),
        };
        // A desk that has closed belongs to a process that stops. Its turns are left for another
        // to take over, as after a crash, and not failed.
        if self.queue.send(OfferedTurn { work, reply }).await.is_err() {
            return std::future::pending().await;
        }
        match drafted.await {
            Ok(drafted) => drafted,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Solver for WorkerSolver {
    fn name(&self) -> &'static str {
        "worker"
    }

    fn solve<'a>(&'a self, input: &'a TurnInput, host: &'a ToolHost) -> Solving<'a> {
        Box::pin(self.offer(input, host))
    }
}

#[cfg(test)]
mod tests;
