//! The capabilities that can be called by id, with what they may be asked.
//!
//! A capability of the catalog without a card here cannot be called.

use super::arguments::{Parameter, Parameters, Shape};

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) enum Act {
    Here(Local),
    Elsewhere(Remote),
}

/// What is answered from other servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) enum Remote {
    SearchWeb,
    LookUpPapers,
    FullText,
}

/// What is answered from the documents that are at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) enum Local {
    /// Lists, searches or reads the library.
    ReadLibrary,
    Search(Among, Listing),
    Validate,
    Summarize,
    Locate,
    Read,
    Translation,
    Numbers,
    Reflect,
}

/// Which documents a search looks through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) enum Among {
    All,
    /// Text, Markdown and HTML.
    Documentation,
    /// Everything but documentation.
    Code,
}

/// How a search lists what it has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) enum Listing {
    Passages,
    /// The best passage of each document.
    Documents,
}

/// A capability as the host knows it.
#[derive(Debug)]
pub(in crate::solver) struct Card {
    pub id: &'static str,
    pub description: &'static str,
    pub parameters: Parameters,
    pub act: Act,
}

const QUERY: Parameter = Parameter {
    name: "query",
    description: "Words to look for",
    shape: Shape::Text { most: 1000 },
};
const LIMIT: Parameter = Parameter {
    name: "limit",
    description: "Most passages or documents in the answer",
    shape: Shape::Whole { least: 1, most: 32 },
};
const SOURCE: Parameter = Parameter {
    name: "source",
    description: "The number of a source that an earlier answer of this turn has named",
    shape: Shape::Whole {
        least: 0,
        most: u32::MAX as u64,
    },
};
const START: Parameter = Parameter {
    name: "start",
    description: "First byte of the text to read; null for its beginning",
    shape: Shape::WholeOrNull,
};
const END: Parameter = Parameter {
    name: "end",
    description: "The byte to stop before; null for as much as one answer may hold",
    shape: Shape::WholeOrNull,
};

const SEARCH: Parameters = Parameters(&[QUERY, LIMIT]);
const REFLECT: Parameters = Parameters(&[
    Parameter {
        name: "text",
        description: "A text to find the claims of; null when claims are named",
        shape: Shape::TextOrNull { most: 8000 },
    },
    Parameter {
        name: "claims",
        description: "Ids of claims; null when a text is given",
        shape: Shape::TextsOrNull {
            items: 32,
            most: 120,
        },
    },
    LIMIT,
]);
const READ: Parameters = Parameters(&[SOURCE, START, END]);

