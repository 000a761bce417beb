//! The documents that solvers read, as immutable snapshots.
//!
//! Exists so that a turn sees one state of its sources from start to end, while files change under
//! it. What must stay true: a snapshot is never altered, only replaced; every document carries the
//! SHA-256 of the bytes it was made from; nothing of a document's text is written to disk. One bad
//! file never stops the rest. Deliberately absent: what other servers answer, which is kept by the
//! turn that asked for it; and watching for changes. [`Corpora::refresh`] is
//! called by whoever needs fresh documents.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use helix_aggregates::agent::scope;

use super::tools::extract::PdfReading;
use super::tools::remote::{RemoteConfig, Remotes};
use super::tools::{Found, library, repository};
use load::{Loader, Reread};

mod claims;
mod document;
mod index;
mod load;
mod snapshot;
mod warning;
pub mod words;

pub use document::{Block, Document};
pub(crate) use document::{ceil_boundary, floor_boundary};
pub use index::{PassageHit, WeightedTerm};
pub use load::{LoadStep, Progress};
pub use snapshot::{Corpus, CorpusSummary, Snapshot};
pub use warning::{CorpusFault, CorpusWarning};

pub(crate) use document::{Origin, Stamp};

/// The scope ids that this server has documents for.
pub const LIBRARY_SCOPE: &str = "research_library";
pub const REPOSITORY_SCOPE: &str = "repository_evidence";
pub const THEORY_SCOPE: &str = "theory_registry";

/// Where the documents are.
#[derive(Debug, Clone, Default)]
pub struct CorporaConfig {
    /// Folders of the `research_library` scope, in order.
    pub libraries: Vec<PathBuf>,
    /// The git working tree of the `repository_evidence` scope.
    pub repository: Option<PathBuf>,
    /// The folder of the `theory_registry` scope.
    pub theory: Option<PathBuf>,
    /// The servers of the scopes `public_web` and `scholarly_research`.
    pub remotes: RemoteConfig,
}

/// The configured corpora and their present snapshot.
#[derive(Debug)]
pub struct Corpora {
    config: CorporaConfig,
    remotes: Arc<Remotes>,
    pdf_reading: PdfReading,
    current: RwLock<Arc<Snapshot>>,
    /// One refresh at a time; turns go on reading the snapshot they hold.
    refreshing: Mutex<()>,
    /// Set when a file was found changed although its size and time were not.
    distrust_stamps: AtomicBool,
}

impl Corpora {
    /// Reads and indexes everything that is configured. Blocking. Faults become
    /// [`Corpora::warnings`]; none of them is fatal.
    pub fn open(config: CorporaConfig, progress: &dyn Progress) -> Self {
        Self::open_with(config, PdfReading::OnThread, progress)
    }

    /// As [`Corpora::open`], with a choice of where PDF files are parsed.
    pub fn open_with(
        config: CorporaConfig,
        pdf_reading: PdfReading,
        progress: &dyn Progress,
    ) -> Self {
        let corpora = Self {
            remotes: Arc::new(Remotes::new(config.remotes.clone(), pdf_reading.clone())),
            config,
            pdf_reading,
            current: RwLock::new(Arc::new(Snapshot::default())),
            refreshing: Mutex::new(()),
            distrust_stamps: AtomicBool::new(false),
        };
        corpora.refresh(progress);
        corpora
    }

    /// Re-reads what has changed since the last time and replaces the snapshot. Blocking.
    pub fn refresh(&self, progress: &dyn Progress) {
        let _one_at_a_time = self
            .refreshing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let before = self.snapshot();
        let reread = if self.distrust_stamps.swap(false, Ordering::AcqRel) {
            Reread::Everything
        } else {
            Reread::Changed
        };
        let load = |scope_id: &str, found: Found| {
            let scope = scope::find(scope_id)?;
            let known = before.corpus(scope_id);
            let pdf_reading = &self.pdf_reading;
            Some(
                Loader {
                    scope,
                    known,
                    reread,
                    pdf_reading,
                    progress,
                }
                .load(found),
            )
        };
        let mut corpora = Vec::new();
        if !self.config.libraries.is_empty() {
            corpora.extend(load(LIBRARY_SCOPE, library::scan(&self.config.libraries)));
        }
        if let Some(root) = &self.config.repository {
            corpora.extend(load(REPOSITORY_SCOPE, repository::scan(root)));
        }
        let theory = self.config.theory.as_deref().and_then(|folder| {
            let known = before.corpus(THEORY_SCOPE).zip(before.theory.clone());
            claims::load(folder, known, reread)
        });
        let theory = theory.map(|(corpus, registry)| {
            corpora.push(corpus);
            registry
        });
        let after = Arc::new(Snapshot {
            corpora,
            theory,
            remotes: Arc::clone(&self.remotes),
        });
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = after;
    }

    /// The present snapshot; it stays as it is for as long as it is held.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next refresh reads every file again, whatever its size and time say.
    pub fn distrust_stamps(&self) {
        self.distrust_stamps.store(true, Ordering::Release);
    }

    /// Whether the next refresh will read every file again.
    pub fn is_distrusted(&self) -> bool {
        self.distrust_stamps.load(Ordering::Acquire)
    }

    /// What could not be read, by name.
    pub fn warnings(&self) -> Vec<CorpusWarning> {
        self.snapshot().warnings()
    }

    /// How much was read, by scope.
    pub fn summary(&self) -> Vec<CorpusSummary> {
        self.snapshot().summary()
    }
}

#[cfg(test)]
mod tests;
