//! Whether the model's server answers, asked without spending a token.

use std::time::Duration;

use super::ModelSettings;
use super::client::{self, ModelFault};

const PATIENCE: Duration = Duration::from_secs(5);

/// What a look at the server showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It lists the configured model.
    Listed,
    /// It answers and lists other models.
    NotListed,
    /// It answers and lists none.
    Silent,
    RefusedCredentials,
    /// Why there was no answer, without text of the server.
    Away(String),
}

/// Asks for the list of models.
pub async fn check(settings: &ModelSettings) -> Health {
    match client::models(settings, PATIENCE).await {
        Ok(Some(ids)) if ids.contains(&settings.model) => Health::Listed,
        Ok(Some(_)) => Health::NotListed,
        Ok(None) => Health::Silent,
        Err(ModelFault::RefusedCredentials(_)) => Health::RefusedCredentials,
        Err(fault) => Health::Away(fault.to_string()),
    }
}
