//! Fix lines that can be typed as they stand: a command in backticks gets the flags by which the
//! present one was told where its installation is.

use super::settings::SettingFlags;
use crate::config::Setting;
use crate::config::table as t;

/// Without these two a command looks at another installation.
static PLACES: [&Setting; 2] = [&t::CONFIG, &t::DATA_DIR];

/// The commands that read the configuration; the others would refuse the flags.
const READERS: [&str; 8] = [
    "serve",
    "demo",
    "account",
    "key",
    "replay",
    "projections",
    "doctor",
    "config",
];

/// The text with `--config` and `--data-dir`, where they were given, behind each of its commands.
pub fn carried(text: &str, flags: &SettingFlags) -> String {
    let given = PLACES.iter().filter_map(|setting| {
        let value = flags.0.0.get(setting.name)?.last()?;
        Some(format!(" {} {}", setting.spelling(), quoted(value)))
    });
    let given = given.collect::<Vec<_>>().concat();
    let pieces = text.split('`').enumerate();
    let pieces: Vec<String> = pieces
        .map(|(index, piece)| {
            let is_command = index % 2 == 1 && reads_settings(piece);
            format!("{piece}{}", if is_command { &given } else { "" })
        })
        .collect();
    pieces.join("`")
}

fn reads_settings(command: &str) -> bool {
    let mut words = command.split(' ');
    words.next() == Some("helix") && words.next().is_some_and(|noun| READERS.contains(&noun))
}

/// Ready for a POSIX shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | '@' | '%')
    };
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_read_settings_are_told_where() {
        let mut flags = SettingFlags::default();
        let text = "see `helix run list`, or try `helix doctor`";
        assert_eq!(carried(text, &flags), text);
        let values = [(t::DATA_DIR.name, "my data"), (t::CONFIG.name, "h.toml")];
        flags
            .0
            .0
            .extend(values.map(|(name, value)| (name, vec![value.to_owned()])));
        assert_eq!(
            carried(text, &flags),
            "see `helix run list`, or try `helix doctor --config h.toml --data-dir 'my data'`"
        );
    }
}
