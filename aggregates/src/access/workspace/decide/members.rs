//! Who belongs to a workspace, and who is invited to.

use std::time::Duration;

use super::super::command::{NewInvite, Role};
use super::super::error::WorkspaceError;
use super::super::event::{
    InviteAccepted, InviteWithdrawn, MemberAdded, MemberInvited, MemberLeft, MemberRemoved,
    RoleChanged, WorkspaceEvent,
};
use super::super::{Body, INVITES_LIMIT, MEMBERS_LIMIT};
use super::{printable, room};
use crate::access::author::Maker;
use crate::ids::{AccountId, InviteId};
use crate::time::Stamp;

/// How long an invitation can be accepted (settled question 61).
const INVITE_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub(super) fn add(
    body: &Body,
    (account, role): (AccountId, Role),
    by: Maker,
    stamp: Stamp,
) -> Result<WorkspaceEvent, WorkspaceError> {
    admit(body, account)?;
    Ok(WorkspaceEvent::MemberAdded(MemberAdded {
        at: stamp.at,
        account,
        role,
        by,
    }))
}

fn admit(body: &Body, account: AccountId) -> Result<(), WorkspaceError> {
    if body.members.contains_key(&account) {
        return Err(WorkspaceError::AlreadyMember);
    }
    room("members", body.members.len(), MEMBERS_LIMIT)
}

/// A newer invitation to the same address takes the place of an older one (`access` 1.2).
pub(super) fn invite(
    body: &Body,
    new: &NewInvite,
    stamp: Stamp,
) -> Result<Vec<WorkspaceEvent>, WorkspaceError> {
    if body.invites.contains_key(&new.invite) {
        return Err(WorkspaceError::InviteExists);
    }
    let email = printable("email", new.email.as_str())?;
    let mut events = Vec::with_capacity(2);
    let mut live = 0;
    for (id, known) in &body.invites {
        if known.expires_at <= stamp.at {
            continue;
        }
        let address = known.email.open().map(|known| known.to_lowercase());
        if address == Some(new.email.as_str().to_lowercase()) {
            events.push(withdrawn(*id, new.by, stamp));
        } else {
            live += 1;
        }
    }
    room("invitations", live, INVITES_LIMIT)?;
    events.push(WorkspaceEvent::MemberInvited(Box::new(MemberInvited {
        at: stamp.at,
        invite: new.invite,
        email,
        role: new.role,
        by: new.by,
        expires_at: stamp.at.plus(INVITE_LIFE),
    })));
    Ok(events)
}

pub(super) fn accept(
    body: &Body,
    invite: InviteId,
    account: AccountId,
    stamp: Stamp,
) -> Result<WorkspaceEvent, WorkspaceError> {
    let known = body.live_invite(invite, stamp.at);
    let known = known.ok_or(WorkspaceError::NoInvite)?;
    admit(body, account)?;
    Ok(WorkspaceEvent::InviteAccepted(InviteAccepted {
        at: stamp.at,
        invite,
        account,
        role: known.role,
    }))
}

pub(super) fn withdraw(
    body: &Body,
    invite: InviteId,
    by: Maker,
    stamp: Stamp,
) -> Result<WorkspaceEvent, WorkspaceError> {
    body.live_invite(invite, stamp.at)
        .map(|_| withdrawn(invite, by, stamp))
        .ok_or(WorkspaceError::NoInvite)
}

fn withdrawn(invite: InviteId, by: Maker, stamp: Stamp) -> WorkspaceEvent {
    WorkspaceEvent::InviteWithdrawn(InviteWithdrawn {
        at: stamp.at,
        invite,
        by,
    })
}

pub(super) fn change_role(
    body: &Body,
    (account, role): (AccountId, Role),
    by: Maker,
    stamp: Stamp,
) -> Result<Vec<WorkspaceEvent>, WorkspaceError> {
    let present = body.role(account).ok_or(WorkspaceError::NoMember)?;
    if present == role {
        return Ok(Vec::new());
    }
    another_owner(body, account)?;
    let mut events = vec![WorkspaceEvent::RoleChanged(RoleChanged {
        at: stamp.at,
        account,
        role,
        by,
    })];
    events.extend(void_invites(body, account, Some(role), (by, stamp)));
    Ok(events)
}

/// Invitations outlive neither the membership nor the role of whoever made them: a link that was kept
/// would bring them back.
fn void_invites(
    body: &Body,
    account: AccountId,
    role: Option<Role>,
    (by, stamp): (Maker, Stamp),
) -> impl Iterator<Item = WorkspaceEvent> {
    let theirs = body.invites.iter().filter(move |(_, invite)| {
        let may_stand = match role {
            Some(Role::Owner) => true,
            Some(Role::Admin) => invite.role == Role::Member,
            Some(Role::Member) | None => false,
        };
        invite.by == Maker::Account(account) && invite.expires_at > stamp.at && !may_stand
    });
    theirs.map(move |(id, _)| withdrawn(*id, by, stamp))
}

pub(super) fn remove(
    body: &Body,
    account: AccountId,
    by: Maker,
    stamp: Stamp,
) -> Result<Vec<WorkspaceEvent>, WorkspaceError> {
    body.role(account).ok_or(WorkspaceError::NoMember)?;
    another_owner(body, account)?;
    let at = stamp.at;
    let mut events = vec![if by == Maker::Account(account) {
        WorkspaceEvent::MemberLeft(MemberLeft { at, account })
    } else {
        WorkspaceEvent::MemberRemoved(MemberRemoved { at, account, by })
    }];
    events.extend(void_invites(body, account, None, (by, stamp)));
    Ok(events)
}

/// Refuses to go on without an owner once `account` is none.
fn another_owner(body: &Body, account: AccountId) -> Result<(), WorkspaceError> {
    if body.owners().any(|owner| owner != account) {
        Ok(())
    } else {
        Err(WorkspaceError::LastOwner)
    }
}
