//! Every refusal of `/token`, `/revoke` and `/introspect` with its status (`access` 2, 3.5,
//! `vault` 3.4).
//!
//! What stays true: a text says what the client can do next and never repeats what it sent; where a
//! code or a token is refused, one text covers every reason, so that nobody learns how near a guess
//! was.

use std::time::Duration;

use super::error_code::ErrorCode;
use super::parameters::ParameterFault;
use super::resource::TargetError;
use super::scope::WiderScope;

/// Why a request for a token failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("use POST with a form body")]
    Method,
    #[error("the body must be application/x-www-form-urlencoded")]
    ContentType,
    #[error("parameters belong in the body, not in the URL")]
    ParametersInUrl,
    #[error("the body is too large")]
    TooLarge,
    #[error(transparent)]
    Parameters(#[from] ParameterFault),
    #[error("the parameter {0} is missing")]
    Missing(&'static str),
    #[error("more than one Authorization header")]
    TwoAuthorizationHeaders,
    #[error("the client authenticates in more than one way; use one")]
    TwoAuthentications,
    #[error("the client is unknown or its authentication failed; register again if it persists")]
    Client(ClientVia),
    #[error("the grant type must be authorization_code or refresh_token")]
    GrantType,
    #[error(
        "the code is unknown, used, expired or not for this client, redirect_uri and \
         code_verifier; start the authorization again"
    )]
    Code,
    #[error(
        "the grant has ended or the token is not valid; end every process that shares the \
         credential, log in once, restart and read the tool list again"
    )]
    Grant,
    #[error(transparent)]
    Scope(#[from] WiderScope),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("this refresh token was just used; read the stored credential again")]
    JustRefreshed { retry_after: Duration },
    #[error("too many requests; try again later")]
    TooMany { retry_after: Duration },
    #[error("the server is busy; try again later")]
    Unavailable { retry_after: Duration },
}

/// How a refused client presented itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientVia {
    /// The answer carries a challenge.
    Header,
    /// In the body, or not at all.
    Body,
}

impl TokenError {
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Method
            | Self::ContentType
            | Self::ParametersInUrl
            | Self::TooLarge
            | Self::Parameters(_)
            | Self::Missing(_)
            | Self::TwoAuthorizationHeaders
            | Self::TwoAuthentications => ErrorCode::InvalidRequest,
            Self::Client(_) => ErrorCode::InvalidClient,
            Self::GrantType => ErrorCode::UnsupportedGrantType,
            Self::Code | Self::Grant => ErrorCode::InvalidGrant,
            Self::Scope(error) => error.code(),
            Self::Target(error) => error.code(),
            Self::JustRefreshed { .. } | Self::TooMany { .. } | Self::Unavailable { .. } => {
                ErrorCode::TemporarilyUnavailable
            }
        }
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::Method => 405,
            Self::TooLarge => 413,
            Self::Client(_) => 401,
            Self::JustRefreshed { .. } | Self::TooMany { .. } => 429,
            Self::Unavailable { .. } => 503,
            Self::ContentType
            | Self::ParametersInUrl
            | Self::Parameters(_)
            | Self::Missing(_)
            | Self::TwoAuthorizationHeaders
            | Self::TwoAuthentications
            | Self::GrantType
            | Self::Code
            | Self::Grant
            | Self::Scope(_)
            | Self::Target(_) => 400,
        }
    }

    /// The scheme of `WWW-Authenticate`, when the answer carries one.
    pub const fn challenge(self) -> Option<&'static str> {
        if matches!(self, Self::Client(ClientVia::Header)) {
            Some("Basic")
        } else {
            None
        }
    }

    /// Whole seconds for `Retry-After`, one at least.
    pub fn retry_after(self) -> Option<u64> {
        let (Self::JustRefreshed { retry_after }
        | Self::TooMany { retry_after }
        | Self::Unavailable { retry_after }) = self
        else {
            return None;
        };
        let begun = u64::from(retry_after.subsec_nanos() > 0);
        Some(retry_after.as_secs().saturating_add(begun).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Every refusal with its status and code.
    fn refusals() -> Vec<(TokenError, u16, &'static str)> {
        let retry_after = SECOND;
        vec![
            (TokenError::Method, 405, "invalid_request"),
            (TokenError::ContentType, 400, "invalid_request"),
            (TokenError::ParametersInUrl, 400, "invalid_request"),
            (TokenError::TooLarge, 413, "invalid_request"),
            (ParameterFault::Repeated.into(), 400, "invalid_request"),
            (ParameterFault::TooLong.into(), 400, "invalid_request"),
            (TokenError::Missing("code"), 400, "invalid_request"),
            (TokenError::TwoAuthorizationHeaders, 400, "invalid_request"),
            (TokenError::TwoAuthentications, 400, "invalid_request"),
            (TokenError::Client(ClientVia::Header), 401, "invalid_client"),
            (TokenError::Client(ClientVia::Body), 401, "invalid_client"),
            (TokenError::GrantType, 400, "unsupported_grant_type"),
            (TokenError::Code, 400, "invalid_grant"),
            (TokenError::Grant, 400, "invalid_grant"),
            (WiderScope.into(), 400, "invalid_scope"),
            (TargetError::OtherDoor.into(), 400, "invalid_target"),
            (
                TokenError::JustRefreshed { retry_after },
                429,
                "temporarily_unavailable",
            ),
            (
                TokenError::TooMany { retry_after },
                429,
                "temporarily_unavailable",
            ),
            (
                TokenError::Unavailable { retry_after },
                503,
                "temporarily_unavailable",
            ),
        ]
    }

    #[test]
    fn every_refusal_has_its_status_and_code() {
        for (error, status, code) in refusals() {
            assert_eq!(error.status(), status, "{error:?}");
            assert_eq!(error.code().as_str(), code, "{error:?}");
        }
    }

    #[test]
    fn only_a_client_refused_by_its_header_is_challenged() {
        for (error, _, _) in refusals() {
            let expected = (error == TokenError::Client(ClientVia::Header)).then_some("Basic");
            assert_eq!(error.challenge(), expected, "{error:?}");
        }
    }

    #[test]
    fn who_is_to_come_back_is_told_when_in_whole_seconds() {
        for (error, status, _) in refusals() {
            let expected = matches!(status, 429 | 503).then_some(1);
            assert_eq!(error.retry_after(), expected, "{error:?}");
        }
        for (milliseconds, seconds) in [(0, 1), (1, 1), (1_000, 1), (2_001, 3)] {
            let retry_after = Duration::from_millis(milliseconds);
            let error = TokenError::TooMany { retry_after };
            assert_eq!(error.retry_after(), Some(seconds), "{milliseconds}");
        }
    }

    #[test]
    fn descriptions_are_fit_for_the_wire() {
        let fit = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
        for (error, _, _) in refusals() {
            let text = error.to_string();
            assert!(!text.is_empty() && text.chars().all(fit), "{text}");
        }
    }
}
