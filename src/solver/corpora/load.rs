//! From found files to a corpus: read what is new, keep what is not, name what is bad.

use std::collections::BTreeMap;
use std::sync::Arc;

use helix_aggregates::agent::scope::DataScope;
use sha2::{Digest, Sha256};

use super::super::tools::extract::{self, Format};
use super::super::tools::{Found, FoundFile, open_file};
use super::document::{Document, Stamp};
use super::index::PassageIndex;
use super::snapshot::{Corpus, Outcome};
use super::warning::{CorpusFault, CorpusWarning};

/// Text kept of one corpus, in bytes.
const TEXT_LIMIT: u64 = 128 << 20;
const WARNING_LIMIT: usize = 1000;

/// Where a refresh stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadStep {
    /// `done` of `total` files are read.
    Reading {
        scope: &'static str,
        done: usize,
        total: usize,
    },
    Indexing {
        scope: &'static str,
        documents: usize,
    },
    Done {
        scope: &'static str,
        documents: usize,
    },
}

/// Told of every step of a refresh, in order, on the refreshing thread.
pub trait Progress {
    fn step(&self, step: LoadStep);
}

impl<F: Fn(LoadStep)> Progress for F {
    fn step(&self, step: LoadStep) {
        self(step);
    }
}

/// Which files a refresh opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reread {
    /// Those whose size or time has changed.
    Changed,
    Everything,
}

pub(super) struct Loader<'a> {
    pub scope: &'static DataScope,
    pub known: Option<Arc<Corpus>>,
    pub reread: Reread,
    pub progress: &'a dyn Progress,
}

impl Loader<'_> {
    pub fn load(&self, found: Found) -> Arc<Corpus> {
        let mut warnings: Vec<_> = found
            .faults
            .into_iter()
            .map(|(locator, fault)| self.warning(locator, fault))
            .collect();
        let total = found.files.len();
        let mut outcomes = BTreeMap::new();
        let mut documents = Vec::new();
        let mut kept_bytes = 0;
        for (done, file) in found.files.into_iter().enumerate() {
            self.progress.step(LoadStep::Reading {
                scope: self.scope.id,
                done,
                total,
            });
            let outcome = self.outcome(&file);
            match &outcome {
                Outcome::Read(document) => {
                    kept_bytes += document.text.len() as u64;
                    if kept_bytes > TEXT_LIMIT {
                        warnings.push(
                            self.warning(
                                file.locator,
                                CorpusFault::TooMuchText { limit: TEXT_LIMIT },
                            ),
                        );
                        break;
                    }
                    documents.push(Arc::clone(document));
                }
                Outcome::Refused(fault) => {
                    warnings.push(self.warning(file.locator.clone(), *fault));
                }
                Outcome::Skipped => {}
            }
            outcomes.insert(file.locator, (file.stamp, outcome));
        }
        let index = self.index(&documents, &mut warnings);
        self.progress.step(LoadStep::Done {
            scope: self.scope.id,
            documents: documents.len(),
        });
        if warnings.len() > WARNING_LIMIT {
            warnings.truncate(WARNING_LIMIT);
            warnings.push(self.warning(String::new(), CorpusFault::More));
        }
        let revision = found.revision;
        Arc::new(Corpus {
            scope: self.scope,
            documents,
            index,
            warnings,
            outcomes,
            revision,
        })
    }

    fn index(
        &self,
        documents: &[Arc<Document>],
        warnings: &mut Vec<CorpusWarning>,
    ) -> PassageIndex {
        self.progress.step(LoadStep::Indexing {
            scope: self.scope.id,
            documents: documents.len(),
        });
        PassageIndex::build(documents).unwrap_or_else(|_| {
            warnings.push(self.warning(String::new(), CorpusFault::NotIndexed));
            PassageIndex::empty()
        })
    }

    fn warning(&self, locator: String, fault: CorpusFault) -> CorpusWarning {
        CorpusWarning {
            scope: self.scope.id,
            locator,
            fault,
        }
    }

    fn outcome(&self, file: &FoundFile) -> Outcome {
        let known = self
            .known
            .as_ref()
            .and_then(|corpus| corpus.outcomes.get(&file.locator));
        if let Some((stamp, outcome)) = known
            && *stamp == file.stamp
            && self.reread == Reread::Changed
        {
            return outcome.clone();
        }
        let limit = file.format.byte_limit();
        let bytes = match open_file(&file.root, &file.path, limit) {
            Ok(bytes) => bytes,
            Err(fault) => return Outcome::Refused(fault),
        };
        let source_sha256 = hex::encode(Sha256::digest(&bytes));
        if let Some((_, Outcome::Read(before))) = known
            && before.source_sha256 == source_sha256
        {
            let mut same = Document::clone(before);
            same.stamp = file.stamp;
            return Outcome::Read(Arc::new(same));
        }
        read(file, bytes, source_sha256)
    }
}

fn read(file: &FoundFile, bytes: Vec<u8>, source_sha256: String) -> Outcome {
    if file.format == Format::Tracked && extract::is_binary(&bytes) {
        return Outcome::Skipped;
    }
    let extracted = match extract::extract(file.format, bytes) {
        Ok(extracted) => extracted,
        Err(fault) => return Outcome::Refused(fault),
    };
    let stamp: Stamp = file.stamp;
    Outcome::Read(Arc::new(Document {
        title: extracted.title.unwrap_or_else(|| file.locator.clone()),
        locator: file.locator.clone(),
        text: extracted.text,
        blocks: extracted.blocks,
        source_sha256,
        path: file.path.clone(),
        root: file.root.clone(),
        stamp,
    }))
}
