//! Typed ids in the text forms the contracts fix. Parsing refuses every other form.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Why a text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {0}")]
pub struct IdError(pub &'static str);

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Uuid);

        impl $name {
            pub fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub fn uuid(self) -> Uuid {
                self.0
            }

            /// Reads the prefix followed by a lower-case hyphenated UUID.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let rest = text.strip_prefix($prefix).ok_or(IdError($what))?;
                let uuid = Uuid::try_parse(rest).map_err(|_| IdError($what))?;
                if uuid.hyphenated().to_string() == rest { Ok(Self(uuid)) } else { Err(IdError($what)) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0.hyphenated())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

uuid_id!(
    /// A run. Its UUID is the id of the run's event stream.
    RunId, "run_", "run_id"
);
uuid_id!(
    /// One account of this server; also the id of its profile.
    AccountId, "acct_", "account_id"
);
uuid_id!(
    /// One signed-in browser of one account.
    SessionId, "ses_", "session_id"
);
uuid_id!(
    /// What an account allows one app. Its UUID is the id of its event stream and ledger row.
    GrantId, "grt_", "grant_id"
);
uuid_id!(
    /// A workspace. Its UUID is the id of its event stream.
    WorkspaceId, "ws_", "workspace_id"
);
uuid_id!(
    /// One project of one workspace.
    ProjectId, "prj_", "project_id"
);
uuid_id!(
    /// One repository connected to one workspace.
    RepositoryId, "repo_", "repository_id"
);
uuid_id!(
    /// One invitation to one workspace.
    InviteId, "inv_", "invite_id"
);
uuid_id!(
    /// A brief. Its UUID is the id of its event stream.
    BriefId, "brf_", "brief_id"
);
uuid_id!(
    /// One proposed text of one brief.
    ProposalId, "prop_", "proposal_id"
);
uuid_id!(
    /// A review. Its UUID is the id of its event stream, and of the run that it is.
    ReviewId, "rev_", "review_id"
);
uuid_id!(
    /// One step of one review.
    StepId, "step_", "step_id"
);
uuid_id!(
    /// One caller's hold on one step.
    ClaimId, "clm_", "claim_id"
);
uuid_id!(
    /// One finding of one review.
    FindingId, "fnd_", "finding_id"
);
uuid_id!(
    /// A named token of a workspace. Its UUID is the id of its event stream and ledger row.
    TokenId, "tok_", "token_id"
);
uuid_id!(
    /// The credential of an external worker. Its UUID is the id of its event stream and ledger row.
    WorkerTokenId, "wtok_", "token_id"
);
uuid_id!(OperationId, "op_", "operation_ref");
uuid_id!(TurnId, "turn_", "turn_id");
uuid_id!(TraceId, "trace_", "trace_id");
uuid_id!(EventId, "evt_", "event_id");
uuid_id!(
    /// A webhook endpoint. Its UUID is the id of the endpoint's event stream.
    WebhookId, "wh_", "webhook_id"
);
uuid_id!(
    /// One message to one endpoint, whatever number of times it is sent.
    MessageId, "msg_", "message_id"
);

impl MessageId {
    /// The id of the message that tells `webhook` of one event, derived so that it is always the
    /// same.
    pub fn of(webhook: WebhookId, stream: Uuid, seq: u64) -> Self {
        Self(derived("webhook-message", &[webhook.uuid(), stream], seq))
    }
}

impl EventId {
    /// The id of one event, derived from its place so that every replay names it alike.
    pub fn of(stream: Uuid, seq: u64) -> Self {
        Self(derived("event-id", &[stream], seq))
    }
}

fn derived(label: &str, streams: &[Uuid], seq: u64) -> Uuid {
    let mut hasher = Sha256::new();
    hasher.update(label.as_bytes());
    for stream in streams {
        hasher.update(stream.as_bytes());
    }
    hasher.update(seq.to_be_bytes());
    let digest = hasher.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// `true` when the text has the outward shape of a run id (`agent-api` 1.4), known or not.
pub fn has_run_id_shape(text: &str) -> bool {
    text.strip_prefix("run_").is_some_and(|rest| {
        (8..=200).contains(&rest.len())
            && rest
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
    })
}

/// The four values that own a run (`agent-api` 11.3); all four must match.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OwnerTuple {
    pub tenant: String,
    pub issuer: String,
    pub subject: String,
    pub profile: String,
}

/// A subject may be an e-mail address, so it stays out of logs.
impl fmt::Debug for OwnerTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerTuple")
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

/// The public references of an owner (`agent-api` 1.4): hashes, never the values themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ownership {
    pub tenant_ref: String,
    pub principal_ref: String,
    pub account_profile_ref: String,
}

impl OwnerTuple {
    pub fn ownership(&self) -> Ownership {
        Ownership {
            tenant_ref: tenant_ref(&self.tenant),
            principal_ref: reference(
                "principal",
                &format!("{}\n{}", self.issuer, self.subject),
                24,
            ),
            account_profile_ref: reference("account-profile", &self.profile, 24),
        }
    }
}

/// The public reference of a tenant.
pub fn tenant_ref(tenant: &str) -> String {
    reference("tenant", tenant, 24)
}

/// The public reference of an account binding.
pub fn binding_ref(issuer: &str, tenant: &str, provider: &str, subject: &str) -> String {
    reference(
        "agent-binding",
        &format!("{issuer}\n{tenant}\n{provider}\n{subject}"),
        32,
    )
}

fn reference(prefix: &str, text: &str, digits: usize) -> String {
    let digest = hex::encode(Sha256::digest(text.as_bytes()));
    format!("{prefix}:sha256:{}", &digest[..digits])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_itself_and_in_no_other_spelling() {
        let id = RunId::new(Uuid::from_u128(0x0193_7f2a_0000_7000_8000_0000_0000_0001));
        assert_eq!(RunId::parse(&id.to_string()), Ok(id));
        let upper = id.to_string().to_uppercase();
        let simple = format!("run_{}", id.uuid().simple());
        for text in ["run_", "run_1", upper.as_str(), simple.as_str(), "acct_x"] {
            assert!(RunId::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_shape_of_a_run_id_is_bounded() {
        assert!(has_run_id_shape("run_abcd.:-_"));
        assert!(has_run_id_shape(&format!("run_{}", "a".repeat(200))));
        for text in ["run_abc", "RUN_abcdefgh", "run_abcdefg/", "run_abcdefgh\0"] {
            assert!(!has_run_id_shape(text), "{text}");
        }
        assert!(!has_run_id_shape(&format!("run_{}", "a".repeat(201))));
    }
}
