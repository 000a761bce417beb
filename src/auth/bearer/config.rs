//! What a verifier is told. Reading the environment is the configuration's business.

use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;

use super::Algorithm;

/// Longest life of a token whose key comes from a key set, unless configured (access 4.2).
pub const DEFAULT_MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Shortest secret of the local lane, in characters (agent-api 11.2).
pub const MIN_LOCAL_SECRET: usize = 32;

/// How tokens are verified. The caller has checked what depends on other settings: that URLs are
/// absolute and `https` in production, and that the local lane is switched on outside production.
#[derive(Debug)]
pub enum BearerConfig {
    Jwks(JwksConfig),
    LocalHs256(LocalConfig),
    /// No external issuer is set; the built-in one answers elsewhere.
    NotConfigured,
    /// Set in part or wrongly: fail closed (settled 11).
    Malformed,
}

/// An issuer with a published key set.
#[derive(Debug)]
pub struct JwksConfig {
    pub issuer: String,
    pub audience: String,
    /// Outside production, `http://127.0.0.1:<port>/mcp` as a second audience (agent-api 11.2).
    pub loopback_audience: Option<String>,
    pub jwks_url: Url,
    pub provider: String,
    /// See [`Algorithm::admitted`]; empty means not configured.
    pub algorithms: Vec<Algorithm>,
    /// An exact claim name that replaces the list of agent-api 11.2.
    pub tenant_claim: Option<String>,
    pub max_lifetime: Duration,
    /// Accept only tokens of type `at+jwt`.
    pub require_at_jwt: bool,
    pub production: bool,
    /// In production, fetch the key set from private addresses and other ports too.
    pub allow_private: bool,
}

/// The test lane: one shared secret.
#[derive(Debug)]
pub struct LocalConfig {
    pub issuer: String,
    pub audience: String,
    /// As in [`JwksConfig`].
    pub loopback_audience: Option<String>,
    pub provider: String,
    pub secret: SecretString,
    pub tenant_claim: Option<String>,
}
