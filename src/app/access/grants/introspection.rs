//! What an app is told about a token of its own (RFC 7662; `access` 3.5).
//!
//! What must stay true: active is only what works now, so nothing of a paused connection is; a token of
//! another app is answered like one that never was.

use helix_aggregates::access::grant::command::Door;
use secrecy::ExposeSecret;

use super::Grants;
use super::tokens::{ACCESS_KIND, REFRESH_KIND, RedeemError, UNUSED_MS};
use crate::app::access::clients::Presented;
use crate::app::redaction::issued_token;
use crate::auth::oauth::token_request::Introspection;
use crate::store::oauth_tokens;

/// A token that works. Never says whose it is.
#[derive(Debug)]
pub struct Introspected {
    pub scope: String,
    pub client_id: String,
    /// Seconds.
    pub issued_at: i64,
    pub expires_at: i64,
    /// The canonical text of its door.
    pub resource: String,
    pub token_type: &'static str,
}

impl Grants {
    /// What a token of this app is good for; `None` when it is good for nothing, or not of this app.
    pub async fn introspect(
        &self,
        client: &Presented,
        request: &Introspection,
    ) -> Result<Option<Introspected>, RedeemError> {
        let token = request.token.expose_secret();
        let kinds = [(ACCESS_KIND, "bearer"), (REFRESH_KIND, "refresh_token")];
        let Some((_, token_type)) = kinds
            .into_iter()
            .find(|(kind, _)| issued_token::is_spelled(token, kind))
        else {
            return Ok(None);
        };
        let hash = issued_token::hash(token);
        let found = oauth_tokens::live(&self.core().reads, &hash, UNUSED_MS).await?;
        let Some(found) = found.filter(|found| found.client_id == client.client_id) else {
            return Ok(None);
        };
        let resource = Door::parse(&found.door).and_then(|door| self.resources().canonical(door));
        Ok(resource.map(|resource| Introspected {
            scope: found.scopes.join(" "),
            client_id: found.client_id,
            issued_at: found.issued_at_ms / 1_000,
            expires_at: found.expires_at_ms / 1_000,
            resource: resource.to_owned(),
            token_type,
        }))
    }
}
