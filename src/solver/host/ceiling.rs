//! The read-only ceiling (`agent-api` 5.1, 6.1): what may be called, whatever a run's list says.

use helix_aggregates::agent::scope::{CATALOG, DataScope};

/// Beyond the catalog, the one id that `agent-api` 5.1 adds to the ceiling.
const PROBE: &str = "room.environment.probe";

/// What a call does to its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Search,
    Read,
}

/// Whether a capability id is on the ceiling.
pub fn is_read_only(capability: &str) -> bool {
    capability == PROBE
        || CATALOG
            .iter()
            .any(|scope| scope.capabilities.contains(&capability))
}

/// A capability of the ceiling with the scope it belongs to, whatever a run admits.
pub(super) fn named(capability: &str) -> Option<(&'static str, Option<&'static DataScope>)> {
    let scoped = CATALOG.iter().find_map(|scope| {
        let id = scope.capabilities.iter().find(|id| **id == capability)?;
        Some((*id, Some(scope)))
    });
    scoped.or_else(|| (capability == PROBE).then_some((PROBE, None)))
}

/// Capabilities that can carry an operation, the fitting one first.
fn carriers(scope_id: &str, operation: Operation) -> &'static [&'static str] {
    match (scope_id, operation) {
        ("research_library", _) => &["research-library.read_document"],
        ("repository_evidence", Operation::Search) => &[
            "repo.search",
            "repo-code.search_concept",
            "docs.search",
            "docs-viewer.search_docs",
        ],
        ("repository_evidence", Operation::Read) => &[
            "docs-viewer.locate_in_doc",
            "docs-viewer.summarize_doc",
            "docs-viewer.read_visible_surface",
            "repo-code.search_concept",
            "repo.search",
            "docs.search",
        ],
        ("public_web", _) => &["internet-search.search_web"],
        ("scholarly_research", Operation::Search) => &["scholarly-research.lookup_papers"],
        ("scholarly_research", Operation::Read) => &[
            "scholarly-research.fetch_full_text",
            "scholarly-research.lookup_papers",
        ],
        ("theory_registry", _) => &[
            "helix_ask.reflect_theory_context",
            "theory-badge-graph.reflect_discussion_context",
        ],
        _ => &[],
    }
}

/// The capability under which a refused call is recorded.
pub(super) fn preferred(scope_id: &str, operation: Operation) -> &'static str {
    carriers(scope_id, operation)
        .first()
        .copied()
        .unwrap_or("unknown")
}

/// The first capability that is in the scope, admitted to the run, and on the ceiling.
pub(super) fn choose(
    scope: &DataScope,
    operation: Operation,
    allowed: &[String],
) -> Option<&'static str> {
    carriers(scope.id, operation)
        .iter()
        .copied()
        .find(|capability| {
            scope.capabilities.contains(capability)
                && is_read_only(capability)
                && allowed.iter().any(|id| id == capability)
        })
}
