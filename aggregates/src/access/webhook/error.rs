//! Why a webhook endpoint refuses a command.

/// A refusal; the endpoint is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("the webhook does not exist")]
    NotFound,
    #[error("the webhook exists already")]
    AlreadyExists,
    #[error("the webhook has been deleted")]
    Deleted,
    #[error("a webhook needs at least one event kind")]
    NoKinds,
    #[error("the url contains a control character")]
    Control,
    /// Another rotation was faster.
    #[error("the secret is of generation {current} by now")]
    Rotated { current: u32 },
    #[error("the webhook is disabled already")]
    AlreadyDisabled,
    #[error("the webhook is not disabled")]
    NotDisabled,
}
