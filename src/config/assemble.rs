//! From raw values to typed sections. Every fault is noted and reading goes on with a stand-in, so
//! that one run reports them all; a `Config` leaves only when there was none.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use helix_aggregates::agent::scope;
use secrecy::SecretString;
use tracing_subscriber::EnvFilter;

use super::network::{BaseUrl, PublicUrl};
use super::parse::{self, Problem};
use super::sections::{
    Agent, Config, Data, Database, FacadeLimits, Limits, Log, LogFormat, Server, Solver,
    SolverKind, WebhookNetwork, Webhooks,
};
use super::setting::{Kind, Setting};
use super::table as t;
use super::values::{Notes, Values};
use crate::solver::tools::remote::RemoteConfig;
use crate::store::owner::{DEFAULT_LANES, MAX_LANES};

/// Values, and the faults that reading them brings to light.
pub struct Reader<'a> {
    pub values: &'a Values,
    pub notes: &'a mut Notes,
}

impl Reader<'_> {
    /// The value, or `None` when it is unset or faulty (the fault is noted).
    pub fn read<T>(
        &mut self,
        setting: &Setting,
        parse: impl FnOnce(&str) -> Result<T, Problem>,
    ) -> Option<T> {
        let text = self.values.text(setting)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.fault(setting, problem);
                None
            }
        }
    }

    pub fn fault(&mut self, setting: &Setting, problem: impl Into<String>) {
        self.notes.fault(self.values.place(setting), problem);
    }

    pub fn is_on(&mut self, setting: &Setting) -> bool {
        self.read(setting, parse::switch).unwrap_or(false)
    }

    pub fn list(&self, setting: &Setting) -> Vec<String> {
        self.values.items(setting).unwrap_or_default().to_vec()
    }

    pub fn secret(&self, setting: &Setting) -> Option<SecretString> {
        self.values.text(setting).map(SecretString::from)
    }

    fn path(&self, setting: &Setting) -> Option<PathBuf> {
        self.values.text(setting).map(PathBuf::from)
    }

    /// A whole number within bounds; outside is a fault.
    pub fn within<T: TryFrom<i64>>(
        &mut self,
        setting: &Setting,
        least: i64,
        most: i64,
    ) -> Option<T> {
        self.read(setting, |text| {
            let number = parse::integer(text)?;
            let problem = || format!("must be from {least} to {most}");
            if (least..=most).contains(&number) {
                T::try_from(number).map_err(|_| problem())
            } else {
                Err(problem())
            }
        })
    }

    /// One of the choices of the table, as an index into them.
    pub fn choice(&mut self, setting: &Setting) -> usize {
        let Kind::Choice(choices) = setting.kind else {
            return 0;
        };
        self.read(setting, |text| {
            let known = choices.iter().position(|choice| *choice == text);
            known.ok_or_else(|| format!("must be one of: {}", choices.join(", ")))
        })
        .unwrap_or(0)
    }
}

/// All sections. Only meaningful when `notes` holds no fault afterwards.
pub fn config(values: &Values, folder: &Path, notes: &mut Notes) -> Config {
    let mut reader = Reader { values, notes };
    let production = reader.is_on(&t::PRODUCTION);
    let server = server(&mut reader);
    let config = Config {
        data: data(&reader),
        database: database(&mut reader),
        agent: agent(&mut reader, production),
        oauth: super::oauth::section(&mut reader, production),
        issuer: super::oauth::built_in(&mut reader),
        limits: limits(&mut reader),
        solver: solver(&mut reader),
        webhooks: webhooks(&mut reader),
        log: log(&mut reader),
        server,
        production,
    };
    super::approvals::check(&mut reader);
    if production {
        super::production::judge(&config, &mut reader, folder);
    }
    config
}

fn server(reader: &mut Reader<'_>) -> Server {
    let stand_in = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listen = reader.read(&t::LISTEN, parse::address).unwrap_or(stand_in);
    let metrics_listen = reader
        .read(&t::METRICS_LISTEN, parse::address_or_off)
        .flatten();
    if metrics_listen == Some(listen) && listen.port() != 0 {
        reader.fault(
            &t::METRICS_LISTEN,
            "must differ from the address of the doors (--listen)",
        );
    }
    let given = reader.values.is_given(&t::PUBLIC_URL);
    let public_url = match given
        .then(|| reader.read(&t::PUBLIC_URL, parse::base_url))
        .flatten()
    {
        Some(url) => PublicUrl::Given(BaseUrl::new(&url)),
        None => PublicUrl::FromListener,
    };
    let lower = |items: Vec<String>| items.iter().map(|item| item.to_ascii_lowercase()).collect();
    let allowed_hosts: Vec<String> = lower(reader.list(&t::ALLOWED_HOSTS));
    if allowed_hosts
        .iter()
        .any(|host| host.contains('/') || host.contains(char::is_whitespace))
    {
        reader.fault(
            &t::ALLOWED_HOSTS,
            "must hold hosts such as helix.example.org[:port], without scheme or path",
        );
    }
    let allowed_origins = reader.list(&t::ALLOWED_ORIGINS);
    Server {
        listen,
        metrics_listen,
        public_url,
        allowed_hosts,
        allowed_origins: origins(reader, &allowed_origins),
        trust_proxy: reader
            .read(&t::TRUST_PROXY, parse::trust_proxy)
            .unwrap_or_default(),
    }
}

