//! The raw text of every setting and where it came from: flag, environment, file or default.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::fault::{Fault, nearest};
use super::setting::{Default, Kind, Setting, Visibility};
use super::table::{self, SETTINGS};

/// The process environment, read once. Nothing else in the server reads it.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, Option<String>>);

/// Names only: any value may be a secret.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl Environment {
    pub fn of_process() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()))
                })
                .collect(),
        )
    }

    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(n, v)| (n.to_owned(), Some(v.to_owned())))
                .collect(),
        )
    }

    /// Whether a variable is set to what is no text.
    pub fn is_unreadable(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(Option::is_none)
    }

    /// The text of a variable; `None` when unset, empty or not Unicode.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref().filter(|text| !text.is_empty())
    }
}

/// What the command line set, by setting name.
#[derive(Debug, Clone, Default)]
pub struct Flags(pub BTreeMap<&'static str, Vec<String>>);

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Flag(String),
    Environment(&'static str),
    File { path: PathBuf, line: usize },
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "--{flag}"),
            Self::Environment(name) => f.write_str(name),
            Self::File { path, line } => write!(f, "{} line {line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One setting's text. Lists are split when they are gathered, so each source may spell them its way.
#[derive(Clone, PartialEq, Eq)]
pub enum Raw {
    One(String),
    Many(Vec<String>),
}

/// The winning value of each setting that has one.
pub struct Values {
    found: BTreeMap<&'static str, (Raw, Source)>,
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.found.iter().map(|(name, (_, source))| (name, source)))
            .finish()
    }
}

/// What gathering found beside the values.
#[derive(Debug, Default)]
pub struct Notes {
    pub faults: Vec<Fault>,
    pub warnings: Vec<String>,
}

impl Notes {
    pub fn fault(&mut self, place: impl fmt::Display, problem: impl Into<String>) {
        self.faults.push(Fault {
            place: place.to_string(),
            problem: problem.into(),
        });
    }
}

impl Values {
    /// Takes the first of flag, environment, file and default for every setting.
    pub fn gather(
        flags: &Flags,
        environment: &Environment,
        folder: &Path,
        notes: &mut Notes,
    ) -> Self {
        let mut values = Self {
            found: BTreeMap::new(),
        };
        for setting in SETTINGS {
            if let Some(found) = from_flag(setting, flags) {
                values.found.insert(setting.name, found);
            } else if let Some(found) = from_environment(setting, environment, notes) {
                values.found.insert(setting.name, found);
            }
        }
        super::file::read(&mut values, folder, notes);
        for setting in SETTINGS {
            values.fill_default(setting);
        }
        warn_of_strangers(environment, notes);
        values
    }

    pub fn source(&self, setting: &Setting) -> Option<&Source> {
        self.found.get(setting.name).map(|(_, source)| source)
    }

    pub fn is_given(&self, setting: &Setting) -> bool {
        self.source(setting)
            .is_some_and(|source| *source != Source::Default)
    }

    pub fn text(&self, setting: &Setting) -> Option<&str> {
        match &self.found.get(setting.name)?.0 {
            Raw::One(text) => Some(text),
            Raw::Many(_) => None,
        }
    }

    /// The items of a list; `None` when it was never set.
    pub fn items(&self, setting: &Setting) -> Option<&[String]> {
        match &self.found.get(setting.name)?.0 {
            Raw::Many(items) => Some(items),
            Raw::One(_) => None,
        }
    }

    /// Where to look for the setting: its source, or how to set it.
    pub fn place(&self, setting: &Setting) -> String {
        match self.source(setting) {
            Some(Source::File { path, line }) => {
                format!("{} ({} line {line})", setting.name, path.display())
            }
            Some(Source::Default) | None => setting.spelling(),
            Some(source) => source.to_string(),
        }
    }

    /// Sets a value unless a stronger source already has.
    pub(super) fn offer(&mut self, setting: &'static Setting, raw: Raw, source: Source) {
        self.found.entry(setting.name).or_insert((raw, source));
    }

