//! When the key file was last exported: what `doctor` asks for.

use std::path::PathBuf;

use helix_aggregates::time::Timestamp;

use crate::cli::failure::Failure;
use crate::config::Config;
use crate::store::key_export;
use crate::store::keyfile::{KeyFile, write_private};

fn record(config: &Config) -> PathBuf {
    config.data.dir.join("keys/exported")
}

/// The record's content names the edition; its time is the moment.
pub fn remember(config: &Config, file: &KeyFile) -> Result<(), Failure> {
    let record = record(config);
    write_private(
        &record,
        format!("{}\n", key_export::edition(file)).as_bytes(),
    )
    .map_err(|error| {
        Failure::unavailable(
            "record",
            format!("{} cannot be written: {error}", record.display()),
        )
        .fix("let this user write there, then export again to another file")
    })
}

/// When the present edition of the key file was last exported.
pub fn last_export(config: &Config, file: &KeyFile) -> Option<Timestamp> {
    let record = record(config);
    let edition = std::fs::read_to_string(&record).ok()?;
    if edition.trim_end() != key_export::edition(file) {
        return None;
    }
    let at = std::fs::metadata(&record).ok()?.modified().ok()?;
    let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(
        i64::try_from(since.as_millis()).ok()?,
    ))
}
