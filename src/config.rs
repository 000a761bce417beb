//! The configuration: read once, before anything starts, from flags, environment, `helix.toml` and
//! defaults, in that order (`operations` 4).
//!
//! One [table] of settings drives all of it. What must stay true: every fault is reported in
//! one go; no message holds a value that could be a secret; nothing else reads the environment.
//! Deliberately absent: reloading, and settings kept in the database.

mod approvals;
mod assemble;
mod fault;
mod file;
mod model;
mod network;
mod oauth;
mod parse;
mod production;
mod sections;
mod setting;
pub mod table;
#[cfg(test)]
mod tests;
mod values;

use std::path::Path;

pub use fault::{Fault, Faults};
pub use network::{BaseUrl, PublicUrl};
pub use sections::{
    Agent, Config, Data, Database, ExternalIssuer, FacadeLimits, Issuer, JwksNetwork, Limits,
    LocalIssuer, Log, LogFormat, OAuth, Server, Solver, SolverKind, TokenType, WebhookNetwork,
    Webhooks,
};
pub use setting::{Kind, Section, Setting, Visibility};
pub use values::{Environment, Flags, Source};

use table::SETTINGS;
use values::{Notes, Values};

/// One line of `config show`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub name: &'static str,
    /// `None`: unset. Secrets are starred.
    pub value: Option<String>,
    pub source: Source,
}

/// A configuration as it was read, sound or not.
#[derive(Debug)]
pub struct Loaded {
    pub config: Result<Config, Faults>,
    /// Things that are odd but no reason not to start.
    pub warnings: Vec<String>,
    pub shown: Vec<Shown>,
}

/// Reads the configuration. Relative paths of the file and of key files start at `folder`, the
/// working directory of the process.
pub fn load(flags: &Flags, environment: &Environment, folder: &Path) -> Loaded {
    let mut notes = Notes::default();
    let values = Values::gather(flags, environment, folder, &mut notes);
    let config = assemble::config(&values, folder, &mut notes);
    let shown = SETTINGS
        .iter()
        .map(|setting| Shown {
            name: setting.name,
            value: values::shown(setting, &values),
            source: values.source(setting).cloned().unwrap_or(Source::Default),
        })
        .collect();
    if let (OAuth::Incomplete { reason }, true) = (&config.oauth, notes.faults.is_empty()) {
        let warning = format!("the agent doors are closed (auth_not_configured): {reason}");
        notes.warnings.push(warning);
    }
    let config = if notes.faults.is_empty() {
        Ok(config)
    } else {
        Err(Faults(notes.faults))
    };
    Loaded {
        config,
        warnings: notes.warnings,
        shown,
    }
}
