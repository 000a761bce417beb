//! Answers in the words of OAuth (RFC 6749 5.2).

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use serde_json::json;

use crate::app::problem::Problem;
use crate::auth::oauth::token_error::TokenError;

/// One refusal. Texts are ours: nothing of the caller stands in them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusal<'a> {
    pub status: u16,
    pub error: &'a str,
    pub description: &'a str,
}

pub(super) fn refused(refusal: Refusal<'_>) -> HttpResponse {
    let body = json!({"error": refusal.error, "error_description": refusal.description});
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    HttpResponse::build(status)
        .content_type("application/json")
        .body(body.to_string())
}

pub fn token_refused(error: TokenError) -> HttpResponse {
    let mut response = refused(Refusal {
        status: error.status(),
        error: error.code().as_str(),
        description: &error.to_string(),
    });
    let headers = response.headers_mut();
    if let Some(scheme) = error.challenge() {
        let challenge = HeaderValue::from_static(match scheme {
            "Basic" => "Basic realm=\"Helix\"",
            _ => "Bearer",
        });
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if let Some(seconds) = error.retry_after() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A problem of the server's own table in the words of OAuth.
pub fn problem(problem: &Problem) -> HttpResponse {
    let row = problem.code.row();
    let error = match row.status {
        429 | 503 => "temporarily_unavailable",
        500.. => "server_error",
        403 => "access_denied",
        _ => "invalid_request",
    };
    let mut response = refused(Refusal {
        status: row.status,
        error,
        description: &problem.message,
    });
    if let Some(seconds) = problem.retry_after {
        let wait = HeaderValue::from(seconds);
        response.headers_mut().insert(header::RETRY_AFTER, wait);
    }
    response
}

/// Any page may read the answer, and none may send a cookie along.
pub(super) fn open_to_any_site(headers: &mut HeaderMap) {
    let any = HeaderValue::from_static("*");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any);
    let exposed = HeaderValue::from_static("WWW-Authenticate, X-Request-Id, Retry-After");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
}
