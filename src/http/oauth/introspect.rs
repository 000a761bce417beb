//! `POST /introspect` (RFC 7662; `access` 3.5).
//!
//! What must stay true: only an app with a secret is answered, and only about tokens that were issued
//! to it; whatever else a text may be, the answer is the same; nobody learns whose account it is.

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Value, json};

use super::answer::token_refused;
use super::token::form;
use super::{apps, serve_closed};
use crate::app::access::clients::Proven;
use crate::app::access::grants::{Introspected, RedeemError};
use crate::app::problem::Problem;
use crate::auth::oauth::token_request::Introspection;
use crate::http::arrival;
use crate::http::door::{Apps, Door, Doors};
use crate::http::permits::Demand;
use crate::http::pipeline::{self, Stop, values};
use crate::http::respond;

pub(super) async fn introspect(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    serve_closed(&door, &request, async |door| {
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
    arrival::count_address(door, request, &apps.questions)?;
    let form = match form(door, request, payload).await? {
        Ok(form) => form,
        Err(error) => return Ok(token_refused(error)),
    };
    let headers: Vec<&[u8]> = values(request, "authorization").collect();
    let asked = match Introspection::read(form, &headers) {
        Ok(asked) => asked,
        Err(error) => return Ok(token_refused(error)),
    };
    pipeline::placed(door, Demand::Ordinary, async {
        match looked_up(apps, &asked).await {
            Ok(found) => {
                let told = told(apps.grants.issuer(), found.as_ref());
                Ok(respond::json_body(&mut HttpResponse::Ok(), &told))
            }
            Err(RedeemError::Refused(error)) => Ok(token_refused(error)),
            Err(RedeemError::Grants(error)) => Err(Problem::from(error)),
        }
    })
    .await
}

async fn looked_up(
    apps: &Apps,
    asked: &Introspection,
) -> Result<Option<Introspected>, RedeemError> {
    let client = apps.clients.authenticate(&asked.client).await??;
    if client.proof == Proven::Nothing {
        return Err(asked.client.refusal().into());
    }
    apps.grants.introspect(&client, asked).await
}

fn told(issuer: &str, found: Option<&Introspected>) -> Value {
    let Some(found) = found else {
        return json!({"active": false});
    };
    json!({
        "active": true,
        "scope": found.scope,
        "client_id": found.client_id,
        "exp": found.expires_at,
        "iat": found.issued_at,
        "iss": issuer,
        "aud": found.resource,
        "token_type": found.token_type,
    })
}
