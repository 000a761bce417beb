//! Apps that members connected to a workspace: everybody sees and ends their own, an owner all
//! (`access` 8, 9).

use helix_aggregates::access::grant::event::GrantEnding;
use helix_aggregates::access::workspace::command::Role;
use helix_aggregates::ids::{AccountId, GrantId};
use helix_aggregates::time::Timestamp;
use helix_projections::agent::ERASED;
use serde_json::json;

use super::caller::reach;
use super::perform::{Answer, Ask};
use super::site::nothing;
use super::{Work, policy};
use crate::app::access::grants;
use crate::app::problem::Problem;
use crate::store::work;

impl Work {
    pub(super) async fn list_connections(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let human = policy::human(ask.caller)?;
        let (site, _) = self.look_around(ask).await?;
        let own = (site.role != Some(Role::Owner)).then(|| human.account().uuid());
        let mut connections = Vec::new();
        for one in work::connections(&self.core.reads, site.asker.workspace, own).await? {
            let key = self.core.key(Some(one.key_id)).await?;
            let app = key.and_then(|key| grants::app_name(&key, one.row_id, &one.body));
            connections.push(json!({
                "connection_id": GrantId::new(one.row_id),
                "account_id": AccountId::new(one.account),
                "app": app.unwrap_or_else(|| ERASED.to_owned()),
                "scopes": one.scopes,
                "reach": reach(one.reach),
                "state": if one.paused { "paused" } else { "live" },
                "created_at": Timestamp::from_millis(one.given_at_ms),
                "expires_at": Timestamp::from_millis(one.expires_at_ms),
                "last_used_at": one.last_used_at_ms.map(Timestamp::from_millis),
            }));
        }
        self.still(ask, &site).await?;
        let seen = json!({ "connections": connections });
        Ok(Answer::of(ask.operation, seen, false))
    }

    pub(super) async fn revoke_connection(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let human = policy::human(ask.caller)?;
        let (site, _) = self.look_around(ask).await?;
        let grant = GrantId::parse(ask.arguments.needed("connection_id")?);
        let grant = grant.map_err(|_| nothing())?;
        let account = work::connection(&self.core.withdrawals, site.asker.workspace, grant.uuid());
        let account = AccountId::new(account.await?.ok_or_else(nothing)?);
        if account != human.account() && site.role != Some(Role::Owner) {
            // Hidden from their list, so none for them.
            return Err(nothing());
        }
        let meta = ask.caller.meta();
        let cause = GrantEnding::RevokedByOwner;
        grants::end(&self.core, &self.grants, grant, (cause, &meta)).await?;
        let seen = json!({ "connection_id": grant, "state": "revoked" });
        Ok(Answer::of(ask.operation, seen, false))
    }
}
