//! What the authorization server says of itself (RFC 8414; `access` 3.1, `vault` 3.1).

use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Value, json};

use super::{apps, serve};
use crate::auth::oauth::registration::{AuthMethod, GRANT_TYPES, RESPONSE_TYPES};
use crate::auth::oauth::resource::Door as Opened;
use crate::auth::oauth::{pkce, scope};
use crate::http::door::{Apps, Door};
use crate::http::respond;

pub(super) async fn document(Door(door): Door, request: HttpRequest) -> HttpResponse {
    serve(&door, &request, async |door| {
        let document = document_of(apps(&door)?);
        Ok(respond::json_body(&mut HttpResponse::Ok(), &document))
    })
    .await
}

fn document_of(apps: &Apps) -> Value {
    let issuer = apps.grants.issuer();
    let at = |path: &str| format!("{issuer}{path}");
    let scopes: Vec<&str> = Opened::ALL
        .into_iter()
        .filter(|opened| apps.opens(*opened))
        .flat_map(scope::supported)
        .collect();
    let confidential = [AuthMethod::SecretBasic, AuthMethod::SecretPost];
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "registration_endpoint": at("/register"),
        "revocation_endpoint": at("/token"),
        "introspection_endpoint": at("/introspect"),
        "introspection_endpoint_auth_methods_supported": confidential.map(AuthMethod::as_str),
        "scopes_supported": scopes,
        "response_types_supported": RESPONSE_TYPES,
        "response_modes_supported": ["query"],
        "grant_types_supported": GRANT_TYPES,
        "token_endpoint_auth_methods_supported": AuthMethod::ALL.map(AuthMethod::as_str),
        "code_challenge_methods_supported": [pkce::METHOD],
        "authorization_response_iss_parameter_supported": true,
    });
    if apps.clients.reads_documents() {
        document["client_id_metadata_document_supported"] = json!(true);
    }
    document
}
