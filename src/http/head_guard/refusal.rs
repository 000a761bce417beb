//! The answer to what never became a request: the envelope of every refusal (`agent-api` 1.5), with
//! the headers that every answer has (settled question 3).
//!
//! The id is always a new one: nothing of a head that is refused is trusted, its `X-Request-Id`
//! included.

use std::time::SystemTime;

use actix_web::http::StatusCode;
use actix_web::http::header::HttpDate;

use crate::app::problem::Problem;
use crate::http::{request_id, respond};
use crate::ids::Ids;

/// A whole answer, as it goes over the wire.
#[derive(Debug)]
pub struct Refusal {
    pub bytes: Vec<u8>,
    pub request_id: String,
    pub status: u16,
}

impl Refusal {
    pub fn of(problem: &Problem) -> Self {
        let status = problem.code.row().status;
        let request_id = request_id::assign(None, request_id::Origin::Other, || Ids.uuid());
        let body = respond::envelope(problem, Some(&request_id)).to_string();
        let reason = StatusCode::from_u16(status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("Refused");
        let text = format!(
            "HTTP/1.1 {status} {reason}\r\n\
             Content-Type: application/json\r\n\
             Content-Length: {length}\r\n\
             Cache-Control: no-store\r\n\
             Pragma: no-cache\r\n\
             X-Content-Type-Options: nosniff\r\n\
             X-Request-Id: {request_id}\r\n\
             Vary: Origin\r\n\
             Connection: close\r\n\
             Date: {date}\r\n\r\n\
             {body}",
            length = body.len(),
            date = date(),
        );
        Self {
            bytes: text.into_bytes(),
            request_id,
            status,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a date for the reader of an answer; no rule hangs on it"
)]
fn date() -> HttpDate {
    SystemTime::now().into()
}
