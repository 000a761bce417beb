//! Every failure a caller can see: one row each (`agent-api` 1.5), rendered by each door in its
//! own envelope. What went wrong inside is kept apart from what is said outside.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::auth::issued_bearer::IssuedBearerError;
use crate::store::{Redacted, StoreError};

/// The rows. Two rows may share a public code and differ in status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    InvalidRequest,
    BodyTooLarge,
    EncodingNotSupported,
    MethodNotAllowed,
    BodyTimeout,
    HeadTimeout,
    HeadTooLarge,
    Unauthorized,
    /// The credential died while the request was under way. Doors look up what to say of it.
    CredentialEnded,
    TenantRequired,
    TenantMismatch,
    AccountNotLinked,
    InsufficientScope,
    AccountPolicyBlocked,
    HostNotAllowed,
    OriginNotAllowed,
    HttpsRequired,
    /// A browser lane was asked without a session.
    SessionRequired,
    /// Only a person may do this, whatever the credential (`access` 9).
    HumanActionRequired,
    /// A person without the role, or somebody else's thing.
    RoleRequired,
    /// The passphrase was entered too long ago for this.
    ReauthenticationRequired,
    /// A project outside the reach of the credential, whether there is one or not.
    ProjectAccessDenied,
    CredentialInContent,
    /// Pages have no limiter's own answer.
    TooMany,
    /// A form that is not from a page of this server, or not of this session.
    FormForged,
    NotFound,
    NoSuchRef,
    NoSuchPath,
    /// Of a workspace: absent and hidden look alike.
    NothingThere,
    VersionConflict,
    RunBusy,
    RunNotResumable,
    IdempotencyConflict,
    IdempotencyInProgress,
    OutcomeUnknown,
    /// What a worker wants to do belongs to an attempt that is over.
    AttemptFenced,
    LimitReached,
    ProposalClosed,
    StepUnavailable,
    ClaimLost,
    ReviewClosed,
    ProjectArchived,
    RepositoryNotConnected,
    ScopePolicyNotConfigured,
    AuthNotConfigured,
    /// The server is up and cannot serve this now; the same request may pass later.
    Unavailable,
    Internal,
    /// Nothing is behind the route yet.
    NotBuilt,
}

/// What the contract fixes about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub code: &'static str,
    pub status: u16,
    pub retryable: bool,
    pub message: &'static str,
}

impl Code {
    pub const ALL: [Self; 48] = [
        Self::InvalidRequest,
        Self::BodyTooLarge,
        Self::EncodingNotSupported,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::HeadTimeout,
        Self::HeadTooLarge,
        Self::Unauthorized,
        Self::CredentialEnded,
        Self::TenantRequired,
        Self::TenantMismatch,
        Self::AccountNotLinked,
        Self::InsufficientScope,
        Self::AccountPolicyBlocked,
        Self::HostNotAllowed,
        Self::OriginNotAllowed,
        Self::HttpsRequired,
        Self::SessionRequired,
        Self::HumanActionRequired,
        Self::RoleRequired,
        Self::ReauthenticationRequired,
        Self::ProjectAccessDenied,
        Self::CredentialInContent,
        Self::TooMany,
        Self::FormForged,
        Self::NotFound,
        Self::NoSuchRef,
        Self::NoSuchPath,
        Self::NothingThere,
        Self::VersionConflict,
        Self::RunBusy,
        Self::RunNotResumable,
        Self::IdempotencyConflict,
        Self::IdempotencyInProgress,
        Self::OutcomeUnknown,
        Self::AttemptFenced,
        Self::LimitReached,
        Self::ProposalClosed,
        Self::StepUnavailable,
        Self::ClaimLost,
        Self::ReviewClosed,
        Self::ProjectArchived,
        Self::RepositoryNotConnected,
        Self::ScopePolicyNotConfigured,
        Self::AuthNotConfigured,
        Self::Unavailable,
        Self::Internal,
        Self::NotBuilt,
    ];

