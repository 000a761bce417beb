//! A recovery code works once, and only while its sheet is the newest.

use std::collections::BTreeSet;

use super::super::RECOVERY_CODES;
use super::super::command::{AccountCommand, RecoveryCode};
use super::super::error::AccountError;
use super::super::event::{AccountEvent, RecoverySheetIssued};
use super::{after, at, create, refused};
use crate::decider::Decider;

pub fn code(sheet: u32, code: u8) -> AccountCommand {
    AccountCommand::UseRecoveryCode(RecoveryCode { sheet, code })
}

#[test]
fn sheets_are_numbered_from_one_and_hold_ten_codes() {
    let account = after(&[create()]);
    let issued = AccountEvent::RecoverySheetIssued(RecoverySheetIssued {
        at: at(1).at,
        sheet: 1,
        codes: 10,
    });
    let issue = AccountCommand::IssueRecoverySheet;
    assert_eq!(account.decide(&issue, at(1)), Ok(vec![issued]));
    let second = after(&[create(), issue.clone(), issue]);
    let sheet = second.profile().unwrap().recovery.clone().unwrap();
    assert_eq!((sheet.number, sheet.used.len()), (2, 0));
}

#[test]
fn a_code_is_used_once() {
    let account = after(&[
        create(),
        AccountCommand::IssueRecoverySheet,
        code(1, 0),
        code(1, 9),
    ]);
    let sheet = account.profile().unwrap().recovery.as_ref().unwrap();
    assert_eq!(sheet.used, BTreeSet::from([0, 9]));
    assert_eq!(
        refused(&account, &code(1, 9)),
        AccountError::RecoveryCodeUsed
    );
}

#[test]
fn a_code_of_another_sheet_or_of_none_is_refused() {
    let none = after(&[create()]);
    assert_eq!(refused(&none, &code(1, 0)), AccountError::NoRecoverySheet);
    let issue = AccountCommand::IssueRecoverySheet;
    let account = after(&[create(), issue.clone(), issue]);
    for sheet in [0, 1, 3] {
        assert_eq!(
            refused(&account, &code(sheet, 0)),
            AccountError::OtherRecoverySheet { current: 2 }
        );
    }
    assert_eq!(
        refused(&account, &code(2, RECOVERY_CODES)),
        AccountError::NoRecoveryCode { codes: 10 }
    );
}

#[test]
fn a_new_sheet_makes_every_code_of_the_old_one_useless_and_is_itself_unused() {
    let issue = AccountCommand::IssueRecoverySheet;
    let account = after(&[create(), issue.clone(), code(1, 3), issue, code(2, 3)]);
    assert_eq!(
        refused(&account, &code(1, 4)),
        AccountError::OtherRecoverySheet { current: 2 }
    );
}
