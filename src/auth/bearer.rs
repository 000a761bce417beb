//! Bearer tokens of an external issuer, from the header's bytes to what the issuer signed.
//!
//! JWT libraries accept too much by default (a minute of leeway, no `nbf`, an absent audience, the
//! last of two equal claims), so a library verifies only the signature here; header and claims are
//! read by the strict reader and judged in this module.
//!
//! What stays true: the algorithm is admitted before a key is chosen; a token never names the place
//! of its key; every failure looks the same from outside; no error or `Debug` shows a token.
//!
//! Deliberately absent: account look-up, scope checks and the tokens of the built-in server.

mod claims;
mod compact;
mod config;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use jsonwebtoken::DecodingKey;
use secrecy::{ExposeSecret, SecretString};

use super::jwks::{Jwks, KeyError, MonotonicClock};
use crate::outbound::{FetchLimits, GuardedFetch, Reach};
use claims::Rules;
use compact::Compact;

pub use super::jwks::Algorithm;
pub use config::{BearerConfig, DEFAULT_MAX_LIFETIME, JwksConfig, LocalConfig, MIN_LOCAL_SECRET};

/// Longest token, in bytes (access 4.2).
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// The header values a request presents, as received.
#[derive(Clone, Copy, Default)]
pub struct Presented<'a> {
    /// Every `Authorization` value.
    pub authorization: &'a [&'a [u8]],
    /// Every value of `X-Tenant-Id`, `X-Customer-Id` and `X-Org-Id`.
    pub tenants: &'a [&'a [u8]],
}

/// What a valid token says.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedToken {
    pub issuer: String,
    pub tenant: String,
    /// The configured alias of the issuer.
    pub provider: String,
    pub subject: String,
    pub scopes: BTreeSet<String>,
    /// Seconds since the epoch.
    pub expires_at: f64,
}

/// Why a request has no verified token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BearerError {
    #[error("more than one authorization header")]
    TwoAuthorizationHeaders,
    #[error("no valid bearer token")]
    Unauthorized,
    #[error("the token names no tenant")]
    TenantRequired,
    #[error("a tenant header differs from the token")]
    TenantMismatch,
    #[error("token verification is not configured")]
    NotConfigured,
    #[error("the issuer's keys are unavailable")]
    KeysUnavailable,
}

/// Verifies bearer tokens of one configuration.
pub struct BearerVerifier {
    lane: Lane,
}

enum Lane {
    Jwks {
        keys: Jwks,
        algorithms: Vec<Algorithm>,
        rules: Rules,
    },
    Local {
        secret: SecretString,
        rules: Rules,
    },
    Closed,
    /// No issuer is set and no credential of ours exists: every token is an unknown one.
    Nobody,
}

impl BearerVerifier {
    /// Nothing is fetched before the first token arrives. `clock` ages the key set.
    pub fn new(config: BearerConfig, clock: MonotonicClock) -> Self {
        let lane = match config {
            BearerConfig::Jwks(config) => Lane::jwks(config, clock),
            BearerConfig::LocalHs256(config) => Lane::local(config),
            BearerConfig::NotConfigured => Lane::Nobody,
            BearerConfig::Malformed => Lane::Closed,
        };
        Self { lane }
    }

    /// Verifies as agent-api 11.2 and access 4.2 say; `now` is seconds since the epoch.
    pub async fn verify(
        &self,
        presented: Presented<'_>,
        now: f64,
    ) -> Result<VerifiedToken, BearerError> {
        if matches!(self.lane, Lane::Closed) {
            return Err(BearerError::NotConfigured);
        }
        let token = compact::bearer(presented.authorization)?;
        let compact = Compact::parse(token).ok_or(BearerError::Unauthorized)?;
        let rules = self.lane.check_signature(&compact).await?;
        let verified = rules.judge(&compact.payload, now)?;
        if presented
            .tenants
            .iter()
            .any(|header| *header != verified.tenant.as_bytes())
        {
            return Err(BearerError::TenantMismatch);
        }
        Ok(verified)
    }
}

