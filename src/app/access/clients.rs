//! Apps that registered with the built-in authorization server (`access` 3.3).
//!
//! What must stay true: nothing an app says of itself is believed; its secret is shown once. A
//! registration is no event, since nobody stands behind it (ADR 0014).

use std::sync::Arc;

use helix_aggregates::time::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::app::redaction::issued_token;
use crate::auth::oauth::client_auth::{ClientCredentials, Proof};
use crate::auth::oauth::redirect::OneWordSchemes;
use crate::auth::oauth::registration::{AuthMethod, ClientMetadata, RegistrationError};
use crate::auth::oauth::token_error::TokenError;
use crate::store::oauth_clients::{self, ClientRow};
use crate::store::{Core, StoreError};

/// The kind in a client secret's text (`access` 1.1).
const SECRET_KIND: &str = "cs";

/// Why a registration was not kept.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    #[error(transparent)]
    Refused(#[from] RegistrationError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A registered app.
#[derive(Debug, Clone)]
pub struct Client {
    pub client_id: String,
    pub metadata: ClientMetadata,
    pub registered_at: Timestamp,
    secret_hash: Option<[u8; 32]>,
}

impl Client {
    /// It has a secret, and so can prove who it is.
    pub fn is_confidential(&self) -> bool {
        self.secret_hash.is_some()
    }
}

/// A registration as its app is told of it.
#[derive(Debug)]
pub struct Registered {
    pub client: Client,
    /// Of a confidential app, on the one occasion that it is known.
    pub secret: Option<SecretString>,
}

#[derive(Debug, Clone)]
pub struct Clients {
    core: Arc<Core>,
    schemes: OneWordSchemes,
}

impl Clients {
    pub fn new(core: Arc<Core>, schemes: OneWordSchemes) -> Self {
        Self { core, schemes }
    }

    /// Registers an app. Identical public metadata finds the app that said it first.
    pub async fn register(&self, document: &Value) -> Result<Registered, RegisterError> {
        let metadata = ClientMetadata::read(document, &self.schemes)?;
        let minted = match metadata.auth_method {
            AuthMethod::None => None,
            AuthMethod::SecretBasic | AuthMethod::SecretPost => {
                Some(issued_token::mint(SECRET_KIND)?)
            }
        };
        let row = ClientRow {
            client_id: self.core.ids.uuid().simple().to_string(),
            secret_hash: minted.as_ref().map(|minted| minted.hash),
            auth_method: metadata.auth_method.as_str().to_owned(),
            fingerprint: metadata.fingerprint(),
            metadata: json!(metadata.members()),
            registered_at_ms: self.core.clock.now().millis(),
        };
        let kept = oauth_clients::register(&self.core.pool, &row).await?;
        Ok(Registered {
            client: client(kept, metadata),
            secret: minted.map(|minted| minted.text),
        })
    }

    /// The app of an id.
    pub async fn find(&self, client_id: &str) -> Result<Option<Client>, StoreError> {
        let Some(row) = oauth_clients::find(&self.core.admissions, client_id).await? else {
            return Ok(None);
        };
        // What was admitted once may not be any more: a scheme that was taken off the list.
        let metadata = ClientMetadata::read(&row.metadata, &self.schemes).ok();
        Ok(metadata.map(|metadata| client(row, metadata)))
    }

    /// The app that presents these credentials.
    pub async fn authenticate(
        &self,
        credentials: &ClientCredentials,
    ) -> Result<Result<Client, TokenError>, StoreError> {
        let Some(client) = self.find(&credentials.client_id).await? else {
            return Ok(Err(credentials.refusal()));
        };
        let fits = match (&credentials.proof, client.secret_hash) {
            (Proof::None, None) => true,
            (Proof::Basic(secret) | Proof::Post(secret), Some(hash)) => {
                issued_token::hash(secret.expose_secret()) == hash
            }
            (Proof::None, Some(_)) | (Proof::Basic(_) | Proof::Post(_), None) => false,
        };
        Ok(if fits {
            Ok(client)
        } else {
            Err(credentials.refusal())
        })
    }
}

fn client(row: ClientRow, metadata: ClientMetadata) -> Client {
    Client {
        client_id: row.client_id,
        metadata,
        registered_at: Timestamp::from_millis(row.registered_at_ms),
        secret_hash: row.secret_hash,
    }
}
