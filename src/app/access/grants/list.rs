//! The apps of an account, as its owner sees them.

use helix_aggregates::access::grant::command::Door;
use helix_aggregates::ids::GrantId;
use helix_aggregates::time::Timestamp;
use helix_projections::agent::ERASED;

use super::{GrantBody, Grants, MOST, place};
use crate::app::access::sign_in::Person;
use crate::store::StoreError;
use crate::store::oauth_grants::{self, ListedGrant};

/// Ended grants a list shows beside all the live ones.
const ENDED: i64 = 100;

/// One connected app, or one that was of late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantLine {
    pub grant_id: GrantId,
    pub app: String,
    /// Where its answers go, as it was shown at consent.
    pub redirect: String,
    pub door: Door,
    pub scopes: Vec<String>,
    pub state: GrantState,
    pub given_at: Timestamp,
    pub expires_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantState {
    Live,
    Paused,
    Expired,
    /// With the word of its cause.
    Ended(String),
}

impl Grants {
    /// The apps of `person`, live ones first.
    pub async fn list(&self, person: &Person) -> Result<Vec<GrantLine>, StoreError> {
        let account = person.account.uuid();
        let listed = oauth_grants::list(&self.core.reads, account, MOST + ENDED).await?;
        listed.into_iter().map(|one| line(person, one)).collect()
    }
}

fn line(person: &Person, listed: ListedGrant) -> Result<GrantLine, StoreError> {
    let plain = person.key.open(&place(listed.row_id), &listed.body).ok();
    let body = plain.and_then(|plain| serde_json::from_slice::<GrantBody>(&plain).ok());
    let (app, redirect) = body.map_or_else(
        || (ERASED.to_owned(), ERASED.to_owned()),
        |body| (body.app, body.redirect),
    );
    let state = match (listed.revoked_reason, listed.expired, listed.paused) {
        (Some(reason), _, _) => GrantState::Ended(reason),
        (None, true, _) => GrantState::Expired,
        (None, false, true) => GrantState::Paused,
        (None, false, false) => GrantState::Live,
    };
    Ok(GrantLine {
        grant_id: GrantId::new(listed.row_id),
        app,
        redirect,
        door: Door::parse(&listed.door)
            .ok_or_else(|| StoreError::Damaged("a grant opens no known door".to_owned()))?,
        scopes: listed.scopes,
        state,
        given_at: Timestamp::from_millis(listed.given_at_ms),
        expires_at: Timestamp::from_millis(listed.expires_at_ms),
        last_used_at: listed.last_used_at_ms.map(Timestamp::from_millis),
        ended_at: listed.revoked_at_ms.map(Timestamp::from_millis),
    })
}
