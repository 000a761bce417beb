//! The arms of an account.

use super::command::{AccountCommand, NewAccount, ProviderSubject};
use super::error::AccountError;
use super::event::{
    AccountCreated, AccountDeleted, AccountEvent, ProviderLinked, ProviderUnlinked,
};
use super::{Account, Profile};
use crate::sealed::Sealed;
use crate::text::without_controls;
use crate::time::Stamp;

/// Linked subjects of one account.
pub(super) const LINKS_LIMIT: usize = 32;

pub(super) fn decide(
    account: &Account,
    command: &AccountCommand,
    stamp: Stamp,
) -> Result<Vec<AccountEvent>, AccountError> {
    match (account, command) {
        (Account::Absent, AccountCommand::Create(new)) => create(new, stamp),
        (Account::Active(_), AccountCommand::Create(_)) => Err(AccountError::AlreadyExists),
        (Account::Active(profile), AccountCommand::LinkProvider(subject)) => {
            link(profile, subject, stamp)
        }
        (Account::Active(profile), AccountCommand::UnlinkProvider(subject)) => {
            unlink(profile, subject, stamp)
        }
        (Account::Active(_), AccountCommand::Delete) => {
            Ok(vec![AccountEvent::Deleted(AccountDeleted { at: stamp.at })])
        }
        (
            Account::Absent,
            AccountCommand::LinkProvider(_)
            | AccountCommand::UnlinkProvider(_)
            | AccountCommand::Delete,
        ) => Err(AccountError::NotFound),
        (Account::Deleted { .. }, _) => Err(AccountError::Deleted),
    }
}

fn create(new: &NewAccount, stamp: Stamp) -> Result<Vec<AccountEvent>, AccountError> {
    Ok(vec![AccountEvent::Created(AccountCreated {
        at: stamp.at,
        account_type: new.account_type,
        email: Sealed::Open(printable("email", new.email.as_str())?),
        name: Sealed::Open(printable("name", new.name.as_str())?),
    })])
}

fn link(
    profile: &Profile,
    subject: &ProviderSubject,
    stamp: Stamp,
) -> Result<Vec<AccountEvent>, AccountError> {
    if find(profile, subject).is_some() {
        return Err(AccountError::AlreadyLinked);
    }
    if profile.providers.len() >= LINKS_LIMIT {
        return Err(AccountError::TooManyLinks { limit: LINKS_LIMIT });
    }
    Ok(vec![AccountEvent::ProviderLinked(ProviderLinked {
        at: stamp.at,
        link: profile.last_link.saturating_add(1),
        provider: printable("provider", subject.provider.as_str())?,
        subject: Sealed::Open(printable("subject", subject.subject.as_str())?),
    })])
}

fn unlink(
    profile: &Profile,
    subject: &ProviderSubject,
    stamp: Stamp,
) -> Result<Vec<AccountEvent>, AccountError> {
    let link = find(profile, subject).ok_or(AccountError::NotLinked)?;
    Ok(vec![AccountEvent::ProviderUnlinked(ProviderUnlinked {
        at: stamp.at,
        link,
    })])
}

fn find(profile: &Profile, wanted: &ProviderSubject) -> Option<u32> {
    profile
        .providers
        .iter()
        .find(|(_, known)| {
            known.provider == wanted.provider.as_str()
                && known
                    .subject
                    .open()
                    .is_some_and(|subject| subject == wanted.subject.as_str())
        })
        .map(|(link, _)| *link)
}

fn printable(field: &'static str, text: &str) -> Result<String, AccountError> {
    without_controls(text)
        .map(str::to_owned)
        .map_err(|_| AccountError::Control { field })
}
