//! Members join, change their role, leave and are removed; an owner always stays.

use super::super::MEMBERS_LIMIT;
use super::super::command::{Role, WorkspaceCommand};
use super::super::error::WorkspaceError;
use super::super::event::{MemberLeft, MemberRemoved, WorkspaceEvent};
use super::{account, ada, at, body, by, nothing_happens, opened, refused};
use crate::access::author::Maker;
use crate::decider::Decider;

pub fn add(number: u128, role: Role) -> WorkspaceCommand {
    WorkspaceCommand::AddMember {
        account: account(number),
        role,
        by: Maker::Operator,
    }
}

pub fn change_role(number: u128, role: Role) -> WorkspaceCommand {
    WorkspaceCommand::ChangeRole {
        account: account(number),
        role,
        by: by(1),
    }
}

pub fn remove(number: u128, author: u128) -> WorkspaceCommand {
    WorkspaceCommand::RemoveMember {
        account: account(number),
        by: by(author),
    }
}

#[test]
fn a_member_is_added_once_with_a_role() {
    let workspace = opened(&[add(2, Role::Admin)]);
    assert_eq!(body(&workspace).role(account(2)), Some(Role::Admin));
    assert_eq!(body(&workspace).members[&account(2)].joined_at, at(1).at);
    for number in [1, 2] {
        let refusal = refused(&workspace, &add(number, Role::Member));
        assert_eq!(refusal, WorkspaceError::AlreadyMember);
    }
}

#[test]
fn members_are_bounded() {
    let limit = u128::try_from(MEMBERS_LIMIT).unwrap();
    let others: Vec<_> = (2..=limit).map(|n| add(n, Role::Member)).collect();
    let full = opened(&others);
    assert_eq!(body(&full).members.len(), MEMBERS_LIMIT);
    assert_eq!(
        refused(&full, &add(limit + 1, Role::Member)),
        WorkspaceError::LimitReached {
            what: "members",
            limit: MEMBERS_LIMIT
        }
    );
}

#[test]
fn a_role_changes_and_the_present_one_is_no_change() {
    let workspace = opened(&[add(2, Role::Member), change_role(2, Role::Owner)]);
    assert_eq!(body(&workspace).role(account(2)), Some(Role::Owner));
    nothing_happens(&workspace, &change_role(2, Role::Owner));
    let both = opened(&[
        add(2, Role::Member),
        change_role(2, Role::Owner),
        change_role(1, Role::Member),
    ]);
    assert_eq!(body(&both).owners().collect::<Vec<_>>(), [account(2)]);
}

#[test]
fn the_last_owner_is_neither_demoted_nor_removed_and_does_not_leave() {
    let workspace = opened(&[add(2, Role::Admin)]);
    for command in [change_role(1, Role::Admin), remove(1, 1), remove(1, 2)] {
        assert_eq!(refused(&workspace, &command), WorkspaceError::LastOwner);
    }
    nothing_happens(&workspace, &change_role(1, Role::Owner));
}

#[test]
fn whoever_removes_themselves_has_left() {
    let workspace = opened(&[add(2, Role::Owner)]);
    let left = WorkspaceEvent::MemberLeft(MemberLeft {
        at: at(9).at,
        account: ada(),
    });
    assert_eq!(workspace.decide(&remove(1, 1), at(9)), Ok(vec![left]));
    let removed = WorkspaceEvent::MemberRemoved(MemberRemoved {
        at: at(9).at,
        account: ada(),
        by: by(2),
    });
    assert_eq!(workspace.decide(&remove(1, 2), at(9)), Ok(vec![removed]));
    for author in [1, 2] {
        let without = opened(&[add(2, Role::Owner), remove(1, author)]);
        assert_eq!(body(&without).role(ada()), None);
    }
}

#[test]
fn only_a_member_has_a_role_to_change_or_to_lose() {
    let workspace = opened(&[]);
    for command in [change_role(2, Role::Admin), remove(2, 1), remove(2, 2)] {
        assert_eq!(refused(&workspace, &command), WorkspaceError::NoMember);
    }
}

#[test]
fn a_removed_member_can_join_again() {
    let workspace = opened(&[add(2, Role::Admin), remove(2, 1), add(2, Role::Member)]);
    assert_eq!(body(&workspace).role(account(2)), Some(Role::Member));
}
