//! Apps whose id is the address of a document about them (`access` 3.3).
//!
//! What must stay true: a document is believed only under the very address that it names; it is
//! fetched for a consent page alone, never for a token, so a site that is down breaks no connection;
//! a failure is no app. Deliberately absent: logos and policies, which are never fetched, and secrets,
//! which such an app cannot have.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::time::Timestamp;
use quick_cache::sync::Cache;
use reqwest::Url;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::Client;
use crate::auth::oauth::redirect::OneWordSchemes;
use crate::auth::oauth::registration::{
    AuthMethod, ClientMetadata, GRANT_TYPES, RESPONSE_TYPES, RegistrationError,
};
use crate::outbound::{FetchError, FetchLimits, GuardedFetch, Reach};
use crate::store::Core;

const LIMITS: FetchLimits = FetchLimits {
    bytes: 5 << 10,
    deadline: Duration::from_secs(5),
};
/// Bytes of an address.
const LONGEST: usize = 2_048;
/// Well within the 24 hours of the contract: an app that withdraws a redirect is soon heard.
const KEPT_MS: i64 = 3_600_000;
const MOST_KEPT: usize = 256;
/// Documents fetched at a time, for all callers.
const FETCHES: usize = 8;

/// Why a document is not believed.
#[derive(Debug, thiserror::Error)]
enum DocumentError {
    #[error("too many documents are being fetched")]
    Busy,
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("it does not name its own address")]
    OtherAddress,
    #[error("it names a secret, or a proof other than none")]
    Secret,
    #[error("it offers no flow of this server")]
    Flow,
    #[error(transparent)]
    Metadata(#[from] RegistrationError),
}

#[derive(Clone)]
struct Kept {
    metadata: ClientMetadata,
    fetched_at: Timestamp,
}

/// Documents of apps, fetched and kept for a while.
pub struct ClientDocuments {
    core: Arc<Core>,
    reach: Reach,
    fetch: GuardedFetch,
    schemes: OneWordSchemes,
    kept: Cache<String, Kept>,
    places: Semaphore,
}

impl fmt::Debug for ClientDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientDocuments")
            .field("reach", &self.reach)
            .field("kept", &self.kept.len())
            .finish_non_exhaustive()
    }
}

impl ClientDocuments {
    pub fn new(core: Arc<Core>, reach: Reach, schemes: OneWordSchemes) -> Self {
        Self {
            core,
            reach,
            fetch: GuardedFetch::new(reach, LIMITS),
            schemes,
            kept: Cache::new(MOST_KEPT),
            places: Semaphore::new(FETCHES),
        }
    }

    /// The address that an id is, if it is one that may be fetched. Only its plain spelling counts:
    /// two spellings would be two apps.
    pub fn address(&self, client_id: &str) -> Option<Url> {
        let url = Url::parse(client_id).ok()?;
        let scheme = match self.reach {
            Reach::Public => url.scheme() == "https",
            Reach::Anywhere => matches!(url.scheme(), "http" | "https"),
        };
        let plain = url.username().is_empty() && url.password().is_none() && url.path() != "/";
        let exact = url.fragment().is_none() && url.as_str() == client_id;
        (scheme && plain && exact && client_id.len() <= LONGEST).then_some(url)
    }

    /// The app that the document at `address` describes.
    pub async fn find(&self, address: &Url) -> Option<Client> {
        let now = self.core.clock.now();
        let fresh = |kept: &Kept| now.millis() - kept.fetched_at.millis() < KEPT_MS;
        if let Some(kept) = self.kept.get(address.as_str()).filter(fresh) {
            return Some(client(address, kept));
        }
        match self.read(address).await {
            Ok(metadata) => {
                let kept = Kept {
                    metadata,
                    fetched_at: now,
                };
                self.kept.insert(address.as_str().to_owned(), kept.clone());
                Some(client(address, kept))
            }
            Err(error) => {
                tracing::info!(%error, "the document of an app is not admitted");
                None
            }
        }
    }

    async fn read(&self, address: &Url) -> Result<ClientMetadata, DocumentError> {
        let _place = self.places.try_acquire().map_err(|_| DocumentError::Busy)?;
        let document = self.fetch.json(address).await?;
        metadata_of(document, address.as_str(), &self.schemes)
    }
}

fn client(address: &Url, kept: Kept) -> Client {
    Client {
        client_id: address.as_str().to_owned(),
        metadata: kept.metadata,
        registered_at: kept.fetched_at,
        secret_hash: None,
    }
}

/// Such a document is written for every server, so flows that this one lacks are passed over.
fn metadata_of(
    mut document: Value,
    address: &str,
    schemes: &OneWordSchemes,
) -> Result<ClientMetadata, DocumentError> {
    let members = document
        .as_object_mut()
        .ok_or(RegistrationError::NotAnObject)?;
    if members.get("client_id").and_then(Value::as_str) != Some(address) {
        return Err(DocumentError::OtherAddress);
    }
    if members.contains_key("client_secret") {
        return Err(DocumentError::Secret);
    }
    members
        .entry("token_endpoint_auth_method")
        .or_insert_with(|| AuthMethod::None.as_str().into());
    let lists = [
        ("grant_types", &GRANT_TYPES[..]),
        ("response_types", &RESPONSE_TYPES[..]),
    ];
    for (member, ours) in lists {
        let Some(Value::Array(words)) = members.get_mut(member) else {
            continue;
        };
        let named = !words.is_empty();
        words.retain(|word| word.as_str().is_none_or(|word| ours.contains(&word)));
        if named && words.is_empty() {
            return Err(DocumentError::Flow);
        }
    }
    let metadata = ClientMetadata::read(&document, schemes)?;
    if metadata.auth_method != AuthMethod::None {
        return Err(DocumentError::Secret);
    }
    if !metadata.grant_types.contains(&"authorization_code") {
        return Err(DocumentError::Flow);
    }
    Ok(metadata)
}
