//! From found files to a corpus: read what is new, keep what is not, name what is bad.

use std::collections::BTreeMap;
use std::sync::Arc;

use helix_aggregates::agent::scope::DataScope;
use sha2::{Digest, Sha256};

use super::super::tools::extract::{self, Format, PdfReading};
use super::super::tools::{Found, FoundFile, open_file};
use super::document::{Document, Origin, Stamp};
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
    pub pdf_reading: &'a PdfReading,
    pub progress: &'a dyn Progress,
}

#[derive(Default)]
struct Read {
    documents: Vec<Arc<Document>>,
    bytes: u64,
    warnings: Vec<CorpusWarning>,
    outcomes: BTreeMap<String, (Stamp, Outcome)>,
}

impl Loader<'_> {
    pub fn load(&self, found: Found) -> Arc<Corpus> {
        let mut read = Read::default();
        for (locator, fault) in found.faults {
            read.warnings.push(self.warning(locator, fault));
        }
        let total = found.files.len();
        for (done, file) in found.files.into_iter().enumerate() {
            self.progress.step(LoadStep::Reading {
                scope: self.scope.id,
                done,
                total,
            });
            if !self.take(file, &mut read) {
                break;
            }
        }
        let index = self.index(&read.documents, &mut read.warnings);
        self.progress.step(LoadStep::Done {
            scope: self.scope.id,
            documents: read.documents.len(),
        });
        if read.warnings.len() > WARNING_LIMIT {
            read.warnings.truncate(WARNING_LIMIT);
            read.warnings
                .push(self.warning(String::new(), CorpusFault::More));
        }
        Arc::new(Corpus {
            scope: self.scope,
            documents: read.documents,
            index,
            warnings: read.warnings,
            outcomes: read.outcomes,
            revision: found.revision,
        })
    }

    /// Takes one file into the corpus; `false` when the corpus is full.
    fn take(&self, file: FoundFile, read: &mut Read) -> bool {
        let outcome = self.outcome(&file);
        match &outcome {
            Outcome::Read(document) => {
                read.bytes += document.text.len() as u64;
                if read.bytes > TEXT_LIMIT {
                    let fault = CorpusFault::TooMuchText { limit: TEXT_LIMIT };
                    read.warnings.push(self.warning(file.locator, fault));
                    return false;
                }
                read.documents.push(Arc::clone(document));
            }
            Outcome::Refused(fault) => {
                read.warnings
                    .push(self.warning(file.locator.clone(), *fault));
            }
            Outcome::Skipped => {}
        }
        read.outcomes.insert(file.locator, (file.stamp, outcome));
        true
    }

    /// The index of the last refresh, when its documents are the same.
    fn index(
        &self,
        documents: &[Arc<Document>],
        warnings: &mut Vec<CorpusWarning>,
    ) -> Arc<PassageIndex> {
        if let Some(known) = &self.known
            && known.documents.len() == documents.len()
            && known
                .documents
                .iter()
                .zip(documents)
                .all(|(a, b)| Arc::ptr_eq(a, b))
        {
            return Arc::clone(&known.index);
        }
        self.progress.step(LoadStep::Indexing {
            scope: self.scope.id,
            documents: documents.len(),
        });
        Arc::new(PassageIndex::build(documents).unwrap_or_else(|_| {
            warnings.push(self.warning(String::new(), CorpusFault::NotIndexed));
            PassageIndex::empty()
        }))
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
            && !matches!(
                outcome,
                Outcome::Refused(CorpusFault::Unreadable | CorpusFault::TooSlow { .. })
            )
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
        read(file, bytes, source_sha256, self.pdf_reading)
    }
}

fn read(
    file: &FoundFile,
    bytes: Vec<u8>,
    source_sha256: String,
    pdf_reading: &PdfReading,
) -> Outcome {
    if file.format == Format::Tracked && extract::is_binary(&bytes) {
        return Outcome::Skipped;
    }
    let extracted = match extract::extract(file.format, bytes, pdf_reading) {
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
        stamp,
        origin: Origin::File {
            path: file.path.clone(),
            root: file.root.clone(),
        },
    }))
}