/// Every card, in the order of the catalog.
const CARDS: &[Card] = &[
    Card {
        id: "internet-search.search_web",
        description: "Searches the web. Gives title, address and snippet of each result; the \
                      snippets may be quoted.",
        parameters: SEARCH,
        act: Act::Elsewhere(Remote::SearchWeb),
    },
    Card {
        id: "scholarly-research.lookup_papers",
        description: "Looks papers up in the indexes of the literature. Gives their abstracts, \
                      which may be quoted, and says whose full text can be fetched.",
        parameters: SEARCH,
        act: Act::Elsewhere(Remote::LookUpPapers),
    },
    Card {
        id: "scholarly-research.fetch_full_text",
        description: "Fetches the full text of a paper that was looked up, and reads it from \
                      start to end.",
        parameters: Parameters(&[
            Parameter {
                name: "paper",
                description: "The number of a paper that a look-up of this turn has named",
                shape: Shape::Whole {
                    least: 0,
                    most: u32::MAX as u64,
                },
            },
            START,
            END,
        ]),
        act: Act::Elsewhere(Remote::FullText),
    },
    Card {
        id: "scholarly-research.extract_numeric_parameters",
        description: "Finds the values in a source, each with its unit and the exact place where \
                      it stands.",
        parameters: Parameters(&[
            SOURCE,
            Parameter {
                name: "query",
                description: "Words of which one must stand in the value's sentence; null for all",
                shape: Shape::TextOrNull { most: 1000 },
            },
            Parameter {
                name: "limit",
                description: "Most values in the answer",
                shape: Shape::Whole {
                    least: 1,
                    most: 200,
                },
            },
        ]),
        act: Act::Here(Local::Numbers),
    },
    Card {
        id: "research-library.read_document",
        description: "Reads the library. With a query: the passages that match best. With a \
                      source: its text from start to end. With neither: the library's documents.",
        parameters: Parameters(&[
            Parameter {
                name: "query",
                description: "Words to look for; null when reading or listing",
                shape: Shape::TextOrNull { most: 1000 },
            },
            Parameter {
                name: "source",
                description: "The number of a source that an earlier answer of this turn has \
                              named; null when searching or listing",
                shape: Shape::WholeOrNull,
            },
            START,
            END,
        ]),
        act: Act::Here(Local::ReadLibrary),
    },
    Card {
        id: "repo-code.search_concept",
        description: "Finds passages of the repository's code that are about a concept, its words \
                      joined to names as programs write them too.",
        parameters: SEARCH,
        act: Act::Here(Local::Search(Among::Code, Listing::Passages)),
    },
    Card {
        id: "repo.search",
        description: "Finds the passages of the repository that match best.",
        parameters: SEARCH,
        act: Act::Here(Local::Search(Among::All, Listing::Passages)),
    },
    Card {
        id: "docs.search",
        description: "Finds the passages of the repository's documentation that match best.",
        parameters: SEARCH,
        act: Act::Here(Local::Search(Among::Documentation, Listing::Passages)),
    },
    Card {
        id: "docs-viewer.search_docs",
        description: "Finds documents of the repository's documentation, the best passage of each.",
        parameters: SEARCH,
        act: Act::Here(Local::Search(Among::Documentation, Listing::Documents)),
    },
    Card {
        id: "docs-viewer.validate_doc_candidates",
        description: "Says which of the given locators are readable documents of the repository.",
        parameters: Parameters(&[Parameter {
            name: "locators",
            description: "Paths relative to the repository's root",
            shape: Shape::Texts {
                items: 32,
                most: 1000,
            },
        }]),
        act: Act::Here(Local::Validate),
    },
    Card {
        id: "docs-viewer.summarize_doc",
        description: "Gives a document's outline: its headings, each with how its section begins.",
        parameters: Parameters(&[SOURCE]),
        act: Act::Here(Local::Summarize),
    },
    Card {
        id: "docs-viewer.locate_in_doc",
        description: "Finds the passages of one document that match best.",
        parameters: Parameters(&[SOURCE, QUERY, LIMIT]),
        act: Act::Here(Local::Locate),
    },
    Card {
        id: "docs-viewer.read_visible_surface",
        description: "Reads the text of a document from start to end.",
        parameters: READ,
        act: Act::Here(Local::Read),
    },
    Card {
        id: "docs-viewer.read_active_translation",
        description: "Reads a document's translation, the file that differs from it by a language \
                      code in its name or folder; without one, names the languages there are.",
        parameters: Parameters(&[
            SOURCE,
            Parameter {
                name: "language",
                description: "A language code such as `nb` or `pt-br`",
                shape: Shape::Text { most: 16 },
            },
            START,
            END,
        ]),
        act: Act::Here(Local::Translation),
    },
    Card {
        id: "helix_ask.reflect_theory_context",
        description: "Gives the claims of the theory registry that a text touches, with how they \
                      are related and which contradict each other.",
        parameters: REFLECT,
        act: Act::Here(Local::Reflect),
    },
    Card {
        id: "theory-badge-graph.reflect_discussion_context",
        description: "Gives the claims of the theory registry that a discussion names or touches, \
                      with how they are related and which contradict each other.",
        parameters: REFLECT,
        act: Act::Here(Local::Reflect),
    },
];

/// The card of a capability id.
pub(super) fn find(id: &str) -> Option<&'static Card> {
    CARDS.iter().find(|card| card.id == id)
}

#[cfg(test)]
mod tests {
    use helix_aggregates::agent::scope::CATALOG;

    use super::*;

    #[test]
    fn every_card_is_of_the_catalog_and_every_scope_without_a_room_is_complete() {
        let known = |id: &str| CATALOG.iter().any(|scope| scope.capabilities.contains(&id));
        assert!(CARDS.iter().all(|card| known(card.id)));
        for scope in CATALOG {
            let complete = !scope.id.starts_with("bound_room");
            let carded = scope.capabilities.iter().all(|id| find(id).is_some());
            assert_eq!(carded, complete, "{}", scope.id);
        }
    }
}
