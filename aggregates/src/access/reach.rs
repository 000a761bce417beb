//! Which projects of a workspace a credential may touch (`access` 7).
//!
//! What must stay true: a reach is fixed where it is given and nothing done with the credential
//! widens it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::ProjectId;

/// Projects that one list may name: as many as a workspace has.
pub const LISTED_LIMIT: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "project_ids", rename_all = "snake_case")]
pub enum Reach {
    /// Every project, those to come included.
    All,
    Listed(BTreeSet<ProjectId>),
}

/// Why a reach cannot be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReachError {
    #[error("a listed reach names at least one project")]
    Empty,
    #[error("a listed reach names at most {limit} projects")]
    TooLong { limit: usize },
}

impl Reach {
    pub fn covers(&self, project: ProjectId) -> bool {
        match self {
            Self::All => true,
            Self::Listed(projects) => projects.contains(&project),
        }
    }

    /// Whether a credential may be given this reach.
    pub fn check(&self) -> Result<(), ReachError> {
        match self {
            Self::Listed(projects) if projects.is_empty() => Err(ReachError::Empty),
            Self::Listed(projects) if projects.len() > LISTED_LIMIT => Err(ReachError::TooLong {
                limit: LISTED_LIMIT,
            }),
            Self::All | Self::Listed(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    fn project(number: usize) -> ProjectId {
        ProjectId::new(Uuid::from_u128(u128::try_from(number).unwrap()))
    }

    fn listed(count: usize) -> Reach {
        Reach::Listed((0..count).map(project).collect())
    }

    #[test]
    fn a_list_covers_what_it_names_and_all_covers_everything() {
        assert!(Reach::All.covers(project(7)));
        assert!(listed(2).covers(project(1)));
        assert!(!listed(2).covers(project(2)));
    }

    #[test]
    fn a_list_names_one_to_two_hundred_projects() {
        assert_eq!(listed(0).check(), Err(ReachError::Empty));
        assert_eq!(listed(201).check(), Err(ReachError::TooLong { limit: 200 }));
        for reach in [Reach::All, listed(1), listed(200)] {
            assert_eq!(reach.check(), Ok(()));
        }
    }

    #[test]
    fn both_kinds_have_the_form_of_the_contract() {
        for (reach, form) in [
            (Reach::All, json!({ "kind": "all" })),
            (
                listed(1),
                json!({ "kind": "listed", "project_ids": [project(0).to_string()] }),
            ),
        ] {
            assert_eq!(serde_json::to_value(&reach).unwrap(), form);
            assert_eq!(serde_json::from_value::<Reach>(form).unwrap(), reach);
        }
    }
}
