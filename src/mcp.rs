//! `/mcp`: the run tools for MCP clients (`agent-api` 10, `access` 11).
//!
//! The same use cases as the REST door behind another envelope. What must stay true: nothing is
//! dispatched before the envelope, the credential scan and the token have passed; no session is
//! issued; every answer is one JSON document; what MCP asks of a server is rmcp's business, and what
//! the contract asks beyond it stands here. Deliberately absent: any rule of a run.

mod bridge;
mod catalog;
mod envelope;
mod face;
mod handler;
mod schema;
mod tools;
mod work;

use std::future::ready;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Bytes, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use crate::app::problem::{Code, Problem};
use crate::app::redaction;
use crate::http::arrival;
use crate::http::door::{Door, Doors};
use crate::http::permits::Demand;
use crate::http::pipeline::{self, Exchange, Stop, values};
use crate::http::surface::Surface;
use crate::strict_json;
use envelope::{Fault, Messages};
use face::Face;

pub use catalog::{TOOLS, Tool};
pub use envelope::versions;

pub const PATH: &str = "/mcp";
/// What a page may send along.
const REQUEST_HEADERS: &str = "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, \
    Mcp-Name, X-Request-Id, X-Tenant-Id, X-Customer-Id, X-Org-Id";

pub fn configure(config: &mut ServiceConfig) {
    for face in Face::ALL {
        let post = move |door: Door, request, payload| post(face, door, request, payload);
        let preflight =
            move |door: Door, request: HttpRequest| ready(preflight(face, &door, &request));
        let wrong_method =
            move |door: Door, request: HttpRequest| ready(wrong_method(face, &door, &request));
        config.service(
            web::resource(face.path())
                .route(web::post().to(post))
                .route(web::method(Method::OPTIONS).to(preflight))
                .default_service(web::to(wrong_method)),
        );
    }
}

async fn post(
    face: Face,
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    let started = Instant::now();
    let mut exchange = Exchange::of(&door, &request, face.surface());
    let answered = match face {
        Face::Agent => answer(&door, &request, payload, &mut exchange).await,
        Face::Workspace => work::answer(&door, &request, payload, &mut exchange).await,
    };
    pipeline::conclude(&door, &request, &exchange, answered, started)
}

/// What a browser asks before it lets a page send a message.
fn preflight(face: Face, Door(door): &Door, request: &HttpRequest) -> HttpResponse {
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, face.surface());
    let answered = arrival::check(door, request, &mut exchange).map(|()| {
        HttpResponse::NoContent()
            .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, "POST"))
            .insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS))
            .insert_header((header::ACCESS_CONTROL_MAX_AGE, "600"))
            .finish()
    });
    pipeline::conclude(door, request, &exchange, answered, started)
}

/// Answered before anybody is asked who they are (`access` 11).
fn wrong_method(face: Face, Door(door): &Door, request: &HttpRequest) -> HttpResponse {
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, face.surface());
    let answered = arrival::check(door, request, &mut exchange).map(|()| {
        let mut response = refusal(405, -32000, "Only POST is available here.");
        let post = HeaderValue::from_static("POST");
        response.headers_mut().insert(header::ALLOW, post);
        response
    });
    pipeline::conclude(door, request, &exchange, answered, started)
}

async fn answer(
    door: &Arc<Doors>,
    request: &HttpRequest,
    payload: Payload,
    exchange: &mut Exchange,
) -> Result<HttpResponse, Stop> {
    arrival::check(door, request, exchange)?;
    if let Some(refused) = unacceptable(request) {
        return Ok(refused);
    }
    pipeline::check_encoding(request)?;
    let limit = door.limits(Surface::Mcp).body;
    let bytes = pipeline::read_bytes(limit, request, payload).await?;
    let Ok(body) = strict_json::read(&bytes) else {
        return Ok(refusal(
            400,
            -32700,
            "The body is not one strict JSON value.",
        ));
    };
    let asked = json!([body, request.query_string()]);
    if redaction::is_protected(&asked) {
        return Ok(refusal(
            400,
            -32602,
            "The message holds credential material.",
        ));
    }
    if !request.query_string().is_empty() {
        return Err(Problem::invalid("This address takes no parameters.").into());
    }
    let messages = match envelope::read(&body) {
        Ok(messages) => messages,
        Err(Fault(text)) => return Ok(refusal(400, Face::Agent.envelope_fault(), text)),
    };
    if !is_version_served(request, &messages) {
        let text = "This MCP-Protocol-Version is not supported.";
        return Ok(refusal(400, -32000, text));
    }
    let demand = demand_of(&messages);
    let caller = Arc::new(pipeline::identify(door, request, demand).await?);
    // A batch buys nothing: each message counts, and all of them before the first is dispatched.
    for _ in messages.all() {
        pipeline::charge(door, exchange, &caller)?;
    }
    let turn = bridge::Turn {
        door: Arc::clone(door),
        asking: bridge::Asking::Agent(caller),
        request_id: exchange.request_id.clone(),
        logged_id: exchange.logged_id.clone(),
        ended: Arc::default(),
    };
    let done = pipeline::placed(door, demand, dispatch(turn, request, &messages)).await;
    pipeline::says_why(door, request, demand, done).await
}

