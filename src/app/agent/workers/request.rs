//! The bodies of the worker routes, read strictly (settled questions 87 to 90).

use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;

use super::product;
use crate::app::agent::schema::{Issues, Object};
use crate::app::problem::Problem;
use crate::app::redaction::known::KnownSecrets;

/// Longest wait of a claim, in milliseconds.
const WAIT_MS: u64 = 25_000;
/// Capabilities a worker may name; a run is admitted to at most 24 (`agent-api` 6.2).
const CAPABILITIES: usize = 64;
const CAPABILITY: usize = 160;
/// Longest turn token that is looked at; ours has 43 characters.
const TURN_TOKEN: usize = 200;

/// What a worker wants to be given.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// All a turn's tools must be among these; none given means any.
    pub capabilities: Vec<String>,
    pub wait: Duration,
}

impl ClaimRequest {
    pub fn parse(body: &Value) -> Result<Self, Problem> {
        let mut issues = Issues::default();
        let mut root = Object::open(body, Vec::new(), &mut issues);
        // The worker's own name for itself helps whoever reads its traffic. It is kept nowhere.
        let named = root.text("worker", 120, &mut issues).is_some();
        let capabilities = root.texts("capabilities", CAPABILITIES, CAPABILITY, &mut issues);
        let wait_ms = root.integer("wait_ms", 0, WAIT_MS, &mut issues);
        root.finish(&mut issues);
        if named && issues.is_empty() {
            Ok(Self {
                capabilities,
                wait: Duration::from_millis(wait_ms.unwrap_or(0)),
            })
        } else {
            Err(issues.into_problem())
        }
    }
}

/// The bearer in a heartbeat.
pub fn heartbeat(body: &Value) -> Result<SecretString, Problem> {
    let mut issues = Issues::default();
    let mut root = Object::open(body, Vec::new(), &mut issues);
    let turn_token = turn_token(&mut root, &mut issues);
    root.finish(&mut issues);
    match turn_token {
        Some(turn_token) if issues.is_empty() => Ok(turn_token),
        _ => Err(issues.into_problem()),
    }
}

fn turn_token(root: &mut Object<'_>, issues: &mut Issues) -> Option<SecretString> {
    let text = root.required("turn_token", issues)?;
    // To the letter: a bearer with anything around it is another one.
    match text.as_str() {
        Some(text) if (1..=TURN_TOKEN).contains(&text.len()) && is_bearer(text) => {
            Some(SecretString::from(text))
        }
        Some(_) | None => {
            let path = root.path_of("turn_token");
            issues.add("custom", &path, "expected the turn token as it was given");
            None
        }
    }
}

fn is_bearer(text: &str) -> bool {
    let of_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.bytes().all(of_base64url)
}

/// A call through the tool host of the turn.
#[derive(Clone)]
pub struct ToolRequest {
    pub turn_token: SecretString,
    pub capability: String,
    pub arguments: Value,
}

impl ToolRequest {
    pub fn parse(body: &Value) -> Result<Self, Problem> {
        let mut issues = Issues::default();
        let mut root = Object::open(body, Vec::new(), &mut issues);
        let turn_token = turn_token(&mut root, &mut issues);
        let capability = root.text("capability", CAPABILITY, &mut issues);
        let arguments = root.required("arguments", &mut issues);
        if arguments.is_some_and(|arguments| !arguments.is_object()) {
            let path = root.path_of("arguments");
            issues.add("invalid_type", &path, "expected an object");
        }
        root.finish(&mut issues);
        match (turn_token, capability, arguments) {
            (Some(turn_token), Some(capability), Some(arguments)) if issues.is_empty() => {
                Ok(Self {
                    turn_token,
                    capability,
                    arguments: arguments.clone(),
                })
            }
            _ => Err(issues.into_problem()),
        }
    }
}

impl ToolRequest {
    /// Keeps the worker's own credentials from whoever answers the call.
    pub fn conceal(&mut self, bearer: &SecretString) {
        KnownSecrets::of([bearer, &self.turn_token]).conceal(&mut self.arguments);
    }
}

/// A product, known to have the form of one.
#[derive(Clone)]
pub struct CompleteRequest {
    pub turn_token: SecretString,
    /// As it was sent; read again by the process that executes the turn.
    pub product: Value,
}

impl CompleteRequest {
    pub fn parse(body: &Value) -> Result<Self, Problem> {
        let mut issues = Issues::default();
        let mut root = Object::open(body, Vec::new(), &mut issues);
        let turn_token = turn_token(&mut root, &mut issues);
        let product = root.required("product", &mut issues);
        if let Some(product) = product {
            product::read(product, root.path_of("product"), &mut issues);
        }
        root.finish(&mut issues);
        match (turn_token, product) {
            (Some(turn_token), Some(product)) if issues.is_empty() => Ok(Self {
                turn_token,
                product: product.clone(),
            }),
            _ => Err(issues.into_problem()),
        }
    }
}

impl CompleteRequest {
    /// Keeps the worker's own credentials out of the run (`agent-api` 1.10).
    pub fn conceal(&mut self, bearer: &SecretString) {
        KnownSecrets::of([bearer, &self.turn_token]).conceal(&mut self.product);
    }
}

/// What a worker says never comes out by `Debug`.
impl std::fmt::Debug for ToolRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolRequest").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for CompleteRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompleteRequest").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::app::problem::Code;

    #[track_caller]
    fn refused<T: std::fmt::Debug>(read: Result<T, Problem>) {
        assert_eq!(read.unwrap_err().code, Code::InvalidRequest);
    }

    #[test]
    fn a_claim_names_its_worker_and_waits_at_most_25_seconds() {
        let read = ClaimRequest::parse(&json!({"worker": "w"})).unwrap();
        assert_eq!((read.capabilities.len(), read.wait), (0, Duration::ZERO));
        let body = json!({"worker": "w", "capabilities": ["docs.search"], "wait_ms": 25_000});
        assert_eq!(ClaimRequest::parse(&body).unwrap().wait.as_secs(), 25);
        for body in [
            json!({}),
            json!([]),
            json!({"worker": " "}),
            json!({"worker": "w".repeat(121)}),
            json!({"worker": "w", "wait_ms": 25_001}),
            json!({"worker": "w", "wait_ms": -1}),
            json!({"worker": "w", "wait_ms": "1"}),
            json!({"worker": "w", "capabilities": "any"}),
            json!({"worker": "w", "capabilities": [1]}),
            json!({"worker": "w", "capabilities": vec!["c"; 65]}),
            json!({"worker": "w", "more": 1}),
        ] {
            refused(ClaimRequest::parse(&body));
        }
    }

    #[test]
    fn a_call_has_a_capability_and_an_object_of_arguments() {
        let body = json!({"turn_token": "t", "capability": "docs.search", "arguments": {}});
        assert!(ToolRequest::parse(&body).is_ok());
        for (name, value) in [
            ("turn_token", json!("")),
            ("turn_token", json!(1)),
            ("turn_token", json!(" t")),
            ("turn_token", json!("t\n")),
            ("turn_token", json!("\u{feff}t")),
            ("turn_token", json!("t\u{a0}")),
            ("turn_token", json!("t".repeat(201))),
            ("capability", json!(null)),
            ("arguments", json!([])),
            ("extra", json!(1)),
        ] {
            let mut body = body.clone();
            body[name] = value;
            refused(ToolRequest::parse(&body));
        }
        refused(heartbeat(&json!({})));
        refused(heartbeat(&json!({"turn_token": "t", "extra": 1})));
    }
}
