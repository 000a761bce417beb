//! Signed-in browsers: started, ended, and ended together by a new passphrase.

use super::super::command::{Address, NewSession, PassphraseCause, SignOff};
use super::super::error::AccountError;
use super::super::event::{
    AccountEvent, PassphraseSet, SessionEnded, SessionEnding, SessionStarted,
};
use super::super::{Profile, SESSIONS_LIMIT};
use super::printable;
use crate::ids::SessionId;
use crate::sealed::Sealed;
use crate::time::Stamp;

pub(super) fn set_passphrase(
    profile: &Profile,
    cause: PassphraseCause,
    kept: Option<SessionId>,
    stamp: Stamp,
) -> Vec<AccountEvent> {
    let kept = match cause {
        PassphraseCause::Change => kept.filter(|kept| is_live(profile, *kept, stamp)),
        // Whoever forgot the old passphrase, or feared for it, leaves no session behind.
        PassphraseCause::Setup
        | PassphraseCause::Invitation
        | PassphraseCause::SignUp
        | PassphraseCause::Reset
        | PassphraseCause::Recovery => None,
    };
    vec![AccountEvent::PassphraseSet(PassphraseSet {
        at: stamp.at,
        cause,
        kept,
    })]
}

pub(super) fn start(
    profile: &Profile,
    new: &NewSession,
    stamp: Stamp,
) -> Result<Vec<AccountEvent>, AccountError> {
    if profile.address == Address::Unverified {
        return Err(AccountError::Unverified);
    }
    if profile.sessions.contains_key(&new.session) {
        return Err(AccountError::SessionExists);
    }
    if new.expires_at <= stamp.at {
        return Err(AccountError::SessionOver);
    }
    let device = printable("device", new.device.as_str())?;
    let mut events = make_room(profile, stamp);
    events.push(AccountEvent::SessionStarted(SessionStarted {
        at: stamp.at,
        session: new.session,
        device: Sealed::Open(device),
        expires_at: new.expires_at,
    }));
    Ok(events)
}

/// Ends the oldest sessions until one more has its place.
fn make_room(profile: &Profile, stamp: Stamp) -> Vec<AccountEvent> {
    let mut live: Vec<_> = profile
        .live(stamp.at)
        .map(|(id, session)| (session.started_at, id))
        .collect();
    live.sort_unstable();
    let surplus = (live.len() + 1).saturating_sub(SESSIONS_LIMIT);
    live.into_iter()
        .take(surplus)
        .map(|(_, session)| ended(session, SessionEnding::Limit, stamp))
        .collect()
}

/// No events for a session that has ended by now: signing out twice is no fault.
pub(super) fn end(
    profile: &Profile,
    session: SessionId,
    cause: SignOff,
    stamp: Stamp,
) -> Vec<AccountEvent> {
    if is_live(profile, session, stamp) {
        vec![ended(session, cause.into(), stamp)]
    } else {
        Vec::new()
    }
}

fn is_live(profile: &Profile, session: SessionId, stamp: Stamp) -> bool {
    profile
        .sessions
        .get(&session)
        .is_some_and(|known| known.expires_at > stamp.at)
}

fn ended(session: SessionId, cause: SessionEnding, stamp: Stamp) -> AccountEvent {
    AccountEvent::SessionEnded(SessionEnded {
        at: stamp.at,
        session,
        cause,
    })
}
