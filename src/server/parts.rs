//! Configuration turned into the parts that need it. Each part gets its own section.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use super::StartError;
use crate::app::access::accounts::Accounts;
use crate::app::access::admission::{Admission, DeveloperRule};
use crate::app::access::clients::Clients;
use crate::app::access::consents::Consents;
use crate::app::access::grants::Grants;
use crate::app::access::sign_in::SignIn;
use crate::app::agent::executor::TurnExecutor;
use crate::app::agent::runs::{RunSettings, Runs};
use crate::app::agent::workers::{Workers, product};
use crate::app::policy::DataPolicy;
use crate::app::work::Work;
use crate::auth::bearer::{BearerConfig, BearerVerifier, JwksConfig, LocalConfig};
use crate::auth::oauth::resource::Resources;
use crate::config::SolverKind as Chosen;
use crate::config::{
    BaseUrl, Config, ExternalIssuer, FacadeLimits, JwksNetwork, LocalIssuer, OAuth, TokenType,
    WebhookNetwork,
};
use crate::http::door::{Apps, Documents, Doors, FaceLimits};
use crate::http::permits::Permits;
use crate::http::protected_resource::ProtectedResource;
use crate::http::rate_limit::WindowLimiter;
use crate::http::transport::{Mode, TransportRules, TransportSettings};
use crate::outbound::Reach;
use crate::solver::corpora::{Corpora, CorporaConfig, Progress};
use crate::solver::engine::{Engine, SolverKind};
use crate::solver::tools::extract::PdfReading;
use crate::solver::worker::{Desk, WorkerSolver};
use crate::store::Core;

/// Bytes of a form: the longest text of a brief, each byte spelled in three, and the fields beside it.
const PAGE_BODY: usize = 256 * 1024;
const PAGES_A_MINUTE: i64 = 600;
/// Bytes of a request at the workspace door, and requests a minute (`access` 11, 12).
const WORK_BODY: usize = 512 * 1024;
const WORK_BY_ADDRESS: i64 = 600;
const WORK_BY_CREDENTIAL: i64 = 240;
/// Bytes of a registration or a token request, and how many a minute and address (`access` 3.3, 12).
const ISSUER_BODY: usize = 16 * 1024;
const TOKENS_A_MINUTE: i64 = 600;
const REGISTRATIONS_A_MINUTE: i64 = 360;
const QUESTIONS_A_MINUTE: i64 = 60;

/// The engine and what it reads.
#[derive(Debug, Clone)]
pub struct SolverParts {
    pub engine: Arc<Engine>,
    pub corpora: Arc<Corpora>,
    /// Where turns for external workers arrive; `None` with any other solver.
    pub desk: Option<Desk>,
}

/// What executes turns, and the desk it sends them to.
#[derive(Debug)]
pub struct TurnParts {
    pub executor: Arc<dyn TurnExecutor>,
    pub desk: Option<Desk>,
}

impl From<Arc<dyn TurnExecutor>> for TurnParts {
    fn from(executor: Arc<dyn TurnExecutor>) -> Self {
        Self {
            executor,
            desk: None,
        }
    }
}

impl From<&SolverParts> for TurnParts {
    fn from(parts: &SolverParts) -> Self {
        Self {
            executor: Arc::clone(&parts.engine) as Arc<dyn TurnExecutor>,
            desk: parts.desk.clone(),
        }
    }
}

/// Reads and indexes the configured corpora. Blocking.
pub fn solver(config: &Config, pdf: PdfReading, progress: &dyn Progress) -> SolverParts {
    let sources = CorporaConfig {
        libraries: config.solver.libraries.clone(),
        repository: config.solver.repository.clone(),
        theory: config.solver.theory.clone(),
        remotes: config.solver.remotes.clone(),
    };
    let corpora = Corpora::open_with(sources, pdf, progress);
    let corpora = Arc::new(corpora);
    let (engine, desk) = match &config.solver.kind {
        Chosen::CorpusExtract => {
            let engine = Engine::new(Arc::clone(&corpora), SolverKind::CorpusExtract);
            (engine, None)
        }
        Chosen::OpenAi(model) => {
            let kind = SolverKind::Model(model.clone());
            (Engine::new(Arc::clone(&corpora), kind), None)
        }
        Chosen::Worker => {
            let (solver, desk) = WorkerSolver::with_desk();
            let engine = Engine::with_solver(Arc::clone(&corpora), Box::new(solver));
            (engine, Some(desk))
        }
    };
    SolverParts {
        engine: Arc::new(engine),
        corpora,
        desk,
    }
}

