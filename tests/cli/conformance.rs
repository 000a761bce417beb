//! `helix conformance` against a server that is as it should be but for one thing.

use serde_json::{Value, json};

use crate::Shell;
use crate::fake::{Fake, Reply, Request};

const CANARY: &str = "canary-token-of-the-probe";

/// One place in what a good server says, and what stands there instead.
#[derive(Clone)]
struct Spoilt {
    answer: &'static str,
    pointer: &'static str,
    value: Value,
}

/// A server as it should be.
fn unspoilt() -> Spoilt {
    Spoilt {
        answer: "none",
        pointer: "",
        value: Value::Null,
    }
}

impl Spoilt {
    fn told(&self, name: &str, mut body: Value) -> Value {
        if name == self.answer {
            *body.pointer_mut(self.pointer).unwrap() = self.value.clone();
        }
        body
    }
}

fn base(request: &Request) -> String {
    format!("http://{}", request.header("host").unwrap())
}

fn discovery(base: &str) -> Value {
    json!({
        "metadata_kind": "casimirbot.agent_access",
        "standard": false,
        "connection": {"explicit_configuration_required": true, "retrieval_only_clients_can_invoke": false},
        "mcp": {
            "url": format!("{base}/mcp"),
            "transport": "streamable_http",
            "tools": tools().into_iter().map(|tool| tool["name"].clone()).collect::<Value>(),
        },
    })
}

fn resource(base: &str) -> Value {
    json!({
        "resource": format!("{base}/mcp"),
        "authorization_servers": ["https://id.example.org/"],
        "scopes_supported": ["helix.agent_runs.read", "helix.agent_runs.write"],
    })
}

fn tools() -> Vec<Value> {
    let rows = [
        ("start", "write", [false, false, true, false]),
        ("continue", "write", [false, false, true, true]),
        ("cancel", "write", [false, true, true, false]),
        ("inspect", "read", [true, false, true, false]),
        ("fetch_evidence", "read", [true, false, true, false]),
        ("list_events", "read", [true, false, true, false]),
    ];
    let tool = |(name, scope, [reads, destroys, again, open]): (&str, &str, [bool; 4])| {
        json!({
            "name": format!("helix_run_{name}"), "title": name, "description": name,
            "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": reads, "destructiveHint": destroys,
                "idempotentHint": again, "openWorldHint": open},
            "securitySchemes": [{"type": "oauth2", "scopes": [format!("helix.agent_runs.{scope}")]}],
        })
    };
    rows.map(tool).to_vec()
}

fn answer(request: &Request, spoilt: &Spoilt) -> Reply {
    let base = base(request);
    let told = |name, body| spoilt.told(name, body);
    match request.path() {
        "/agent-access.json" => Reply::json(200, &told("discovery", discovery(&base))),
        "/.well-known/oauth-protected-resource/mcp" => {
            Reply::json(200, &told("protected_resource", resource(&base)))
        }
        "/mcp" if request.header("authorization").is_none() => {
            let challenge = format!(
                "Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\", \
                 error=\"invalid_token\", error_description=\"A token is required.\""
            );
            let said = told(
                "challenge",
                json!({"error": "unauthorized", "challenge": challenge}),
            );
            let challenge = said["challenge"].as_str().unwrap().to_owned();
            Reply::json(401, &said).header("WWW-Authenticate", &challenge)
        }
        "/mcp" => {
            let message = request.json();
            let (name, result) = match message["method"].as_str().unwrap() {
                "initialize" => (
                    "initialize",
                    json!({"protocolVersion": "2025-06-18", "serverInfo": {"name": "casimirbot-helix-agent"},
                        "instructions": "Keep run_id; see terminal_authority_status."}),
                ),
                _ => ("tools", json!({"tools": tools()})),
            };
            let answer =
                json!({"jsonrpc": "2.0", "id": message["id"], "result": told(name, result)});
            Reply::json(200, &answer)
        }
        _ => Reply::json(404, &json!({})),
    }
}

fn report(spoilt: Spoilt, code: i32) -> Value {
    let server = Fake::start(move |request| answer(request, &spoilt));
    let ended = Shell::new()
        .variable("CASIMIRBOT_MCP_ACCESS_TOKEN", CANARY)
        .helix(&[
            "conformance",
            "--url",
            &server.url,
            "--allow-loopback-http",
            "--json",
        ])
        .expect(code);
    assert!(!format!("{}{}", ended.out, ended.err).contains(CANARY));
    let asked = server.requests();
    let versions = asked.iter().filter(|request| request.path() == "/mcp");
    for request in versions {
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-06-18"));
        assert_eq!(
            request.header("accept"),
            Some("application/json, text/event-stream")
        );
        assert!(request.json()["id"].is_string());
    }
    ended.object()
}

fn faults(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = report["checks"].as_array().unwrap().iter();
    checks
        .flat_map(|check| {
            let faults = check["faults"].as_array().unwrap().clone();
            faults
                .into_iter()
                .map(move |fault| (text(&check["id"]), text(&fault)))
        })
        .collect()
}

