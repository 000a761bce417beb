//! The servers behind the scopes `public_web` and `scholarly_research`: whether each one answers.

use super::Report;
use crate::config::Config;
use crate::solver::tools::extract::PdfReading;
use crate::solver::tools::remote::{RemoteError, Remotes, Upstream};

/// Asks each configured server for one thing. The wait is that of a run's tools.
pub async fn look(config: &Config, report: &mut Report) {
    let remotes = Remotes::new(config.solver.remotes.clone(), PdfReading::default());
    for (upstream, answer) in remotes.probe().await {
        match answer {
            Ok(()) => report.ok("tool_server", format!("{} answers", upstream.name())),
            Err(error) => report.warn(
                "tool_server",
                format!(
                    "{} gives no usable answer, because {error}",
                    upstream.name()
                ),
                fix(upstream, error),
            ),
        }
    }
}

fn fix(upstream: Upstream, error: RemoteError) -> String {
    let setting = match upstream {
        // It comes with JSON switched off.
        Upstream::Search if error == RemoteError::Status(403) => {
            return "add `json` to search.formats in its settings.yml".to_owned();
        }
        Upstream::Search => "HELIX_SEARCH_BASE_URL",
        Upstream::OpenAlex => "HELIX_OPENALEX_BASE_URL",
        Upstream::Crossref => "HELIX_CROSSREF_BASE_URL",
        Upstream::Arxiv => "HELIX_ARXIV_BASE_URL",
        Upstream::FullText => "HELIX_FULL_TEXT_HOSTS",
    };
    format!("check {setting} and that the server is up")
}
