//! From a checked message to rmcp and back (`access` 11).
//!
//! rmcp never sees a credential: it is given the message, the headers of the protocol and the caller
//! that the pipeline has found.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::handler::DoorTools;
use super::{Face, envelope, internal};
use crate::app::caller::Caller;
use crate::app::problem::{Code, Problem};
use crate::app::work::caller::WorkCaller;
use crate::http::door::Doors;
use crate::http::pipeline::values;

const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
/// Bytes of a version that is told back.
const LONGEST_VERSION: usize = 32;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;
const UNSUPPORTED_VERSION: i64 = -32022;
const VERSION: &str = "mcp-protocol-version";
/// Every message reaches rmcp under this host: who may be asked is judged by our own rules before.
const INNER_HOST: &str = "localhost";

/// What a handler finds beside its request.
#[derive(Debug, Clone)]
pub struct Turn {
    pub door: Arc<Doors>,
    pub asking: Asking,
    pub request_id: String,
    /// The request's id as logs may show it.
    pub logged_id: String,
    /// Raised when the caller's credential died in the middle: that is no result of a tool.
    pub ended: Arc<AtomicBool>,
}

/// Who asks, and with that at which face.
#[derive(Debug, Clone)]
pub enum Asking {
    Agent(Arc<Caller>),
    Workspace(Arc<WorkCaller>),
}

impl Asking {
    pub fn face(&self) -> Face {
        match self {
            Self::Agent(_) => Face::Agent,
            Self::Workspace(_) => Face::Workspace,
        }
    }
}

/// What became of one message.
pub enum Answer {
    /// A notification: there is nothing to say.
    Accepted,
    /// One JSON document.
    Json(StatusCode, Bytes),
}

/// Whether an answer is an error, found without building the rest of it.
#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    error: Option<IgnoredAny>,
}

type Service = StreamableHttpService<DoorTools, NeverSessionManager>;

static AGENT: LazyLock<Service> = LazyLock::new(|| service(Face::Agent));
static WORKSPACE: LazyLock<Service> = LazyLock::new(|| service(Face::Workspace));

fn service(face: Face) -> Service {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts([INNER_HOST])
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None);
    StreamableHttpService::new(move || Ok(DoorTools(face)), Arc::default(), config)
}

pub async fn dispatch(turn: Turn, outer: &HttpRequest, message: &Value) -> Result<Answer, Problem> {
    let method = message["method"].as_str().unwrap_or_default();
    if message.get("id").is_none() {
        return Ok(Answer::Accepted);
    }
    if method == "initialize" && envelope::names_its_version(message) {
        // Its era has no handshake.
        return Ok(refused(
            StatusCode::NOT_FOUND,
            METHOD_NOT_FOUND,
            &message["id"],
        ));
    }
    if method == "tools/call" && !envelope::is_call(message) {
        // rmcp takes a call that it cannot read for a method that it does not know.
        let status = if envelope::names_its_version(message) {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::OK
        };
        return Ok(refused(status, INVALID_PARAMS, &message["id"]));
    }
    let (version, text) = spoken(outer, method, message);
    let mut inner = http::Request::post("/mcp")
        .header(HOST, INNER_HOST)
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json");
    if let Some(version) = version {
        inner = inner.header(VERSION, version);
    }
    for (name, value) in outer.headers() {
        // What the stateless era repeats of a message, held against it by rmcp.
        let name = name.as_str();
        if name == "mcp-method" || name == "mcp-name" || name.starts_with("mcp-param-") {
            inner = inner.header(name, value.as_bytes());
        }
    }
    let mut inner = inner.body(Full::<Bytes>::from(text)).map_err(internal)?;
    let ended = Arc::clone(&turn.ended);
    let face = turn.asking.face();
    let service = match face {
        Face::Agent => &AGENT,
        Face::Workspace => &WORKSPACE,
    };
    inner.extensions_mut().insert(turn);
    let response = service.handle(inner).await;
    if ended.load(Ordering::Acquire) {
        return Err(Problem::new(Code::CredentialEnded));
    }
    let status = StatusCode::from_u16(response.status().as_u16()).map_err(internal)?;
    if status.is_server_error() {
        return Ok(refused(status, INTERNAL, &Value::Null));
    }
    let Ok(body) = response.into_body().collect().await;
    let body = body.to_bytes();
    if body.is_empty() {
        return Ok(Answer::Accepted);
    }
    let Ok(outcome) = serde_json::from_slice::<Outcome>(&body) else {
        // rmcp words some refusals as plain text: the status stands, the text may quote the caller.
        return Ok(refused(status, INVALID_REQUEST, &message["id"]));
    };
    if outcome.error.is_none() && method != "tools/list" {
        return Ok(Answer::Json(status, body));
    }
    let mut answer: Value = serde_json::from_slice(&body).map_err(internal)?;
    put_back(face, &mut answer);
    if let Some(error) = answer.get_mut("error") {
        plain(error);
    }
    Ok(Answer::Json(status, answer.to_string().into()))
}