    #[rustfmt::skip]
    pub fn row(self) -> Row {
        let row = |code, status, message| Row { code, status, retryable: false, message };
        let again = |code, status, message| Row { code, status, retryable: true, message };
        match self {
            Self::InvalidRequest => row("invalid_request", 400, "The request is not valid."),
            Self::BodyTooLarge => row("invalid_request", 413, "The request body is too large."),
            Self::EncodingNotSupported => row("invalid_request", 415, "Send the body as plain JSON, without Content-Encoding."),
            Self::MethodNotAllowed => row("invalid_request", 405, "This method is not available here."),
            Self::BodyTimeout => row("invalid_request", 408, "The request body did not arrive in time."),
            Self::HeadTimeout => row("invalid_request", 408, "The request head did not arrive in time."),
            Self::HeadTooLarge => row("invalid_request", 431, "A request head may have 100 header fields and 32 KiB."),
            Self::Unauthorized => row("unauthorized", 401, "A valid bearer token is required."),
            Self::CredentialEnded => row("unauthorized", 401, "The credential has been revoked."),
            Self::TenantRequired => row("tenant_required", 401, "The token names no tenant."),
            Self::TenantMismatch => row("tenant_mismatch", 403, "A tenant header differs from the token's tenant."),
            Self::AccountNotLinked => row("account_not_linked", 403, "No active account is linked to this identity."),
            Self::InsufficientScope => row("insufficient_scope", 403, "The token lacks a required scope."),
            Self::AccountPolicyBlocked => row("account_policy_blocked", 403, "The account's policy does not admit this."),
            Self::HostNotAllowed => row("host_not_allowed", 403, "This host name is not served here."),
            Self::OriginNotAllowed => row("origin_not_allowed", 403, "This origin may not call the server."),
            Self::HttpsRequired => row("https_required", 403, "Use https."),
            Self::SessionRequired => row("session_required", 401, "Sign in first."),
            Self::HumanActionRequired => row("human_action_required", 403, "Only a person can do this, in a browser."),
            Self::RoleRequired => row("role_required", 403, "Your role does not allow this."),
            Self::ReauthenticationRequired => row("reauthentication_required", 403, "Enter your passphrase again: sign in anew, then repeat this within ten minutes."),
            Self::ProjectAccessDenied => row("PROJECT_ACCESS_DENIED", 403, "The project is outside the reach of this credential."),
            Self::CredentialInContent => row("credential_in_content", 400, "The content holds a credential. Revoke it, and take it out."),
            Self::TooMany => again("rate_limited", 429, "Too many requests came from your address. Wait a minute, then try again."),
            Self::FormForged => row("cross_origin_forbidden", 403, "The form did not come from a page of this server that you opened in this session. Open the page again."),
            Self::NotFound => row("not_found", 404, "There is no such run."),
            Self::NoSuchRef => row("not_found", 404, "There is no such run or ref."),
            Self::NoSuchPath => row("not_found", 404, "There is nothing at this path."),
            Self::NothingThere => row("not_found", 404, "There is no such thing in this workspace."),
            Self::VersionConflict => again("version_conflict", 409, "The run has moved on; inspect it and retry with its current version."),
            Self::RunBusy => again("run_busy", 409, "Another continuation is executing; retry when it has finished."),
            Self::RunNotResumable => row("run_not_resumable", 409, "The run has ended."),
            Self::IdempotencyConflict => row("idempotency_conflict", 409, "The idempotency key was used with a different request."),
            Self::IdempotencyInProgress => again("idempotency_in_progress", 409, "The same request is still executing."),
            Self::OutcomeUnknown => row("outcome_unknown", 409, "The outcome of this request is not known; inspect the run."),
            Self::AttemptFenced => row("attempt_fenced", 409, "This attempt at the turn is over; claim another turn."),
            Self::LimitReached => row("limit_reached", 409, "There is no room for one more."),
            Self::ProposalClosed => row("proposal_closed", 409, "The proposal is closed."),
            Self::StepUnavailable => again("step_unavailable", 409, "The step is done or in other hands, or the review waits at its gate."),
            Self::ClaimLost => row("claim_lost", 409, "The claim is over, or is not yours."),
            Self::ReviewClosed => row("review_closed", 409, "The review is completed, cancelled or failed."),
            Self::ProjectArchived => row("project_archived", 409, "The project is archived: it can be read and nothing else."),
            Self::RepositoryNotConnected => row("repository_not_connected", 409, "No repository of this id is connected to the project; a person connects one."),
            Self::ScopePolicyNotConfigured => row("scope_policy_not_configured", 503, "The server's policy does not cover a requested data scope."),
            Self::AuthNotConfigured => row("auth_not_configured", 503, "Authentication is not configured on this server."),
            Self::Unavailable => again("internal_error", 503, "The server cannot do this right now; retry shortly."),
            Self::Internal => again("internal_error", 500, "Something went wrong inside the server."),
            Self::NotBuilt => row("not_implemented", 501, "This is not available yet."),
        }
    }
}

