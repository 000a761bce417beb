//! Asking an owner whether an app may act for them (`access` 3.4).
//!
//! What must stay true: what is decided on is what the server kept, never what a form brings back; a
//! question that was shown in a session is answered in it; each is answered once. Deliberately
//! absent: the page.

use std::sync::Arc;

use helix_aggregates::time::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::clients::{Client, Clients};
use super::sign_in::Person;
use crate::app::redaction::issued_token::{self, Minted};
use crate::auth::oauth::authorize::{
    Answer, Asked, AuthorizationRequest, AuthorizeError, Outcome, PageError, Refusal,
    RegisteredClient, answer_url,
};
use crate::auth::oauth::redirect::Redirect;
use crate::auth::oauth::resource::Resources;
use crate::store::ledger::people::HandleRow;
use crate::store::{Core, StoreError, handles};

/// The kind in the text of a question's handle (`access` 1.2).
const KIND: &str = "cr";
const CONSENT: &str = "consent";
const LIFE_MS: i64 = 600_000;

/// What was asked, as the server keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    query: String,
}

/// A question to an owner.
#[derive(Debug)]
pub struct Question {
    /// What the form brings back.
    pub handle: SecretString,
    pub handle_hash: [u8; 32],
    pub request: AuthorizationRequest,
    /// The app's name, which nobody has verified.
    pub app: String,
    pub registered_at: Timestamp,
}

/// Why there is no question.
#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    /// Never a redirect.
    #[error(transparent)]
    Page(PageError),
    /// Told to the app, at this address.
    #[error("the app is told why")]
    Told(String),
    #[error("the form was answered already, is over or was never shown")]
    Spent,
    #[error("the form was shown to somebody else")]
    OtherSession,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug)]
pub struct Consents {
    core: Arc<Core>,
    clients: Clients,
    resources: Resources,
    issuer: String,
}

impl Consents {
    pub fn new(core: Arc<Core>, clients: Clients, resources: Resources, issuer: String) -> Self {
        Self {
            core,
            clients,
            resources,
            issuer,
        }
    }

    /// Judges what an app asks for and keeps it until it is answered.
    pub async fn ask(
        &self,
        query: &str,
        person: Option<&Person>,
    ) -> Result<Question, ConsentError> {
        let (client, request) = self.read(query).await?;
        let Minted { text, hash } = issued_token::mint(KIND)?;
        let at_ms = self.core.clock.now().millis();
        let handle = HandleRow {
            handle_hash: hash,
            kind: CONSENT,
            account: person.map(|person| person.account.uuid()),
            session: person.map(|person| person.session.uuid()),
            body: json!(Kept {
                query: query.to_owned()
            }),
            at_ms,
            expires_at_ms: at_ms + LIFE_MS,
        };
        handles::issue(&self.core.pool, &handle).await?;
        Ok(question(text, hash, client, request))
    }

    /// The question that a form answers.
    pub async fn asked(
        &self,
        handle: &str,
        session: Option<Uuid>,
    ) -> Result<Question, ConsentError> {
        if !issued_token::is_spelled(handle, KIND) {
            return Err(ConsentError::Spent);
        }
        let hash = issued_token::hash(handle);
        let found = handles::open(&self.core.admissions, CONSENT, &hash).await?;
        let found = found.ok_or(ConsentError::Spent)?;
        if found.session.is_some() && found.session != session {
            return Err(ConsentError::OtherSession);
        }
        let kept: Kept = serde_json::from_value(found.body)
            .map_err(|_| StoreError::Damaged("a kept question cannot be read".to_owned()))?;
        // Judged again: the app may have been swept, or the door closed, while the page stood open.
        let (client, request) = self.read(&kept.query).await?;
        Ok(question(handle.into(), hash, client, request))
    }

    /// Uses the question up and tells the app that its owner said no.
    pub async fn deny(&self, question: &Question) -> Result<String, ConsentError> {
        if !handles::use_up(&self.core.pool, &question.handle_hash).await? {
            return Err(ConsentError::Spent);
        }
        let request = &question.request;
        Ok(self.refused(
            &request.redirect,
            AuthorizeError::Denied,
            request.state.as_deref(),
        ))
    }

    /// Where the app gets its code.
    pub fn answer(&self, question: &Question, code: &str) -> String {
        let answer = Answer {
            outcome: Outcome::Code(code),
            state: question.request.state.as_deref(),
            issuer: &self.issuer,
        };
        answer_url(&question.request.redirect, &answer)
    }

    async fn read(&self, query: &str) -> Result<(Client, AuthorizationRequest), ConsentError> {
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        let asked = Asked::read(pairs).map_err(ConsentError::Page)?;
        let client = match asked.client_id() {
            Some(id) => self.clients.find(id).await?,
            None => None,
        };
        let registered = client.as_ref().map(|client| RegisteredClient {
            client_id: client.client_id.clone(),
            redirects: client.metadata.redirects.clone(),
        });
        let judged = asked.check(registered.as_ref(), &self.resources);
        match (judged, client) {
            (Ok(request), Some(client)) => Ok((client, request)),
            (Ok(_), None) => Err(ConsentError::Page(PageError::UnknownClient)),
            (Err(Refusal::Page(error)), _) => Err(ConsentError::Page(error)),
            (
                Err(Refusal::Redirect {
                    redirect,
                    error,
                    state,
                }),
                _,
            ) => Err(ConsentError::Told(self.refused(
                &redirect,
                error,
                state.as_deref(),
            ))),
        }
    }

    fn refused(&self, redirect: &Redirect, error: AuthorizeError, state: Option<&str>) -> String {
        let answer = Answer {
            outcome: Outcome::Error(error),
            state,
            issuer: &self.issuer,
        };
        answer_url(redirect, &answer)
    }
}

fn question(
    handle: SecretString,
    handle_hash: [u8; 32],
    client: Client,
    request: AuthorizationRequest,
) -> Question {
    Question {
        handle,
        handle_hash,
        request,
        app: client.metadata.name,
        registered_at: client.registered_at,
    }
}