pub(super) fn run_settings(config: &Config) -> RunSettings {
    RunSettings {
        turn_timeout: config.agent.turn_timeout,
        max_turns: usize::from(config.agent.max_turns),
        policy: DataPolicy::new(config.agent.database_scopes.iter().cloned()),
    }
}

/// Where webhooks may go.
pub fn webhook_reach(config: &Config) -> Reach {
    match config.webhooks.network {
        WebhookNetwork::PublicOnly => Reach::Public,
        WebhookNetwork::Any => Reach::Anywhere,
    }
}

/// Where the doors are found.
pub(super) struct Listener {
    pub address: SocketAddr,
    pub base: BaseUrl,
}

pub(super) fn agent_door(
    config: &Config,
    core: &Arc<Core>,
    runs: Runs,
    listener: Listener,
) -> Result<Doors, StartError> {
    let base = listener.base;
    let developers = if config.production {
        DeveloperRule::Listed(config.agent.developers.iter().cloned().collect())
    } else {
        DeveloperRule::Stored
    };
    let started = Instant::now();
    let clock = Arc::new(move || started.elapsed());
    Ok(Doors {
        admission: Admission::new(Arc::clone(core), developers),
        verifier: BearerVerifier::new(bearer(config, listener.address), clock),
        transport: transport(config, &base)?,
        resource: resource(config, &base),
        rest: face_limits(config.limits.rest),
        mcp: face_limits(config.limits.mcp),
        worker: worker_limits(config),
        workers: Workers::new(runs.clone()),
        work: Arc::new(Work::new(Arc::clone(core), base.as_str())),
        workspace: FaceLimits {
            body: WORK_BODY,
            by_address: WindowLimiter::new(WORK_BY_ADDRESS),
            by_principal: WindowLimiter::new(WORK_BY_CREDENTIAL),
        },
        sign_in: SignIn::new(Arc::clone(core)),
        accounts: Accounts::new(Arc::clone(core)),
        apps: apps(config, core, &base),
        pages: FaceLimits {
            body: PAGE_BODY,
            by_address: WindowLimiter::new(PAGES_A_MINUTE),
            by_principal: WindowLimiter::new(0),
        },
        base,
        permits: Permits::new(usize::from(config.limits.max_requests), &core.metrics),
        metrics: core.metrics.clone(),
        documents: Documents::default(),
        runs,
    })
}

/// The largest product there is can be sent, whatever other bodies may have.
fn worker_limits(config: &Config) -> FaceLimits {
    let limits = face_limits(config.limits.worker);
    FaceLimits {
        body: limits.body.max(product::BODY_BYTES),
        ..limits
    }
}

fn face_limits(limits: FacadeLimits) -> FaceLimits {
    let window = |limit: Option<std::num::NonZeroU32>| {
        WindowLimiter::new(limit.map_or(0, |limit| i64::from(limit.get())))
    };
    FaceLimits {
        body: limits.body,
        by_address: window(limits.ip),
        by_principal: window(limits.principal),
    }
}

/// An issuer is found at the root of its origin, so it wants an address without a path (`access`).
fn is_issuer(base: &BaseUrl) -> bool {
    base.as_str() == base.origin()
}

