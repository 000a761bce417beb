//! `/security` and `/.well-known/security.txt`: what is protected, and where faults are reported.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use helix_aggregates::time::Timestamp;

use super::{Frame, html};
use crate::app::problem::Problem;
use crate::http::door::Doors;
use crate::http::public;

/// How long a copy of the contact may be trusted (RFC 9116 asks for less than a year).
const TRUSTED_MS: i64 = 180 * 86_400_000;

#[derive(Template)]
#[template(path = "browser/security.html", config = ".askama.toml")]
struct Security<'a> {
    frame: Frame<'a>,
}

pub fn page(door: &Doors, _: &HttpRequest) -> Result<HttpResponse, Problem> {
    let frame = Frame::of(&door.base, "/security");
    html(StatusCode::OK, &Security { frame })
}

pub fn contact(door: &Doors) -> HttpResponse {
    let base = door.base.as_str();
    let now = door.runs.core().clock.now().millis();
    let expires = Timestamp::from_millis(now + TRUSTED_MS);
    let text = format!(
        "Contact: {base}/security\nExpires: {expires}\nPreferred-Languages: en\n\
         Canonical: {base}/.well-known/security.txt\nPolicy: {base}/security\n"
    );
    public::cached("text/plain; charset=utf-8").body(text)
}
