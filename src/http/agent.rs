//! The run door: `/api/v1/agent-runs` (`agent-api` 1.1).

mod events;
mod runs;

pub(super) use runs::{key_of, segment};

use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};

use super::door::Door;
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

async fn wrong_method(Door(door): Door, request: HttpRequest) -> HttpResponse {
    let mut response = pipeline::refuse(&door, &request, Problem::new(Code::MethodNotAllowed));
    if let Ok(allowed) = HeaderValue::from_str(&methods_of(&request)) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// The methods of the route a request named.
fn methods_of(request: &HttpRequest) -> String {
    let pattern = pipeline::route_of(request).unwrap_or_default();
    let methods = ROUTES.iter().filter(|(_, route)| *route == pattern);
    let mut methods: Vec<&str> = methods.map(|(method, _)| *method).collect();
    methods.sort_unstable();
    methods.join(", ")
}

/// A path that does not exist; never a page.
pub async fn unknown_path(Door(door): Door, request: HttpRequest) -> HttpResponse {
    pipeline::refuse(&door, &request, Problem::new(Code::NoSuchPath))
}
