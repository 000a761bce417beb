//! The state of all corpora at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use helix_aggregates::agent::scope::DataScope;

use super::super::tools::remote::Remotes;
use super::super::tools::theory::Registry;
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
    /// In order of locator, retained ones in the order in which they came; a document's place is
    /// its ordinal in `index`.
    pub(super) documents: Vec<Arc<Document>>,
    pub(super) index: Arc<PassageIndex>,
    pub(super) warnings: Vec<CorpusWarning>,
    pub(super) outcomes: BTreeMap<String, (Stamp, Outcome)>,
    pub(super) revision: Option<String>,
}

impl Corpus {
    pub(in crate::solver) fn empty(scope: &'static DataScope) -> Self {
        Self {
            scope,
            documents: Vec::new(),
            index: Arc::new(PassageIndex::empty()),
            warnings: Vec::new(),
            outcomes: BTreeMap::new(),
            revision: None,
        }
    }

    /// A corpus of documents that no file stands behind.
    pub(in crate::solver) fn retained(
        scope: &'static DataScope,
        documents: Vec<Arc<Document>>,
    ) -> Result<Self, CorpusFault> {
        let index = PassageIndex::build(&documents).map_err(|_| CorpusFault::NotIndexed)?;
        Ok(Self {
            documents,
            index: Arc::new(index),
            ..Self::empty(scope)
        })
    }

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

/// Whatever this server can read at one moment: all corpora, and the servers it asks for more.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub(super) corpora: Vec<Arc<Corpus>>,
    pub(super) theory: Option<Arc<Registry>>,
    pub(super) remotes: Arc<Remotes>,
}

impl Snapshot {
    /// The claims behind the corpus of the `theory_registry` scope.
    pub fn theory(&self) -> Option<&Arc<Registry>> {
        self.theory.as_ref()
    }

    pub fn remotes(&self) -> &Arc<Remotes> {
        &self.remotes
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
