//! `/healthz` and `/readyz`: is the process up, and may it be used.

use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::json;

use super::door::Readiness;

pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(("Cache-Control", "no-store"))
        .json(json!({"status": "ok"}))
}

pub async fn readyz(readiness: Data<Readiness>) -> HttpResponse {
    let (ready, body) = match readiness.door() {
        None => (false, json!({"status": "migrating"})),
        Some(_) if readiness.is_draining() => (false, json!({"status": "draining"})),
        Some(door) => {
            let database = door.runs.core().answers().await;
            let word = |good| if good { "ok" } else { "unavailable" };
            let checks = json!({"database": word(database), "migrations": "ok", "keys": "ok"});
            (
                database,
                json!({"status": if database { "ready" } else { "unavailable" }, "checks": checks}),
            )
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
    response
        .insert_header(("Cache-Control", "no-store"))
        .json(body)
}
