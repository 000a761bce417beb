//! Codes and refresh tokens against pairs of tokens (`access` 3.5).

use std::time::Duration;

use helix_aggregates::access::grant::command::Door;
use helix_aggregates::access::grant::event::GrantEnding;
use helix_aggregates::ids::GrantId;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::{Grants, GrantsError};
use crate::app::access::clients::Presented;
use crate::app::redaction::issued_token;
use crate::auth::oauth::pkce::Challenge;
use crate::auth::oauth::rotation::{self, Decision, Line, Standing};
use crate::auth::oauth::scope::Scopes;
use crate::auth::oauth::token_error::TokenError;
use crate::auth::oauth::token_request::{CodeExchange, Refresh, Revocation};
use crate::store::StoreError;
use crate::store::log::Meta;
use crate::store::oauth_tokens::{
    self, FoundCode, FoundGrant, FoundRefresh, Held, NewPair, Redemption,
};

/// Kinds in the texts of tokens (`access` 1.1).
pub const ACCESS_KIND: &str = "at";
pub(super) const REFRESH_KIND: &str = "rt";
const CODE_KIND: &str = super::CODE_KIND;

/// Milliseconds of an access token, unless its grant ends before.
pub const ACCESS_LIFE_MS: i64 = 3_600_000;
/// A grant whose refresh token rests longer than this has ended.
pub(super) const UNUSED_MS: i64 = 30 * 86_400_000;
/// Wrong attempts that a code survives.
const MOST_MISSES: i16 = 5;

