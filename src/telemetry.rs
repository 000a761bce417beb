//! Log lines on standard error, for people or for machines.
//!
//! What must stay true: this crate logs no body, secret or personal text, so nothing here has to
//! redact. Libraries below us may be talkative; a bare level leaves them at `warn`.

use std::io::stderr;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Log, LogFormat};

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("the log filter is not understood")]
    Filter,
    #[error("logging was set up before")]
    AlreadyStarted,
}

/// Installs the subscriber of the process; to be called once, before the server starts.
pub fn start(log: &Log) -> Result<(), TelemetryError> {
    let filter = EnvFilter::try_new(with_quiet_libraries(&log.filter))
        .map_err(|_| TelemetryError::Filter)?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    let started = match log.format {
        LogFormat::Text => {
            let terminal = std::io::IsTerminal::is_terminal(&stderr());
            builder
                .with_target(false)
                .with_ansi(terminal)
                .finish()
                .try_init()
        }
        LogFormat::Json => builder
            .json()
            .flatten_event(true)
            .with_ansi(false)
            .finish()
            .try_init(),
    };
    started.map_err(|_| TelemetryError::AlreadyStarted)
}

/// Seconds as milliseconds to the microsecond: what a log line calls `duration_ms`.
pub fn millis(seconds: f64) -> f64 {
    (seconds * 1_000_000.0).round() / 1_000.0
}

/// A bare level is meant for Helix: sqlx would log statements and hyper would log connections. rmcp
/// writes what a client sent into its warnings, so it is heard only by those who ask for it by name.
fn with_quiet_libraries(filter: &str) -> String {
    let is_level = ["info", "debug", "trace"]
        .iter()
        .any(|level| filter.eq_ignore_ascii_case(level));
    let filter = if is_level {
        format!("warn,helix={filter}")
    } else {
        filter.to_owned()
    };
    if filter.contains("rmcp") {
        filter
    } else {
        format!("{filter},rmcp=off")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_decimals() {
        assert_eq!(millis(0.012_345_678_9).to_string(), "12.346");
    }

    #[test]
    fn a_bare_level_does_not_wake_the_libraries() {
        for (asked, used) in [
            ("debug", "warn,helix=debug,rmcp=off"),
            ("info", "warn,helix=info,rmcp=off"),
            ("error", "error,rmcp=off"),
            ("sqlx=debug", "sqlx=debug,rmcp=off"),
            ("warn,rmcp=debug", "warn,rmcp=debug"),
        ] {
            assert_eq!(with_quiet_libraries(asked), used);
        }
    }
}
