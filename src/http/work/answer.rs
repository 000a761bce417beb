//! Answers of the workspace door, and its one error envelope (`access` 6.2).

use actix_web::HttpResponse;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::app::problem::{Code, Problem, Row};
use crate::app::work::Answer;
use crate::config::BaseUrl;
use crate::http::pipeline::Exchange;
use crate::http::rate_limit::Verdict;
use crate::http::respond::{challenge, json_body, status};

const SCHEMA: &str = "helix.workspace.error.v1";

pub(super) fn of(answer: &Answer) -> HttpResponse {
    let body = Value::Object(answer.body.clone());
    let mut response = json_body(&mut HttpResponse::build(status(answer.status)), &body);
    if let Some(replayed) = answer.replayed {
        let word = HeaderValue::from_static(if replayed { "true" } else { "false" });
        let name = HeaderName::from_static("idempotency-replayed");
        response.headers_mut().insert(name, word);
    }
    response
}

/// The row of a problem in the words of this door.
fn row(code: Code) -> Row {
    let row = code.row();
    let word = if code == Code::BodyTooLarge {
        "too_large"
    } else if code == Code::Unavailable {
        "overloaded"
    } else {
        row.code
    };
    Row { code: word, ..row }
}

/// The error envelope.
pub fn envelope(problem: &Problem, request_id: &str) -> Value {
    let row = row(problem.code);
    let mut body = json!({
        "schema": SCHEMA,
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

pub fn problem(problem: &Problem, exchange: &Exchange, base: &BaseUrl) -> HttpResponse {
    let row = row(problem.code);
    let body = envelope(problem, &exchange.request_id);
    let mut response = HttpResponse::build(status(row.status));
    if let Some(seconds) = problem.retry_after {
        response.insert_header((header::RETRY_AFTER, seconds.to_string()));
    }
    if let Some(challenge) = challenge(problem, exchange.surface, base) {
        response.insert_header((header::WWW_AUTHENTICATE, challenge));
    }
    json_body(&mut response, &body)
}

pub fn limited(verdict: &Verdict, exchange: &Exchange) -> HttpResponse {
    let body = json!({
        "schema": SCHEMA,
        "error": "rate_limited",
        "message": "Too many requests; retry after the time given.",
        "request_id": exchange.request_id,
        "retryable": true,
        "details": { "retry_after_ms": verdict.retry_after_ms },
    });
    let mut response = HttpResponse::TooManyRequests();
    response.insert_header((header::RETRY_AFTER, verdict.retry_after_s.to_string()));
    json_body(&mut response, &body)
}
