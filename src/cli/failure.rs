//! How commands end: typed exit codes and typed failures.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::carry::carried;
use super::settings::SettingFlags;
use crate::config::Faults;

/// Exit codes of `operations` 3. `verify` alone uses the two of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Ok,
    /// A negative answer: not found, different, target missed.
    No,
    /// Somebody else holds it: the data directory, a running turn, a key in progress.
    InUse,
    /// Not to be had now: unreachable, overloaded, starting.
    Unavailable,
    /// Not allowed to this caller.
    NotAllowed,
    /// The command or the configuration is wrong.
    Usage,
    /// `verify`: not all of it could be judged.
    Unchecked,
    /// `verify`: not a log.
    Unusable,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::No => 1,
            Self::Unchecked => 2,
            Self::InUse | Self::Unusable => 3,
            Self::Unavailable => 4,
            Self::NotAllowed => 5,
            Self::Usage => 64,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    Told(Box<Told>),
    /// Whoever read our output has gone; there is nobody to tell.
    ReaderGone,
}

/// A failure with what there is to say about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub exit: Exit,
    /// Stable, for scripts.
    pub code: String,
    pub message: String,
    pub fix: Option<String>,
    /// More for `--json`: the faults of a configuration, the details of a server's error.
    pub details: Option<Value>,
}

impl Failure {
    pub fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        Self::Told(Box::new(Told {
            exit,
            code,
            message,
            fix: None,
            details: None,
        }))
    }

    pub fn usage(code: &str, message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, code, message)
    }

    pub fn unavailable(code: &str, message: impl Into<String>) -> Self {
        Self::new(Exit::Unavailable, code, message)
    }

    /// Says what to do about it.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        if let Self::Told(told) = &mut self {
            told.fix = Some(fix.into());
        }
        self
    }

    /// The commands of its fix work on the installation that the flags have named.
    #[must_use]
    pub fn carrying(mut self, flags: &SettingFlags) -> Self {
        if let Self::Told(told) = &mut self {
            told.fix = told.fix.as_deref().map(|fix| carried(fix, flags));
        }
        self
    }

    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        if let Self::Told(told) = &mut self {
            told.details = Some(details);
        }
        self
    }

    /// The code, for callers that can do something about it.
    pub fn code(&self) -> &str {
        match self {
            Self::Told(told) => &told.code,
            Self::ReaderGone => "reader_gone",
        }
    }

    /// A command whose parts are not in this build.
    pub fn not_built(command: &str) -> Self {
        Self::unavailable(
            "not_in_this_build",
            format!("`helix {command}` is not part of this build yet"),
        )
        .fix("use a later build")
    }
}

impl Told {
    /// The object of `--json`.
    pub fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message, "fix": self.fix });
        if let (Some(details), Value::Object(object)) = (&self.details, &mut error) {
            object.insert("details".to_owned(), details.clone());
        }
        json!({ "error": error })
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Self {
        let list = faults
            .0
            .iter()
            .map(|fault| json!({ "place": fault.place, "problem": fault.problem }));
        let details = json!({ "faults": list.collect::<Vec<_>>() });
        Self::usage("invalid_config", faults.to_string())
            .fix("correct each of them, then try `helix config check`")
            .details(details)
    }
}
