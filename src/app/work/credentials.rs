//! Named tokens over the door: an owner's, with a fresh passphrase (`access` 8, 9).

use helix_aggregates::access::author::Maker;
use helix_aggregates::access::token::event::TokenRevocation;
use helix_aggregates::ids::{TokenId, WorkspaceId};
use secrecy::ExposeSecret;
use serde_json::json;

use super::audit::{Went, entry};
use super::change::must_work;
use super::perform::{Answer, Ask};
use super::site::{Site, nothing};
use super::tokens::{By, DAYS, Minted, TokenWish, TokensError};
use super::{Work, policy};
use crate::app::problem::Problem;
use crate::store::StoreError;

impl Work {
    pub(super) async fn list_tokens(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let (site, _) = self.owners_site(ask).await?;
        let tokens = self.tokens.list(Some(site.workspace)).await?;
        self.still(ask, &site).await?;
        let seen = json!({ "tokens": tokens });
        Ok(Answer::of(ask.operation, seen, false))
    }

    pub(super) async fn create_token(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let (site, by) = self.owners_site(ask).await?;
        let wish = TokenWish {
            name: ask.arguments.needed("name")?.to_owned(),
            scopes: ask.arguments.scopes("scopes")?,
            reach: ask.arguments.reach("reach")?,
            expires_days: ask.arguments.number("expires_days").unwrap_or(DAYS),
        };
        let by = recorded(ask, by)?;
        match self.tokens.create(site.workspace, &wish, &by).await {
            Ok(made) => Ok(shown(ask, &made)),
            Err(error) => Err(self.why(ask, error).await),
        }
    }

    pub(super) async fn rotate_token(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let (site, by) = self.owners_site(ask).await?;
        let token = self.token_of(ask, site.workspace).await?;
        let days = ask.arguments.number("expires_days").unwrap_or(DAYS);
        let grace = ask.arguments.number("grace_seconds");
        let by = recorded(ask, by)?;
        match self.tokens.rotate(token, days, grace, &by).await {
            Ok(made) => Ok(shown(ask, &made)),
            Err(error) => Err(self.why(ask, error).await),
        }
    }

    pub(super) async fn revoke_token(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let (site, by) = self.owners_site(ask).await?;
        let token = self.token_of(ask, site.workspace).await?;
        self.tokens
            .revoke(token, TokenRevocation::Owner, &by)
            .await?;
        let seen = json!({ "token_id": token, "state": "revoked" });
        Ok(Answer::of(ask.operation, seen, false))
    }

    /// Why nothing was done. Where the session, the membership or the role went meanwhile, another look
    /// says which.
    async fn why(&self, ask: &Ask<'_>, error: TokensError) -> Problem {
        match (&error, self.owners_site(ask).await) {
            (TokensError::Store(StoreError::Revoked), Err(problem)) => problem,
            _ => error.into(),
        }
    }

    /// The workspace of an owner whose passphrase is fresh.
    async fn owners_site(&self, ask: &Ask<'_>) -> Result<(Site, By), Problem> {
        policy::human(ask.caller)?;
        let (site, _) = self.look_around(ask).await?;
        let human = policy::fresh_human(ask.caller)?;
        let target = self.workspace_target(ask)?;
        let by = By {
            maker: Maker::Account(human.account()),
            meta: ask.caller.meta(),
            must: Some(must_work(ask, &site, target)),
            entry: None,
        };
        Ok((site, by))
    }

    /// The token that a path names, which must be of that workspace.
    async fn token_of(&self, ask: &Ask<'_>, workspace: WorkspaceId) -> Result<TokenId, Problem> {
        let token = TokenId::parse(ask.arguments.needed("token_id")?);
        let token = token.map_err(|_| nothing())?;
        if self.tokens.workspace_of(token).await? == workspace {
            Ok(token)
        } else {
            Err(nothing())
        }
    }
}

/// In one commit with the entry in the record: a text that is shown once is not made where it could not be
/// answered.
fn recorded(ask: &Ask<'_>, by: By) -> Result<By, Problem> {
    Ok(By {
        entry: Some(entry(ask, Went::Well, &[])?),
        ..by
    })
}

fn shown(ask: &Ask<'_>, made: &Minted) -> Answer {
    let seen = json!({
        "token": made.token.expose_secret(),
        "token_id": made.token_id,
        "workspace_id": made.workspace,
        "expires_at": made.expires_at,
    });
    Answer {
        is_recorded: true,
        ..Answer::of(ask.operation, seen, false)
    }
}
