//! The claims, judged one by one (agent-api 11.2, access 4.2).

use std::collections::BTreeSet;
use std::time::Duration;

use helix_aggregates::text::utf16_len;
use serde_json::{Map, Value};

use super::compact::JoseHeader;
use super::{BearerError, VerifiedToken};
use crate::strict_json;

/// Tolerance between two clocks, each way, in seconds (agent-api 11.2).
const LEEWAY: f64 = 5.0;

/// Longest subject, in UTF-16 units (access 4.2).
const MAX_SUBJECT: usize = 255;

const TENANT_CLAIMS: [&str; 6] = [
    "tenantId",
    "tenant_id",
    "customerId",
    "customer_id",
    "orgId",
    "org_id",
];

/// Claims that only an identity token has; one is never a key to an API (access 4.2).
const IDENTITY_CLAIMS: [&str; 2] = ["nonce", "at_hash"];

/// What a token must say.
pub(super) struct Rules {
    pub issuer: String,
    /// A token must name one of them, exactly.
    pub audiences: Vec<String>,
    pub provider: String,
    pub tenant_claim: Option<String>,
    /// From `iat`, or from now when the token has none.
    pub max_lifetime: Option<Duration>,
    pub only_access_tokens: bool,
}

impl Rules {
    /// The header's `typ`: a media type, so its case doesn't count.
    pub(super) fn admit_type(&self, header: &JoseHeader) -> Result<(), BearerError> {
        let is = |name: &str| {
            header
                .token_type
                .as_deref()
                .is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        let usual = header.token_type.is_none() || is("JWT");
        require(is("at+jwt") || (usual && !self.only_access_tokens))
    }

    pub(super) fn judge(&self, payload: &[u8], now: f64) -> Result<VerifiedToken, BearerError> {
        let document = strict_json::read(payload).map_err(|_| BearerError::Unauthorized)?;
        let claims = document.as_object().ok_or(BearerError::Unauthorized)?;
        require(
            IDENTITY_CLAIMS
                .iter()
                .all(|name| !claims.contains_key(*name)),
        )?;
        require(claims.get("iss").and_then(Value::as_str) == Some(self.issuer.as_str()))?;
        require(self.is_audience(claims.get("aud")))?;
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or("");
        require((1..=MAX_SUBJECT).contains(&utf16_len(subject)) && is_clean(subject))?;
        let expires_at = self.judge_times(claims, now)?;
        let tenant = self.tenant(claims).ok_or(BearerError::TenantRequired)?;
        require(is_clean(tenant))?;
        Ok(VerifiedToken {
            issuer: self.issuer.clone(),
            tenant: tenant.to_owned(),
            provider: self.provider.clone(),
            subject: subject.to_owned(),
            scopes: scopes(claims),
            expires_at,
        })
    }

    fn is_audience(&self, claim: Option<&Value>) -> bool {
        let is_ours = |audience: &Value| self.audiences.iter().any(|own| audience == own);
        match claim {
            Some(audience @ Value::String(_)) => is_ours(audience),
            Some(Value::Array(audiences)) => {
                audiences.iter().all(Value::is_string) && audiences.iter().any(is_ours)
            }
            _ => false,
        }
    }

    fn judge_times(&self, claims: &Map<String, Value>, now: f64) -> Result<f64, BearerError> {
        let expires_at = moment(claims, "exp")?.ok_or(BearerError::Unauthorized)?;
        let issued_at = moment(claims, "iat")?;
        let valid_from = moment(claims, "nbf")?;
        require(now < expires_at + LEEWAY)?;
        require(
            [issued_at, valid_from]
                .into_iter()
                .flatten()
                .all(|start| start <= now + LEEWAY),
        )?;
        if let Some(longest) = self.max_lifetime {
            let life = expires_at - issued_at.unwrap_or(now);
            require(life <= longest.as_secs_f64())?;
        }
        Ok(expires_at)
    }

    fn tenant<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a str> {
        let first = |names: &[&str]| {
            let texts = names.iter().filter_map(|name| claims.get(*name)?.as_str());
            texts.into_iter().find(|text| !text.is_empty())
        };
        match &self.tenant_claim {
            Some(name) => first(&[name]),
            None => first(&TENANT_CLAIMS),
        }
    }
}

fn require(condition: bool) -> Result<(), BearerError> {
    if condition {
        Ok(())
    } else {
        Err(BearerError::Unauthorized)
    }
}

/// Tenant, issuer and subject are joined by line feeds where they become a key or a digest; a
/// control character in one could forge another.
fn is_clean(text: &str) -> bool {
    !text.chars().any(|c| c.is_ascii_control())
}

/// A time in seconds. Present but not a number, null included, is a fault (settled 54).
fn moment(claims: &Map<String, Value>, name: &str) -> Result<Option<f64>, BearerError> {
    let Some(claim) = claims.get(name) else {
        return Ok(None);
    };
    claim
        .as_f64()
        .filter(|time| time.is_finite())
        .map(Some)
        .ok_or(BearerError::Unauthorized)
}

/// The union of `scope` (text), `scp` and `scopes` (text or list); other types grant nothing.
fn scopes(claims: &Map<String, Value>) -> BTreeSet<String> {
    let mut scopes = BTreeSet::new();
    for name in ["scope", "scp", "scopes"] {
        match claims.get(name) {
            Some(Value::String(text)) => {
                scopes.extend(
                    text.split(' ')
                        .filter(|word| !word.is_empty())
                        .map(str::to_owned),
                );
            }
            Some(Value::Array(list)) if name != "scope" => {
                scopes.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {}
        }
    }
    scopes
}
