//! Where people, crawlers and agents learn what is served here and how to connect (`agent-api` 13.2).
//!
//! Every address is made from the public base URL. Reading one of these documents grants nothing: a
//! client still has to be configured by somebody and authorized.

pub mod clients;

use actix_web::HttpResponse;
use actix_web::http::header;
use actix_web::web::ServiceConfig;
use serde_json::{Value, json};

use super::door::Doors;
use super::public::{self, Document};
use crate::browser;
use crate::mcp::TOOLS;

/// The guide, in the place that protected-resource metadata names.
pub const GUIDE: &str = "/docs/architecture/helix-agent-api-v1.md";
const GUIDE_TEXT: &str = include_str!("discovery/guide.md");
const LLMS_TEXT: &str = include_str!("discovery/llms.txt");
/// Stands for the public base URL in the texts above.
const BASE: &str = "{base}";

/// Every document of this surface.
pub const DOCUMENTS: [(&str, Document); 6] = [
    ("/agent-access.json", manifest),
    (GUIDE, guide),
    ("/openapi.json", openapi),
    ("/llms.txt", llms),
    ("/robots.txt", robots),
    ("/sitemap.xml", sitemap),
];

pub fn configure(config: &mut ServiceConfig) {
    for (path, make) in DOCUMENTS {
        config.service(public::document(path, make));
    }
}

fn manifest(door: &Doors) -> HttpResponse {
    let base = door.base.as_str();
    let canonical = format!("<{base}/agent-access.json>; rel=\"canonical\"");
    public::cached("application/json")
        .insert_header((header::LINK, canonical))
        .body(manifest_of(base).to_string())
}

fn manifest_of(base: &str) -> Value {
    json!({
        "metadata_kind": "casimirbot.agent_access",
        "metadata_version": "1",
        "standard": false,
        "notice": "A convention of this server, not a standard. Reading it connects nothing: somebody configures \
            the MCP address in a client and authorizes that client.",
        "name": "Helix Agent API",
        "description": "Durable, governed agent runs over MCP and REST.",
        "canonical_url": format!("{base}/agent-access.json"),
        "connection": {
            "explicit_configuration_required": true,
            "user_authorization_required": true,
            "retrieval_only_clients_can_invoke": false,
        },
        "mcp": {
            "url": format!("{base}{}", crate::mcp::PATH),
            "transport": "streamable_http",
            "session_model": "stateless_transport_with_durable_run_ids",
            "authentication": "oauth_2_bearer",
            "tools": TOOLS.map(|tool| tool.name),
            "tools_semantics": "These tools start, drive and read runs. What they return is evidence about a run; it \
                is an answer only where terminal_authority_status says authorized.",
        },
        "rest": {
            "base_url": format!("{base}/api/v1/agent-runs"),
            "room_base_url": format!("{base}/api/v1/rooms"),
            "api_version": "v1",
            "authentication": "oauth_2_bearer",
        },
        "oauth": {
            "protected_resource_metadata_url": format!("{base}/.well-known/oauth-protected-resource/mcp"),
        },
        "links": {
            "human_discovery": format!("{base}/agent-access"),
            "api_contract": format!("{base}{GUIDE}"),
            "workstation": base,
        },
    })
}

fn guide(door: &Doors) -> HttpResponse {
    let text = GUIDE_TEXT.replace(BASE, door.base.as_str());
    public::cached("text/markdown; charset=utf-8").body(text)
}

fn llms(door: &Doors) -> HttpResponse {
    let text = LLMS_TEXT.replace(BASE, door.base.as_str());
    public::cached("text/plain; charset=utf-8").body(text)
}

fn openapi(door: &Doors) -> HttpResponse {
    let document = door.documents.openapi.get_or_init(|| {
        let document = super::openapi::document(door.base.as_str());
        document.to_string().into()
    });
    public::cached("application/json").body(document.clone())
}

fn robots(door: &Doors) -> HttpResponse {
    let base = door.base.as_str();
    let text =
        format!("User-agent: *\nDisallow: /api/\nDisallow: /mcp\n\nSitemap: {base}/sitemap.xml\n");
    public::cached("text/plain; charset=utf-8").body(text)
}

/// The pages worth finding.
fn sitemap(door: &Doors) -> HttpResponse {
    let base = door.base.as_str().replace('&', "&amp;");
    let codes = browser::errors::codes().map(|code| format!("/errors/{code}"));
    let pages = ["/agent-access", "/docs", GUIDE, "/errors", "/security"]
        .into_iter()
        .map(str::to_owned)
        .chain(codes);
    let places: Vec<String> = pages
        .map(|path| format!("  <url><loc>{base}{path}</loc></url>\n"))
        .collect();
    let places = places.concat();
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{places}</urlset>\n"
    );
    public::cached("application/xml").body(text)
}
