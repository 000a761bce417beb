//! The named schemas of the document.

use serde_json::{Value, json};

use crate::app::agent::contract::{self, workers};

/// A schema by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    StartRequest,
    ContinueRequest,
    CancelRequest,
    Run,
    RunList,
    Event,
    EventsPage,
    EvidenceBundle,
    EvidenceItem,
    Error,
    Problem,
    RateLimited,
    NotReady,
    Health,
    Readiness,
    ProtectedResource,
    AgentAccess,
    OpenApi,
    WorkerClaim,
    WorkerTurn,
    WorkerHeartbeat,
    WorkerLease,
    WorkerCall,
    WorkerCallAnswer,
    WorkerProduct,
    WorkerReceipt,
    JsonRpcRequest,
    JsonRpcResponse,
    JsonRpcError,
    Text,
}

impl Object {
    pub const ALL: [Self; 30] = [
        Self::StartRequest,
        Self::ContinueRequest,
        Self::CancelRequest,
        Self::Run,
        Self::RunList,
        Self::Event,
        Self::EventsPage,
        Self::EvidenceBundle,
        Self::EvidenceItem,
        Self::Error,
        Self::Problem,
        Self::RateLimited,
        Self::NotReady,
        Self::Health,
        Self::Readiness,
        Self::ProtectedResource,
        Self::AgentAccess,
        Self::OpenApi,
        Self::WorkerClaim,
        Self::WorkerTurn,
        Self::WorkerHeartbeat,
        Self::WorkerLease,
        Self::WorkerCall,
        Self::WorkerCallAnswer,
        Self::WorkerProduct,
        Self::WorkerReceipt,
        Self::JsonRpcRequest,
        Self::JsonRpcResponse,
        Self::JsonRpcError,
        Self::Text,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::StartRequest => "StartRequest",
            Self::ContinueRequest => "ContinueRequest",
            Self::CancelRequest => "CancelRequest",
            Self::Run => "Run",
            Self::RunList => "RunList",
            Self::Event => "Event",
            Self::EventsPage => "EventsPage",
            Self::EvidenceBundle => "EvidenceBundle",
            Self::EvidenceItem => "EvidenceItem",
            Self::Error => "Error",
            Self::Problem => "Problem",
            Self::RateLimited => "RateLimited",
            Self::NotReady => "NotReady",
            Self::Health => "Health",
            Self::Readiness => "Readiness",
            Self::ProtectedResource => "ProtectedResource",
            Self::AgentAccess => "AgentAccess",
            Self::OpenApi => "OpenApi",
            Self::WorkerClaim => "WorkerClaim",
            Self::WorkerTurn => "WorkerTurn",
            Self::WorkerHeartbeat => "WorkerHeartbeat",
            Self::WorkerLease => "WorkerLease",
            Self::WorkerCall => "WorkerCall",
            Self::WorkerCallAnswer => "WorkerCallAnswer",
            Self::WorkerProduct => "WorkerProduct",
            Self::WorkerReceipt => "WorkerReceipt",
            Self::JsonRpcRequest => "JsonRpcRequest",
            Self::JsonRpcResponse => "JsonRpcResponse",
            Self::JsonRpcError => "JsonRpcError",
            Self::Text => "Text",
        }
    }

    /// Where the document keeps it.
    pub fn reference(self) -> Value {
        json!({"$ref": format!("#/components/schemas/{}", self.name())})
    }

    pub fn schema(self) -> Value {
        match self {
            Self::StartRequest => contract::start_request(),
            Self::ContinueRequest => continue_request(),
            Self::CancelRequest => contract::cancel_request(),
            Self::Run => contract::run(),
            Self::RunList => contract::run_list(),
            Self::Event => contract::event(),
            Self::EventsPage => contract::events_page(),
            Self::EvidenceBundle => contract::evidence_bundle(),
            Self::EvidenceItem => contract::evidence_item(),
            Self::Error => contract::error(),
            Self::Problem => contract::problem(),
            Self::RateLimited => contract::rate_limited(),
            Self::NotReady => status_of(&["migrating"]),
            Self::Health => status_of(&["ok"]),
            Self::Readiness => readiness(),
            Self::ProtectedResource => protected_resource(),
            Self::AgentAccess => agent_access(),
            Self::OpenApi => json!({"type": "object", "required": ["openapi", "info", "paths"]}),
            Self::WorkerClaim => workers::claim(),
            Self::WorkerTurn => workers::turn(),
            Self::WorkerHeartbeat => workers::heartbeat(),
            Self::WorkerLease => workers::lease(),
            Self::WorkerCall => workers::call(),
            Self::WorkerCallAnswer => workers::call_answer(),
            Self::WorkerProduct => workers::completion(),
            Self::WorkerReceipt => workers::receipt(),
            Self::JsonRpcRequest => one_or_batch(&message()),
            Self::JsonRpcResponse => one_or_batch(&response()),
            Self::JsonRpcError => error_response(),
            Self::Text => json!({"type": "string"}),
        }
    }
}

