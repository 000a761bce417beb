//! What each event changes about an account.

use std::collections::{BTreeMap, BTreeSet};

use super::command::Address;
use super::event::{
    AccountCreated, AccountEvent, PassphraseSet, ProviderLinked, RecoveryCodeUsed,
    RecoverySheetIssued, SessionStarted,
};
use super::{Account, LinkedProvider, Profile, RecoverySheet, Session};

pub(super) fn evolve(account: &mut Account, event: &AccountEvent) {
    match (&mut *account, event) {
        (_, AccountEvent::Created(created)) => {
            *account = Account::Active(Box::new(profile(created)));
        }
        (_, AccountEvent::Deleted(deleted)) => *account = Account::Deleted { at: deleted.at },
        (Account::Active(profile), event) => change(profile, event),
        (Account::Absent | Account::Deleted { .. }, _) => {}
    }
}

fn profile(created: &AccountCreated) -> Profile {
    Profile {
        email: created.email.clone(),
        address: created.address,
        name: created.name.clone(),
        account_type: created.account_type,
        passphrase_set_at: None,
        sessions: BTreeMap::new(),
        recovery: None,
        providers: BTreeMap::new(),
        last_link: 0,
        created_at: created.at,
        updated_at: created.at,
    }
}

fn change(profile: &mut Profile, event: &AccountEvent) {
    match event {
        AccountEvent::Verified(verified) => {
            profile.address = Address::Verified;
            profile.updated_at = verified.at;
        }
        AccountEvent::PassphraseSet(set) => passphrase_set(profile, set),
        AccountEvent::SessionStarted(started) => session_started(profile, started),
        AccountEvent::SessionEnded(ended) => {
            profile.sessions.remove(&ended.session);
        }
        AccountEvent::EmailChanged(changed) => {
            profile.email = changed.email.clone();
            profile.address = Address::Verified;
            profile.updated_at = changed.at;
        }
        AccountEvent::Renamed(renamed) => {
            profile.name = renamed.name.clone();
            profile.updated_at = renamed.at;
        }
        AccountEvent::RecoverySheetIssued(issued) => sheet_issued(profile, *issued),
        AccountEvent::RecoveryCodeUsed(used) => code_used(profile, *used),
        AccountEvent::ProviderLinked(linked) => provider_linked(profile, linked),
        AccountEvent::ProviderUnlinked(unlinked) => {
            profile.providers.remove(&unlinked.link);
            profile.updated_at = unlinked.at;
        }
        // These two make or end a profile and change none.
        AccountEvent::Created(_) | AccountEvent::Deleted(_) => {}
    }
}

fn passphrase_set(profile: &mut Profile, set: &PassphraseSet) {
    profile.sessions.retain(|id, _| set.kept == Some(*id));
    profile.passphrase_set_at = Some(set.at);
    profile.updated_at = set.at;
}

fn session_started(profile: &mut Profile, started: &SessionStarted) {
    // Expired ones end with no event of theirs; here they are forgotten.
    profile
        .sessions
        .retain(|_, session| session.expires_at > started.at);
    let session = Session {
        device: started.device.clone(),
        started_at: started.at,
        expires_at: started.expires_at,
    };
    profile.sessions.insert(started.session, session);
}

fn sheet_issued(profile: &mut Profile, issued: RecoverySheetIssued) {
    profile.recovery = Some(RecoverySheet {
        number: issued.sheet,
        used: BTreeSet::new(),
        issued_at: issued.at,
    });
    profile.updated_at = issued.at;
}

fn code_used(profile: &mut Profile, used: RecoveryCodeUsed) {
    if let Some(sheet) = &mut profile.recovery
        && sheet.number == used.sheet
    {
        sheet.used.insert(used.code);
    }
}

fn provider_linked(profile: &mut Profile, linked: &ProviderLinked) {
    profile.last_link = linked.link;
    profile.updated_at = linked.at;
    let provider = LinkedProvider {
        provider: linked.provider.clone(),
        subject: linked.subject.clone(),
    };
    profile.providers.insert(linked.link, provider);
}
