//! The table of settings as flags: every open setting is a flag of every command that reads the
//! configuration.

use std::sync::LazyLock;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use crate::config::table::SETTINGS;
use crate::config::{Flags, Kind, Section, Setting};

/// The flags of the table; a secret has none.
static FLAGS: LazyLock<Vec<(String, &'static Setting)>> = LazyLock::new(|| {
    SETTINGS
        .iter()
        .filter_map(|setting| Some((setting.flag()?, *setting)))
        .collect()
});

/// What the flags said; flatten it into the arguments of a command.
#[derive(Debug, Clone, Default)]
pub struct SettingFlags(pub Flags);

impl clap::Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let command = command.after_long_help(secrets());
        FLAGS
            .iter()
            .map(|(flag, setting)| argument(flag, setting))
            .fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Flags::default();
        for setting in SETTINGS {
            if let Ok(Some(values)) = matches.try_get_many::<String>(setting.name) {
                flags.0.insert(setting.name, values.cloned().collect());
            }
        }
        Ok(Self(flags))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.0.extend(Self::from_arg_matches(matches)?.0.0);
        Ok(())
    }
}

/// What can be set in the environment or the file alone.
fn secrets() -> String {
    let secrets = SETTINGS.iter().filter(|setting| setting.flag().is_none());
    let lines = secrets.map(|setting| format!("\n  {}  {}", setting.variable(), setting.doc));
    lines.fold(
        "Secrets (no flag, a command line is public):".to_owned(),
        |text, line| text + &line,
    )
}

fn argument(flag: &'static str, setting: &'static Setting) -> Arg {
    let mut help = format!("{} [env: {}]", setting.doc, setting.variable());
    if let Some(default) = setting.default.shown() {
        help = format!("{help} [default: {default}]");
    }
    let everyday = matches!(setting.section, Section::Server | Section::Data);
    let argument = Arg::new(setting.name)
        .long(flag)
        .help(help)
        .help_heading(setting.section.heading())
        .hide_short_help(!everyday)
        .value_name(value_name(setting.kind))
        .global(true)
        .action(if setting.is_many() {
            ArgAction::Append
        } else {
            ArgAction::Set
        });
    match setting.kind {
        Kind::Switch => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("on")
            .value_parser(PossibleValuesParser::new(["on", "off"])),
        Kind::Choice(choices) => argument.value_parser(PossibleValuesParser::new(choices)),
        // A list that is emptied, and numbers below zero, are values too.
        Kind::List | Kind::Rate | Kind::Integer => argument.allow_hyphen_values(true),
        Kind::Text
        | Kind::Address
        | Kind::Url
        | Kind::Path
        | Kind::Paths
        | Kind::Size
        | Kind::Span => argument,
    }
}

fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "TEXT",
        Kind::Switch => "on|off",
        Kind::Address => "IP:PORT",
        Kind::Url => "URL",
        Kind::Path => "PATH",
        Kind::Paths => "PATHS",
        Kind::List => "LIST",
        Kind::Integer | Kind::Rate => "NUMBER",
        Kind::Size => "SIZE",
        Kind::Span => "TIME",
        Kind::Choice(_) => "NAME",
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn every_open_setting_is_a_flag_and_every_secret_is_named_in_help() {
        let command = || SettingFlags::augment_args(Command::new("helix"));
        let help = command().render_long_help().to_string();
        for setting in SETTINGS {
            assert!(help.contains(setting.variable()), "{}", setting.name);
            let Some(flag) = setting.flag() else { continue };
            let value = match (setting.kind, setting.kind == Kind::Switch) {
                (Kind::Choice(choices), _) => choices[0],
                (_, true) => "on",
                (_, false) => "x",
            };
            let words = ["helix".to_owned(), format!("--{flag}={value}")];
            let matches = command().try_get_matches_from(words).unwrap();
            let flags = SettingFlags::from_arg_matches(&matches).unwrap();
            assert_eq!(
                flags.0.0.get(setting.name).unwrap(),
                &[value.to_owned()],
                "{flag}"
            );
        }
    }
}
