//! The state of all corpora at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use helix_aggregates::agent::scope::DataScope;

use super::document::{Document, Stamp};
use super::index::PassageIndex;
use super::warning::{CorpusFault, CorpusWarning};

/// What became of one file, kept so that an unchanged file is not read twice.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Read(Arc<Document>),
    Refused(CorpusFault),
    /// Binary, and therefore none of our business.
    Skipped,
}

/// The documents of one scope.
#[derive(Debug)]
pub struct Corpus {
    pub(super) scope: &'static DataScope,
    /// In order of locator; a document's place is its ordinal in `index`.
    pub(super) documents: Vec<Arc<Document>>,
    pub(super) index: Arc<PassageIndex>,
    pub(super) warnings: Vec<CorpusWarning>,
    pub(super) outcomes: BTreeMap<String, (Stamp, Outcome)>,
    pub(super) revision: Option<String>,
}

impl Corpus {
    pub fn scope(&self) -> &'static DataScope {
        self.scope
    }

    pub fn documents(&self) -> &[Arc<Document>] {
        &self.documents
    }

    pub fn index(&self) -> &PassageIndex {
        &self.index
    }
}

/// How much of one scope was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusSummary {
    pub scope: &'static str,
    pub documents: usize,
    /// Bytes of the sources, not of their text.
    pub bytes: u64,
    pub warnings: usize,
    /// The commit that a working tree stands on.
    pub revision: Option<String>,
}

/// All corpora at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    corpora: Vec<Arc<Corpus>>,
}

impl Snapshot {
    pub(super) fn new(corpora: Vec<Arc<Corpus>>) -> Self {
        Self { corpora }
    }

    /// The corpus of a scope, when this server has a provider for it.
    pub fn corpus(&self, scope_id: &str) -> Option<Arc<Corpus>> {
        self.corpora
            .iter()
            .find(|corpus| corpus.scope.id == scope_id)
            .cloned()
    }

    pub fn warnings(&self) -> Vec<CorpusWarning> {
        self.corpora
            .iter()
            .flat_map(|corpus| corpus.warnings.iter().cloned())
            .collect()
    }

    pub fn summary(&self) -> Vec<CorpusSummary> {
        self.corpora
            .iter()
            .map(|corpus| CorpusSummary {
                scope: corpus.scope.id,
                documents: corpus.documents.len(),
                bytes: corpus
                    .documents
                    .iter()
                    .map(|document| document.stamp.bytes)
                    .sum(),
                warnings: corpus.warnings.len(),
                revision: corpus.revision.clone(),
            })
            .collect()
    }
}