/// With the rule that something must be said.
fn continue_request() -> Value {
    let mut schema = contract::continue_request();
    schema["anyOf"] = json!([
        {"required": ["instruction"]},
        {"required": ["answers"], "properties": {"answers": {"minItems": 1}}},
    ]);
    schema
}

fn status_of(words: &[&str]) -> Value {
    let status = json!({"status": {"type": "string", "enum": words}});
    contract::object(&status, &["status"])
}

fn readiness() -> Value {
    let mut schema = status_of(&["ready", "unavailable", "migrating", "draining"]);
    schema["properties"]["checks"] =
        json!({"type": "object", "additionalProperties": {"type": "string"}});
    schema
}

fn uri() -> Value {
    json!({"type": "string", "format": "uri"})
}

fn protected_resource() -> Value {
    contract::object(
        &json!({
            "resource": uri(),
            "authorization_servers": {"type": "array", "minItems": 1, "items": uri()},
            "scopes_supported": {"type": "array", "items": {"type": "string"}},
            "bearer_methods_supported": {"const": ["header"]},
            "resource_documentation": uri(),
        }),
        &[
            "resource",
            "authorization_servers",
            "scopes_supported",
            "bearer_methods_supported",
            "resource_documentation",
        ],
    )
}

fn agent_access() -> Value {
    let mut schema = json!({"type": "object", "properties": {
        "metadata_kind": {"const": "casimirbot.agent_access"},
        "metadata_version": {"const": "1"},
        "standard": {"const": false},
        "canonical_url": uri(),
    }});
    schema["required"] = json!([
        "metadata_kind",
        "metadata_version",
        "standard",
        "notice",
        "name",
        "description",
        "canonical_url",
        "connection",
        "mcp",
        "rest",
        "oauth",
        "links",
    ]);
    schema
}

/// A JSON-RPC id (`access` 11).
fn id() -> Value {
    let largest = i64::try_from(contract::LARGEST).unwrap_or(i64::MAX);
    json!({"anyOf": [
        {"type": "string", "minLength": 1, "maxLength": 256},
        {"type": "integer", "minimum": -largest, "maximum": largest},
    ]})
}

fn message() -> Value {
    contract::object(
        &json!({
            "jsonrpc": {"const": "2.0"},
            "id": id(),
            "method": {"type": "string", "minLength": 1, "maxLength": 128},
            "params": {"type": "object"},
        }),
        &["jsonrpc", "method"],
    )
}

fn error() -> Value {
    json!({"type": "object", "required": ["code", "message"],
        "properties": {"code": {"type": "integer"}, "message": {"type": "string"}}})
}

fn error_response() -> Value {
    let id = json!({"anyOf": [{"type": "null"}, id()]});
    contract::object(
        &json!({"jsonrpc": {"const": "2.0"}, "id": id, "error": error()}),
        &["jsonrpc", "id", "error"],
    )
}

fn response() -> Value {
    let success = contract::object(
        &json!({"jsonrpc": {"const": "2.0"}, "id": id(), "result": {"type": "object"}}),
        &["jsonrpc", "id", "result"],
    );
    json!({"anyOf": [success, error_response()]})
}

fn one_or_batch(single: &Value) -> Value {
    json!({"anyOf": [single, {"type": "array", "minItems": 1, "maxItems": 20, "items": single}]})
}
