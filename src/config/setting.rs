//! What a setting is: one name in three spellings, a kind, a default and one sentence.

use super::values::Values;

/// One row of the table of settings.
#[derive(Debug)]
pub struct Setting {
    /// The key in `helix.toml`; the flag is the same text with hyphens.
    pub name: &'static str,
    /// Environment names in order of precedence; the first one is shown in help and errors.
    pub env: &'static [&'static str],
    pub kind: Kind,
    pub default: Default,
    pub visibility: Visibility,
    pub section: Section,
    /// One sentence for `--help` and the manual, with bounds and units.
    pub doc: &'static str,
}

/// How the text of a setting is read. Decides flags (repeatable or not) and what empty means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// `1`/`true`/`yes`/`on` or `0`/`false`/`no`/`off`; the bare flag means on.
    Switch,
    /// `IP:port` or `localhost:port`.
    Address,
    Url,
    Path,
    /// Paths separated by `:`; the flag may be repeated.
    Paths,
    /// Texts separated by commas; the flag may be repeated. Set but empty is a value of its own.
    List,
    Integer,
    /// Bytes, with an optional unit of 1024 (`kb`, `mb`).
    Size,
    /// Seconds, with an optional unit (`s`, `m`, `h`, `d`).
    Span,
    /// Requests a minute; 0 or less switches the limiter off.
    Rate,
    Choice(&'static [&'static str]),
}

#[derive(Clone, Copy)]
pub enum Default {
    Unset,
    Text(&'static str),
    /// How help writes it, and how it follows from other settings.
    Derived(&'static str, fn(&Values) -> String),
}

impl std::fmt::Debug for Default {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.shown().unwrap_or("unset"))
    }
}

impl Default {
    /// The default as help prints it.
    pub fn shown(&self) -> Option<&'static str> {
        match self {
            Self::Unset => None,
            Self::Text(text) | Self::Derived(text, _) => Some(text),
        }
    }
}

/// Who may see the value. A command line is public on its machine, so secrets have no flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    Open,
    /// Can hold a password: starred when shown. It has a flag because the contract names one.
    Starred,
    /// Starred, and without a flag.
    Secret,
}

/// Heading in help, and whether the short help lists the setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Server,
    Data,
    Agent,
    OAuth,
    Limits,
    Log,
}

impl Section {
    pub fn heading(self) -> &'static str {
        match self {
            Self::Server => "Server settings",
            Self::Data => "Data settings",
            Self::Agent => "Agent settings",
            Self::OAuth => "OAuth settings",
            Self::Limits => "Limit settings",
            Self::Log => "Log settings",
        }
    }
}

impl Setting {
    /// The flag without its two hyphens; `None` for secrets.
    pub fn flag(&self) -> Option<String> {
        (self.visibility != Visibility::Secret).then(|| self.name.replace('_', "-"))
    }

    /// The first environment name.
    pub fn variable(&self) -> &'static str {
        self.env.first().copied().unwrap_or(self.name)
    }

    /// How a person would set it: the flag if there is one, else the variable.
    pub fn spelling(&self) -> String {
        self.flag()
            .map_or_else(|| self.variable().to_owned(), |flag| format!("--{flag}"))
    }

    /// Several values may be given.
    pub fn is_many(&self) -> bool {
        matches!(self.kind, Kind::List | Kind::Paths)
    }
}
