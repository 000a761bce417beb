//! A brief as lists show it: the inline row of its stream, without any text but the title.
//!
//! What must stay true: a row is a pure function of the folded brief, so that it can be written anew.
//! Deliberately absent: versions and proposals, which are read from the stream when somebody asks.

use helix_aggregates::access::author::Author;
use helix_aggregates::access::brief::Brief;
use helix_aggregates::ids::{BriefId, ProjectId};
use helix_aggregates::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::ERASED;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefRow {
    pub brief_id: BriefId,
    pub project_id: ProjectId,
    pub title: String,
    /// 0: there is no text yet.
    pub version: u64,
    pub content_sha256: Option<String>,
    /// Proposals that wait for a decision or a commit.
    pub open_proposals: usize,
    pub author: Author,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl BriefRow {
    /// `None` for a brief that was never made.
    pub fn of(brief: &Brief, id: BriefId) -> Option<Self> {
        let body = brief.body()?;
        let hash = body.versions.last();
        let hash = hash.and_then(|version| version.content_sha256.open());
        let pending = body.proposals.values();
        Some(Self {
            brief_id: id,
            project_id: body.project,
            title: body.title.open().map_or(ERASED, String::as_str).to_owned(),
            version: body.version(),
            content_sha256: hash.cloned(),
            open_proposals: pending
                .filter(|proposal| proposal.state.is_pending())
                .count(),
            author: body.author,
            created_at: body.created_at,
            updated_at: body.updated_at,
        })
    }
}
