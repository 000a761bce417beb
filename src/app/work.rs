//! Use cases of the workspace door: workspaces, projects, briefs, reviews, and who may touch them
//! (`access` 5 to 9).
//!
//! What must stay true: whatever is asked goes through one registry and one policy, in the order of
//! `access` 4.1; whoever may not know of a thing gets the answer of a thing that does not exist; a
//! change holds its credential and membership until it is committed. Deliberately absent: which door a
//! question came through.

pub mod arguments;
mod audit;
mod briefs;
pub mod caller;
pub mod choices;
pub mod contract;
pub mod opening;
pub mod operations;
pub mod parting;
pub mod perform;
pub mod policy;
pub mod projects;
mod proposals;
pub mod tokens;
pub mod workspaces;

mod change;
mod connections;
mod credentials;
mod cursor;
mod invites;
mod members;
mod operator;
mod refusals;
mod repositories;
mod reviews;
mod site;
mod views;

use std::sync::Arc;

use helix_aggregates::access::brief::Brief;
use helix_aggregates::access::grant::Grant;
use helix_aggregates::access::review::Review;
use helix_aggregates::access::workspace::Workspace;

use crate::store::Core;
use crate::store::log::Log;
use audit::Records;
use tokens::NamedTokens;

pub use perform::{Answer, Ask};

/// What the use cases of workspaces share.
#[derive(Debug)]
pub struct Work {
    core: Arc<Core>,
    workspaces: Arc<Log<Workspace>>,
    briefs: Log<Brief>,
    reviews: Log<Review>,
    tokens: NamedTokens,
    grants: Log<Grant>,
    records: Arc<Records>,
    /// The public address, for links, and the issuer that owns the runs of reviews.
    base: String,
}

impl Work {
    /// `base` is the public address.
    pub fn new(core: Arc<Core>, base: &str) -> Self {
        let workspaces = Arc::new(Log::new(Arc::clone(&core)));
        let records = Arc::new(Records::new(Arc::clone(&core)));
        Self {
            briefs: Log::new(Arc::clone(&core)),
            reviews: Log::new(Arc::clone(&core)),
            tokens: NamedTokens::with(
                Arc::clone(&core),
                Arc::clone(&workspaces),
                Arc::clone(&records),
            ),
            records,
            grants: Log::new(Arc::clone(&core)),
            workspaces,
            base: base.to_owned(),
            core,
        }
    }

    pub fn tokens(&self) -> &NamedTokens {
        &self.tokens
    }
}
