//! The words of each door with the sentence a consent page says for them.
//!
//! The order is canonical: that of `agent-api` 11.1, `vault` 10.1 and `access` 5.

use super::Door;

pub(super) struct Entry {
    pub word: &'static str,
    sentence: Sentence,
    pub unasked: Unasked,
}

/// Whether a word is ticked although nothing was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unasked {
    Preselected,
    Offered,
}

enum Sentence {
    Plain(&'static str),
    /// Completed by the name of the provider that draws.
    Image(&'static str),
    /// Completed by the name of the provider that speaks.
    Voice(&'static str),
}

/// The names of the configured providers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Providers<'n> {
    pub image: Option<&'n str>,
    pub voice: Option<&'n str>,
}

use Sentence::{Image, Plain, Voice};
use Unasked::{Offered, Preselected};

const fn entry(word: &'static str, unasked: Unasked, sentence: Sentence) -> Entry {
    Entry {
        word,
        sentence,
        unasked,
    }
}

const AGENT: &[Entry] = &[
    entry(
        "helix.agent_runs.read",
        Preselected,
        Plain("See your agent runs, their events and their evidence."),
    ),
    entry(
        "helix.agent_runs.write",
        Preselected,
        Plain("Start, continue and cancel agent runs for you."),
    ),
    entry(
        "helix.agent_runs.developer",
        Offered,
        Plain("Use what a developer account may use, if yours is one."),
    ),
    entry(
        "helix.data.public_web.read",
        Offered,
        Plain("Let runs search the public web."),
    ),
    entry(
        "helix.data.scholarly_research.read",
        Offered,
        Plain("Let runs look up and read scholarly papers."),
    ),
    entry(
        "helix.data.research_library.read",
        Offered,
        Plain("Let runs read documents of your research library."),
    ),
    entry(
        "helix.data.repository_evidence.read",
        Offered,
        Plain("Let runs search the repository and its documents."),
    ),
    entry(
        "helix.data.theory_registry.read",
        Offered,
        Plain("Let runs consult the theory registry."),
    ),
    entry(
        "helix.rooms.read",
        Offered,
        Plain("See your rooms and what is connected to them, and let runs read them."),
    ),
    entry(
        "helix.rooms.manage",
        Offered,
        Plain("Create rooms and connect runs to them."),
    ),
    entry(
        "helix.room_sources.manage",
        Offered,
        Plain("See the sources of your rooms and add new ones."),
    ),
    entry(
        "helix.environment_actions.read",
        Offered,
        Plain("See how work in your connected environments is getting on."),
    ),
    entry(
        "helix.environment_actions.write",
        Offered,
        Plain("Act in your connected environments and control work there."),
    ),
];

const VAULT: &[Entry] = &[
    entry("identity", Preselected, Plain("Read about you.")),
    entry("work", Preselected, Plain("Read about your work.")),
    entry("projects", Preselected, Plain("Read about your projects.")),
    entry("preferences", Preselected, Plain("Read your preferences.")),
    entry(
        "relationships",
        Preselected,
        Plain("Read about your people and family."),
    ),
    entry(
        "communication-style",
        Preselected,
        Plain("Read how you communicate."),
    ),
    entry(
        "propose",
        Preselected,
        Plain("Propose facts and labels, which you approve or reject."),
    ),
    entry(
        "likeness",
        Offered,
        Image(
            "See the names and small pictures of your people and pets, and have images of them made",
        ),
    ),
    entry(
        "likeness:write",
        Offered,
        Plain("Add people, pets and photos of them."),
    ),
    entry(
        "likeness:voice",
        Offered,
        Voice("Have speech made in your voice"),
    ),
];

const WORKSPACE: &[Entry] = &[
    entry(
        super::FLOOR,
        Preselected,
        Plain("Read projects, briefs, proposals and reviews."),
    ),
    entry(
        "brief:write",
        Offered,
        Plain("Create projects and briefs, and propose text that people decide on."),
    ),
    entry("review:run", Offered, Plain("Start and cancel reviews.")),
    entry(
        "review:execute",
        Offered,
        Plain("Work on the steps of reviews that were started."),
    ),
    entry(
        super::RESERVED,
        Offered,
        Plain("Configure reviews. Nothing uses this yet."),
    ),
];

pub(super) const fn of(door: Door) -> &'static [Entry] {
    match door {
        Door::Agent => AGENT,
        Door::Vault => VAULT,
        Door::Workspace => WORKSPACE,
    }
}

/// What `word` lets an app do, in one line; none for an unknown word. The lines about likeness name
/// the provider, or say that none is set up (`vault` 3.3).
pub fn sentence(word: &str, providers: Providers<'_>) -> Option<String> {
    let mut entries = Door::ALL.into_iter().flat_map(of);
    let entry = entries.find(|entry| entry.word == word)?;
    Some(match (&entry.sentence, providers.image, providers.voice) {
        (Plain(text), _, _) => (*text).to_owned(),
        (Image(text), Some(name), _) => format!("{text} by {name}."),
        (Image(text), None, _) => format!("{text}. No image provider is set up."),
        (Voice(text), _, Some(name)) => {
            format!("{text} by {name}. Recordings never reach the app, but they do reach {name}.")
        }
        (Voice(text), _, None) => {
            format!("{text}. Recordings never reach the app. No voice provider is set up.")
        }
    })
}
