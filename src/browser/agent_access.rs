//! `/agent-access`: what this server offers to agents, and how to connect a client.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;

use super::{Frame, html};
use crate::app::problem::Problem;
use crate::http::discovery::GUIDE;
use crate::http::discovery::clients::CLIENTS;
use crate::http::door::Doors;
use crate::mcp::{PATH, TOOLS, Tool};

#[derive(Template)]
#[template(path = "browser/agent_access.html", config = ".askama.toml")]
struct AgentAccess<'a> {
    frame: Frame<'a>,
    base: &'a str,
    guide: &'static str,
    mcp: String,
    /// `None` while nobody issues tokens.
    issuer: Option<&'a str>,
    tools: &'a [Tool],
    clients: Vec<Shown>,
}

/// A client with this server's address in its snippets.
struct Shown {
    name: &'static str,
    tried: &'static str,
    note: &'static str,
    oauth: Option<String>,
    token: Option<String>,
}

pub fn page(door: &Doors, _: &HttpRequest) -> Result<HttpResponse, Problem> {
    let base = door.base.as_str();
    let mcp = format!("{base}{PATH}");
    let clients = CLIENTS.iter().map(|client| Shown {
        name: client.name,
        tried: client.tried.text(),
        note: client.note,
        oauth: client.oauth_for(&mcp),
        token: client.token_for(&mcp),
    });
    let page = AgentAccess {
        frame: Frame::of(&door.base, "/agent-access"),
        base,
        guide: GUIDE,
        clients: clients.collect(),
        issuer: door
            .resource
            .as_ref()
            .map(|resource| resource.issuer.as_str()),
        tools: &TOOLS,
        mcp,
    };
    html(StatusCode::OK, &page)
}
