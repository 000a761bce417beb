//! Invitations to a workspace: a link that is shown once, and its acceptance (settled questions 26, 40).

use helix_aggregates::access::author::Maker;
use helix_aggregates::access::workspace::Workspace;
use helix_aggregates::access::workspace::command::{NewInvite, WorkspaceCommand};
use helix_aggregates::access::workspace::error::WorkspaceError;
use helix_aggregates::ids::{InviteId, WorkspaceId};
use helix_aggregates::text::Text;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::audit::{Went, entry};
use super::change::{Plan, Presence};
use super::members::{may_administer, ownership_is_proved, role_of};
use super::perform::{Answer, Ask};
use super::site::{Site, nothing, workspace_owner};
use super::workspaces::open;
use super::{Work, policy};
use crate::app::access::sign_in::LINK_KIND;
use crate::app::problem::Problem;
use crate::app::redaction::issued_token;
use crate::store::append::Append;
use crate::store::ledger::LedgerChange;
use crate::store::ledger::people::{HandleRow, PeopleChange};
use crate::store::ledger::work::WorkChange;
use crate::store::log::{ExecuteError, Stream};
use crate::store::owner::Lane;
use crate::store::work;
use crate::store::{StoreError, handles};

const INVITE: &str = "invite";
const LIFE_MS: i64 = 30 * 86_400_000;

/// What a link stands for.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Kept {
    workspace: WorkspaceId,
    invite: InviteId,
}

impl Work {
    pub(super) async fn invite(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let by = policy::human(ask.caller)?.account();
        let role = role_of(ask)?;
        let email: Text<320> = ask.arguments.bounded("email")?;
        if !email.as_str().contains('@') {
            return Err(Problem::invalid("email: expected an address."));
        }
        let invite = InviteId::new(self.core.ids.uuid());
        let link = issued_token::mint(LINK_KIND)?;
        let shown = format!(
            "{}/workspace-invites/{}",
            self.base,
            link.text.expose_secret()
        );
        let plan = Plan {
            target: self.workspace_target(ask)?,
            presence: Presence::Existing,
            command: &|_: &Site, workspace: &Workspace| {
                may_administer(open(workspace)?, by, [role])?;
                ownership_is_proved(ask, [Some(role)])?;
                Ok(WorkspaceCommand::Invite(Box::new(NewInvite {
                    invite,
                    email: email.clone(),
                    role,
                    by: Maker::Account(by),
                })))
            },
            rows: &|site: &Site, _| {
                let at_ms = site.stamp.at.millis();
                let kept = Kept {
                    workspace: site.workspace,
                    invite,
                };
                vec![LedgerChange::People(PeopleChange::IssueHandle(HandleRow {
                    handle_hash: link.hash,
                    kind: INVITE,
                    account: None,
                    session: None,
                    body: json!(kept),
                    at_ms,
                    expires_at_ms: at_ms + LIFE_MS,
                }))]
            },
            view: &|_, _: &Workspace| Ok(json!({ "invite_id": invite, "link": shown })),
        };
        self.change(ask, &self.workspaces, plan).await
    }

    /// Whoever is signed in joins by a link.
    pub(super) async fn accept_invite(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let account = policy::human(ask.caller)?.account();
        let text = ask.arguments.needed("token")?;
        if !issued_token::is_spelled(text, LINK_KIND) {
            return Err(nothing());
        }
        let hash = issued_token::hash(text);
        let found = handles::open(&self.core.reads, INVITE, &hash).await?;
        let kept = found.and_then(|found| serde_json::from_value::<Kept>(found.body).ok());
        let Kept { workspace, invite } = kept.ok_or_else(nothing)?;
        let stream = self.home(workspace).await?;
        let stamp = self.core.clock.stamp();
        let at_ms = stamp.at.millis();
        let loaded = self.workspaces.load(&stream).await?;
        let promised = loaded
            .state
            .body()
            .and_then(|body| body.live_invite(invite, stamp.at));
        let role = promised.ok_or_else(nothing)?.role;
        let command = WorkspaceCommand::AcceptInvite { invite, account };
        let meta = ask.caller.meta();
        let joined = self
            .workspaces
            .prepare(&stream, &loaded, &command, stamp, &meta);
        let prepared = match joined {
            Ok(prepared) => prepared,
            Err(ExecuteError::Refused(WorkspaceError::NoInvite)) => return Err(nothing()),
            Err(ExecuteError::Refused(refusal)) => return Err(refusal.into()),
            Err(ExecuteError::Store(error)) => return Err(error.into()),
        };
        let ledger = vec![
            LedgerChange::People(PeopleChange::UseHandle {
                handle_hash: hash,
                at_ms,
            }),
            LedgerChange::Work(WorkChange::Join {
                workspace: workspace.uuid(),
                account: account.uuid(),
                role: role.as_str(),
                at_ms,
            }),
        ];
        let append = Append {
            ledger,
            guards: vec![ask.caller.row_id],
            ..Append::of(stream.lane, vec![prepared.append])
        };
        // Joining and its entry in the record are one: whoever is told that it failed is no member.
        let entry = entry(ask, Went::Well, &[invite.to_string()])?;
        let recorded = self.records.append(&stream, append, entry, stamp, &meta);
        match recorded.await {
            Ok(()) => {}
            Err(StoreError::Spent) => return Err(nothing()),
            Err(error) => return Err(error.into()),
        }
        self.workspaces.remember(&stream, prepared.next);
        let seen = json!({ "workspace_id": workspace, "role": role.as_str() });
        Ok(Answer {
            is_recorded: true,
            ..Answer::of(ask.operation, seen, false)
        })
    }

    /// Takes an invitation back.
    pub(super) async fn withdraw_invite(&self, ask: &Ask<'_>) -> Result<Answer, Problem> {
        let by = policy::human(ask.caller)?.account();
        let invite = InviteId::parse(ask.arguments.needed("invite_id")?).map_err(|_| nothing())?;
        let plan = Plan {
            target: self.workspace_target(ask)?,
            presence: Presence::Existing,
            command: &|site: &Site, workspace: &Workspace| {
                let body = open(workspace)?;
                let known = body.live_invite(invite, site.stamp.at);
                may_administer(body, by, [known.ok_or_else(nothing)?.role])?;
                Ok(WorkspaceCommand::WithdrawInvite {
                    invite,
                    by: Maker::Account(by),
                })
            },
            rows: &|_, _| Vec::new(),
            view: &|_, _: &Workspace| Ok(json!({ "invite_id": invite, "state": "withdrawn" })),
        };
        self.change(ask, &self.workspaces, plan).await
    }

    /// The stream of a workspace that exists.
    pub(super) async fn home(&self, workspace: WorkspaceId) -> Result<Stream, Problem> {
        let id = workspace.uuid();
        let key_id = work::key_id(&self.core.reads, id).await?;
        let key = self.core.key(key_id).await?;
        Ok(Stream {
            id,
            lane: Lane::of_stream(id).ok_or_else(nothing)?,
            owner: workspace_owner(&self.core, id),
            key: key.ok_or_else(nothing)?,
        })
    }
}
