//! Who belongs to a workspace (settled question 40, `access` 9).
//!
//! What must stay true: owners decide about everybody, admins about members alone, and everybody may
//! leave; whoever is out loses their apps there in the same commit.

use helix_aggregates::access::author::Maker;
use helix_aggregates::access::token::event::TokenRevocation;
use helix_aggregates::access::workspace::command::{Role, WorkspaceCommand};
use helix_aggregates::access::workspace::{Body, Workspace};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::AccountId;
use helix_projections::agent::ERASED;
use serde_json::{Value, json};
use uuid::Uuid;

use super::audit::{Went, entry};
use super::change::{Plan, Presence, must_work};
use super::perform::{Answer, Ask};
use super::site::Site;
use super::tokens::By;
use super::workspaces::open;
use super::{Work, policy, views};
use crate::app::access::accounts::name_of;
use crate::app::problem::{Code, Problem};
use crate::store::ledger::LedgerChange;
use crate::store::ledger::work::WorkChange;
use crate::store::work;

impl Work {
    pub(super) async fn list_members(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        policy::human(ask.caller)?;
        let (site, loaded) = self.look_around(ask).await?;
        let body = open(&loaded.state)?;
        let mut names = std::collections::BTreeMap::new();
        for known in work::people(&self.core.reads, &site.asker).await? {
            let key = self.core.key(Some(known.key_id)).await?;
            let name = key.and_then(|key| name_of(&key, known.account, &known.body));
            names.insert(AccountId::new(known.account), name);
        }
        let members: Vec<Value> = body
            .members
            .iter()
            .map(|(account, member)| {
                let name = names.get(account).cloned().flatten();
                json!({
                    "account_id": account,
                    "name": name.unwrap_or_else(|| ERASED.to_owned()),
                    "role": member.role.as_str(),
                    "joined_at": member.joined_at,
                })
            })
            .collect();
        // An address is shown to those who may invite.
        let invites = match site.role {
            Some(Role::Owner | Role::Admin) => views::invites(body, site.stamp.at),
            Some(Role::Member) | None => Vec::new(),
        };
        self.still(ask, &site).await?;
        let seen = json!({ "members": members, "invites": invites });
        Ok(Answer::of(ask.operation, seen, false))
    }

    pub(super) async fn change_member(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let by = policy::human(ask.caller)?.account();
        let account = named(ask)?;
        let role = role_of(ask)?;
        let plan = Plan {
            target: self.workspace_target(ask)?,
            presence: Presence::Existing,
            command: &|_: &Site, workspace: &Workspace| {
                let body = open(workspace)?;
                let touched = [body.role(account), Some(role)];
                may_administer(body, by, touched.into_iter().flatten())?;
                ownership_is_proved(ask, touched)?;
                Ok(WorkspaceCommand::ChangeRole {
                    account,
                    role,
                    by: Maker::Account(by),
                })
            },
            rows: &|site: &Site, _| vec![joined(site, account, role)],
            view: &|_, _: &Workspace| {
                Ok(json!({ "member": { "account_id": account, "role": role.as_str() } }))
            },
        };
        self.change(ask, &self.workspaces, plan).await
    }

    /// Takes a member out, or lets one leave. The tokens that an owner made end before, unless the owner
    /// who acts keeps them: cut off half-way, a member without tokens is left and no token without its
    /// maker.
    pub(super) async fn remove_member(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let by = policy::human(ask.caller)?.account();
        let account = named(ask)?;
        let command = |_: &Site, workspace: &Workspace| {
            let body = open(workspace)?;
            if account != by {
                may_administer(body, by, body.role(account))?;
            }
            ownership_is_proved(ask, [body.role(account), None])?;
            Ok(WorkspaceCommand::RemoveMember {
                account,
                by: Maker::Account(by),
            })
        };
        let (site, loaded) = self.look_around(ask).await?;
        let asked = command(&site, &loaded.state)?;
        loaded.state.decide(&asked, site.stamp)?;
        // Tokens are an owner's to see and to end.
        let tokens = match site.role {
            Some(Role::Owner) => self.tokens_of(ask, &site, account).await?,
            Some(Role::Admin | Role::Member) | None => json!([]),
        };
        let plan = Plan {
            target: self.workspace_target(ask)?,
            presence: Presence::Existing,
            command: &command,
            rows: &|site: &Site, _| {
                vec![LedgerChange::Work(WorkChange::Leave {
                    workspace: site.asker.workspace,
                    account: account.uuid(),
                    at_ms: site.stamp.at.millis(),
                })]
            },
            view: &|_, _: &Workspace| Ok(json!({ "account_id": account, "state": "removed" })),
        };
        let mut answer = self.change(ask, &self.workspaces, plan).await?;
        answer.body.insert("tokens".to_owned(), tokens);
        Ok(answer)
    }

    /// The live tokens that somebody made, ended unless the request keeps them.
    async fn tokens_of(
        &self,
        ask: &Ask<'_>,
        site: &Site,
        account: AccountId,
    ) -> Result<Value, Problem> {
        let by = By {
            maker: Maker::Account(policy::human(ask.caller)?.account()),
            meta: ask.caller.meta(),
            must: Some(must_work(ask, site, self.workspace_target(ask)?)),
            entry: Some(entry(ask, Went::Well, &[])?),
        };
        let keeps = ask.arguments.text("keep_tokens") == Some("true");
        let mut lines = Vec::new();
        for line in self.tokens.made_by(site.workspace, account).await? {
            let state = if keeps { "live" } else { "revoked" };
            if !keeps {
                let cause = TokenRevocation::MemberRemoved;
                self.tokens.revoke(line.token_id, cause, &by).await?;
            }
            lines.push(json!({ "token_id": line.token_id, "name": line.name, "state": state }));
        }
        Ok(lines.into())
    }
}

/// Who an owner is changes only after a passphrase entered a short while ago (`access` 3.6).
pub(super) fn ownership_is_proved(
    ask: &Ask<'_>,
    touched: impl IntoIterator<Item = Option<Role>>,
) -> Result<(), Problem> {
    if touched.into_iter().any(|role| role == Some(Role::Owner)) {
        policy::fresh_human(ask.caller)?;
    }
    Ok(())
}

/// Owners administer everybody, admins those who are and stay members.
pub(super) fn may_administer(
    body: &Body,
    by: AccountId,
    touched: impl IntoIterator<Item = Role>,
) -> Result<(), Problem> {
    let allowed = match body.role(by) {
        Some(Role::Owner) => true,
        Some(Role::Admin) => touched.into_iter().all(|role| role == Role::Member),
        Some(Role::Member) | None => false,
    };
    if allowed {
        Ok(())
    } else {
        Err(Problem::new(Code::RoleRequired))
    }
}

pub(super) fn joined(site: &Site, account: AccountId, role: Role) -> LedgerChange {
    LedgerChange::Work(WorkChange::Join {
        workspace: site.asker.workspace,
        account: account.uuid(),
        role: role.as_str(),
        at_ms: site.stamp.at.millis(),
    })
}

pub(super) fn role_of(ask: &Ask<'_>) -> Result<Role, Problem> {
    let fault = || Problem::new(Code::Internal).because("a role was not checked");
    Role::parse(ask.arguments.needed("role")?).ok_or_else(fault)
}

/// The account that a path names; a text that is no id is an account that is unknown.
fn named(ask: &Ask<'_>) -> Result<AccountId, Problem> {
    let account = AccountId::parse(ask.arguments.needed("account_id")?);
    Ok(account.unwrap_or(AccountId::new(Uuid::nil())))
}
