//! The arms of an account.

mod links;
mod sessions;

use super::command::{AccountCommand, Address, NewAccount, RecoveryCode};
use super::error::AccountError;
use super::event::{
    AccountCreated, AccountDeleted, AccountEvent, AccountRenamed, AccountVerified, EmailChanged,
    RecoveryCodeUsed, RecoverySheetIssued,
};
use super::{Account, Profile, RECOVERY_CODES};
use crate::sealed::Sealed;
use crate::text::without_controls;
use crate::time::Stamp;

#[cfg(test)]
pub(super) use links::LINKS_LIMIT;

pub(super) fn decide(
    account: &Account,
    command: &AccountCommand,
    stamp: Stamp,
) -> Result<Vec<AccountEvent>, AccountError> {
    match (account, command) {
        (Account::Absent, AccountCommand::Create(new)) => create(new, stamp),
        (Account::Active(profile), command) => change(profile, command, stamp),
        (
            Account::Absent,
            AccountCommand::Verify
            | AccountCommand::SetPassphrase { .. }
            | AccountCommand::StartSession(_)
            | AccountCommand::EndSession { .. }
            | AccountCommand::ChangeEmail(_)
            | AccountCommand::Rename(_)
            | AccountCommand::IssueRecoverySheet
            | AccountCommand::UseRecoveryCode(_)
            | AccountCommand::LinkProvider(_)
            | AccountCommand::UnlinkProvider(_)
            | AccountCommand::Delete,
        ) => Err(AccountError::NotFound),
        (Account::Deleted { .. }, _) => Err(AccountError::Deleted),
    }
}

fn change(
    profile: &Profile,
    command: &AccountCommand,
    stamp: Stamp,
) -> Result<Vec<AccountEvent>, AccountError> {
    match command {
        AccountCommand::Create(_) => Err(AccountError::AlreadyExists),
        AccountCommand::Verify => Ok(verify(profile, stamp)),
        AccountCommand::SetPassphrase { cause, kept } => {
            Ok(sessions::set_passphrase(profile, *cause, *kept, stamp))
        }
        AccountCommand::StartSession(new) => sessions::start(profile, new, stamp),
        AccountCommand::EndSession { session, cause } => {
            Ok(sessions::end(profile, *session, *cause, stamp))
        }
        AccountCommand::ChangeEmail(email) => change_email(profile, email.as_str(), stamp),
        AccountCommand::Rename(name) => rename(profile, name.as_str(), stamp),
        AccountCommand::IssueRecoverySheet => Ok(issue_sheet(profile, stamp)),
        AccountCommand::UseRecoveryCode(code) => use_code(profile, *code, stamp),
        AccountCommand::LinkProvider(subject) => links::link(profile, subject, stamp),
        AccountCommand::UnlinkProvider(subject) => links::unlink(profile, subject, stamp),
        AccountCommand::Delete => Ok(vec![AccountEvent::Deleted(AccountDeleted { at: stamp.at })]),
    }
}

fn create(new: &NewAccount, stamp: Stamp) -> Result<Vec<AccountEvent>, AccountError> {
    Ok(vec![AccountEvent::Created(AccountCreated {
        at: stamp.at,
        account_type: new.account_type,
        email: Sealed::Open(printable("email", new.email.as_str())?),
        name: Sealed::Open(printable("name", new.name.as_str())?),
        address: new.address,
    })])
}

fn verify(profile: &Profile, stamp: Stamp) -> Vec<AccountEvent> {
    match profile.address {
        Address::Unverified => vec![AccountEvent::Verified(AccountVerified { at: stamp.at })],
        Address::Verified => Vec::new(),
    }
}

fn change_email(
    profile: &Profile,
    email: &str,
    stamp: Stamp,
) -> Result<Vec<AccountEvent>, AccountError> {
    let email = printable("email", email)?;
    if profile.address == Address::Verified && profile.email.open() == Some(&email) {
        return Ok(Vec::new());
    }
    Ok(vec![AccountEvent::EmailChanged(EmailChanged {
        at: stamp.at,
        email: Sealed::Open(email),
    })])
}

fn rename(profile: &Profile, name: &str, stamp: Stamp) -> Result<Vec<AccountEvent>, AccountError> {
    let name = printable("name", name)?;
    if profile.name.open() == Some(&name) {
        return Ok(Vec::new());
    }
    Ok(vec![AccountEvent::Renamed(AccountRenamed {
        at: stamp.at,
        name: Sealed::Open(name),
    })])
}

fn issue_sheet(profile: &Profile, stamp: Stamp) -> Vec<AccountEvent> {
    let last = profile.recovery.as_ref().map_or(0, |sheet| sheet.number);
    vec![AccountEvent::RecoverySheetIssued(RecoverySheetIssued {
        at: stamp.at,
        sheet: last.saturating_add(1),
        codes: RECOVERY_CODES,
    })]
}

fn use_code(
    profile: &Profile,
    wanted: RecoveryCode,
    stamp: Stamp,
) -> Result<Vec<AccountEvent>, AccountError> {
    let sheet = profile.recovery.as_ref();
    let sheet = sheet.ok_or(AccountError::NoRecoverySheet)?;
    if wanted.sheet != sheet.number {
        let current = sheet.number;
        return Err(AccountError::OtherRecoverySheet { current });
    }
    if wanted.code >= RECOVERY_CODES {
        let codes = RECOVERY_CODES;
        return Err(AccountError::NoRecoveryCode { codes });
    }
    if sheet.used.contains(&wanted.code) {
        return Err(AccountError::RecoveryCodeUsed);
    }
    Ok(vec![AccountEvent::RecoveryCodeUsed(RecoveryCodeUsed {
        at: stamp.at,
        sheet: wanted.sheet,
        code: wanted.code,
    })])
}

fn printable(field: &'static str, text: &str) -> Result<String, AccountError> {
    without_controls(text)
        .map(str::to_owned)
        .map_err(|_| AccountError::Control { field })
}
