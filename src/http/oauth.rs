//! The endpoints of the built-in authorization server for apps: metadata, registration, tokens
//! (`access` 3; consent is a page).
//!
//! What must stay true: pages of any site may call these, because nothing here rests on a cookie,
//! but not the introspection, which is for servers with a secret; no answer is kept by anyone on the
//! way. Deliberately absent: every rule of OAuth, which stands in
//! `auth::oauth`.

mod answer;
mod introspect;
mod metadata;
mod register;
mod token;

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::{Method, header};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Resource};

use super::arrival;
use super::door::{Apps, Door, Doors};
use super::pipeline::{self, Exchange, Stop};
use super::surface::Surface;
use crate::app::problem::{Code, Problem};

pub(super) use answer::{problem, token_refused};

/// Where an authorization server says what it is (RFC 8414), at the root and below each MCP address,
/// since clients look there too.
const METADATA: &str = "/.well-known/oauth-authorization-server";
const BELOW: [&str; 4] = ["", "/mcp", "/vault/mcp", "/workspace/mcp"];

/// Every route of this surface.
pub fn routes() -> impl Iterator<Item = (&'static str, String)> {
    let documents = BELOW
        .into_iter()
        .map(|path| ("GET", format!("{METADATA}{path}")));
    let posts = ["/register", "/token", "/revoke", "/introspect"];
    documents.chain(posts.into_iter().map(|path| ("POST", path.to_owned())))
}

pub fn configure(config: &mut ServiceConfig) {
    for path in BELOW {
        let path = format!("{METADATA}{path}");
        config.service(resource(&path).route(web::get().to(metadata::document)));
    }
    config
        .service(resource("/register").route(web::post().to(register::register)))
        .service(resource("/token").route(web::post().to(token::token)))
        .service(resource("/revoke").route(web::post().to(token::revoke)))
        .service(
            web::resource("/introspect")
                .route(web::post().to(introspect::introspect))
                .default_service(web::to(wrong_method_closed)),
        );
}

fn resource(path: &str) -> Resource {
    web::resource(path)
        .route(web::method(Method::OPTIONS).to(preflight))
        .default_service(web::to(wrong_method))
}

/// Takes a request through what all of them have in common; any page may read the answer.
async fn serve<F>(
    door: &Arc<Doors>,
    request: &HttpRequest,
    answer: impl FnOnce(Arc<Doors>) -> F,
) -> HttpResponse
where
    F: Future<Output = Result<HttpResponse, Stop>>,
{
    let mut response = serve_closed(door, request, answer).await;
    answer::open_to_any_site(response.headers_mut());
    response
}

/// The same for what no page may read.
async fn serve_closed<F>(
    door: &Arc<Doors>,
    request: &HttpRequest,
    answer: impl FnOnce(Arc<Doors>) -> F,
) -> HttpResponse
where
    F: Future<Output = Result<HttpResponse, Stop>>,
{
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, Surface::Issuer);
    let answered = match arrival::check(door, request, &mut exchange) {
        Ok(()) => answer(Arc::clone(door)).await,
        Err(stop) => Err(stop),
    };
    pipeline::conclude(door, request, &exchange, answered, started)
}

/// The authorization server, where there is one.
fn apps(door: &Doors) -> Result<&Apps, Problem> {
    door.apps
        .as_ref()
        .ok_or_else(|| Problem::new(Code::NoSuchPath))
}

async fn preflight(Door(door): Door, request: HttpRequest) -> HttpResponse {
    serve(&door, &request, async |_| {
        Ok(HttpResponse::NoContent()
            .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"))
            .insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, *"))
            .insert_header((header::ACCESS_CONTROL_MAX_AGE, "86400"))
            .finish())
    })
    .await
}

async fn wrong_method(Door(door): Door, request: HttpRequest) -> HttpResponse {
    let allowed = if request.path().starts_with(METADATA) {
        "GET"
    } else {
        "POST"
    };
    serve(&door, &request, async |_| Ok(only(allowed))).await
}

async fn wrong_method_closed(Door(door): Door, request: HttpRequest) -> HttpResponse {
    serve_closed(&door, &request, async |_| Ok(only("POST"))).await
}

fn only(allowed: &'static str) -> HttpResponse {
    let mut response = answer::refused(answer::Refusal {
        status: 405,
        error: "invalid_request",
        description: "This method is not available here.",
    });
    let allowed = header::HeaderValue::from_static(allowed);
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}