/// The built-in authorization server, and which doors it gives out tokens for.
fn apps(config: &Config, core: &Arc<Core>, base: &BaseUrl) -> Option<Apps> {
    if !is_issuer(base) {
        return None;
    }
    let issuer = base.as_str().to_owned();
    let agent =
        matches!(config.oauth, OAuth::BuiltIn).then(|| format!("{issuer}{}", crate::mcp::PATH));
    let resources = Resources {
        issuer: issuer.clone(),
        agent_audience: agent,
        vault: None,
        workspace: Some(format!("{issuer}/workspace/mcp")),
    };
    let clients = Clients::new(
        Arc::clone(core),
        config.issuer.schemes.clone(),
        config.issuer.documents,
    );
    Some(Apps {
        consents: Consents::new(
            Arc::clone(core),
            clients.clone(),
            resources.clone(),
            issuer.clone(),
        ),
        clients,
        grants: Grants::new(Arc::clone(core), issuer, resources, config.issuer.overlap),
        limits: FaceLimits {
            body: ISSUER_BODY,
            by_address: WindowLimiter::new(TOKENS_A_MINUTE),
            by_principal: WindowLimiter::new(0),
        },
        registrations: WindowLimiter::new(REGISTRATIONS_A_MINUTE),
        questions: WindowLimiter::new(QUESTIONS_A_MINUTE),
    })
}

fn resource(config: &Config, base: &BaseUrl) -> Option<ProtectedResource> {
    let issuer = match &config.oauth {
        OAuth::External(external) => &external.issuer,
        OAuth::LocalHs256(local) => &local.issuer,
        OAuth::BuiltIn if is_issuer(base) => {
            return Some(ProtectedResource {
                audience: format!("{}{}", base.as_str(), crate::mcp::PATH),
                issuer: base.as_str().to_owned(),
            });
        }
        OAuth::BuiltIn | OAuth::Incomplete { .. } => return None,
    };
    Some(ProtectedResource {
        audience: issuer.audience.clone(),
        issuer: issuer.issuer.clone(),
    })
}

fn transport(config: &Config, base: &BaseUrl) -> Result<TransportRules, StartError> {
    let mode = if config.production {
        Mode::Production
    } else {
        Mode::Development
    };
    let url = reqwest::Url::parse(base.as_str())
        .map_err(|_| StartError::Setting("the public URL is not a URL".to_owned()))?;
    TransportRules::new(TransportSettings {
        mode,
        public_base: &url,
        hosts: &config.server.allowed_hosts.join(","),
        origins: &config.server.allowed_origins.join(","),
        proxies: config.server.trust_proxy.clone(),
    })
    .map_err(|error| StartError::Setting(error.to_string()))
}

fn bearer(config: &Config, address: SocketAddr) -> BearerConfig {
    // A second audience for trying things out (`agent-api` 11.2).
    let loopback = (!config.production).then(|| format!("http://127.0.0.1:{}/mcp", address.port()));
    match &config.oauth {
        OAuth::BuiltIn => BearerConfig::NotConfigured,
        OAuth::Incomplete { .. } => BearerConfig::Malformed,
        OAuth::External(external) => BearerConfig::Jwks(JwksConfig {
            loopback_audience: loopback,
            ..jwks(external, config.production)
        }),
        OAuth::LocalHs256(local) => BearerConfig::LocalHs256(LocalConfig {
            loopback_audience: loopback,
            ..local_issuer(local)
        }),
    }
}

fn jwks(external: &ExternalIssuer, production: bool) -> JwksConfig {
    let issuer = &external.issuer;
    JwksConfig {
        issuer: issuer.issuer.clone(),
        audience: issuer.audience.clone(),
        loopback_audience: None,
        jwks_url: external.jwks_url.clone(),
        provider: issuer.provider.clone(),
        algorithms: external.algorithms.clone(),
        tenant_claim: issuer.tenant_claim.clone(),
        max_lifetime: issuer.max_lifetime,
        require_at_jwt: issuer.token_type == TokenType::OnlyAtJwt,
        production,
        allow_private: external.jwks_network == JwksNetwork::Any,
    }
}

fn local_issuer(local: &LocalIssuer) -> LocalConfig {
    LocalConfig {
        issuer: local.issuer.issuer.clone(),
        audience: local.issuer.audience.clone(),
        loopback_audience: None,
        provider: local.issuer.provider.clone(),
        secret: local.secret.clone(),
        tenant_claim: local.issuer.tenant_claim.clone(),
    }
}