/// One failure: a row, what may be said about it, and what may not.
#[derive(Debug, Clone)]
pub struct Problem {
    pub code: Code,
    pub message: Cow<'static, str>,
    pub details: Option<Value>,
    /// Every scope of the operation, when the token lacks one: a client that asked for the missing
    /// ones alone would lose what it had (`access` 4.1).
    pub scopes: Vec<String>,
    /// Seconds, sent as `Retry-After`.
    pub retry_after: Option<u32>,
    /// For the log only. Holds no secret and no text of a caller.
    pub cause: Option<String>,
}

impl Problem {
    pub fn new(code: Code) -> Self {
        let row = code.row();
        let retry_after = (code == Code::Unavailable).then_some(1);
        Self {
            code,
            message: Cow::Borrowed(row.message),
            details: None,
            scopes: Vec::new(),
            retry_after,
            cause: None,
        }
    }

    /// An invalid request with its own explanation, which must not quote the caller.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: message.into(),
            ..Self::new(Code::InvalidRequest)
        }
    }

    #[must_use]
    pub fn with(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    #[must_use]
    pub fn because(mut self, cause: impl std::fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// Something of the request looks like a credential (`agent-api` 1.10). Says nothing of it.
    pub fn credential_material() -> Self {
        Self::invalid("The request holds credential material.")
            .with(json!({"failure_code": "protected_sensitive_content_rejected"}))
    }

    /// A route scope is missing. `all` are the scopes of the whole operation.
    pub fn missing_scope(required: &str, all: &[&str]) -> Self {
        Self::new(Code::InsufficientScope)
            .with(json!({"required_scope": required, "required_oauth_scopes": all}))
            .of_operation(all)
    }

    /// Names every scope of the operation.
    #[must_use]
    pub fn of_operation(mut self, scopes: &[&str]) -> Self {
        self.scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        self
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Revoked => Code::CredentialEnded,
            StoreError::Overloaded
            | StoreError::Unavailable(_)
            | StoreError::TimedOut
            | StoreError::HeadMoved => Code::Unavailable,
            StoreError::ReceiptTaken
            | StoreError::Spent
            | StoreError::PassphraseChanged
            | StoreError::Full
            | StoreError::Duplicate(_)
            | StoreError::KeyRetired
            | StoreError::Damaged(_)
            | StoreError::KeyMissing(_) => Code::Internal,
        };
        let problem = Self::new(code);
        if let StoreError::Unavailable(source) = &error {
            // The source may quote values; its code says enough.
            return problem.because(format!("{error}: {}", Redacted(source)));
        }
        problem.because(error)
    }
}

impl From<IssuedBearerError> for Problem {
    fn from(error: IssuedBearerError) -> Self {
        match error {
            IssuedBearerError::TwoAuthorizationHeaders => {
                Self::invalid("Send one Authorization header.")
            }
            IssuedBearerError::Unauthorized => Self::new(Code::Unauthorized),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_contracts_retryable_rows_are_retryable() {
        let rows = Code::ALL.iter().map(|code| code.row());
        let retryable: Vec<&str> = rows
            .filter(|row| row.retryable)
            .map(|row| row.code)
            .collect();
        assert_eq!(
            retryable,
            [
                "rate_limited",
                "version_conflict",
                "run_busy",
                "idempotency_in_progress",
                "step_unavailable",
                "internal_error",
                "internal_error"
            ]
        );
    }
}
