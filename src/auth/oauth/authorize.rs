//! What a client asks for at `/authorize`, judged in the one order of `access` 3.4.
//!
//! Whoever can make this server redirect can make it send a browser, and what it says, anywhere. So
//! client and redirect are settled first, by a page; only then is there a place to send errors to.
//!
//! What stays true: a redirect must be named even when the client registered only one; the answer
//! goes to the text that was presented and matched; every answer, errors included, carries `iss`.
//!
//! Deliberately absent: the session, the consent page and what becomes of a request.

mod answer;
#[cfg(test)]
mod tests;

use super::error_code::ErrorCode;
use super::parameters::{ParameterFault, Parameters};
use super::pkce::{self, Challenge};
use super::redirect::Redirect;
use super::resource::{Door, Resources, TargetError};
use super::scope::{self, Requested, Told};

pub use answer::{Answer, Outcome, answer_url};

/// What a look-up by `client_id` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredClient {
    pub client_id: String,
    pub redirects: Vec<Redirect>,
}

/// A request whose parameters can be read at all.
#[derive(Debug, Clone)]
pub struct Asked(Parameters);

/// A request an owner may be asked to consent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationRequest {
    pub client_id: String,
    pub redirect: Redirect,
    pub state: Option<String>,
    pub challenge: Challenge,
    pub requested: Requested,
}

impl AuthorizationRequest {
    pub fn door(&self) -> Door {
        self.requested.door()
    }
}

/// Why a request is answered by a 400 page and never by a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error(transparent)]
    Parameters(#[from] ParameterFault),
    #[error("the app is not registered here; it has to register again")]
    UnknownClient,
    #[error("the app did not say where to answer")]
    NoRedirect,
    #[error("the app asked for an answer at a place it has not registered")]
    UnmatchedRedirect,
}

/// Why a request is answered by a redirect with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizeError {
    #[error("response_type must be code")]
    ResponseType,
    #[error("code_challenge must be 43 base64url characters")]
    Challenge,
    #[error("code_challenge_method must be S256")]
    ChallengeMethod,
    #[error("response_mode must be query")]
    ResponseMode,
    #[error("request and request_uri are not supported")]
    RequestObject,
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("the scope names more than one door; send a resource")]
    MixedScope,
    #[error("the owner denied the request")]
    Denied,
}

impl AuthorizeError {
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::ResponseType => ErrorCode::UnsupportedResponseType,
            Self::Challenge | Self::ChallengeMethod | Self::ResponseMode | Self::RequestObject => {
                ErrorCode::InvalidRequest
            }
            Self::Target(error) => error.code(),
            Self::MixedScope => ErrorCode::InvalidScope,
            Self::Denied => ErrorCode::AccessDenied,
        }
    }
}

/// A refusal and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Page(PageError),
    Redirect {
        redirect: Redirect,
        error: AuthorizeError,
        state: Option<String>,
    },
}

impl Asked {
    /// Reads decoded query pairs in the order they were sent.
    pub fn read(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, PageError> {
        Ok(Self(Parameters::read(pairs)?))
    }

    /// Whom to look up before [`Self::check`].
    pub fn client_id(&self) -> Option<&str> {
        self.0.get("client_id")
    }

    /// Judges the request of `client`, which is what `client_id` led to.
    pub fn check(
        &self,
        client: Option<&RegisteredClient>,
        resources: &Resources,
    ) -> Result<AuthorizationRequest, Refusal> {
        let client = client.ok_or(Refusal::Page(PageError::UnknownClient))?;
        let redirect = self.redirect(client).map_err(Refusal::Page)?;
        let state = self.0.get("state").map(str::to_owned);
        match self.judge(resources) {
            Ok((challenge, requested)) => Ok(AuthorizationRequest {
                client_id: client.client_id.clone(),
                redirect,
                state,
                challenge,
                requested,
            }),
            Err(error) => Err(Refusal::Redirect {
                redirect,
                error,
                state,
            }),
        }
    }

    fn redirect(&self, client: &RegisteredClient) -> Result<Redirect, PageError> {
        let presented = self.0.get("redirect_uri").ok_or(PageError::NoRedirect)?;
        let mut matches = client
            .redirects
            .iter()
            .filter_map(|redirect| redirect.presented(presented));
        matches.next().ok_or(PageError::UnmatchedRedirect)
    }

    /// Checks 4 to 8, whose errors the client is told.
    fn judge(&self, resources: &Resources) -> Result<(Challenge, Requested), AuthorizeError> {
        if self.0.get("response_type") != Some("code") {
            return Err(AuthorizeError::ResponseType);
        }
        let challenge = self.0.get("code_challenge").and_then(Challenge::parse);
        let challenge = challenge.ok_or(AuthorizeError::Challenge)?;
        if self.0.get("code_challenge_method") != Some(pkce::METHOD) {
            return Err(AuthorizeError::ChallengeMethod);
        }
        if self
            .0
            .get("response_mode")
            .is_some_and(|mode| mode != "query")
        {
            return Err(AuthorizeError::ResponseMode);
        }
        if self
            .0
            .get("request")
            .or(self.0.get("request_uri"))
            .is_some()
        {
            return Err(AuthorizeError::RequestObject);
        }
        let named = resources.named(self.0.resources())?;
        let scope = self.0.get("scope").unwrap_or_default();
        let door = named.map_or_else(|| door_told(scope, resources), Ok)?;
        Ok((challenge, Requested::of(door, scope)))
    }
}

/// The door that scope words alone tell; the vault when they tell nothing.
fn door_told(scope: &str, resources: &Resources) -> Result<Door, AuthorizeError> {
    let door = match scope::told(scope) {
        Told::Door(door) => door,
        Told::Nothing => Door::Vault,
        Told::Mixed => return Err(AuthorizeError::MixedScope),
    };
    match resources.canonical(door) {
        Some(_) => Ok(door),
        None => Err(TargetError::NotServed.into()),
    }
}
