//! The catalog of data scopes (`agent-api` 6.1). Code owns it; configuration only selects from it.

/// The tool list of a run to which nothing is admitted.
pub const NO_TOOLS: &str = "__helix_external_agent_no_tools__";

/// Most tools, and most evidence families, that one run's policy may hold.
pub const POLICY_LIMIT: usize = 24;

/// One data scope a run may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataScope {
    pub id: &'static str,
    pub oauth_scope: &'static str,
    pub family: &'static str,
    pub capabilities: &'static [&'static str],
}

pub const CATALOG: &[DataScope] = &[
    DataScope {
        id: "public_web",
        oauth_scope: "helix.data.public_web.read",
        family: "internet_search_evidence",
        capabilities: &["internet-search.search_web"],
    },
    DataScope {
        id: "scholarly_research",
        oauth_scope: "helix.data.scholarly_research.read",
        family: "scholarly_evidence",
        capabilities: &[
            "scholarly-research.lookup_papers",
            "scholarly-research.fetch_full_text",
            "scholarly-research.extract_numeric_parameters",
        ],
    },
    DataScope {
        id: "research_library",
        oauth_scope: "helix.data.research_library.read",
        family: "research_library_evidence",
        capabilities: &["research-library.read_document"],
    },
    DataScope {
        id: "repository_evidence",
        oauth_scope: "helix.data.repository_evidence.read",
        family: "repository_evidence",
        capabilities: &[
            "repo-code.search_concept",
            "repo.search",
            "docs.search",
            "docs-viewer.search_docs",
            "docs-viewer.validate_doc_candidates",
            "docs-viewer.summarize_doc",
            "docs-viewer.locate_in_doc",
            "docs-viewer.read_visible_surface",
            "docs-viewer.read_active_translation",
        ],
    },
    DataScope {
        id: "theory_registry",
        oauth_scope: "helix.data.theory_registry.read",
        family: "theory_registry_evidence",
        capabilities: &[
            "helix_ask.reflect_theory_context",
            "theory-badge-graph.reflect_discussion_context",
        ],
    },
    DataScope {
        id: "bound_room_evidence",
        oauth_scope: "helix.rooms.read",
        family: "shared_live_room_evidence",
        capabilities: &["room.evidence.read_bound"],
    },
    DataScope {
        id: "bound_room_environment_probe",
        oauth_scope: "helix.rooms.read",
        family: "shared_live_room_environment_probe",
        capabilities: &["com.casimirbot.minecraft.inventory.check"],
    },
];

/// The catalog entry of a scope id.
pub fn find(id: &str) -> Option<&'static DataScope> {
    CATALOG.iter().find(|scope| scope.id == id)
}

/// What an account of type `user` may use of the catalog (`agent-api` 6.2).
pub const USER_CAPABILITIES: &[&str] = &[
    "docs-viewer.read_visible_surface",
    "docs-viewer.read_active_translation",
    "repo.search",
    "docs.search",
    "scholarly-research.lookup_papers",
    "scholarly-research.fetch_full_text",
    "scholarly-research.extract_numeric_parameters",
    "research-library.read_document",
    "theory-badge-graph.reflect_discussion_context",
];

/// The evidence families an artifact kind belongs to (`agent-api` 4.3).
pub fn families_of(kind: &str) -> Vec<&'static str> {
    let kind = kind.to_ascii_lowercase();
    let has = |needle: &str| kind.contains(needle);
    let rules: [(bool, &'static str); 7] = [
        (
            has("internet_search") || has("web_research"),
            "internet_search_evidence",
        ),
        (
            has("scholarly") || has("paper_result") || has("full_text"),
            "scholarly_evidence",
        ),
        (has("research_library"), "research_library_evidence"),
        (
            has("repo_") || has("doc_search") || has("doc_summary") || has("doc_location"),
            "repository_evidence",
        ),
        (
            has("theory_context") || has("theory_badge") || has("frontier_vector"),
            "theory_registry_evidence",
        ),
        (
            has("bound_room_evidence")
                || precedes(&kind, "shared_live_room", "evidence")
                || precedes(&kind, "minecraft", "bound_room"),
            "shared_live_room_evidence",
        ),
        (
            has("environment_probe") || precedes(&kind, "minecraft", "inventory"),
            "shared_live_room_environment_probe",
        ),
    ];
    rules
        .into_iter()
        .filter(|&(mapped, family)| mapped || kind == family)
        .map(|(_, family)| family)
        .collect()
}

fn precedes(text: &str, first: &str, then: &str) -> bool {
    text.find(first)
        .is_some_and(|at| text[at + first.len()..].contains(then))
}
