//! The tokens of a workspace as lists show them.

use helix_aggregates::access::reach::Reach;
use helix_aggregates::ids::{AccountId, TokenId, WorkspaceId};
use helix_aggregates::time::Timestamp;
use helix_projections::agent::ERASED;
use serde::Serialize;

use super::{NamedTokens, name_of};
use crate::app::work::caller::reach;
use crate::store::StoreError;
use crate::store::work::{self, ListedToken};

/// Tokens a list shows.
const LISTED: i64 = 1_000;
/// How the operator is called in lists and logs (`access` 8).
pub const OPERATOR: &str = "Helix (operator)";

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenLine {
    pub token_id: TokenId,
    pub workspace_id: WorkspaceId,
    pub name: String,
    pub last_four: String,
    pub scopes: Vec<String>,
    pub reach: Reach,
    /// The account that made it, or the operator.
    pub creator: String,
    pub state: &'static str,
    pub exposed: bool,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl NamedTokens {
    /// Tokens of a workspace, or of all, newest first; ended ones for a year.
    pub async fn list(&self, workspace: Option<WorkspaceId>) -> Result<Vec<TokenLine>, StoreError> {
        let id = workspace.map(WorkspaceId::uuid);
        self.lines(work::list(&self.core.reads, id, LISTED).await?)
            .await
    }

    /// The live tokens that somebody made.
    pub async fn made_by(
        &self,
        workspace: WorkspaceId,
        account: AccountId,
    ) -> Result<Vec<TokenLine>, StoreError> {
        let made = work::made_by(&self.core.withdrawals, workspace.uuid(), account.uuid());
        self.lines(made.await?).await
    }

    async fn lines(&self, listed: Vec<ListedToken>) -> Result<Vec<TokenLine>, StoreError> {
        let mut lines = Vec::with_capacity(listed.len());
        for one in listed {
            let key = self.core.key(Some(one.key_id)).await?;
            let name = key.map(|key| name_of(&key, one.row_id, &one.body));
            lines.push(line(one, name.unwrap_or_else(|| ERASED.to_owned())));
        }
        Ok(lines)
    }
}

fn line(listed: ListedToken, name: String) -> TokenLine {
    TokenLine {
        token_id: TokenId::new(listed.row_id),
        workspace_id: WorkspaceId::new(listed.workspace),
        name,
        last_four: listed.last_four,
        scopes: listed.scopes,
        reach: reach(listed.reach),
        creator: listed.made_by.map_or_else(
            || OPERATOR.to_owned(),
            |account| AccountId::new(account).to_string(),
        ),
        state: match (listed.revoked_at_ms, listed.expired) {
            (Some(_), _) => "revoked",
            (None, true) => "expired",
            (None, false) => "live",
        },
        exposed: listed.exposed_at_ms.is_some(),
        created_at: Timestamp::from_millis(listed.minted_at_ms),
        expires_at: Timestamp::from_millis(listed.expires_at_ms),
        last_used_at: listed.last_used_at_ms.map(Timestamp::from_millis),
        revoked_at: listed.revoked_at_ms.map(Timestamp::from_millis),
    }
}
