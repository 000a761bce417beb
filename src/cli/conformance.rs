//! `helix conformance`: is a server what an MCP provider expects (`agent-api` 13.1)?
//!
//! An ordinary client that changes nothing. What must stay true: its report is typed and holds no
//! text of the server and no token; a redirect is a fault. Deliberately absent: the checks that ask
//! a third party to connect, so that a report without a fault is `partial`.

mod checks;
mod probe;
mod report;

use std::future::Future;
use std::time::{Duration, Instant};

use clap::Args;
use reqwest::Url;

use super::Context;
use super::client::{self, ServerArgs};
use super::failure::{Exit, Failure};
use checks::{Found, Places};
use probe::{PROTOCOL_VERSION, Probe};
use report::{Check, Fault, Report, Status};

const SCHEMA: &str = "casimirbot.mcp_provider_conformance.v1";
/// Milliseconds for one answer.
const TIMEOUTS: std::ops::RangeInclusive<u64> = 1_000..=600_000;
const DEFAULT_TIMEOUT: u64 = 120_000;

#[derive(Debug, Args)]
pub struct ConformanceArgs {
    #[command(flatten)]
    server: ServerArgs,
    #[arg(
        long,
        help = "Admit plain http, to a loopback address alone [env: CASIMIRBOT_MCP_CONFORMANCE_ALLOW_LOOPBACK_HTTP=1]"
    )]
    allow_loopback_http: bool,
}

/// Exit 1 when a check fails, else 0.
pub async fn run(args: ConformanceArgs, context: &Context) -> Result<Exit, Failure> {
    if args.server.url.is_none() {
        client::named(&context.environment, "HELIX_URL")?;
    }
    let variable = |name: &str| context.environment.get(name);
    let base = args
        .server
        .url
        .as_deref()
        .or(variable("CASIMIRBOT_MCP_PUBLIC_BASE_URL"))
        .or(variable("CASIMIR_PUBLIC_BASE_URL"))
        .or(variable("HELIX_URL"))
        .unwrap_or("http://127.0.0.1:8787")
        .trim_end_matches('/');
    names_a_host(base)?;
    let allowed = args.allow_loopback_http
        || variable("CASIMIRBOT_MCP_CONFORMANCE_ALLOW_LOOPBACK_HTTP") == Some("1");
    let place = |named: Option<&str>, path: &str| {
        let text = named.map_or_else(|| format!("{base}{path}"), str::to_owned);
        admitted(&text, allowed)
    };
    let metadata = "/.well-known/oauth-protected-resource";
    let places = Places {
        discovery: place(None, "/agent-access.json")?,
        mcp: place(variable("CASIMIRBOT_MCP_URL"), "/mcp")?,
        resource: place(
            variable("CASIMIRBOT_MCP_PROTECTED_RESOURCE_URL"),
            &format!("{metadata}/mcp"),
        )?,
        root_resource: place(None, metadata)?,
    };
    let named = variable("CASIMIRBOT_MCP_ACCESS_TOKEN").filter(|_| args.server.token.is_none());
    let token = match named {
        Some(token) => Some(client::bearer_of(&token.into())?),
        None => client::bearer(args.server.token.as_ref(), &context.environment)?,
    };
    let timeout = timeout(variable("CASIMIRBOT_MCP_CONFORMANCE_TIMEOUT_MS"))?;
    let report = probe(&Probe::new(timeout, token), &places, base).await;
    context.output.answer(&report, |out| {
        for check in &report.checks {
            let word = serde_json::to_value(check.status).unwrap_or_default();
            let faults: Vec<String> = check.faults.iter().map(|fault| fault.word()).collect();
            let status = word.as_str().unwrap_or_default();
            out.line(format!("{status:8} {:20} {}", check.id, faults.join(", ")).trim_end())?;
        }
        let word = serde_json::to_value(report.status).unwrap_or_default();
        out.line(&format!(
            "{}: {}",
            report.base_url,
            word.as_str().unwrap_or_default()
        ))
    })?;
    Ok(if report.status == Status::Fail {
        Exit::No
    } else {
        Exit::Ok
    })
}

async fn probe(probe: &Probe, places: &Places, base: &str) -> Report {
    let mut checks = vec![
        timed("discovery", checks::discovery(probe, places)).await,
        timed(
            "protected_resource",
            checks::protected_resource(probe, places),
        )
        .await,
        timed("challenge", checks::challenge(probe, places)).await,
    ];
    if probe.has_token() {
        checks.push(timed("initialize", checks::initialize(probe, places)).await);
        checks.push(timed("tools", checks::tools(probe, places)).await);
    } else {
        checks.extend(["initialize", "tools"].map(skipped));
    }
    checks.push(skipped("provider"));
    Report {
        schema: SCHEMA,
        status: Status::of(&checks),
        base_url: base.to_owned(),
        mcp_url: places.mcp.to_string(),
        protocol_version: PROTOCOL_VERSION,
        checks,
    }
}

async fn timed(id: &'static str, check: impl Future<Output = Result<Found, Fault>>) -> Check {
    let started = Instant::now();
    let found = check.await.unwrap_or_else(Found::from);
    Check {
        id,
        status: if found.faults.is_empty() {
            Status::Pass
        } else {
            Status::Fail
        },
        http_status: found.http_status,
        faults: found.faults,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn skipped(id: &'static str) -> Check {
    Check {
        id,
        status: Status::Skipped,
        http_status: None,
        faults: Vec::new(),
        duration_ms: 0,
    }
}

/// An address that may be asked: https, or loopback where that is allowed.
fn admitted(text: &str, loopback_http: bool) -> Result<Url, Failure> {
    let wrong = |why: &str| {
        Failure::usage("url", format!("an address {why}"))
            .fix("give --url an https address, or add --allow-loopback-http")
    };
    let url = Url::parse(text).map_err(|_| wrong("is not a URL"))?;
    let plain = !url.username().is_empty() || url.password().is_some();
    if plain || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("must not hold credentials, a query or a fragment"));
    }
    let loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    match url.scheme() {
        "https" => Ok(url),
        "http" if loopback && loopback_http => Ok(url),
        _ => Err(wrong("must be https")),
    }
}

/// A URL's reader takes the first part of a path for the host that is missing before it.
fn names_a_host(base: &str) -> Result<(), Failure> {
    let rest = base.split_once(':').map_or("", |(_, rest)| rest);
    let authority = rest.strip_prefix("//").unwrap_or_default();
    if authority.is_empty() || authority.starts_with(['/', '\\', '?', '#', ':', '@']) {
        let none = "the server's address names no host";
        return Err(Failure::usage("url", none).fix("give --url an address such as https://host"));
    }
    Ok(())
}

fn timeout(given: Option<&str>) -> Result<Duration, Failure> {
    let Some(text) = given else {
        return Ok(Duration::from_millis(DEFAULT_TIMEOUT));
    };
    text.parse()
        .ok()
        .filter(|millis| TIMEOUTS.contains(millis))
        .map(Duration::from_millis)
        .ok_or_else(|| {
            Failure::usage(
                "timeout",
                "CASIMIRBOT_MCP_CONFORMANCE_TIMEOUT_MS must be from 1000 to 600000",
            )
        })
}
