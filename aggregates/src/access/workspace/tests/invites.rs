//! An invitation is accepted once, within thirty days, unless it was withdrawn.

use uuid::Uuid;

use super::super::command::{NewInvite, Role, WorkspaceCommand};
use super::super::error::WorkspaceError;
use super::super::event::WorkspaceEvent;
use super::super::{INVITES_LIMIT, MEMBERS_LIMIT, Workspace};
use super::members::add;
use super::{account, at, body, by, opened, refused};
use crate::decider::Decider;
use crate::ids::InviteId;
use crate::text::Text;

const LIFE: i64 = 30 * 24 * 60 * 60;

fn id(number: u128) -> InviteId {
    InviteId::new(Uuid::from_u128(number))
}

pub fn invite(number: u128, email: &str) -> WorkspaceCommand {
    WorkspaceCommand::Invite(Box::new(NewInvite {
        invite: id(number),
        email: Text::parse(email).unwrap(),
        role: Role::Admin,
        by: by(1),
    }))
}

pub fn accept(number: u128, by: u128) -> WorkspaceCommand {
    WorkspaceCommand::AcceptInvite {
        invite: id(number),
        account: account(by),
    }
}

pub fn withdraw(number: u128) -> WorkspaceCommand {
    WorkspaceCommand::WithdrawInvite {
        invite: id(number),
        by: by(1),
    }
}

fn invited() -> Workspace {
    opened(&[invite(1, "bo@harbour.example")])
}

#[test]
fn an_invitation_holds_address_role_and_author_and_is_made_once() {
    let workspace = invited();
    let known = body(&workspace).live_invite(id(1), at(2).at).unwrap();
    assert_eq!(known.email.open().unwrap(), "bo@harbour.example");
    assert_eq!((known.role, known.by), (Role::Admin, by(1)));
    assert_eq!((known.at, known.expires_at), (at(1).at, at(1 + LIFE).at));
    assert_eq!(
        refused(&workspace, &invite(1, "eve@harbour.example")),
        WorkspaceError::InviteExists
    );
    assert_eq!(
        refused(&workspace, &invite(2, "a\u{1f}b@harbour.example")),
        WorkspaceError::Control { field: "email" }
    );
}

#[test]
fn whoever_accepts_joins_with_the_promised_role() {
    let workspace = opened(&[invite(1, "bo@harbour.example"), accept(1, 2)]);
    assert_eq!(body(&workspace).role(account(2)), Some(Role::Admin));
    assert_eq!(body(&workspace).members[&account(2)].joined_at, at(2).at);
    assert_eq!(refused(&workspace, &accept(1, 3)), WorkspaceError::NoInvite);
    assert_eq!(refused(&workspace, &withdraw(1)), WorkspaceError::NoInvite);
}

#[test]
fn a_withdrawn_or_unknown_invitation_is_not_accepted() {
    let workspace = opened(&[invite(1, "bo@harbour.example"), withdraw(1)]);
    for command in [accept(1, 2), accept(7, 2), withdraw(1)] {
        assert_eq!(refused(&workspace, &command), WorkspaceError::NoInvite);
    }
}

#[test]
fn an_invitation_lives_thirty_days() {
    let workspace = invited();
    assert!(workspace.decide(&accept(1, 2), at(LIFE)).is_ok());
    for command in [accept(1, 2), withdraw(1)] {
        assert_eq!(
            workspace.decide(&command, at(1 + LIFE)),
            Err(WorkspaceError::NoInvite)
        );
    }
}

#[test]
fn a_newer_invitation_to_the_same_address_takes_the_place_of_the_older() {
    let workspace = opened(&[
        invite(1, "bo@harbour.example"),
        invite(2, "eve@harbour.example"),
        invite(3, "Bo@Harbour.example"),
    ]);
    let left: Vec<_> = body(&workspace).invites.keys().copied().collect();
    assert_eq!(left, [id(2), id(3)]);
}

#[test]
fn a_member_accepts_no_invitation() {
    assert_eq!(
        refused(&invited(), &accept(1, 1)),
        WorkspaceError::AlreadyMember
    );
}

#[test]
fn a_full_workspace_takes_nobody_by_invitation() {
    let limit = u128::try_from(MEMBERS_LIMIT).unwrap();
    let mut commands = vec![invite(1, "bo@harbour.example")];
    commands.extend((2..=limit).map(|n| add(n, Role::Member)));
    assert_eq!(
        refused(&opened(&commands), &accept(1, limit + 1)),
        WorkspaceError::LimitReached {
            what: "members",
            limit: MEMBERS_LIMIT
        }
    );
}

#[test]
fn live_invitations_are_bounded_and_expired_ones_are_forgotten() {
    let limit = u128::try_from(INVITES_LIMIT).unwrap();
    let many: Vec<_> = (1..=limit)
        .map(|n| invite(n, &format!("m{n}@harbour.example")))
        .collect();
    let mut workspace = opened(&many);
    let one_more = invite(limit + 1, "bo@harbour.example");
    assert_eq!(
        refused(&workspace, &one_more),
        WorkspaceError::LimitReached {
            what: "invitations",
            limit: INVITES_LIMIT
        }
    );
    // A newer one to the same address needs no place of its own.
    let again = invite(limit + 1, "m7@harbour.example");
    assert_eq!(workspace.decide(&again, at(900)).unwrap().len(), 2);
    let events = workspace.decide(&one_more, at(LIFE + 900)).unwrap();
    assert!(matches!(events[..], [WorkspaceEvent::MemberInvited(_)]));
    workspace.evolve(&events[0]);
    assert_eq!(body(&workspace).invites.len(), 1);
}
