//! The typed sections that the parts of the server receive. A leaf gets its section, never the whole.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;

use super::network::PublicUrl;
use crate::auth::bearer::Algorithm;
use crate::auth::oauth::redirect::OneWordSchemes;
use crate::auth::oauth::rotation::Overlap;
use crate::http::transport::TrustedProxies;
use crate::outbound::Reach;
use crate::solver::model::ModelSettings;
use crate::solver::tools::remote::RemoteConfig;

/// Everything a server needs to know before it starts (`operations` 4).
#[derive(Debug, Clone)]
pub struct Config {
    pub server: Server,
    pub data: Data,
    pub database: Database,
    pub agent: Agent,
    pub oauth: OAuth,
    pub issuer: BuiltInIssuer,
    pub limits: Limits,
    pub solver: Solver,
    pub webhooks: Webhooks,
    pub log: Log,
    /// Strict mode: a configuration that violates its rules never becomes a `Config`.
    pub production: bool,
}

#[derive(Debug, Clone)]
pub struct Server {
    pub listen: SocketAddr,
    /// `None`: metrics are off.
    pub metrics_listen: Option<SocketAddr>,
    pub public_url: PublicUrl,
    /// Lower-cased `host[:port]` texts admitted beside the public address (`agent-api` 1.11).
    pub allowed_hosts: Vec<String>,
    /// Origins admitted beside the public one.
    pub allowed_origins: Vec<String>,
    pub trust_proxy: TrustedProxies,
}

#[derive(Debug, Clone)]
pub struct Data {
    pub dir: PathBuf,
    /// The key file, outside Postgres (`operations` 4).
    pub kek_file: PathBuf,
}

#[derive(Debug, Clone)]
pub struct Database {
    /// `None`: the embedded cluster in the data directory.
    pub url: Option<SecretString>,
    pub pg_bin: Option<PathBuf>,
    /// Lanes that new owners are spread over, 1 to 64.
    pub lanes: u8,
}

#[derive(Debug, Clone)]
pub struct Agent {
    /// Enabled data scopes as configured (`agent-api` 6.2); ids outside the catalog included,
    /// because a run that asks for one gets `scope_policy_not_configured` (settled question 10).
    pub database_scopes: Vec<String>,
    /// 1 s to 900 s.
    pub turn_timeout: Duration,
    /// Turns at a time, 1 to 4,096.
    pub max_turns: u16,
    /// Lower-cased profile ids, e-mail addresses or subjects.
    pub developers: Vec<String>,
}

impl Agent {
    /// Enabled ids that the catalog does not know.
    pub fn unknown_scopes(&self) -> impl Iterator<Item = &str> {
        self.database_scopes
            .iter()
            .map(String::as_str)
            .filter(|id| helix_aggregates::agent::scope::find(id).is_none())
    }
}

/// Who vouches for callers of the agent doors (`agent-api` 11.2, settled question 11).
#[derive(Debug, Clone)]
pub enum OAuth {
    /// Nothing is configured: the built-in authorization server.
    BuiltIn,
    External(ExternalIssuer),
    /// The explicit test lane; never in production.
    LocalHs256(LocalIssuer),
    /// Set in part: the doors answer `auth_not_configured`, whatever the token.
    Incomplete {
        reason: String,
    },
}

/// How the built-in authorization server treats apps (`access` 3.3, 3.5).
#[derive(Debug, Clone)]
pub struct BuiltInIssuer {
    /// From where documents that describe apps are fetched; `None`: such apps are unknown.
    pub documents: Option<Reach>,
    pub schemes: OneWordSchemes,
    pub overlap: Overlap,
}

#[derive(Debug, Clone)]
pub struct Issuer {
    /// Compared as exact text; a trailing slash matters.
    pub issuer: String,
    pub audience: String,
    pub provider: String,
    /// The one claim that names the tenant; `None`: the usual list.
    pub tenant_claim: Option<String>,
    /// Longest time from `iat` to `exp`.
    pub max_lifetime: Duration,
    pub token_type: TokenType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenType {
    Any,
    OnlyAtJwt,
}

#[derive(Debug, Clone)]
pub struct ExternalIssuer {
    pub issuer: Issuer,
    pub jwks_url: Url,
    /// Never empty.
    pub algorithms: Vec<Algorithm>,
    pub jwks_network: JwksNetwork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JwksNetwork {
    /// https on port 443 and public addresses only (`access` 4.2).
    PublicOnly,
    Any,
}

#[derive(Debug, Clone)]
pub struct LocalIssuer {
    pub issuer: Issuer,
    /// At least 32 characters.
    pub secret: SecretString,
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub rest: FacadeLimits,
    pub mcp: FacadeLimits,
    /// The worker routes; a principal there is a token.
    pub worker: FacadeLimits,
    /// Requests worked on at a time, 4 to 4,096.
    pub max_requests: u16,
}

/// What one face of the agent API takes (`agent-api` 1.8).
#[derive(Debug, Clone, Copy)]
pub struct FacadeLimits {
    /// Bytes.
    pub body: usize,
    /// Requests a minute of one address; `None`: no limit.
    pub ip: Option<NonZeroU32>,
    /// Requests a minute of one principal; `None`: no limit.
    pub principal: Option<NonZeroU32>,
}

#[derive(Debug, Clone)]
pub struct Solver {
    pub kind: SolverKind,
    pub libraries: Vec<PathBuf>,
    pub repository: Option<PathBuf>,
    /// How long a turn waits for an external worker; `None`: until its deadline.
    pub claim_timeout: Option<Duration>,
    pub theory: Option<PathBuf>,
    pub remotes: RemoteConfig,
}

#[derive(Debug, Clone)]
pub enum SolverKind {
    CorpusExtract,
    OpenAi(ModelSettings),
    /// External workers take the turns.
    Worker,
}

#[derive(Debug, Clone)]
pub struct Webhooks {
    pub network: WebhookNetwork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookNetwork {
    /// https on port 443 and public addresses only (`access` 4.3).
    PublicOnly,
    /// Never in production.
    Any,
}

#[derive(Debug, Clone)]
pub struct Log {
    pub format: LogFormat,
    /// A filter that `tracing_subscriber::EnvFilter` has accepted.
    pub filter: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}
