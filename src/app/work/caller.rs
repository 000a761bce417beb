//! Who asks at the workspace door: an app, a named token or a person (`access` 1.3).
//!
//! What must stay true: nothing behind this sees a credential's text; an app or a token is pinned to one
//! workspace, a person to none.

use helix_aggregates::access::author::Author;
use helix_aggregates::access::reach::Reach;
use helix_aggregates::ids::{AccountId, GrantId, ProjectId, TokenId, WorkspaceId};
use helix_aggregates::time::Timestamp;
use helix_projections::agent::ERASED;
use uuid::Uuid;

use super::Work;
use super::tokens::name_of;
use crate::app::access::grants;
use crate::app::access::sign_in::Person;
use crate::app::problem::{Code, Problem};
use crate::auth::oauth::resource::Door;
use crate::auth::oauth::scope;
use crate::store::log::Meta;
use crate::store::uses::Used;
use crate::store::{Line, work};

/// Somebody who was recognised.
#[derive(Debug, Clone)]
pub struct WorkCaller {
    /// The ledger row its credential resolves to; every statement checks that it lives.
    pub row_id: Uuid,
    pub kind: CallerKind,
    pub name: String,
    pub scopes: Vec<String>,
    pub reach: Reach,
    pub expires_at: Option<Timestamp>,
    /// What a rotated token or an app that was consented to anew stays.
    pub author: Author,
}

#[derive(Debug, Clone)]
pub enum CallerKind {
    App { workspace: WorkspaceId },
    NamedToken { workspace: WorkspaceId },
    Human(Box<Person>),
}

impl CallerKind {
    /// The word on the wire.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::App { .. } => "app",
            Self::NamedToken { .. } => "named_token",
            Self::Human(_) => "human",
        }
    }
}

impl WorkCaller {
    /// A person who is signed in.
    pub fn of(person: Person) -> Self {
        Self {
            row_id: person.session.uuid(),
            name: person.name.clone(),
            scopes: scope::supported(Door::Workspace)
                .map(str::to_owned)
                .collect(),
            reach: Reach::All,
            expires_at: None,
            author: Author::Account(person.account),
            kind: CallerKind::Human(Box::new(person)),
        }
    }

    /// The one workspace of an agent.
    pub fn pinned(&self) -> Option<WorkspaceId> {
        match &self.kind {
            CallerKind::App { workspace } | CallerKind::NamedToken { workspace } => {
                Some(*workspace)
            }
            CallerKind::Human(_) => None,
        }
    }

    pub fn holds(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }

    /// What stays the same of this caller from one credential to the next.
    pub fn line(&self) -> Uuid {
        match self.author {
            Author::Account(account) => account.uuid(),
            Author::Grant(grant) => grant.uuid(),
            Author::Token(token) => token.uuid(),
        }
    }

    /// What is recorded beside each event this caller causes.
    pub fn meta(&self) -> Meta {
        std::iter::once(("by".to_owned(), self.row_id.to_string())).collect()
    }
}

impl Work {
    /// The caller behind a named token, or `unauthorized`.
    pub async fn token_caller(
        &self,
        token_hash: &[u8; 32],
        line: Line,
    ) -> Result<WorkCaller, Problem> {
        let found = work::named_token(self.core.line(line), token_hash).await?;
        let found = found.ok_or_else(unknown)?;
        if found.stale {
            let noted = self.core.note_use(Used::NamedToken, found.row_id, line);
            noted.await?;
        }
        let key = self.core.key(Some(found.key_id)).await?;
        let key = key.ok_or_else(unknown)?;
        Ok(WorkCaller {
            row_id: found.row_id,
            kind: CallerKind::NamedToken {
                workspace: WorkspaceId::new(found.workspace),
            },
            name: name_of(&key, found.row_id, &found.body),
            scopes: found.scopes,
            reach: reach(found.reach),
            expires_at: Some(Timestamp::from_millis(found.expires_at_ms)),
            author: Author::Token(TokenId::new(found.line)),
        })
    }

    /// The caller behind an app's access token, or why it opens nothing.
    pub async fn app_caller(
        &self,
        token_hash: &[u8; 32],
        line: Line,
    ) -> Result<WorkCaller, Problem> {
        let found = work::app(self.core.line(line), token_hash).await?;
        let found = found.ok_or_else(unknown)?;
        if found.paused {
            return Err(Problem {
                message: "The owner of the account has paused this app.".into(),
                ..Problem::new(Code::AccountPolicyBlocked)
            });
        }
        if found.stale {
            let noted = self.core.note_use(Used::Grant, found.row_id, line);
            noted.await?;
        }
        let key = self.core.key(Some(found.key_id)).await?;
        let name = key.and_then(|key| grants::app_name(&key, found.row_id, &found.body));
        Ok(WorkCaller {
            row_id: found.row_id,
            kind: CallerKind::App {
                workspace: WorkspaceId::new(found.workspace),
            },
            name: name.unwrap_or_else(|| ERASED.to_owned()),
            scopes: found.scopes,
            reach: reach(found.reach),
            expires_at: Some(Timestamp::from_millis(found.expires_at_ms)),
            author: Author::Grant(GrantId::new(found.line)),
        })
    }
}

/// A reach as the ledger keeps it: nothing is all.
pub(super) fn reach(listed: Option<Vec<Uuid>>) -> Reach {
    listed.map_or(Reach::All, |ids| {
        Reach::Listed(ids.into_iter().map(ProjectId::new).collect())
    })
}

/// The same, to be kept there.
pub(crate) fn kept(reach: &Reach) -> Option<Vec<Uuid>> {
    match reach {
        Reach::All => None,
        Reach::Listed(projects) => Some(projects.iter().map(|id| id.uuid()).collect()),
    }
}

fn unknown() -> Problem {
    Problem::new(Code::Unauthorized)
}

/// A person who decides: only [`super::policy::human`] makes one (`access` 9).
#[derive(Debug)]
pub struct HumanCaller<'c> {
    pub(super) person: &'c Person,
}

impl HumanCaller<'_> {
    pub fn account(&self) -> AccountId {
        self.person.account
    }
}