/// Origins in the spelling browsers send; `null` is never one.
fn origins(reader: &mut Reader<'_>, texts: &[String]) -> Vec<String> {
    let mut origins = Vec::new();
    for text in texts {
        match parse::base_url(text) {
            Ok(url) if url.path() == "/" => origins.push(url.origin().ascii_serialization()),
            _ => reader.fault(
                &t::ALLOWED_ORIGINS,
                "must hold origins such as https://app.example.org, without a path",
            ),
        }
    }
    origins
}

fn data(reader: &Reader<'_>) -> Data {
    Data {
        dir: reader.path(&t::DATA_DIR).unwrap_or_default(),
        kek_file: reader.path(&t::KEK_FILE).unwrap_or_default(),
    }
}

fn database(reader: &mut Reader<'_>) -> Database {
    reader.read(&t::DATABASE_URL, |text| {
        let known = text.starts_with("postgres://") || text.starts_with("postgresql://");
        if known {
            Ok(())
        } else {
            Err("must start with postgres:// or postgresql://".into())
        }
    });
    Database {
        url: reader.secret(&t::DATABASE_URL),
        pg_bin: reader.path(&t::PG_BIN),
        lanes: reader
            .within(&t::LANES, 1, i64::from(MAX_LANES))
            .unwrap_or(DEFAULT_LANES),
    }
}

fn agent(reader: &mut Reader<'_>, production: bool) -> Agent {
    let developers = reader.list(&t::DEVELOPERS);
    let agent = Agent {
        database_scopes: database_scopes(reader, production),
        turn_timeout: turn_timeout(reader),
        max_turns: reader.within(&t::MAX_TURNS, 1, 4_096).unwrap_or(256),
        developers: developers.iter().map(|id| id.to_lowercase()).collect(),
    };
    for id in agent.unknown_scopes() {
        let known: Vec<_> = scope::CATALOG.iter().map(|scope| scope.id).collect();
        let meant = super::fault::nearest(id, known.iter().copied());
        let meant = meant.map_or_else(String::new, |known| format!("; did you mean {known}?"));
        reader.notes.warnings.push(format!(
            "{}: `{}` is no data scope{meant}; runs that ask for it are refused",
            reader.values.place(&t::DATABASE_SCOPES),
            id.escape_default(),
        ));
    }
    agent
}

/// Unset: the scopes whose source is configured; in production none (settled question 79).
fn database_scopes(reader: &Reader<'_>, production: bool) -> Vec<String> {
    if let Some(items) = reader.values.items(&t::DATABASE_SCOPES) {
        return helix_aggregates::text::unique(items);
    }
    if production {
        return Vec::new();
    }
    let set = |setting| reader.values.text(setting).is_some();
    let mut scopes = Vec::new();
    if set(&t::SEARCH_BASE_URL) {
        scopes.push("public_web".to_owned());
    }
    let indexes = [
        &t::OPENALEX_BASE_URL,
        &t::CROSSREF_BASE_URL,
        &t::ARXIV_BASE_URL,
    ];
    if indexes.into_iter().any(set) {
        scopes.push("scholarly_research".to_owned());
    }
    if reader
        .values
        .items(&t::LIBRARY)
        .is_some_and(|folders| !folders.is_empty())
    {
        scopes.push("research_library".to_owned());
    }
    if set(&t::REPOSITORY) {
        scopes.push("repository_evidence".to_owned());
    }
    if set(&t::THEORY_DIR) {
        scopes.push("theory_registry".to_owned());
    }
    scopes
}

/// Clamped rather than refused, and the default when it is no number (`agent-api` 2.7).
fn turn_timeout(reader: &mut Reader<'_>) -> Duration {
    const DEFAULT: Duration = Duration::from_secs(120);
    let Some(text) = reader.values.text(&t::TURN_TIMEOUT) else {
        return DEFAULT;
    };
    let place = reader.values.place(&t::TURN_TIMEOUT);
    let Some(millis) = text.parse::<f64>().ok().filter(|millis| millis.is_finite()) else {
        reader
            .notes
            .warnings
            .push(format!("{place}: is no number; 120000 ms are used"));
        return DEFAULT;
    };
    let clamped = millis.floor().clamp(1_000.0, 900_000.0);
    if clamped.total_cmp(&millis.floor()).is_ne() {
        reader.notes.warnings.push(format!(
            "{place}: is outside 1000..900000; {clamped} ms are used"
        ));
    }
    Duration::from_secs_f64(clamped / 1000.0)
}

