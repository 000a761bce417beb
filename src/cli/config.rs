//! `helix config show|check`: each value with its source, and every fault at once.

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::json;

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};
use crate::config::{Config, Fault, Loaded};

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print each value with its source, secrets starred
    Show,
    /// Report every fault; exit 64 if there is one
    Check,
}

pub fn run(args: &ConfigArgs, context: &Context) -> Result<Exit, Failure> {
    let loaded = context.look(&args.settings);
    match args.verb {
        Verb::Show => show(loaded, context),
        Verb::Check => check(loaded, context),
    }
}

fn show(loaded: Loaded, context: &Context) -> Result<Exit, Failure> {
    if context.output.is_json() {
        let values = loaded.shown.iter().map(|shown| {
            json!({ "name": shown.name, "value": shown.value, "source": shown.source.to_string() })
        });
        let values: Vec<_> = values.collect();
        let faults: Vec<_> = faults(&loaded).iter().map(ToString::to_string).collect();
        let exit = if faults.is_empty() {
            Exit::Ok
        } else {
            Exit::Usage
        };
        let object = json!({ "values": values, "warnings": loaded.warnings, "faults": faults });
        return context.output.object(&object).map(|()| exit);
    }
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0).min(60);
    let value = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let names = width(&mut loaded.shown.iter().map(|shown| shown.name.len()));
    let values = width(
        &mut loaded
            .shown
            .iter()
            .map(|shown| value(&shown.value).chars().count()),
    );
    for shown in &loaded.shown {
        let value = value(&shown.value);
        context.output.line(&format!(
            "{:names$}  {value:values$}  {}",
            shown.name, shown.source
        ))?;
    }
    warn(&loaded, context);
    loaded.config.map(|_| Exit::Ok).map_err(Failure::from)
}

fn check(mut loaded: Loaded, context: &Context) -> Result<Exit, Failure> {
    if let Ok(config) = &loaded.config {
        let absent = absent_sources(config);
        loaded.warnings.extend(absent);
    }
    warn(&loaded, context);
    loaded.config?;
    let object = json!({ "ok": true, "warnings": loaded.warnings });
    context
        .output
        .answer(&object, |out| out.line("the configuration is sound"))?;
    Ok(Exit::Ok)
}

/// Folders of documents that a start would find missing.
fn absent_sources(config: &Config) -> Vec<String> {
    let libraries = config.solver.libraries.iter();
    // Those in the data directory are made by the start.
    let absent = libraries
        .filter(|library| !library.is_dir() && !library.starts_with(&config.data.dir))
        .map(|library| format!("--library: {} is no folder", library.display()));
    let repository = config.solver.repository.iter();
    let foreign = repository
        .filter(|repository| !is_git_tree(repository))
        .map(|repository| format!("--repository: {} is no git tree", repository.display()));
    absent.chain(foreign).collect()
}

/// Whether git would find itself in a working tree there.
fn is_git_tree(folder: &Path) -> bool {
    folder.is_dir()
        && std::path::absolute(folder).is_ok_and(|folder| {
            folder
                .ancestors()
                .any(|ancestor| ancestor.join(".git").exists())
        })
}

fn warn(loaded: &Loaded, context: &Context) {
    for warning in &loaded.warnings {
        context.output.note(&format!("warning: {warning}"));
    }
}

fn faults(loaded: &Loaded) -> &[Fault] {
    loaded.config.as_ref().err().map_or(&[], |faults| &faults.0)
}