/// One message after another: what a batch does, it does in its order.
async fn dispatch(
    turn: bridge::Turn,
    request: &HttpRequest,
    messages: &Messages<'_>,
) -> Result<HttpResponse, Problem> {
    let mut answers: Vec<Bytes> = Vec::new();
    for message in messages.all() {
        let turn = turn.clone();
        match bridge::dispatch(turn, request, message).await? {
            bridge::Answer::Accepted => {}
            // One array has one status.
            bridge::Answer::Json(_, answer) if messages.is_batch() => answers.push(answer),
            bridge::Answer::Json(status, answer) => return Ok(rendered(status, answer)),
        }
    }
    if answers.is_empty() {
        return Ok(HttpResponse::Accepted().finish());
    }
    let all = [b"[", answers.join(&b',').as_slice(), b"]"].concat();
    Ok(rendered(StatusCode::OK, all.into()))
}

/// A batch has one place, so what waits in it decides; only withdrawals make it one.
fn demand_of(messages: &Messages<'_>) -> Demand {
    let mut demands = messages.all().iter().map(|message| {
        let called = (message["method"] == "tools/call")
            .then(|| message["params"]["name"].as_str())
            .flatten();
        called
            .and_then(catalog::named)
            .map_or(Demand::Ordinary, |tool| tool.operation.demand())
    });
    let first = demands.next().unwrap_or(Demand::Ordinary);
    demands.fold(first, |all, one| match (all, one) {
        (Demand::Waiting, _) | (_, Demand::Waiting) => Demand::Waiting,
        (Demand::Withdrawal, Demand::Withdrawal) => Demand::Withdrawal,
        (Demand::Ordinary, _) | (_, Demand::Ordinary) => Demand::Ordinary,
    })
}

/// What the headers alone rule out.
fn unacceptable(request: &HttpRequest) -> Option<HttpResponse> {
    let mut sent = values(request, "accept").peekable();
    let anything = sent.peek().is_none();
    let mut lists = sent.map(|value| {
        let text = String::from_utf8_lossy(value);
        let mut names = text.split(',').filter_map(|part| part.split(';').next());
        names.any(|name| {
            ["*/*", "application/*", "application/json"]
                .iter()
                .any(|known| name.trim().eq_ignore_ascii_case(known))
        })
    });
    if !anything && !lists.any(|accepted| accepted) {
        let text = "The answer is application/json, which Accept rules out.";
        return Some(refusal(406, -32000, text));
    }
    if !pipeline::has_media_type(request, "application/json") {
        let text = "Send the message as application/json.";
        return Some(refusal(415, -32000, text));
    }
    None
}

/// Whether the version that the headers name is served. A message that names a version itself is
/// answered in the words of its era, so rmcp judges that one.
fn is_version_served(request: &HttpRequest, messages: &Messages<'_>) -> bool {
    let mut versions = values(request, "mcp-protocol-version");
    match (versions.next(), versions.next()) {
        (None, _) => true,
        (Some(version), None) => {
            envelope::is_supported_version(version)
                || messages.all().iter().all(envelope::names_its_version)
        }
        (Some(_), Some(_)) => false,
    }
}

/// A JSON-RPC error that answers no message in particular; nothing of the caller stands in it.
fn refusal(status: u16, code: i32, message: &'static str) -> HttpResponse {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let error = json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}, "id": null});
    rendered(status, error.to_string().into())
}

fn rendered(status: StatusCode, body: Bytes) -> HttpResponse {
    HttpResponse::build(status)
        .content_type("application/json")
        .body(body)
}

fn internal(cause: impl std::fmt::Display) -> Problem {
    Problem::new(Code::Internal).because(cause)
}