/// Why nothing was issued.
#[derive(Debug, thiserror::Error)]
pub enum RedeemError {
    #[error(transparent)]
    Refused(#[from] TokenError),
    #[error(transparent)]
    Grants(#[from] GrantsError),
}

impl From<StoreError> for RedeemError {
    fn from(error: StoreError) -> Self {
        Self::Grants(error.into())
    }
}

/// A pair on the one occasion that its texts are known.
#[derive(Debug)]
pub struct Issued {
    pub access: SecretString,
    pub refresh: SecretString,
    /// Seconds.
    pub expires_in: i64,
    pub scope: String,
    /// The canonical text of its door.
    pub resource: String,
}

/// What a look-up decided, beside what it stored.
enum Told {
    Issued {
        expires_in: i64,
        scope: String,
        door: Door,
    },
    Refused(TokenError),
    /// Refused, and the grant must end.
    Ends(TokenError, Uuid, GrantEnding),
}

impl Grants {
    /// Redeems a code.
    pub async fn exchange(
        &self,
        client: &Presented,
        request: &CodeExchange,
    ) -> Result<Issued, RedeemError> {
        let code = request.code.expose_secret();
        if !issued_token::is_spelled(code, CODE_KIND) {
            return Err(TokenError::Code.into());
        }
        let (access, refresh) = (
            issued_token::mint(ACCESS_KIND)?,
            issued_token::mint(REFRESH_KIND)?,
        );
        let hashes = (access.hash, refresh.hash);
        let pool = &self.core().pool;
        let hash = issued_token::hash(code);
        let judge = |found: &FoundCode| self.judge_code(client, request, found, hashes);
        let told = oauth_tokens::redeem(pool, &hash, judge)
            .await?
            .unwrap_or(Told::Refused(TokenError::Code));
        self.conclude(told, access.text, refresh.text).await
    }

    fn judge_code(
        &self,
        client: &Presented,
        request: &CodeExchange,
        found: &FoundCode,
        hashes: ([u8; 32], [u8; 32]),
    ) -> (Redemption, Told) {
        let grant = &found.grant;
        if found.used_at_ms.is_some() {
            // Two parties hold it, and nobody can tell which is the thief.
            let told = Told::Ends(TokenError::Code, grant.row_id, GrantEnding::CodeReplayed);
            return (Redemption::Leave, told);
        }
        if !grant.lives || found.expires_at_ms <= grant.now_ms || found.misses >= MOST_MISSES {
            return (Redemption::Leave, Told::Refused(TokenError::Code));
        }
        let met = Challenge::parse(&found.challenge)
            .is_some_and(|challenge| challenge.is_met_by(&request.verifier));
        let fits = met
            && grant.client_id == client.client_id
            && found.redirect_uri == request.redirect_uri;
        if !fits {
            let told = if found.misses + 1 >= MOST_MISSES {
                Told::Ends(TokenError::Code, grant.row_id, GrantEnding::CodeGuessed)
            } else {
                Told::Refused(TokenError::Code)
            };
            return (Redemption::Miss, told);
        }
        let Some(scopes) = scopes_of(grant) else {
            return (Redemption::Leave, Told::Refused(TokenError::Code));
        };
        if let Err(error) = self.resources().agree(&request.resources, scopes.door()) {
            return (Redemption::Leave, Told::Refused(error.into()));
        }
        issue(grant, &scopes, hashes)
    }

    /// Redeems a refresh token.
    pub async fn refresh(
        &self,
        client: &Presented,
        request: &Refresh,
    ) -> Result<Issued, RedeemError> {
        let token = request.token.expose_secret();
        if !issued_token::is_spelled(token, REFRESH_KIND) {
            return Err(TokenError::Grant.into());
        }
        let (access, refresh) = (
            issued_token::mint(ACCESS_KIND)?,
            issued_token::mint(REFRESH_KIND)?,
        );
        let hashes = (access.hash, refresh.hash);
        let pool = &self.core().pool;
        let hash = issued_token::hash(token);
        let judge = |found: &FoundRefresh| self.judge_refresh(client, request, found, hashes);
        let told = oauth_tokens::rotate(pool, &hash, judge)
            .await?
            .unwrap_or(Told::Refused(TokenError::Grant));
        self.conclude(told, access.text, refresh.text).await
    }

    fn judge_refresh(
        &self,
        client: &Presented,
        request: &Refresh,
        found: &FoundRefresh,
        hashes: ([u8; 32], [u8; 32]),
    ) -> (Redemption, Told) {
        let grant = &found.grant;
        let refused = |error| (Redemption::Leave, Told::Refused(error));
        let ends = |cause| {
            (
                Redemption::Leave,
                Told::Ends(TokenError::Grant, grant.row_id, cause),
            )
        };
        if grant.client_id != client.client_id || !grant.lives {
            return refused(TokenError::Grant);
        }
        let standing = match found.used_at_ms {
            None if grant.now_ms - found.issued_at_ms > UNUSED_MS => {
                return ends(GrantEnding::Unused);
            }
            None => Standing::Unused,
            Some(used_at_ms) => Standing::Used {
                age: Duration::from_millis(u64::try_from(grant.now_ms - used_at_ms).unwrap_or(0)),
                successors: found.successors,
                line: if found.used_successors > 0 {
                    Line::Grandchildren
                } else {
                    Line::Children
                },
            },
        };
        match rotation::decide(standing, self.overlap()) {
            Decision::Reused => return ends(GrantEnding::RefreshReused),
            Decision::TooMany { retry_after } => {
                return refused(TokenError::JustRefreshed { retry_after });
            }
            Decision::Rotate | Decision::Sibling => {}
        }
        let Some(scopes) = scopes_of(grant) else {
            return refused(TokenError::Grant);
        };
        let narrowed = match scopes.narrowed(request.scope.as_deref()) {
            Ok(narrowed) => narrowed,
            Err(error) => return refused(error.into()),
        };
        if let Err(error) = self.resources().agree(&request.resources, scopes.door()) {
            return refused(error.into());
        }
        issue(grant, &narrowed, hashes)
    }

    async fn conclude(
        &self,
        told: Told,
        access: SecretString,
        refresh: SecretString,
    ) -> Result<Issued, RedeemError> {
        match told {
            Told::Issued {
                expires_in,
                scope,
                door,
            } => Ok(Issued {
                access,
                refresh,
                expires_in,
                scope,
                resource: self
                    .resources()
                    .canonical(door)
                    .unwrap_or_default()
                    .to_owned(),
            }),
            Told::Refused(error) => Err(error.into()),
            Told::Ends(error, grant, cause) => {
                self.end(GrantId::new(grant), cause, &Meta::new()).await?;
                Err(error.into())
            }
        }
    }

    /// Ends the token that somebody holds: a refresh token with its whole grant. What is unknown, or
    /// of another app than the one that is named, changes nothing.
    pub async fn give_back(&self, request: &Revocation) -> Result<(), GrantsError> {
        let token = request.token.expose_secret();
        let known = [ACCESS_KIND, REFRESH_KIND]
            .iter()
            .any(|kind| issued_token::is_spelled(token, kind));
        if !known {
            return Ok(());
        }
        let hash = issued_token::hash(token);
        let named = |client: &str| {
            request
                .client_id
                .as_deref()
                .is_none_or(|named| named == client)
        };
        match oauth_tokens::held(&self.core().pool, &hash).await? {
            Some(Held::Access { client_id }) if named(&client_id) => {
                oauth_tokens::revoke_access(&self.core().pool, &hash).await?;
            }
            Some(Held::Refresh { client_id, grant }) if named(&client_id) => {
                let cause = GrantEnding::RevokedByApp;
                self.end(GrantId::new(grant), cause, &Meta::new()).await?;
            }
            Some(_) | None => {}
        }
        Ok(())
    }
}

fn scopes_of(grant: &FoundGrant) -> Option<Scopes> {
    let door = Door::parse(&grant.door)?;
    Scopes::chosen(door, grant.scopes.iter().map(String::as_str))
}

fn issue(
    grant: &FoundGrant,
    scopes: &Scopes,
    (access_hash, refresh_hash): ([u8; 32], [u8; 32]),
) -> (Redemption, Told) {
    let access_expires_at_ms = (grant.now_ms + ACCESS_LIFE_MS).min(grant.expires_at_ms);
    let pair = NewPair {
        access_hash,
        refresh_hash,
        scopes: super::owned(scopes.words()),
        at_ms: grant.now_ms,
        access_expires_at_ms,
    };
    let told = Told::Issued {
        expires_in: (access_expires_at_ms - grant.now_ms) / 1_000,
        scope: scopes.to_string(),
        door: scopes.door(),
    };
    (Redemption::Issue(pair), told)
}
