//! The five checks (`agent-api` 13.1). Each is written from the contract and shares no table with
//! the server.

use reqwest::Url;
use serde_json::{Value, json};

use super::probe::{PROTOCOL_VERSION, Probe, Who};
use super::report::Fault;
use crate::outbound::Fetched;

const WRITE: &str = "helix.agent_runs.write";
const READ: &str = "helix.agent_runs.read";
const SERVER_NAME: &str = "casimirbot-helix-agent";

/// A tool with its scope and its hints: read-only, destructive, idempotent, open world.
type Expected = (&'static str, &'static str, [bool; 4]);

const TOOLS: [Expected; 6] = [
    ("helix_run_start", WRITE, [false, false, true, false]),
    ("helix_run_continue", WRITE, [false, false, true, true]),
    ("helix_run_cancel", WRITE, [false, true, true, false]),
    ("helix_run_inspect", READ, [true, false, true, false]),
    ("helix_run_fetch_evidence", READ, [true, false, true, false]),
    ("helix_run_list_events", READ, [true, false, true, false]),
];
const HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// Where everything is expected.
#[derive(Debug)]
pub struct Places {
    pub discovery: Url,
    pub mcp: Url,
    pub resource: Url,
    pub root_resource: Url,
}

/// What one check learned.
#[derive(Debug, Default)]
pub struct Found {
    pub http_status: Option<u16>,
    pub faults: Vec<Fault>,
}

impl Found {
    fn of(answer: &Fetched) -> Self {
        Self {
            http_status: Some(answer.status),
            faults: Vec::new(),
        }
    }

    /// Notes a fault unless `holds`.
    fn must(&mut self, holds: bool, fault: Fault) {
        if !holds {
            self.faults.push(fault);
        }
    }

    /// The JSON of a success.
    fn body(&mut self, answer: &Fetched) -> Value {
        self.must((200..300).contains(&answer.status), Fault::UnexpectedStatus);
        self.json(answer)
    }

    fn json(&mut self, answer: &Fetched) -> Value {
        self.must(answer.media_type != "text/html", Fault::HtmlAnswer);
        let read = crate::strict_json::read(&answer.body);
        self.must(read.is_ok(), Fault::NotJson);
        read.unwrap_or(Value::Null)
    }

    /// The result of a JSON-RPC answer.
    fn result(&mut self, answer: &Fetched, method: &str) -> Value {
        let body = self.body(answer);
        let fits = body["jsonrpc"] == "2.0" && body["id"] == format!("probe-{method}");
        self.must(fits, Fault::NotJsonRpc);
        body["result"].clone()
    }
}

impl From<Fault> for Found {
    fn from(fault: Fault) -> Self {
        Self {
            http_status: None,
            faults: vec![fault],
        }
    }
}

pub async fn discovery(probe: &Probe, places: &Places) -> Result<Found, Fault> {
    let answer = probe.get(&places.discovery).await?;
    let mut found = Found::of(&answer);
    let body = found.body(&answer);
    let connection = &body["connection"];
    let mcp = &body["mcp"];
    found.must(
        body["metadata_kind"] == "casimirbot.agent_access",
        Fault::WrongMetadataKind,
    );
    found.must(body["standard"] == false, Fault::ClaimsToBeStandard);
    found.must(
        connection["explicit_configuration_required"] == true,
        Fault::ConfigurationNotExplicit,
    );
    found.must(
        connection["retrieval_only_clients_can_invoke"] == false,
        Fault::RetrievalOnlyMayInvoke,
    );
    found.must(mcp["url"] == places.mcp.as_str(), Fault::WrongMcpUrl);
    found.must(mcp["transport"] == "streamable_http", Fault::WrongTransport);
    let named = texts(&mcp["tools"]).into_iter().map(str::to_owned);
    found.must(is_the_six(named.collect()), Fault::WrongTools);
    Ok(found)
}

