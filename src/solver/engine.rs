//! The engine: one turn from input to outcome.
//!
//! Exists so that the run service calls one function that cannot fail. What must stay true: every
//! error becomes a synthetic failure of `agent-api` 2.7, work on the processor stays off the
//! asynchronous threads, and a stopped turn ends between two steps. Deliberately absent: the race
//! against the deadline and the judgement of expiry, which are the service's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helix_aggregates::agent::run::turn::TurnFailure;
use tokio::time::Instant;

use super::corpora::{Corpora, CorpusWarning, LoadStep, Snapshot};
use super::corpus_extract::CorpusExtract;
use super::finaliser::{self, TurnOutcome};
use super::host::ToolHost;
use super::model::{Model, ModelSettings};
use super::seam::{Abort, AbortReason, Solver, SolverError, TurnInput};

/// How long a late turn waits to be told what its deadline meant: the service knows whether the
/// run has expired, the engine does not.
const GRACE: Duration = Duration::from_millis(200);
/// How long a snapshot is taken for fresh.
const FRESH: Duration = Duration::from_secs(2);

/// Which solver an engine uses.
#[derive(Debug, Clone, Default)]
pub enum SolverKind {
    /// Built in, offline and deterministic.
    #[default]
    CorpusExtract,
    Model(ModelSettings),
}

/// Solves turns over one set of corpora.
#[derive(Debug)]
pub struct Engine {
    corpora: Arc<Corpora>,
    solver: Box<dyn Solver>,
    refreshed: Arc<Mutex<Option<Instant>>>,
}

impl Engine {
    pub fn new(corpora: Arc<Corpora>, kind: SolverKind) -> Self {
        let solver: Box<dyn Solver> = match kind {
            SolverKind::CorpusExtract => Box::new(CorpusExtract),
            SolverKind::Model(settings) => Box::new(Model::new(settings)),
        };
        Self::with_solver(corpora, solver)
    }

    /// An engine around any solver of the seam.
    pub fn with_solver(corpora: Arc<Corpora>, solver: Box<dyn Solver>) -> Self {
        Self {
            corpora,
            solver,
            refreshed: Arc::default(),
        }
    }

    pub fn corpora(&self) -> &Arc<Corpora> {
        &self.corpora
    }

    /// What could not be read, by name.
    pub fn warnings(&self) -> Vec<CorpusWarning> {
        self.corpora.warnings()
    }

    /// Executes one turn. Dropping the future stops waiting; raising the abort signal stops the
    /// work at its next step.
    pub async fn execute(&self, input: TurnInput) -> TurnOutcome {
        let mut abort = input.abort.clone();
        let snapshot = match self.snapshot_for(&input).await {
            Ok(snapshot) => snapshot,
            Err(error) => return TurnOutcome::failed(failure_of(error, abort).await, Vec::new()),
        };
        let host = ToolHost::new(&input, snapshot);
        let solved = tokio::select! {
            biased;
            reason = abort.wait() => Err(SolverError::Aborted(reason)),
            () = tokio::time::sleep_until(input.allowance.deadline) => Err(SolverError::DeadlinePassed),
            solved = self.solver.solve(&input, &host) => solved,
        };
        let draft = match solved {
            Ok(draft) => draft,
            Err(error) => {
                return TurnOutcome::failed(failure_of(error, abort).await, host.record().receipts);
            }
        };
        let (name, judge, corpora) = (self.solver.name(), host.clone(), Arc::clone(&self.corpora));
        let judged = tokio::task::spawn_blocking(move || {
            let outcome = finaliser::finalise(&input, name, draft, &judge);
            if judge.saw_change() {
                corpora.distrust_stamps();
            }
            outcome
        });
        judged.await.unwrap_or_else(|_| {
            TurnOutcome::failed(TurnFailure::ExecutorFailed, host.record().receipts)
        })
    }

    /// A snapshot that is at most a moment old; a run without data scopes reads none.
    async fn snapshot_for(&self, input: &TurnInput) -> Result<Arc<Snapshot>, SolverError> {
        let distrusted = self.corpora.is_distrusted();
        if !input.database_scope.is_empty() && (distrusted || !self.is_fresh()) {
            let (corpora, refreshed) = (Arc::clone(&self.corpora), Arc::clone(&self.refreshed));
            let refresh = tokio::task::spawn_blocking(move || {
                // Held while refreshing: turns that waited for it find fresh corpora.
                let mut last = refreshed.lock().unwrap_or_else(PoisonError::into_inner);
                if corpora.is_distrusted() || last.is_none_or(|at| at.elapsed() > FRESH) {
                    let started = Instant::now();
                    corpora.refresh(&|_: LoadStep| {});
                    *last = Some(started);
                }
            });
            let mut abort = input.abort.clone();
            tokio::select! {
                biased;
                reason = abort.wait() => return Err(SolverError::Aborted(reason)),
                () = tokio::time::sleep_until(input.allowance.deadline) => {
                    return Err(SolverError::DeadlinePassed);
                }
                done = refresh => done.map_err(|_| SolverError::Failed("the corpora could not be read"))?,
            }
        }
        Ok(self.corpora.snapshot())
    }

    /// While a refresh is running, nothing is fresh.
    fn is_fresh(&self) -> bool {
        self.refreshed
            .try_lock()
            .is_ok_and(|last| last.is_some_and(|at| at.elapsed() <= FRESH))
    }
}

async fn failure_of(error: SolverError, mut abort: Abort) -> TurnFailure {
    let reason = match error {
        SolverError::Failed(_) => return TurnFailure::ExecutorFailed,
        SolverError::Model(failure) => return TurnFailure::Model(failure),
        SolverError::WorkerUnavailable => return TurnFailure::WorkerUnavailable,
        SolverError::Aborted(reason) => reason,
        SolverError::DeadlinePassed => tokio::time::timeout(GRACE, abort.wait())
            .await
            .unwrap_or(AbortReason::Timeout),
    };
    match reason {
        AbortReason::Expired => TurnFailure::RunExpired,
        AbortReason::Timeout => TurnFailure::Timeout,
        AbortReason::Cancelled => TurnFailure::ExecutorFailed,
    }
}

#[cfg(test)]
mod tests;
