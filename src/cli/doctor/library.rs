//! The documents that runs may read: what is missing or unreadable, by name.

use std::time::Duration;

use super::{Hands, Report};
use crate::cli::output::counted;
use crate::cli::serve;
use crate::config::Config;
use crate::server::database::make_library;
use crate::solver::corpora::{CorpusFault, CorpusWarning};

/// Reading everything may take long; then the server's own log is the place to look.
const PATIENCE: Duration = Duration::from_secs(60);
/// Documents that are named one by one.
const NAMED: usize = 50;

pub async fn look(config: &Config, hands: Hands, report: &mut Report) {
    let mut readable = config.clone();
    readable.solver.libraries.clear();
    for library in &config.solver.libraries {
        let own = library.starts_with(&config.data.dir);
        if !own || library.exists() || config.data.dir.exists() && made(library, hands, report) {
            readable.solver.libraries.push(library.clone());
        } else if !config.data.dir.exists() {
            report.ok(
                "library",
                format!(
                    "{} is not there yet; the first start makes it",
                    library.display()
                ),
            );
        }
    }
    let Ok(read) = tokio::time::timeout(PATIENCE, serve::index(&readable)).await else {
        let text = format!(
            "reading all documents takes longer than {} s",
            PATIENCE.as_secs()
        );
        return report.warn("documents", text, "see the warnings of `helix serve`");
    };
    let corpora = match read {
        Ok(parts) => parts.corpora,
        Err(failure) => return report.failed("documents", &failure),
    };
    let warnings = corpora.warnings();
    for warning in warnings.iter().take(NAMED) {
        name(warning, report);
    }
    if warnings.len() > NAMED {
        let text = format!(
            "{} not listed",
            counted(warnings.len() - NAMED, "further document")
        );
        report.warn("documents", text, "mend those above first");
    }
    for corpus in corpora.summary() {
        report.ok(
            "documents",
            format!("{}: {} readable", corpus.scope, corpus.documents),
        );
    }
}

/// Makes the data directory's own library, or says that it is missing.
fn made(library: &std::path::Path, hands: Hands, report: &mut Report) -> bool {
    let shown = library.display();
    if hands == Hands::Look {
        let fix = format!("mkdir '{shown}', or `helix doctor --fix`");
        report.warn("library_missing", format!("{shown} does not exist"), fix);
        return false;
    }
    match make_library(library) {
        Ok(()) => {
            report.ok("library", format!("{shown} was missing; made"));
            true
        }
        Err(error) => {
            report.error("library_missing", error.to_string(), error.fix());
            false
        }
    }
}

fn name(warning: &CorpusWarning, report: &mut Report) {
    let (code, fix) = match warning.fault {
        CorpusFault::MissingFolder | CorpusFault::NotAFolder => (
            "library_missing",
            "make the folder, or correct --library, --repository or --theory-dir",
        ),
        CorpusFault::NotARepository | CorpusFault::GitMissing | CorpusFault::GitUnbounded => (
            "repository",
            "name a git working tree with --repository, and see that git is installed",
        ),
        CorpusFault::Unreadable | CorpusFault::OddName | CorpusFault::Link => (
            "document_unreadable",
            "let the server's user read it, or move it out of the folder",
        ),
        CorpusFault::NotUtf8 => ("document_not_utf8", "save it as UTF-8"),
        CorpusFault::Corrupt { .. } | CorpusFault::TooSlow { .. } | CorpusFault::NoText { .. } => (
            "document_corrupt",
            "replace it with a sound copy that holds text",
        ),
        CorpusFault::TooLarge { .. }
        | CorpusFault::TooManyFiles { .. }
        | CorpusFault::TooManyClaims { .. }
        | CorpusFault::TooMuchText { .. } => (
            "document_too_large",
            "split it, or move what is not needed elsewhere",
        ),
        CorpusFault::NoClaims | CorpusFault::DuplicateClaim | CorpusFault::UnknownClaim => (
            "theory_registry",
            "correct the file in HELIX_THEORY_DIR; a sample is in ops/demo/theory",
        ),
        CorpusFault::NotIndexed | CorpusFault::More => {
            ("documents", "mend the other documents first")
        }
    };
    report.warn(code, warning.to_string(), fix);
}