/// The version a message is under, and the message in that version's words. A handshake names its
/// own, and only versions that have one.
fn spoken(outer: &HttpRequest, method: &str, message: &Value) -> (Option<String>, String) {
    if method == "initialize" {
        let asked = message["params"]["protocolVersion"].as_str();
        let Some(version) = asked.map(envelope::negotiated) else {
            return (None, message.to_string());
        };
        let mut message = message.clone();
        if let Some(params) = envelope::params_of(&mut message) {
            params.insert("protocolVersion".to_owned(), json!(version));
        }
        return (Some(version.to_owned()), message.to_string());
    }
    let version = values(outer, VERSION)
        .next()
        .and_then(|version| std::str::from_utf8(version).ok())
        .map(|version| match version {
            "2024-10-07" => "2024-11-05".to_owned(),
            other => other.to_owned(),
        });
    (version, message.to_string())
}

fn refused(status: StatusCode, code: i64, id: &Value) -> Answer {
    let error = json!({"code": code, "message": plain_text(code)});
    let answer = json!({"jsonrpc": "2.0", "error": error, "id": id});
    Answer::Json(status, answer.to_string().into())
}

/// rmcp's errors quote the caller. What may be said follows from the code alone; which versions
/// there are is the one thing a client needs to be told.
fn plain(error: &mut Value) {
    let code = error["code"].as_i64().unwrap_or(INTERNAL);
    let mut said = json!({"code": code, "message": plain_text(code)});
    if code == UNSUPPORTED_VERSION {
        let versions = &error["data"];
        said["data"] = json!({"supported": versions["supported"]});
        let requested = versions["requested"].as_str();
        // Its era asks for it back, so far as it looks like the name of a version.
        if let Some(requested) = requested.filter(|text| is_version_name(text)) {
            said["data"]["requested"] = json!(requested);
        }
    }
    *error = said;
}

fn is_version_name(text: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    (1..=LONGEST_VERSION).contains(&text.len()) && text.bytes().all(usual)
}

fn plain_text(code: i64) -> &'static str {
    match code {
        -32700 => "The message is not JSON.",
        INVALID_REQUEST => "The message does not fit its protocol version.",
        METHOD_NOT_FOUND => "There is no such method.",
        INVALID_PARAMS => "There is no such tool, or the parameters are not valid.",
        -32020 => "A header does not match the message.",
        -32021 => "The client lacks a capability that this needs.",
        UNSUPPORTED_VERSION => "This protocol version is not supported.",
        _ => "Something went wrong inside the server.",
    }
}

/// The members of a tool that rmcp's type has no place for.
fn put_back(face: Face, answer: &mut Value) {
    if let Some(tools) = answer.pointer_mut("/result/tools") {
        *tools = face.listed().into();
    }
}
