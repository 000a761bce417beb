//! One envelope for every answer of the run door (`agent-api` 1.3, 1.5).

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde_json::{Value, json};

use super::oauth;
use super::pipeline::Exchange;
use super::rate_limit::Verdict;
use super::session_lane;
use super::surface::Surface;
use super::work;
use crate::app::agent::keyed::Reply;
use crate::app::problem::{Code, Problem};
use crate::app::redaction;
use crate::auth::oauth::token_error::TokenError;
use crate::browser;
use crate::config::BaseUrl;

/// The longest description of a challenge, in characters.
const MAX_DESCRIPTION: usize = 512;

/// A run as the answer: redacted, with its version as the entity tag.
pub fn run(reply: &Reply) -> Result<HttpResponse, Problem> {
    let mut body: Value = serde_json::from_slice(&reply.body)
        .map_err(|error| Problem::new(Code::Internal).because(error.classify_text()))?;
    redaction::redact(&mut body);
    let mut response = HttpResponse::build(status(reply.status));
    response.insert_header((header::ETAG, format!("W/\"agent-run-{}\"", reply.version)));
    Ok(json_body(&mut response, &body))
}

/// The answer of a keyed operation.
pub fn keyed(reply: &Reply) -> Result<HttpResponse, Problem> {
    let mut response = run(reply)?;
    let replayed = HeaderValue::from_static(if reply.replayed { "true" } else { "false" });
    response
        .headers_mut()
        .insert(HeaderName::from_static("idempotency-replayed"), replayed);
    if reply.status == 201
        && let Ok(location) = HeaderValue::from_str(&format!("/api/v1/agent-runs/{}", reply.run_id))
    {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// Any other JSON, redacted.
pub fn value<T: serde::Serialize>(view: &T) -> Result<HttpResponse, Problem> {
    let mut body = serde_json::to_value(view)
        .map_err(|error| Problem::new(Code::Internal).because(error.classify_text()))?;
    redaction::redact(&mut body);
    Ok(json_body(&mut HttpResponse::Ok(), &body))
}

/// A failure in the run door's envelope, as problem+json where the client asks for it, or as a page.
pub fn problem(problem: &Problem, exchange: &Exchange, base: &BaseUrl) -> HttpResponse {
    let row = problem.code.row();
    if exchange.surface == Surface::Pages {
        let mut page = browser::refusal(
            status(row.status),
            "This did not work",
            &problem.message,
            base,
        );
        if let Some(seconds) = problem.retry_after {
            let wait = HeaderValue::from(seconds);
            page.headers_mut().insert(header::RETRY_AFTER, wait);
        }
        return page;
    }
    if exchange.surface == Surface::Issuer {
        return oauth::problem(problem);
    }
    if exchange.surface == Surface::SessionLane {
        return session_lane::problem(problem);
    }
    if matches!(exchange.surface, Surface::Workspace | Surface::WorkspaceMcp) {
        return work::problem(problem, exchange, base);
    }
    let mut body = if exchange.wants_problem_json {
        json!({
            "type": format!("{}/errors/{}", base.as_str(), row.code),
            "title": row.code,
            "status": row.status,
            "detail": problem.message,
            "error": row.code,
            "retryable": row.retryable,
            "request_id": exchange.request_id,
        })
    } else {
        envelope(problem, Some(&exchange.request_id))
    };
    if exchange.wants_problem_json
        && let Some(details) = &problem.details
    {
        body["details"] = details.clone();
    }
    redaction::redact(&mut body);
    let mut response = HttpResponse::build(status(row.status));
    if let Some(seconds) = problem.retry_after {
        response.insert_header((header::RETRY_AFTER, seconds.to_string()));
    }
    if let Some(challenge) = challenge(problem, exchange.surface, base) {
        response.insert_header((header::WWW_AUTHENTICATE, challenge));
    }
    if exchange.wants_problem_json {
        response
            .content_type("application/problem+json")
            .body(body.to_string())
    } else {
        json_body(&mut response, &body)
    }
}

/// The run error envelope (`agent-api` 1.5), not yet redacted.
pub fn envelope(problem: &Problem, request_id: Option<&str>) -> Value {
    let row = problem.code.row();
    let mut body = json!({
        "schema": "helix.agent_api.error.v1",
        "error": row.code,
        "message": problem.message,
        "request_id": request_id,
        "retryable": row.retryable,
    });
    if let Some(details) = &problem.details {
        body["details"] = details.clone();
    }
    body
}

/// `WWW-Authenticate` of a 401 or of a missing scope (`agent-api` 10.7, `access` 4.1).
pub fn challenge(problem: &Problem, surface: Surface, base: &BaseUrl) -> Option<String> {
    let (error, scopes) = if matches!(
        problem.code,
        Code::Unauthorized | Code::CredentialEnded | Code::TenantRequired
    ) {
        ("invalid_token", surface.challenged_scopes().to_owned())
    } else if problem.code == Code::InsufficientScope {
        ("insufficient_scope", problem.scopes.join(" "))
    } else {
        return None;
    };
    let plain = |c: char| {
        if matches!(c, ' '..='~') && c != '"' && c != '\\' {
            c
        } else {
            ' '
        }
    };
    let description: String = problem
        .message
        .chars()
        .map(plain)
        .take(MAX_DESCRIPTION)
        .collect();
    let Some(path) = surface.metadata_path() else {
        return Some(format!(
            "Bearer error=\"{error}\", error_description=\"{description}\""
        ));
    };
    let metadata = format!("{}{path}", base.as_str());
    let scope = if scopes.is_empty() {
        String::new()
    } else {
        format!(", scope=\"{scopes}\"")
    };
    let text = format!(
        "Bearer resource_metadata=\"{metadata}\", error=\"{error}\", \
         error_description=\"{description}\"{scope}"
    );
    Some(text)
}

/// The answer to a limited request (`agent-api` 1.8); its body has no `schema`.
pub fn limited(verdict: &Verdict, exchange: &Exchange, base: &BaseUrl) -> HttpResponse {
    if exchange.surface == Surface::Pages {
        let text = "Too many requests came from your address. Wait a minute, then try again.";
        let mut page = browser::refusal(
            StatusCode::TOO_MANY_REQUESTS,
            "Too many requests",
            text,
            base,
        );
        let wait = HeaderValue::from(verdict.retry_after_s);
        page.headers_mut().insert(header::RETRY_AFTER, wait);
        return page;
    }
    if exchange.surface == Surface::Issuer {
        let retry_after = Duration::from_millis(verdict.retry_after_ms);
        return oauth::token_refused(TokenError::TooMany { retry_after });
    }
    if matches!(exchange.surface, Surface::Workspace | Surface::WorkspaceMcp) {
        return work::limited(verdict, exchange);
    }
    let body = json!({
        "error": "rate_limited",
        "message": "Too many requests; retry after the time given.",
        "retryAfterMs": verdict.retry_after_ms,
    });
    let mut response = HttpResponse::TooManyRequests();
    response.insert_header((header::RETRY_AFTER, verdict.retry_after_s.to_string()));
    json_body(&mut response, &body)
}

/// Headers every answer carries.
pub fn finish(mut response: HttpResponse, exchange: &Exchange) -> HttpResponse {
    let headers = response.headers_mut();
    // Only what is the same for everybody says otherwise.
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if let Ok(id) = HeaderValue::from_str(&exchange.request_id) {
        headers.insert(HeaderName::from_static("x-request-id"), id);
    }
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = &exchange.origin {
        let exposed = HeaderValue::from_static("WWW-Authenticate, X-Request-Id, Retry-After");
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    if let Some(verdict) = &exchange.limit {
        limit_headers(headers, verdict);
    }
    response
}

fn limit_headers(headers: &mut HeaderMap, verdict: &Verdict) {
    let reset_s = verdict.retry_after_ms.div_ceil(1_000);
    for (name, text) in [
        ("x-ratelimit-limit", verdict.limit.to_string()),
        ("x-ratelimit-remaining", verdict.remaining.to_string()),
        ("x-ratelimit-reset", verdict.reset_at_ms.to_string()),
        (
            "ratelimit-policy",
            format!("\"minute\";q={};w=60", verdict.limit),
        ),
        (
            "ratelimit",
            format!("\"minute\";r={};t={reset_s}", verdict.remaining),
        ),
    ] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

pub fn json_body(response: &mut HttpResponseBuilder, body: &Value) -> HttpResponse {
    response
        .content_type("application/json")
        .body(body.to_string())
}

pub(super) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// What may be said of a JSON fault: its kind, never the text it quotes.
trait ClassifyText {
    fn classify_text(&self) -> String;
}

impl ClassifyText for serde_json::Error {
    fn classify_text(&self) -> String {
        format!("{:?}", self.classify())
    }
}