pub async fn protected_resource(probe: &Probe, places: &Places) -> Result<Found, Fault> {
    let answer = probe.get(&places.resource).await?;
    let mut found = Found::of(&answer);
    let body = found.body(&answer);
    found.must(
        body["resource"] == places.mcp.as_str(),
        Fault::WrongResource,
    );
    let servers = texts(&body["authorization_servers"]);
    found.must(!servers.is_empty(), Fault::NoAuthorizationServer);
    found.must(
        servers.iter().all(|server| server.starts_with("https://")),
        Fault::InsecureAuthorizationServer,
    );
    let scopes = texts(&body["scopes_supported"]);
    found.must(
        scopes.contains(&READ) && scopes.contains(&WRITE),
        Fault::RunScopesMissing,
    );
    Ok(found)
}

pub async fn challenge(probe: &Probe, places: &Places) -> Result<Found, Fault> {
    let hello = hello();
    let answer = probe
        .ask(&places.mcp, "initialize", &hello, Who::Nobody)
        .await?;
    let mut found = Found::of(&answer);
    found.must(answer.status == 401, Fault::UnexpectedStatus);
    let body = found.json(&answer);
    found.must(body["error"] == "unauthorized", Fault::WrongErrorCode);
    let challenge = answer.challenge.unwrap_or_default();
    found.must(challenge.starts_with("Bearer "), Fault::NoBearerChallenge);
    found.must(
        challenge.contains("error=\"invalid_token\""),
        Fault::ChallengeWithoutInvalidToken,
    );
    found.must(
        challenge.contains("error_description=\""),
        Fault::ChallengeWithoutDescription,
    );
    let names = |url: &Url| challenge.contains(&format!("resource_metadata=\"{url}\""));
    found.must(
        names(&places.resource) || names(&places.root_resource),
        Fault::ChallengeNamesOtherMetadata,
    );
    Ok(found)
}

pub async fn initialize(probe: &Probe, places: &Places) -> Result<Found, Fault> {
    let hello = hello();
    let answer = probe
        .ask(&places.mcp, "initialize", &hello, Who::Bearer)
        .await?;
    let mut found = Found::of(&answer);
    let result = found.result(&answer, "initialize");
    found.must(
        result["serverInfo"]["name"] == SERVER_NAME,
        Fault::WrongServerName,
    );
    found.must(
        result["protocolVersion"].is_string(),
        Fault::NoProtocolVersion,
    );
    let instructions = result["instructions"].as_str().unwrap_or_default();
    found.must(
        ["run_id", "terminal_authority_status"]
            .iter()
            .all(|word| instructions.contains(word)),
        Fault::InstructionsIncomplete,
    );
    Ok(found)
}

pub async fn tools(probe: &Probe, places: &Places) -> Result<Found, Fault> {
    let answer = probe
        .ask(&places.mcp, "tools/list", &json!({}), Who::Bearer)
        .await?;
    let mut found = Found::of(&answer);
    let result = found.result(&answer, "tools/list");
    let tools = result["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    found.must(
        is_the_six(tools.iter().map(name).collect()),
        Fault::WrongTools,
    );
    for (name, scope, hints) in TOOLS {
        let Some(tool) = tools.iter().find(|tool| tool["name"] == name) else {
            continue;
        };
        let says = |part: &str| tool[part].as_str().is_some_and(|text| !text.is_empty());
        found.must(says("title") && says("description"), Fault::ToolWithoutText);
        let is_object = |part: &str| tool[part]["type"] == "object";
        found.must(
            is_object("inputSchema") && is_object("outputSchema"),
            Fault::ToolWithoutSchemas,
        );
        let annotations = &tool["annotations"];
        let exact = HINTS.iter().zip(hints);
        found.must(
            exact
                .clone()
                .all(|(hint, value)| annotations[hint] == value),
            Fault::WrongAnnotations,
        );
        let schemes = tool["securitySchemes"].as_array();
        let secured = schemes.is_some_and(|schemes| {
            schemes
                .iter()
                .any(|scheme| texts(&scheme["scopes"]).contains(&scope))
                && schemes.iter().all(|scheme| scheme["type"] != "noauth")
        });
        found.must(secured, Fault::WrongSecuritySchemes);
    }
    found.faults.dedup();
    Ok(found)
}

fn hello() -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "helix-conformance", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn texts(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}

fn is_the_six(mut names: Vec<String>) -> bool {
    let mut six: Vec<&str> = TOOLS.iter().map(|tool| tool.0).collect();
    six.sort_unstable();
    names.sort_unstable();
    names == six
}
