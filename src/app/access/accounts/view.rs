//! Accounts and bindings as the operator sees them.

use helix_aggregates::access::account::command::AccountType;
use helix_aggregates::ids::AccountId;
use helix_aggregates::time::Timestamp;
use helix_projections::access::account_activity::view::ActivityView;
use serde::Serialize;

/// An account as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AccountView {
    pub account_id: AccountId,
    pub profile_id: String,
    pub email: String,
    #[serde(rename = "type")]
    pub account_type: AccountType,
}

/// One line of the account list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AccountLine {
    #[serde(flatten)]
    pub account: AccountView,
    pub name: String,
    pub created_at: Timestamp,
    pub bindings: Vec<BindingLine>,
    /// May lag behind the log by a moment.
    pub activity: ActivityView,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BindingLine {
    pub binding_ref: String,
    pub provider: String,
    pub status: &'static str,
}