fn limits(reader: &mut Reader<'_>) -> Limits {
    Limits {
        rest: FacadeLimits {
            body: body_limit(reader, &t::BODY_LIMIT),
            ip: reader.read(&t::IP_RATE_LIMIT, parse::rate).flatten(),
            principal: reader.read(&t::PRINCIPAL_RATE_LIMIT, parse::rate).flatten(),
        },
        mcp: FacadeLimits {
            body: body_limit(reader, &t::MCP_BODY_LIMIT),
            ip: reader.read(&t::MCP_IP_RATE_LIMIT, parse::rate).flatten(),
            principal: reader
                .read(&t::MCP_PRINCIPAL_RATE_LIMIT, parse::rate)
                .flatten(),
        },
        worker: FacadeLimits {
            body: body_limit(reader, &t::BODY_LIMIT),
            ip: reader.read(&t::WORKER_IP_RATE_LIMIT, parse::rate).flatten(),
            principal: reader
                .read(&t::WORKER_TOKEN_RATE_LIMIT, parse::rate)
                .flatten(),
        },
        max_requests: reader.within(&t::MAX_REQUESTS, 4, 4_096).unwrap_or(128),
    }
}

fn body_limit(reader: &mut Reader<'_>, setting: &'static Setting) -> usize {
    let body = reader.read(setting, |text| {
        let bytes = parse::size(text)?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let allowed = (1 << 10..=64 << 20).contains(&bytes);
        if allowed {
            Ok(bytes)
        } else {
            Err("must be from 1kb to 64mb".into())
        }
    });
    body.unwrap_or(512 << 10)
}

fn solver(reader: &mut Reader<'_>) -> Solver {
    let model = super::model::section(reader);
    let kind = match (reader.choice(&t::SOLVER), model) {
        (2, _) => SolverKind::Worker,
        (0, _) | (_, None) => SolverKind::CorpusExtract,
        (_, Some(model)) => SolverKind::OpenAi(model),
    };
    let claim_timeout = reader.within(&t::WORKER_CLAIM_TIMEOUT, 1, 900_000);
    if claim_timeout.is_some() && !matches!(kind, SolverKind::Worker) {
        let place = reader.values.place(&t::WORKER_CLAIM_TIMEOUT);
        let warning = format!("{place}: means nothing without the solver `worker`");
        reader.notes.warnings.push(warning);
    }
    Solver {
        kind,
        claim_timeout: claim_timeout.map(Duration::from_millis),
        libraries: reader
            .list(&t::LIBRARY)
            .into_iter()
            .map(PathBuf::from)
            .collect(),
        repository: reader.path(&t::REPOSITORY),
        theory: reader.path(&t::THEORY_DIR),
        remotes: remotes(reader),
    }
}

fn remotes(reader: &mut Reader<'_>) -> RemoteConfig {
    let hosts = reader.list(&t::FULL_TEXT_HOSTS);
    let is_host = |host: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
        !host.is_empty() && host.chars().all(plain)
    };
    if !hosts.iter().all(is_host) {
        reader.fault(
            &t::FULL_TEXT_HOSTS,
            "must hold host names such as arxiv.org, without scheme, port or path",
        );
    }
    let patience = reader.within(&t::TOOL_TIMEOUT, 100, 120_000);
    RemoteConfig {
        search: reader.read(&t::SEARCH_BASE_URL, parse::base_url),
        openalex: reader.read(&t::OPENALEX_BASE_URL, parse::base_url),
        crossref: reader.read(&t::CROSSREF_BASE_URL, parse::base_url),
        arxiv: reader.read(&t::ARXIV_BASE_URL, parse::base_url),
        full_text_hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
        patience: Duration::from_millis(patience.unwrap_or(10_000)),
    }
}

fn webhooks(reader: &mut Reader<'_>) -> Webhooks {
    let network = if reader.is_on(&t::WEBHOOK_ALLOW_PRIVATE) {
        WebhookNetwork::Any
    } else {
        WebhookNetwork::PublicOnly
    };
    Webhooks { network }
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

fn log(reader: &mut Reader<'_>) -> Log {
    let format = match reader.choice(&t::LOG_FORMAT) {
        0 => LogFormat::Text,
        _ => LogFormat::Json,
    };
    let filter = reader.read(&t::LOG_LEVEL, |text| {
        // A lone word that is no level would be read as the name of a module that never speaks.
        let lone = text.chars().all(char::is_alphanumeric);
        let level = LEVELS.iter().any(|level| level.eq_ignore_ascii_case(text));
        match EnvFilter::try_new(text) {
            Ok(_) if level || !lone => Ok(text.to_owned()),
            _ => Err(format!("must be {} or a filter", LEVELS.join(", "))),
        }
    });
    Log {
        format,
        filter: filter.unwrap_or_else(|| "info".to_owned()),
    }
}
