//! Pages for people: server-rendered, readable without JavaScript and without anything from elsewhere.
//!
//! What must stay true: every page goes out under one content security policy that admits no inline
//! script or style; templates escape what they are given. Deliberately absent: pages that know who asks.

pub mod agent_access;
pub mod docs;
pub mod errors;
pub mod security;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::web::ServiceConfig;
use askama::Template;

use crate::app::problem::{Code, Problem};
use crate::config::BaseUrl;
use crate::http::door::AgentDoor;
use crate::http::public::{self, Document, Page};

const STYLES: &str = include_str!("browser/pages.css");
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

pub const PAGES: [(&str, Page); 5] = [
    ("/agent-access", agent_access::page),
    ("/docs", docs::page),
    ("/errors", errors::index),
    ("/errors/{code}", errors::page),
    ("/security", security::page),
];

/// What belongs to pages and is none.
pub const DOCUMENTS: [(&str, Document); 2] = [
    ("/.well-known/security.txt", security::contact),
    ("/assets/pages.css", styles),
];

pub fn configure(config: &mut ServiceConfig) {
    for (path, make) in PAGES {
        config.service(public::page(path, make));
    }
    for (path, make) in DOCUMENTS {
        config.service(public::document(path, make));
    }
}

/// What the frame of every page needs.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Before each path of a link: empty unless the public address has a path of its own.
    pub root: &'a str,
    /// The page's own address.
    pub canonical: String,
}

impl<'a> Frame<'a> {
    pub fn of(base: &'a BaseUrl, path: &str) -> Self {
        Self {
            root: base.as_str().strip_prefix(base.origin()).unwrap_or(""),
            canonical: format!("{}{path}", base.as_str()),
        }
    }
}

/// A page as the answer.
pub fn html(status: StatusCode, page: &impl Template) -> Result<HttpResponse, Problem> {
    let text = page
        .render()
        .map_err(|error| Problem::new(Code::Internal).because(error))?;
    Ok(HttpResponse::build(status)
        .content_type("text/html; charset=utf-8")
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        // For browsers that do not know `frame-ancestors` (`access` 13, K20).
        .insert_header((header::X_FRAME_OPTIONS, "DENY"))
        // Under `no-referrer` browsers would send form posts without an origin (settled question 57).
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .body(text))
}

fn styles(_: &AgentDoor) -> HttpResponse {
    public::cached("text/css; charset=utf-8").body(STYLES)
}
