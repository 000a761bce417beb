//! The events of an account, in the permanent shape they are stored in.

use serde::{Deserialize, Serialize};

use super::command::{AccountType, Address, PassphraseCause, SignOff};
use crate::decider::WireEvent;
use crate::ids::SessionId;
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountEvent {
    #[serde(rename = "account_created")]
    Created(AccountCreated),
    #[serde(rename = "account_verified")]
    Verified(AccountVerified),
    #[serde(rename = "account_passphrase_set")]
    PassphraseSet(PassphraseSet),
    #[serde(rename = "session_started")]
    SessionStarted(SessionStarted),
    #[serde(rename = "session_ended")]
    SessionEnded(SessionEnded),
    #[serde(rename = "account_email_changed")]
    EmailChanged(EmailChanged),
    #[serde(rename = "account_renamed")]
    Renamed(AccountRenamed),
    #[serde(rename = "recovery_sheet_issued")]
    RecoverySheetIssued(RecoverySheetIssued),
    #[serde(rename = "recovery_code_used")]
    RecoveryCodeUsed(RecoveryCodeUsed),
    #[serde(rename = "account_provider_linked")]
    ProviderLinked(ProviderLinked),
    #[serde(rename = "account_provider_unlinked")]
    ProviderUnlinked(ProviderUnlinked),
    #[serde(rename = "account_deleted")]
    Deleted(AccountDeleted),
}

impl WireEvent for AccountEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Created(_) => "account_created",
            Self::Verified(_) => "account_verified",
            Self::PassphraseSet(_) => "account_passphrase_set",
            Self::SessionStarted(_) => "session_started",
            Self::SessionEnded(_) => "session_ended",
            Self::EmailChanged(_) => "account_email_changed",
            Self::Renamed(_) => "account_renamed",
            Self::RecoverySheetIssued(_) => "recovery_sheet_issued",
            Self::RecoveryCodeUsed(_) => "recovery_code_used",
            Self::ProviderLinked(_) => "account_provider_linked",
            Self::ProviderUnlinked(_) => "account_provider_unlinked",
            Self::Deleted(_) => "account_deleted",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountCreated {
    pub at: Timestamp,
    pub account_type: AccountType,
    pub email: Sealed<String>,
    pub name: Sealed<String>,
    /// Absent when verified, as in every event from before there were unverified accounts.
    #[serde(default, skip_serializing_if = "Address::is_verified")]
    pub address: Address,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountVerified {
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassphraseSet {
    pub at: Timestamp,
    pub cause: PassphraseCause,
    /// The one session that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<SessionId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStarted {
    pub at: Timestamp,
    pub session: SessionId,
    pub device: Sealed<String>,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    pub at: Timestamp,
    pub session: SessionId,
    pub cause: SessionEnding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnding {
    SignOut,
    Owner,
    /// It was the oldest of too many.
    Limit,
}

impl SessionEnding {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SignOut => "sign_out",
            Self::Owner => "owner",
            Self::Limit => "limit",
        }
    }
}

impl From<SignOff> for SessionEnding {
    fn from(cause: SignOff) -> Self {
        match cause {
            SignOff::SignOut => Self::SignOut,
            SignOff::Owner => Self::Owner,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailChanged {
    pub at: Timestamp,
    pub email: Sealed<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRenamed {
    pub at: Timestamp,
    pub name: Sealed<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoverySheetIssued {
    pub at: Timestamp,
    /// Counted from 1 within the account; the newest alone is in force.
    pub sheet: u32,
    pub codes: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryCodeUsed {
    pub at: Timestamp,
    pub sheet: u32,
    /// Counted from 0 within the sheet.
    pub code: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderLinked {
    pub at: Timestamp,
    /// Counted from 1 within the account and never used again.
    pub link: u32,
    pub provider: String,
    pub subject: Sealed<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderUnlinked {
    pub at: Timestamp,
    pub link: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountDeleted {
    pub at: Timestamp,
}
