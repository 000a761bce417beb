//! Pages for people: server-rendered, readable without JavaScript and without anything from elsewhere.
//!
//! What must stay true: every page goes out under one content security policy that admits no inline
//! script or style; templates escape what they are given; what is for one person is stored nowhere on
//! the way. Deliberately absent: any rule about who may do what.

pub mod account;
pub mod agent_access;
pub mod authorize;
pub mod briefs;
pub mod connections;
pub mod docs;
pub mod errors;
pub mod form;
pub mod home;
pub mod invite;
mod moment;
pub mod projects;
pub mod proposals;
pub mod reviews;
pub mod security;
pub mod setup;
pub mod sign_in;
pub mod tokens;
pub mod visit;
pub mod workspaces;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::web::ServiceConfig;
use askama::Template;

use crate::app::problem::{Code, Problem};
use crate::config::BaseUrl;
use crate::http::door::Doors;
use crate::http::public::{self, Document, Page};

const STYLES: &str = include_str!("browser/pages.css");
const SCRIPT: &str = include_str!("browser/pages.js");
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

pub const PAGES: [(&str, Page); 5] = [
    ("/agent-access", agent_access::page),
    ("/docs", docs::page),
    ("/errors", errors::index),
    ("/errors/{code}", errors::page),
    ("/security", security::page),
];

/// Pages and forms of people.
pub const ROUTES: [(&str, &str); 42] = [
    ("GET", "/"),
    ("GET", "/setup/{link}"),
    ("POST", "/setup/{link}"),
    ("GET", "/invite/{link}"),
    ("POST", "/invite/{link}"),
    ("GET", "/workspaces"),
    ("GET", "/workspaces/{workspace}"),
    ("POST", "/workspaces/{workspace}/projects"),
    ("GET", "/workspaces/{workspace}/projects/{project}"),
    ("POST", "/workspaces/{workspace}/projects/{project}/briefs"),
    (
        "GET",
        "/workspaces/{workspace}/projects/{project}/briefs/{brief}",
    ),
    (
        "POST",
        "/workspaces/{workspace}/projects/{project}/briefs/{brief}",
    ),
    (
        "POST",
        "/workspaces/{workspace}/projects/{project}/briefs/{brief}/reviews",
    ),
    (
        "GET",
        "/workspaces/{workspace}/projects/{project}/briefs/{brief}/proposals/{proposal}",
    ),
    (
        "POST",
        "/workspaces/{workspace}/projects/{project}/briefs/{brief}/proposals/{proposal}",
    ),
    (
        "GET",
        "/workspaces/{workspace}/projects/{project}/reviews/{review}",
    ),
    (
        "POST",
        "/workspaces/{workspace}/projects/{project}/reviews/{review}",
    ),
    ("POST", "/workspaces/{workspace}/invites"),
    ("POST", "/workspaces/{workspace}/connections/revoke"),
    ("GET", "/workspaces/{workspace}/tokens"),
    ("POST", "/workspaces/{workspace}/tokens"),
    ("POST", "/workspaces/{workspace}/tokens/unlock"),
    ("POST", "/workspaces/{workspace}/tokens/rotate"),
    ("POST", "/workspaces/{workspace}/tokens/revoke"),
    ("GET", "/workspace-invites/{link}"),
    ("POST", "/workspace-invites/{link}"),
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("POST", "/sign-out"),
    ("GET", "/authorize"),
    ("POST", "/authorize"),
    ("GET", "/account"),
    ("POST", "/account/passphrase"),
    ("POST", "/account/recovery-sheet"),
    ("POST", "/account/delete"),
    ("GET", "/recover"),
    ("POST", "/recover"),
    ("GET", "/connections"),
    ("POST", "/connections/revoke"),
    ("POST", "/connections/pause"),
    ("POST", "/connections/resume"),
    ("POST", "/connections/sessions/end"),
];

/// What belongs to pages and is none.
pub const DOCUMENTS: [(&str, Document); 3] = [
    ("/.well-known/security.txt", security::contact),
    ("/assets/pages.css", styles),
    ("/assets/pages.js", script),
];

pub fn configure(config: &mut ServiceConfig) {
    for (path, make) in PAGES {
        config.service(public::page(path, make));
    }
    for (path, make) in DOCUMENTS {
        config.service(public::document(path, make));
    }
    account::configure(config);
    authorize::configure(config);
    connections::configure(config);
    home::configure(config);
    setup::configure(config);
    invite::configure(config);
    tokens::configure(config);
    workspaces::configure(config);
    projects::configure(config);
    briefs::configure(config);
    proposals::configure(config);
    reviews::configure(config);
    sign_in::configure(config);
}

/// What the frame of every page needs.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Before each path of a link: empty unless the public address has a path of its own.
    pub root: &'a str,
    /// The page's own address.
    pub canonical: String,
    /// Who is signed in.
    pub reader: Option<Reader<'a>>,
}

/// What the frame needs of whoever is signed in.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub csrf: &'a str,
}

impl<'a> Frame<'a> {
    pub fn of(base: &'a BaseUrl, path: &str) -> Self {
        Self {
            root: base.as_str().strip_prefix(base.origin()).unwrap_or(""),
            canonical: format!("{}{path}", base.as_str()),
            reader: None,
        }
    }

    /// Whether the page is the one at `path`.
    fn at(&self, path: &str) -> bool {
        self.canonical.ends_with(path)
    }
}

/// A page as the answer.
pub fn html(status: StatusCode, page: &impl Template) -> Result<HttpResponse, Problem> {
    answered(status, page, POLICY)
}

/// A page whose form may be answered by sending the browser to `place`: Chromium holds a redirect
/// against the policy of the page that the form stood on.
pub fn html_leading_to(
    status: StatusCode,
    page: &impl Template,
    place: &str,
) -> Result<HttpResponse, Problem> {
    let policy = POLICY.replace("form-action 'self'", &format!("form-action 'self' {place}"));
    answered(status, page, &policy)
}

fn answered(
    status: StatusCode,
    page: &impl Template,
    policy: &str,
) -> Result<HttpResponse, Problem> {
    let text = page
        .render()
        .map_err(|error| Problem::new(Code::Internal).because(error))?;
    Ok(HttpResponse::build(status)
        .content_type("text/html; charset=utf-8")
        .insert_header((header::CONTENT_SECURITY_POLICY, policy))
        // For browsers that do not know `frame-ancestors` (`access` 13, K20).
        .insert_header((header::X_FRAME_OPTIONS, "DENY"))
        // Under `no-referrer` browsers would send form posts without an origin (settled question 57).
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .body(text))
}

/// A page that says one thing.
#[derive(Debug, Template)]
#[template(path = "browser/notice.html", config = ".askama.toml")]
pub struct Notice<'a> {
    pub frame: Frame<'a>,
    pub title: &'a str,
    pub text: &'a str,
    /// A path and what its link says.
    pub next: Option<(&'a str, &'a str)>,
}

/// A refusal for a person to read.
pub fn refusal(status: StatusCode, title: &str, text: &str, base: &BaseUrl) -> HttpResponse {
    let notice = Notice {
        frame: Frame::of(base, "/"),
        title,
        text,
        next: Some(("/", "To the start")),
    };
    html(status, &notice).unwrap_or_else(|_| HttpResponse::build(status).finish())
}

fn styles(_: &Doors) -> HttpResponse {
    public::cached("text/css; charset=utf-8").body(STYLES)
}

fn script(_: &Doors) -> HttpResponse {
    public::cached("text/javascript; charset=utf-8").body(SCRIPT)
}
