//! `POST /register` (RFC 7591; `access` 3.3).

use actix_web::http::header;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::answer::{Refusal, refused};
use super::{apps, serve};
use crate::app::access::clients::{RegisterError, Registered};
use crate::app::problem::Problem;
use crate::http::arrival;
use crate::http::door::{Door, Doors};
use crate::http::permits::Demand;
use crate::http::pipeline::{self, Stop};
use crate::http::surface::Surface;
use crate::strict_json;

pub(super) async fn register(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    serve(&door, &request, async |door| {
        answer(&door, &request, payload).await
    })
    .await
}

async fn answer(
    door: &Doors,
    request: &HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, Stop> {
    let apps = apps(door)?;
    arrival::count_address(door, request, &apps.registrations)?;
    pipeline::check_encoding(request)?;
    let bytes = pipeline::read_bytes(door.limits(Surface::Issuer).body, request, payload).await?;
    let Ok(document) = strict_json::read(&bytes) else {
        return Ok(refused(Refusal {
            status: 400,
            error: "invalid_request",
            description: "The body is not one strict JSON value.",
        }));
    };
    let registered = pipeline::placed(door, Demand::Ordinary, async {
        match apps.clients.register(&document).await {
            Err(RegisterError::Store(error)) => Err(Problem::from(error)),
            Err(RegisterError::Refused(error)) => Ok(Err(error)),
            Ok(registered) => Ok(Ok(registered)),
        }
    })
    .await?;
    Ok(match registered {
        Ok(registered) => HttpResponse::Created()
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .content_type("application/json")
            .body(told(&registered, apps.grants.issuer()).to_string()),
        Err(error) => refused(Refusal {
            status: 400,
            error: error.code().as_str(),
            description: &error.to_string(),
        }),
    })
}

fn told(registered: &Registered, issuer: &str) -> Value {
    let client = &registered.client;
    let issued_at = client.registered_at.millis() / 1_000;
    let mut told = json!(client.metadata.members());
    told["client_id"] = json!(client.client_id);
    told["client_id_issued_at"] = json!(issued_at);
    told["registration_client_uri"] = json!(format!("{issuer}/register/{}", client.client_id));
    if let Some(secret) = &registered.secret {
        told["client_secret"] = json!(secret.expose_secret());
        told["client_secret_issued_at"] = json!(issued_at);
        // It lives as long as the registration.
        told["client_secret_expires_at"] = json!(0);
    }
    told
}
