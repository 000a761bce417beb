//! Apps that the built-in authorization server knows: registered, or described by a document at the
//! address that is their id (`access` 3.3).
//!
//! What must stay true: nothing an app says of itself is believed; its secret is shown once. A
//! registration is no event, since nobody stands behind it (ADR 0014).

mod documents;

use std::sync::Arc;

use helix_aggregates::time::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::app::redaction::issued_token;
use crate::auth::oauth::client_auth::{ClientCredentials, Proof};
use crate::auth::oauth::redirect::OneWordSchemes;
use crate::auth::oauth::registration::{AuthMethod, ClientMetadata, RegistrationError};
use crate::auth::oauth::token_error::TokenError;
use crate::outbound::Reach;
use crate::store::oauth_clients::{self, ClientRow};
use crate::store::{Core, StoreError};

use documents::ClientDocuments;

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

/// A known app.
#[derive(Debug, Clone)]
pub struct Client {
    pub client_id: String,
    pub metadata: ClientMetadata,
    pub registered_at: Timestamp,
    secret_hash: Option<[u8; 32]>,
}

/// An app as it presented itself.
#[derive(Debug, Clone)]
pub struct Presented {
    pub client_id: String,
    pub proof: Proven,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proven {
    /// A public app: whoever says its id.
    Nothing,
    Secret,
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
    /// `None`: an id is never an address.
    documents: Option<Arc<ClientDocuments>>,
}

impl Clients {
    /// `documents` says from where documents of apps are fetched; `None`: from nowhere.
    pub fn new(core: Arc<Core>, schemes: OneWordSchemes, documents: Option<Reach>) -> Self {
        let documents = documents.map(|reach| {
            Arc::new(ClientDocuments::new(
                Arc::clone(&core),
                reach,
                schemes.clone(),
            ))
        });
        Self {
            core,
            schemes,
            documents,
        }
    }

    /// Whether an id may be the address of a document.
    pub fn reads_documents(&self) -> bool {
        self.documents.is_some()
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

    /// The app of an id, for a consent page.
    pub async fn find(&self, client_id: &str) -> Result<Option<Client>, StoreError> {
        if let Some(documents) = &self.documents
            && let Some(address) = documents.address(client_id)
        {
            return Ok(documents.find(&address).await);
        }
        self.registered(client_id).await
    }

    async fn registered(&self, client_id: &str) -> Result<Option<Client>, StoreError> {
        let Some(row) = oauth_clients::find(&self.core.admissions, client_id).await? else {
            return Ok(None);
        };
        // What was admitted once may not be any more: a scheme that was taken off the list.
        let metadata = ClientMetadata::read(&row.metadata, &self.schemes).ok();
        Ok(metadata.map(|metadata| client(row, metadata)))
    }

    /// The app that presents these credentials. Of an address nothing is asked here: whatever it
    /// presents was bound to it when somebody consented.
    pub async fn authenticate(
        &self,
        credentials: &ClientCredentials,
    ) -> Result<Result<Presented, TokenError>, StoreError> {
        let client_id = &credentials.client_id;
        let is_address = |documents: &Arc<ClientDocuments>| documents.address(client_id).is_some();
        let expected = if self.documents.as_ref().is_some_and(is_address) {
            None
        } else if let Some(client) = self.registered(client_id).await? {
            client.secret_hash
        } else {
            return Ok(Err(credentials.refusal()));
        };
        let proof = match (&credentials.proof, expected) {
            (Proof::None, None) => Some(Proven::Nothing),
            (Proof::Basic(secret) | Proof::Post(secret), Some(hash)) => {
                (issued_token::hash(secret.expose_secret()) == hash).then_some(Proven::Secret)
            }
            (Proof::None, Some(_)) | (Proof::Basic(_) | Proof::Post(_), None) => None,
        };
        Ok(proof
            .map(|proof| Presented {
                client_id: client_id.clone(),
                proof,
            })
            .ok_or_else(|| credentials.refusal()))
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
