//! `POST /token` and `POST /revoke` (`access` 3.5, `vault` 3.4).

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use secrecy::ExposeSecret;
use serde_json::json;

use super::answer::token_refused;
use super::{apps, serve};
use crate::app::access::grants::{Issued, RedeemError};
use crate::app::problem::{Code, Problem};
use crate::auth::oauth::token_error::TokenError;
use crate::auth::oauth::token_request::{Revocation, TokenRequest};
use crate::http::door::{Apps, Door, Doors};
use crate::http::permits::Demand;
use crate::http::pipeline::{self, FORM, Stop, has_media_type, values};
use crate::http::surface::Surface;

pub(super) async fn token(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    serve(&door, &request, async |door| {
        let form = match form(&door, &request, payload).await? {
            Ok(form) => form,
            Err(error) => return Ok(token_refused(error)),
        };
        let headers: Vec<&[u8]> = values(&request, "authorization").collect();
        match TokenRequest::read(form, &headers) {
            Ok(asked) => serve_token(&door, asked).await,
            Err(error) => Ok(token_refused(error)),
        }
    })
    .await
}

pub(super) async fn revoke(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    serve(&door, &request, async |door| {
        let form = match form(&door, &request, payload).await? {
            Ok(form) => form,
            Err(error) => return Ok(token_refused(error)),
        };
        let headers: Vec<&[u8]> = values(&request, "authorization").collect();
        match Revocation::read(form, &headers) {
            Ok(asked) => serve_token(&door, TokenRequest::Revoke(asked)).await,
            Err(error) => Ok(token_refused(error)),
        }
    })
    .await
}

async fn serve_token(door: &Doors, asked: TokenRequest) -> Result<HttpResponse, Stop> {
    let apps = apps(door)?;
    let demand = match &asked {
        TokenRequest::Revoke(_) => Demand::Withdrawal,
        TokenRequest::AuthorizationCode(_) | TokenRequest::RefreshToken(_) => Demand::Ordinary,
    };
    pipeline::placed(door, demand, async {
        match redeemed(apps, &asked).await {
            Ok(Some(issued)) => Ok(told(&issued)),
            Ok(None) => Ok(HttpResponse::Ok().finish()),
            Err(RedeemError::Refused(error)) => Ok(token_refused(error)),
            Err(RedeemError::Grants(error)) => Err(Problem::from(error)),
        }
    })
    .await
}

/// The pair that was issued; nothing where something was given back.
async fn redeemed(apps: &Apps, asked: &TokenRequest) -> Result<Option<Issued>, RedeemError> {
    match asked {
        TokenRequest::AuthorizationCode(exchange) => {
            let client = apps.clients.authenticate(&exchange.client).await??;
            apps.grants.exchange(&client, exchange).await.map(Some)
        }
        TokenRequest::RefreshToken(refresh) => {
            let client = apps.clients.authenticate(&refresh.client).await??;
            apps.grants.refresh(&client, refresh).await.map(Some)
        }
        TokenRequest::Revoke(revocation) => {
            apps.grants.give_back(revocation).await?;
            Ok(None)
        }
    }
}

fn told(issued: &Issued) -> HttpResponse {
    let body = json!({
        "access_token": issued.access.expose_secret(),
        "token_type": "bearer",
        "expires_in": issued.expires_in,
        "refresh_token": issued.refresh.expose_secret(),
        "scope": issued.scope,
        "resource": issued.resource,
    });
    HttpResponse::Ok()
        .content_type("application/json")
        .body(body.to_string())
}

/// The fields of the form, or why there is none.
pub(super) async fn form(
    door: &Doors,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Result<Vec<(String, String)>, TokenError>, Stop> {
    if !request.query_string().is_empty() {
        return Ok(Err(TokenError::ParametersInUrl));
    }
    if !has_media_type(request, FORM) {
        return Ok(Err(TokenError::ContentType));
    }
    pipeline::check_encoding(request)?;
    let limit = door.limits(Surface::Issuer).body;
    match pipeline::read_bytes(limit, request, payload).await {
        Ok(bytes) => Ok(Ok(form_urlencoded::parse(&bytes).into_owned().collect())),
        Err(problem) if problem.code == Code::BodyTooLarge => Ok(Err(TokenError::TooLarge)),
        Err(problem) => Err(problem.into()),
    }
}
