//! The run door: `/api/v1/agent-runs` (`agent-api` 1.1).

mod events;
mod runs;

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use super::door::{AgentDoor, Readiness};
use super::pipeline;
use crate::app::problem::{Code, Problem};

/// Every route of this door. A test walks them.
pub const ROUTES: [(&str, &str); 9] = [
    ("POST", "/api/v1/agent-runs"),
    ("GET", "/api/v1/agent-runs"),
    ("GET", "/api/v1/agent-runs/{run_id}"),
    ("POST", "/api/v1/agent-runs/{run_id}/continue"),
    ("POST", "/api/v1/agent-runs/{run_id}/cancel"),
    ("GET", "/api/v1/agent-runs/{run_id}/events"),
    ("GET", "/api/v1/agent-runs/{run_id}/evidence"),
    ("GET", "/api/v1/agent-runs/{run_id}/evidence/{ref}"),
    ("GET", "/api/v1/agent-runs/{run_id}/log"),
];

pub fn configure(config: &mut ServiceConfig) {
    config
        .service(
            web::resource("/api/v1/agent-runs")
                .route(web::post().to(runs::start))
                .route(web::get().to(runs::list))
                .default_service(web::to(wrong_method)),
        )
        .service(
            web::resource("/api/v1/agent-runs/{run_id}/continue")
                .route(web::post().to(runs::continue_run))
                .default_service(web::to(wrong_method)),
        )
        .service(
            web::resource("/api/v1/agent-runs/{run_id}/cancel")
                .route(web::post().to(runs::cancel))
                .default_service(web::to(wrong_method)),
        )
        .service(
            web::resource("/api/v1/agent-runs/{run_id}/events")
                .route(web::get().to(events::events))
                .default_service(web::to(wrong_method)),
        )
        .service(
            web::resource("/api/v1/agent-runs/{run_id}/evidence")
                .route(web::get().to(runs::evidence))
                .default_service(web::to(wrong_method)),
        )
        .service(
            web::resource("/api/v1/agent-runs/{run_id}/evidence/{ref:.+}")
                .route(web::get().to(runs::evidence_item))
                .default_service(web::to(wrong_method)),
        )
        .service(
            web::resource("/api/v1/agent-runs/{run_id}/log")
                .route(web::get().to(events::log))
                .default_service(web::to(wrong_method)),
        )
        .service(
            web::resource("/api/v1/agent-runs/{run_id}")
                .route(web::get().to(runs::inspect))
                .default_service(web::to(wrong_method)),
        );
}

/// The door, or the answer of a server that does not serve: one that has a door refuses through it,
/// with the headers every answer has.
pub(super) fn open(
    readiness: &Readiness,
    request: &HttpRequest,
) -> Result<Arc<AgentDoor>, HttpResponse> {
    match readiness.door() {
        Some(door) if readiness.is_draining() => {
            let problem = Problem::new(Code::Unavailable);
            Err(pipeline::refuse(door, request, problem))
        }
        Some(door) => Ok(Arc::clone(door)),
        None => Err(HttpResponse::ServiceUnavailable()
            .insert_header(("Retry-After", "1"))
            .insert_header(("Cache-Control", "no-store"))
            .json(json!({"status": "migrating"}))),
    }
}

async fn wrong_method(readiness: Data<Readiness>, request: HttpRequest) -> HttpResponse {
    let mut response = refuse(&readiness, &request, Code::MethodNotAllowed);
    if response.status() == StatusCode::METHOD_NOT_ALLOWED
        && let Ok(allowed) = HeaderValue::from_str(&methods_of(&request))
    {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// The methods of the route a request named.
fn methods_of(request: &HttpRequest) -> String {
    let pattern = request.match_pattern().unwrap_or_default();
    let pattern = pattern.replace(":.+}", "}");
    let methods = ROUTES.iter().filter(|(_, route)| *route == pattern);
    let mut methods: Vec<&str> = methods.map(|(method, _)| *method).collect();
    methods.sort_unstable();
    methods.join(", ")
}

/// A path that does not exist; never a page.
pub async fn unknown_path(readiness: Data<Readiness>, request: HttpRequest) -> HttpResponse {
    refuse(&readiness, &request, Code::NotFound)
}

fn refuse(readiness: &Readiness, request: &HttpRequest, code: Code) -> HttpResponse {
    match open(readiness, request) {
        Ok(door) => pipeline::refuse(&door, request, Problem::new(code)),
        Err(response) => response,
    }
}
