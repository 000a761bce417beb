//! Protected-resource metadata (RFC 9728; `agent-api` 11.1): where clients learn who issues tokens.
//!
//! Public: no token, no limit but that of the address. The resource is the one canonical audience on
//! every path, because mismatches by slash or path lock clients out.

use std::time::Instant;

use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use helix_aggregates::agent::scope;
use serde_json::{Value, json};

use super::arrival;
use super::door::{Door, Doors};
use super::pipeline::{self, Exchange};
use super::respond;
use super::surface::Surface;
use crate::app::caller::{SCOPE_DEVELOPER, SCOPE_READ, SCOPE_WRITE};
use crate::app::problem::{Code, Problem};
use crate::auth::oauth::resource as oauth;
use crate::auth::oauth::scope::supported;

const ROOT: &str = "/.well-known/oauth-protected-resource";
const ROOMS_READ: &str = "helix.rooms.read";

/// Below [`ROOT`], with what each may ask for.
const DOCUMENTS: [(&str, Scopes); 5] = [
    ("", Scopes::All),
    ("/mcp", Scopes::All),
    ("/mcp/device-check", Scopes::RoomsRead),
    ("/api/v1/agent-runs", Scopes::All),
    ("/api/v1/rooms", Scopes::All),
];

/// The same, of the workspace door (`access` 4.1).
const WORKSPACE: [&str; 2] = ["/workspace/mcp", "/api/v1/workspaces"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scopes {
    All,
    RoomsRead,
    Workspace,
}

/// Who issues tokens for what, as configured.
#[derive(Debug, Clone)]
pub struct ProtectedResource {
    pub audience: String,
    pub issuer: String,
}

pub fn configure(config: &mut ServiceConfig) {
    let work = WORKSPACE.map(|path| (path, Scopes::Workspace));
    for (path, scopes) in DOCUMENTS.into_iter().chain(work) {
        let document = move |Door(door): Door, request: HttpRequest| async move {
            answer(&door, &request, scopes)
        };
        config.service(
            web::resource(format!("{ROOT}{path}"))
                .route(web::get().to(document))
                .default_service(web::to(wrong_method)),
        );
    }
}

/// Every path of this surface.
pub fn paths() -> impl Iterator<Item = String> {
    DOCUMENTS
        .into_iter()
        .map(|(path, _)| format!("{ROOT}{path}"))
}

/// The paths of the workspace door's documents.
pub fn work_paths() -> impl Iterator<Item = String> {
    WORKSPACE.into_iter().map(|path| format!("{ROOT}{path}"))
}

async fn wrong_method(Door(door): Door, request: HttpRequest) -> HttpResponse {
    let refusal = Problem::new(Code::MethodNotAllowed);
    let mut response = pipeline::refuse(&door, &request, refusal);
    let get = HeaderValue::from_static("GET");
    response.headers_mut().insert(header::ALLOW, get);
    response
}

fn answer(door: &Doors, request: &HttpRequest, scopes: Scopes) -> HttpResponse {
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, Surface::RunRest);
    let answered = arrival::check(door, request, &mut exchange).and_then(|()| {
        let resource = resource(door, scopes);
        let resource = resource.ok_or_else(|| Problem::new(Code::AuthNotConfigured))?;
        let document = document(&resource, door.base.as_str(), scopes);
        Ok(respond::json_body(&mut HttpResponse::Ok(), &document))
    });
    pipeline::conclude(door, request, &exchange, answered, started)
}

/// Who issues tokens for the door of a document. For the workspace door nobody else can.
fn resource(door: &Doors, scopes: Scopes) -> Option<ProtectedResource> {
    if scopes != Scopes::Workspace {
        return door.resource.clone();
    }
    let grants = &door.apps.as_ref()?.grants;
    Some(ProtectedResource {
        audience: grants
            .resources()
            .canonical(oauth::Door::Workspace)?
            .to_owned(),
        issuer: grants.issuer().to_owned(),
    })
}

fn document(resource: &ProtectedResource, base: &str, scopes: Scopes) -> Value {
    json!({
        "resource": resource.audience,
        "authorization_servers": [resource.issuer],
        "scopes_supported": names(scopes),
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{base}/docs/architecture/helix-agent-api-v1.md"),
    })
}

fn names(scopes: Scopes) -> Vec<&'static str> {
    match scopes {
        Scopes::RoomsRead => return vec![ROOMS_READ],
        Scopes::Workspace => return supported(oauth::Door::Workspace).collect(),
        Scopes::All => {}
    }
    let data = scope::CATALOG.iter().map(|scope| scope.oauth_scope);
    let data = data.filter(|scope| scope.starts_with("helix.data."));
    [SCOPE_READ, SCOPE_WRITE, SCOPE_DEVELOPER]
        .into_iter()
        .chain(data)
        .chain([
            ROOMS_READ,
            "helix.rooms.manage",
            "helix.room_sources.manage",
            "helix.environment_actions.read",
            "helix.environment_actions.write",
        ])
        .collect()
}