impl Lane {
    fn jwks(config: JwksConfig, clock: MonotonicClock) -> Self {
        if config.algorithms.is_empty() || config.issuer.is_empty() || config.audience.is_empty() {
            return Self::Closed;
        }
        let guarded = config.production && !config.allow_private;
        let reach = if guarded {
            Reach::Public
        } else {
            Reach::Anywhere
        };
        let fetch = GuardedFetch::new(reach, FetchLimits::default());
        Self::Jwks {
            keys: Jwks::new(config.jwks_url, fetch, clock),
            algorithms: config.algorithms,
            rules: Rules {
                issuer: config.issuer,
                audiences: [config.audience]
                    .into_iter()
                    .chain(config.loopback_audience)
                    .collect(),
                provider: config.provider,
                tenant_claim: config.tenant_claim,
                max_lifetime: Some(config.max_lifetime),
                only_access_tokens: config.require_at_jwt,
            },
        }
    }

    fn local(config: LocalConfig) -> Self {
        if config.secret.expose_secret().chars().count() < MIN_LOCAL_SECRET
            || config.issuer.is_empty()
            || config.audience.is_empty()
        {
            return Self::Closed;
        }
        Self::Local {
            secret: config.secret,
            rules: Rules {
                issuer: config.issuer,
                audiences: [config.audience]
                    .into_iter()
                    .chain(config.loopback_audience)
                    .collect(),
                provider: config.provider,
                tenant_claim: config.tenant_claim,
                max_lifetime: None,
                only_access_tokens: false,
            },
        }
    }

    /// The rules for the claims, once the signature is known to be good.
    async fn check_signature(&self, compact: &Compact<'_>) -> Result<&Rules, BearerError> {
        let (valid, rules) = match self {
            Self::Jwks {
                keys,
                algorithms,
                rules,
            } => {
                let algorithm = Algorithm::parse(&compact.header.algorithm)
                    .filter(|algorithm| algorithms.contains(algorithm))
                    .ok_or(BearerError::Unauthorized)?;
                let kid = compact
                    .header
                    .kid
                    .as_deref()
                    .ok_or(BearerError::Unauthorized)?;
                rules.admit_type(&compact.header)?;
                let key = keys.key(kid, algorithm).await.map_err(BearerError::from)?;
                (
                    key.verifies(algorithm, compact.signed.as_bytes(), compact.signature),
                    rules,
                )
            }
            Self::Local { secret, rules } => {
                rules.admit_type(&compact.header)?;
                (verifies_locally(secret, compact), rules)
            }
            Self::Closed => return Err(BearerError::NotConfigured),
            Self::Nobody => return Err(BearerError::Unauthorized),
        };
        if valid {
            Ok(rules)
        } else {
            Err(BearerError::Unauthorized)
        }
    }
}

fn verifies_locally(secret: &SecretString, compact: &Compact<'_>) -> bool {
    compact.header.algorithm == "HS256"
        && DecodingKey::from_secret(secret.expose_secret().as_bytes())
            .and_then(|key| {
                let (signed, algorithm) =
                    (compact.signed.as_bytes(), jsonwebtoken::Algorithm::HS256);
                jsonwebtoken::crypto::verify(compact.signature, signed, &key, algorithm)
            })
            .unwrap_or(false)
}

impl From<KeyError> for BearerError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Unknown => Self::Unauthorized,
            KeyError::Unavailable => Self::KeysUnavailable,
        }
    }
}

impl fmt::Debug for BearerVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lane = match &self.lane {
            Lane::Jwks { .. } => "jwks",
            Lane::Local { .. } => "local",
            Lane::Closed => "closed",
            Lane::Nobody => "nobody",
        };
        f.debug_struct("BearerVerifier")
            .field("lane", &lane)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presented").finish_non_exhaustive()
    }
}
