//! What may be asked of an account binding.

use crate::ids::AccountId;
use crate::text::Text;

#[derive(Debug, Clone)]
pub enum AgentAccountCommand {
    /// Makes the binding active, for the first time or again.
    Link(Box<NewBinding>),
    Revoke {
        reason: Text<500>,
    },
}

#[derive(Debug, Clone)]
pub struct NewBinding {
    pub account: AccountId,
    pub issuer: Text<2000>,
    pub tenant: Text<500>,
    /// The provider's configured alias.
    pub provider: Text<120>,
    pub subject: Text<500>,
}
