//! Outside subjects of an account, linked and unlinked.

use super::super::Profile;
use super::super::command::ProviderSubject;
use super::super::error::AccountError;
use super::super::event::{AccountEvent, ProviderLinked, ProviderUnlinked};
use super::printable;
use crate::sealed::Sealed;
use crate::time::Stamp;

/// Linked subjects of one account.
pub(in super::super) const LINKS_LIMIT: usize = 32;

pub(super) fn link(
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

pub(super) fn unlink(
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
