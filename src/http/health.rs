//! `/healthz` and `/readyz`: is the process up, and may it be used.

use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use serde_json::json;

use super::door::Readiness;
use super::{pipeline, request_id};
use crate::ids::Ids;

pub fn configure(config: &mut ServiceConfig) {
    config
        .service(
            web::resource("/healthz")
                .route(web::get().to(healthz))
                .route(web::head().to(healthz))
                .default_service(web::to(wrong_method)),
        )
        .service(
            web::resource("/readyz")
                .route(web::get().to(readyz))
                .route(web::head().to(readyz))
                .default_service(web::to(wrong_method)),
        );
}

async fn wrong_method(request: HttpRequest) -> HttpResponse {
    headed(&mut HttpResponse::MethodNotAllowed(), &request)
        .insert_header((header::ALLOW, "GET, HEAD"))
        .finish()
}

async fn healthz(request: HttpRequest) -> HttpResponse {
    headed(&mut HttpResponse::Ok(), &request).json(json!({"status": "ok"}))
}

/// With what every answer carries.
fn headed<'b>(
    response: &'b mut HttpResponseBuilder,
    request: &HttpRequest,
) -> &'b mut HttpResponseBuilder {
    let id = request_id::assign(
        pipeline::sole(request, "x-request-id").map(HeaderValue::as_bytes),
        request_id::Origin::Other,
        || Ids.uuid(),
    );
    response
        .insert_header(("X-Request-Id", id))
        .insert_header(("Cache-Control", "no-store"))
}

async fn readyz(readiness: Data<Readiness>, request: HttpRequest) -> HttpResponse {
    let (ready, body) = match readiness.door() {
        None => (false, json!({"status": "migrating"})),
        Some(_) if readiness.is_draining() => (false, json!({"status": "draining"})),
        Some(door) => {
            let core = door.runs.core();
            let database = core.answers().await;
            let ready = database && core.takes_writes().await;
            let word = |good| if good { "ok" } else { "unavailable" };
            let checks = json!({"database": word(database), "writes": word(ready),
                "migrations": "ok", "keys": "ok"});
            let status = if ready { "ready" } else { "unavailable" };
            (ready, json!({"status": status, "checks": checks}))
        }
    };
    let mut response = if ready {
        HttpResponse::Ok()
    } else {
        HttpResponse::ServiceUnavailable()
    };
    if !ready {
        response.insert_header(("Retry-After", "1"));
    }
    headed(&mut response, &request).json(body)
}
