//! What the tests of this module share: a folder of documents on disk and a turn that reads it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::agent::scope;
use tokio::time::Instant;

use super::corpora::{Corpora, CorporaConfig, LoadStep};
use super::engine::{Engine, SolverKind};
use super::samples::SAMPLE_DOCUMENTS;
use super::seam::{Abort, AbortHandle, Allowance, TurnInput};

/// A library of the sample documents, and the engine that reads it.
pub(crate) struct Town {
    folder: tempfile::TempDir,
    pub engine: Engine,
}

impl Town {
    /// The sample documents.
    pub fn new() -> Self {
        Self::of(SAMPLE_DOCUMENTS)
    }

    pub fn of(documents: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in documents {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let config = CorporaConfig {
            libraries: vec![folder.path().to_owned()],
            repository: None,
            ..Default::default()
        };
        let corpora = Arc::new(Corpora::open(config, &|_: LoadStep| {}));
        Self {
            folder,
            engine: Engine::new(corpora, SolverKind::CorpusExtract),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// A first turn with every capability of its scopes.
pub(crate) fn turn(objective: &str, scopes: &[&str]) -> (TurnInput, AbortHandle) {
    let (handle, abort) = Abort::channel();
    let admitted: Vec<_> = scopes.iter().filter_map(|id| scope::find(id)).collect();
    let input = TurnInput {
        run_id: "run_0123456789".into(),
        run_version: 2,
        turn: 1,
        turn_id: "turn_1".into(),
        trace_id: "trace_1".into(),
        session_id: "session_1".into(),
        objective: objective.into(),
        instruction: "Continue.".into(),
        answers: Vec::new(),
        instruction_with_answers: "Continue.".into(),
        constraints: Vec::new(),
        database_scope: scopes.iter().map(|id| (*id).to_owned()).collect(),
        allowed_tools: admitted
            .iter()
            .flat_map(|scope| scope.capabilities.iter().map(|id| (*id).to_owned()))
            .collect(),
        required_evidence: admitted
            .iter()
            .map(|scope| scope.family.to_owned())
            .collect(),
        required_output_fields: Vec::new(),
        previous_summary: None,
        previous_observation_refs: Vec::new(),
        previous_evidence_refs: Vec::new(),
        previous_receipt_refs: Vec::new(),
        previous_unresolved_requirements: Vec::new(),
        previous_contradictions: Vec::new(),
        pending_questions: Vec::new(),
        remaining_steps: 11,
        allowance: Allowance {
            tool_calls: 64,
            bytes: 8 << 20,
            deadline: Instant::now() + Duration::from_secs(60),
        },
        abort,
    };
    (input, handle)
}

/// A first turn over the library.
pub(crate) fn library(objective: &str) -> (TurnInput, AbortHandle) {
    turn(objective, &["research_library"])
}
