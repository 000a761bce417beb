//! From the files of a theory registry to its corpus: a document a claim.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use helix_aggregates::agent::scope;
use sha2::{Digest, Sha256};

use super::super::tools::theory::{self, Claim, Registry, Relation, Sheet};
use super::super::tools::{Found, FoundFile, extract, open_file};
use super::document::{Document, Origin, Stamp};
use super::load::Reread;
use super::snapshot::{Corpus, Outcome};
use super::warning::{CorpusFault, CorpusWarning};
use super::{THEORY_SCOPE, index::PassageIndex};

const WARNING_LIMIT: usize = 1000;

type Read = (Arc<Corpus>, Arc<Registry>);

/// Reads a folder; what was read last time stays while no file has changed.
pub(super) fn load(folder: &Path, known: Option<Read>, reread: Reread) -> Option<Read> {
    let scope = scope::find(THEORY_SCOPE)?;
    let found = theory::scan(folder);
    if let Some(known) = known
        && reread == Reread::Changed
        && is_same(&known.0, &found)
    {
        return Some(known);
    }
    let mut reading = Reading::default();
    for (locator, fault) in found.faults {
        reading.warn(locator, fault);
    }
    let mut relations = Vec::new();
    for file in &found.files {
        reading
            .outcomes
            .insert(file.locator.clone(), (file.stamp, Outcome::Skipped));
        relations.extend(reading.file(file));
    }
    for (locator, relation) in relations {
        let named = format!("{locator}#{}", relation.from);
        if let Err(fault) = reading.registry.relate(relation) {
            reading.warn(named, fault);
        }
    }
    let index = PassageIndex::build(&reading.documents).unwrap_or_else(|_| {
        reading.warn(String::new(), CorpusFault::NotIndexed);
        PassageIndex::empty()
    });
    let corpus = Corpus {
        scope,
        documents: reading.documents,
        index: Arc::new(index),
        warnings: reading.warnings,
        outcomes: reading.outcomes,
        revision: None,
    };
    Some((Arc::new(corpus), Arc::new(reading.registry)))
}

fn is_same(known: &Corpus, found: &Found) -> bool {
    found.faults.is_empty()
        && known
            .warnings
            .iter()
            .all(|warning| is_lasting(warning.fault))
        && known.outcomes.len() == found.files.len()
        && found.files.iter().all(|file| {
            let before = known.outcomes.get(&file.locator);
            before.is_some_and(|(stamp, _)| *stamp == file.stamp)
        })
}

/// Whether a fault stays for as long as no file changes.
fn is_lasting(fault: CorpusFault) -> bool {
    !matches!(
        fault,
        CorpusFault::Unreadable
            | CorpusFault::MissingFolder
            | CorpusFault::NotAFolder
            | CorpusFault::TooManyFiles { .. }
            | CorpusFault::NotIndexed
    )
}

#[derive(Default)]
struct Reading {
    registry: Registry,
    documents: Vec<Arc<Document>>,
    warnings: Vec<CorpusWarning>,
    outcomes: BTreeMap<String, (Stamp, Outcome)>,
}

impl Reading {
    /// Takes the claims of a file in; its relations wait until all claims are known.
    fn file(&mut self, file: &FoundFile) -> Vec<(String, Relation)> {
        let read = open_file(&file.root, &file.path, theory::LARGEST)
            .and_then(|bytes| Ok((theory::sheet(&bytes)?, hex::encode(Sha256::digest(&bytes)))));
        let (sheet, sha256): (Sheet, String) = match read {
            Ok(read) => read,
            Err(fault) => {
                self.warn(file.locator.clone(), fault);
                return Vec::new();
            }
        };
        for stated in sheet.claims {
            let locator = format!("{}#{}", file.locator, stated.id);
            let claim = Claim {
                id: stated.id.clone(),
                status: stated.status,
                sources: stated.sources,
            };
            match self.registry.add(claim) {
                Ok(()) => {
                    let document = document(file, locator, stated.id, stated.statement, &sha256);
                    self.documents.push(Arc::new(document));
                }
                Err(fault) => self.warn(locator, fault),
            }
        }
        let relations = sheet.relations.into_iter();
        relations
            .map(|relation| (file.locator.clone(), relation))
            .collect()
    }

    fn warn(&mut self, locator: String, fault: CorpusFault) {
        if self.warnings.len() < WARNING_LIMIT {
            self.warnings.push(CorpusWarning {
                scope: THEORY_SCOPE,
                locator,
                fault,
            });
        }
    }
}

fn document(
    file: &FoundFile,
    locator: String,
    title: String,
    statement: String,
    sha256: &str,
) -> Document {
    let extracted = extract::plain(statement);
    Document {
        locator,
        title,
        text: extracted.text,
        blocks: extracted.blocks,
        source_sha256: sha256.to_owned(),
        stamp: file.stamp,
        origin: Origin::File {
            path: file.path.clone(),
            root: file.root.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_read_is_read_again_though_no_file_has_changed() {
        let scope = scope::find(THEORY_SCOPE).unwrap();
        for (fault, kept) in [
            (CorpusFault::NoClaims, true),
            (CorpusFault::Unreadable, false),
            (CorpusFault::MissingFolder, false),
        ] {
            let mut known = Corpus::empty(scope);
            known.warnings.push(CorpusWarning {
                scope: THEORY_SCOPE,
                locator: String::new(),
                fault,
            });
            assert_eq!(is_same(&known, &Found::default()), kept, "{fault}");
        }
    }
}