    fn fill_default(&mut self, setting: &'static Setting) {
        let text = match setting.default {
            Default::Unset => return,
            Default::Text(text) => text.to_owned(),
            Default::Derived(_, derive) => derive(self),
        };
        let raw = if setting.is_many() {
            split(setting, &text)
        } else {
            Raw::One(text)
        };
        self.offer(setting, raw, Source::Default);
    }
}

/// Splits a list at its separator; surrounding blanks and empty items go.
pub(super) fn split(setting: &Setting, text: &str) -> Raw {
    let separator = if setting.kind == Kind::Paths {
        ':'
    } else {
        ','
    };
    let items = text
        .split(separator)
        .map(str::trim)
        .filter(|item| !item.is_empty());
    Raw::Many(items.map(str::to_owned).collect())
}

fn from_flag(setting: &'static Setting, flags: &Flags) -> Option<(Raw, Source)> {
    let given = flags.0.get(setting.name)?;
    let raw = if setting.is_many() {
        let items = given.iter().flat_map(|text| match split(setting, text) {
            Raw::Many(items) => items,
            Raw::One(item) => vec![item],
        });
        Raw::Many(items.collect())
    } else {
        Raw::One(given.last()?.clone())
    };
    Some((raw, Source::Flag(setting.flag()?)))
}

fn from_environment(
    setting: &'static Setting,
    environment: &Environment,
    notes: &mut Notes,
) -> Option<(Raw, Source)> {
    let mut winner: Option<(&'static str, &str)> = None;
    for name in setting.env {
        match environment.0.get(*name) {
            None => {}
            Some(None) => notes.fault(name, "is not Unicode text"),
            // An empty list is an answer ("none"); any other empty value counts as unset.
            Some(Some(text)) if text.trim().is_empty() && setting.kind != Kind::List => {}
            Some(Some(text)) => match winner {
                None => winner = Some((name, text)),
                Some((first, kept)) if kept != text => {
                    notes
                        .warnings
                        .push(format!("{name} is ignored: {first} says something else"));
                }
                Some(_) => {}
            },
        }
    }
    let (name, text) = winner?;
    let raw = if setting.is_many() {
        split(setting, text)
    } else {
        Raw::One(text.trim().to_owned())
    };
    Some((raw, Source::Environment(name)))
}

/// A variable that looks like ours and is not would be ignored in silence otherwise.
fn warn_of_strangers(environment: &Environment, notes: &mut Notes) {
    let known = || {
        SETTINGS
            .iter()
            .flat_map(|setting| setting.env.iter().copied())
    };
    for name in environment
        .0
        .keys()
        .filter(|name| name.starts_with("HELIX_"))
    {
        if known()
            .chain(table::ELSEWHERE.iter().copied())
            .any(|other| other == name)
        {
            continue;
        }
        if table::RESERVED.contains(&name.as_str()) {
            notes
                .warnings
                .push(format!("{name} has no effect in this build"));
            continue;
        }
        let meant =
            nearest(name, known()).map_or_else(String::new, |n| format!("; did you mean {n}?"));
        notes
            .warnings
            .push(format!("{name} is not a setting{meant}"));
    }
}

/// How a value is shown: secrets starred, whole.
pub(super) fn shown(setting: &Setting, values: &Values) -> Option<String> {
    let (raw, _) = values.found.get(setting.name)?;
    if setting.visibility != Visibility::Open {
        return Some("********".to_owned());
    }
    let separator = if setting.kind == Kind::Paths {
        ":"
    } else {
        ","
    };
    Some(match raw {
        // An address with a user in it may hold a password, whatever the setting.
        Raw::One(text) if text.contains("://") && text.contains('@') => "********".to_owned(),
        Raw::One(text) => text.clone(),
        Raw::Many(items) => items.join(separator),
    })
}
