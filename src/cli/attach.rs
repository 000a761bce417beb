//! The store, for commands that work beside a server and not through one.

use std::sync::Arc;

use secrecy::ExposeSecret;
use sqlx::postgres::PgConnectOptions;

use super::failure::{Exit, Failure};
use crate::config::Config;
use crate::metrics::Metrics;
use crate::store::keyring::KeyringError;
use crate::store::{Core, CoreConfig, StoreError};

/// Keeps whatever runs for the sake of the store; dropping it may end that.
#[derive(Debug)]
pub struct Guard;

/// Opens the store that the configuration names.
pub async fn open_store(config: &Config) -> Result<(Arc<Core>, Guard), Failure> {
    let Some(url) = &config.database.url else {
        return Err(Failure::not_built("with the embedded database"));
    };
    let options: PgConnectOptions = url.expose_secret().parse().map_err(|_| {
        Failure::usage("invalid_config", "database.url is not a database address")
            .fix("write postgres://USER@HOST/DATABASE")
    })?;
    let settings = CoreConfig {
        lanes: u8::try_from(config.database.lanes).unwrap_or(u8::MAX),
        ..CoreConfig::default()
    };
    let metrics = Metrics::new().map_err(|error| Failure::new(Exit::No, "metrics", error.to_string()))?;
    let opened = Core::open(&options, &config.data.kek_file, settings, metrics).await;
    Ok((opened.map_err(|error| keyring_failure(&error))?, Guard))
}

fn keyring_failure(error: &KeyringError) -> Failure {
    match error {
        KeyringError::File(error) => Failure::unavailable("key_file", error.to_string())
            .fix("import the key file of this database: `helix key --help`"),
        KeyringError::Store(error) => store_failure(error),
    }
}

/// What a store error means to somebody at a terminal.
pub fn store_failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Damaged(_) => Failure::new(Exit::No, "damaged", error.to_string())
            .fix("restore the newest backup that verifies"),
        StoreError::KeyMissing(_) => Failure::unavailable("key_missing", error.to_string())
            .fix("import the key file of this database: `helix key --help`"),
        StoreError::HeadMoved
        | StoreError::ReceiptTaken
        | StoreError::Revoked
        | StoreError::Overloaded
        | StoreError::Unavailable(_)
        | StoreError::TimedOut => Failure::unavailable("database", error.to_string())
            .fix("see `helix doctor`, then try again"),
    }
}
