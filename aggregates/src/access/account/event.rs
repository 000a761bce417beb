//! The events of an account, in the permanent shape they are stored in.

use serde::{Deserialize, Serialize};

use super::command::AccountType;
use crate::decider::WireEvent;
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountEvent {
    #[serde(rename = "account_created")]
    Created(AccountCreated),
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
