//! `helix.toml`: flat keys, the same names as the flags. Unknown keys are faults.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::fault::nearest;
use super::setting::{Kind, Setting};
use super::table::{CONFIG, SETTINGS};
use super::values::{Notes, Raw, Source, Values, split};

/// Larger files are refused: a configuration is read whole into memory.
const MAX_BYTES: u64 = 1 << 20;

/// Offers every key of the file to `values`; what is wrong with it goes into `notes`.
pub fn read(values: &mut Values, folder: &Path, notes: &mut Notes) {
    let named = values.text(&CONFIG).map(str::to_owned);
    let path = PathBuf::from(named.as_deref().unwrap_or("helix.toml"));
    let text = match load(&folder.join(&path)) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound => return,
        Err(error) => return notes.fault(path.display(), format!("cannot be read: {error}")),
    };
    let (table, errors) = DeTable::parse_recoverable(&text);
    for error in errors {
        // The error's own display quotes the line, which may hold a secret.
        let line = error.span().map_or(1, |span| line_of(&text, span.start));
        let place = format!("{} line {line}", path.display());
        notes.fault(place, format!("is not TOML: {}", error.message()));
    }
    for (key, value) in table.get_ref() {
        let source = Source::File {
            path: path.clone(),
            line: line_of(&text, key.span().start),
        };
        take(values, key.get_ref(), value.get_ref(), source, notes);
    }
}

fn load(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::new(
            ErrorKind::FileTooLarge,
            "larger than 1 MiB",
        ));
    }
    Ok(text)
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

fn take(values: &mut Values, key: &str, value: &DeValue<'_>, source: Source, notes: &mut Notes) {
    let name = key.replace('-', "_");
    let keys = || {
        SETTINGS
            .iter()
            .filter(|setting| setting.name != CONFIG.name)
    };
    let Some(setting) = keys().find(|setting| setting.name == name) else {
        let variable = keys()
            .find(|setting| setting.env.contains(&key))
            .map(|s| s.name);
        let meant = variable.or_else(|| nearest(&name, keys().map(|setting| setting.name)));
        let meant = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        return notes.fault(
            format!("{} ({source})", safe(key)),
            format!("unknown key{meant}"),
        );
    };
    match raw(setting, value) {
        Some(raw) => values.offer(setting, raw, source),
        None => notes.fault(
            format!("{name} ({source})"),
            format!("must be {}", expected(setting)),
        ),
    }
}

/// A key is quoted back only as far as it is plain text.
fn safe(key: &str) -> String {
    key.chars().filter(|c| !c.is_control()).take(80).collect()
}

fn raw(setting: &Setting, value: &DeValue<'_>) -> Option<Raw> {
    match value {
        DeValue::String(text) if setting.is_many() => Some(split(setting, text)),
        DeValue::String(text) => Some(Raw::One(text.trim().to_owned())),
        DeValue::Boolean(on) if setting.kind == Kind::Switch => Some(Raw::One(on.to_string())),
        DeValue::Integer(number) if is_number(setting.kind) => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(Raw::One(number.to_string()))
        }
        DeValue::Array(items) if setting.is_many() => items
            .iter()
            .map(|item| item.get_ref().as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
            .map(Raw::Many),
        DeValue::Boolean(_)
        | DeValue::Integer(_)
        | DeValue::Array(_)
        | DeValue::Float(_)
        | DeValue::Datetime(_)
        | DeValue::Table(_) => None,
    }
}

fn is_number(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Integer | Kind::Size | Kind::Span | Kind::Rate | Kind::Text
    )
}

fn expected(setting: &Setting) -> &'static str {
    match setting.kind {
        Kind::Switch => "true or false",
        Kind::List | Kind::Paths => "a list of texts",
        Kind::Integer | Kind::Rate => "a whole number",
        Kind::Size => "a number of bytes or a size such as \"512kb\"",
        Kind::Span => "a number of seconds or a time such as \"24h\"",
        Kind::Text | Kind::Address | Kind::Url | Kind::Path | Kind::Choice(_) => "a text",
    }
}
