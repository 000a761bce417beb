//! What the probe found, typed: a report holds no text of a server, no token and no query.

use serde::Serialize;

use crate::outbound::FetchError;

#[derive(Debug, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub status: Status,
    pub base_url: String,
    pub mcp_url: String,
    pub protocol_version: &'static str,
    pub checks: Vec<Check>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pass,
    /// What was checked passes, and not everything was.
    Partial,
    Fail,
    /// Not checked.
    Skipped,
}

#[derive(Debug, Serialize)]
pub struct Check {
    pub id: &'static str,
    pub status: Status,
    pub http_status: Option<u16>,
    pub faults: Vec<Fault>,
    pub duration_ms: u64,
}

/// Everything that can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    Unreachable,
    TimedOut,
    AnswerTooLong,
    UnexpectedStatus,
    HtmlAnswer,
    NotJson,
    WrongMetadataKind,
    ClaimsToBeStandard,
    ConfigurationNotExplicit,
    RetrievalOnlyMayInvoke,
    WrongMcpUrl,
    WrongTransport,
    WrongTools,
    WrongResource,
    NoAuthorizationServer,
    InsecureAuthorizationServer,
    RunScopesMissing,
    NoBearerChallenge,
    ChallengeWithoutInvalidToken,
    ChallengeWithoutDescription,
    ChallengeNamesOtherMetadata,
    WrongErrorCode,
    NotJsonRpc,
    WrongServerName,
    NoProtocolVersion,
    InstructionsIncomplete,
    ToolWithoutText,
    ToolWithoutSchemas,
    WrongAnnotations,
    WrongSecuritySchemes,
}

impl From<FetchError> for Fault {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::TooSlow => Self::TimedOut,
            FetchError::TooLong => Self::AnswerTooLong,
            FetchError::NotJson => Self::NotJson,
            FetchError::Status(_) => Self::UnexpectedStatus,
            FetchError::UrlNotAdmitted | FetchError::AddressNotPublic | FetchError::Unreachable => {
                Self::Unreachable
            }
        }
    }
}

impl Fault {
    /// The word of the JSON report, for people too.
    pub fn word(self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

impl Status {
    /// Of a whole report: the worst that was found, and partial where something was left out.
    pub fn of(checks: &[Check]) -> Self {
        let any = |status| checks.iter().any(|check| check.status == status);
        if any(Self::Fail) {
            Self::Fail
        } else if any(Self::Skipped) {
            Self::Partial
        } else {
            Self::Pass
        }
    }
}