#[test]
fn a_server_as_it_should_be_is_partial_because_nobody_else_was_asked() {
    let report = report(unspoilt(), 0);
    assert_eq!(report["schema"], "casimirbot.mcp_provider_conformance.v1");
    assert_eq!(report["status"], "partial");
    let statuses: Vec<_> = report["checks"].as_array().unwrap().iter().collect();
    let statuses: Vec<_> = statuses.iter().map(|check| &check["status"]).collect();
    assert_eq!(
        statuses,
        ["pass", "pass", "pass", "pass", "pass", "skipped"]
    );
}

/// What is told wrongly, and the fault that the probe of the same name finds.
const DEVIATIONS: [(&str, &str, &str, &str); 15] = [
    (
        "discovery",
        "/metadata_kind",
        "\"other\"",
        "wrong_metadata_kind",
    ),
    ("discovery", "/standard", "true", "claims_to_be_standard"),
    (
        "discovery",
        "/mcp/url",
        "\"https://elsewhere.example/mcp\"",
        "wrong_mcp_url",
    ),
    (
        "discovery",
        "/mcp/tools",
        "[\"helix_run_start\"]",
        "wrong_tools",
    ),
    (
        "protected_resource",
        "/resource",
        "\"https://elsewhere.example/mcp\"",
        "wrong_resource",
    ),
    (
        "protected_resource",
        "/authorization_servers",
        "[]",
        "no_authorization_server",
    ),
    (
        "protected_resource",
        "/authorization_servers/0",
        "\"http://a.example\"",
        "insecure_authorization_server",
    ),
    (
        "protected_resource",
        "/scopes_supported/1",
        "\"other\"",
        "run_scopes_missing",
    ),
    ("challenge", "/error", "\"forbidden\"", "wrong_error_code"),
    (
        "challenge",
        "/challenge",
        "\"Bearer resource_metadata=\\\"https://elsewhere.example\\\", error=\\\"invalid_token\\\", error_description=\\\"No.\\\"\"",
        "challenge_names_other_metadata",
    ),
    (
        "initialize",
        "/serverInfo/name",
        "\"other\"",
        "wrong_server_name",
    ),
    (
        "initialize",
        "/instructions",
        "\"Keep run_id.\"",
        "instructions_incomplete",
    ),
    (
        "tools",
        "/tools/0/annotations/openWorldHint",
        "true",
        "wrong_annotations",
    ),
    (
        "tools",
        "/tools/2/securitySchemes",
        "[{\"type\": \"noauth\"}]",
        "wrong_security_schemes",
    ),
    ("tools", "/tools/5/name", "\"other\"", "wrong_tools"),
];

#[test]
fn each_deviation_is_one_named_fault_of_its_check() {
    for (answer, pointer, value, fault) in DEVIATIONS {
        let value = serde_json::from_str(value).unwrap();
        let spoilt = Spoilt {
            answer,
            pointer,
            value,
        };
        let report = report(spoilt, 1);
        assert_eq!(report["status"], "fail");
        assert_eq!(faults(&report), [(answer.to_owned(), fault.to_owned())]);
    }
}

#[test]
fn without_a_token_two_checks_are_left_out() {
    let server = Fake::start(|request| answer(request, &unspoilt()));
    let ended = Shell::new()
        .helix(&["conformance", "--url", &server.url, "--allow-loopback-http"])
        .expect(0);
    assert!(ended.out.contains("skipped  initialize"), "{}", ended.out);
    assert!(ended.out.ends_with(": partial\n"), "{}", ended.out);
}

#[test]
fn a_redirect_a_page_and_a_closed_port_are_faults() {
    let redirecting =
        Fake::start(|_| Reply::json(302, &json!({})).header("Location", "/elsewhere"));
    let page = Fake::start(|_| Reply::new(200, "text/html", "<p>Welcome"));
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let closed = format!("http://{port}");
    for (url, fault) in [
        (redirecting.url.as_str(), "unexpected_status"),
        (page.url.as_str(), "html_answer"),
        (closed.as_str(), "unreachable"),
    ] {
        let ended = Shell::new()
            .helix(&[
                "conformance",
                "--url",
                url,
                "--allow-loopback-http",
                "--json",
            ])
            .expect(1);
        let found = faults(&ended.object());
        assert!(found.iter().any(|(_, found)| found == fault), "{found:?}");
    }
}

#[test]
fn plain_http_is_refused_unless_allowed_and_never_allowed_to_others() {
    let shell = Shell::new();
    shell
        .helix(&["conformance", "--url", "http://127.0.0.1:1"])
        .expect(64);
    shell
        .helix(&[
            "conformance",
            "--url",
            "http://helix.example.org",
            "--allow-loopback-http",
        ])
        .expect(64);
}

#[test]
fn an_address_without_a_host_is_refused() {
    for url in [
        "https://",
        "https:///x",
        "https:",
        "https:x",
        "https://:443",
        "https://?x",
    ] {
        let ended = Shell::new()
            .helix(&["conformance", "--url", url])
            .expect(64);
        assert!(
            ended.err.starts_with("error[url]: "),
            "{url}: {}",
            ended.err
        );
    }
}
