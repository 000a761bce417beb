//! `helix doctor`: what is wrong with an installation, a stable code and a fix a line.
//!
//! Works beside a server and without one. What must stay true: nothing is changed but what `--fix`
//! names, nothing long is started, every look is bounded, and no line tells a secret or a text of a
//! document.

mod database;
mod host;
mod keys;
mod library;
mod model;
mod network;
pub mod reach;
mod sources;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::carry::carried;
use super::failure::{Exit, Failure};
use super::output::counted;
use super::{Context, SettingFlags};
use crate::config::{Config, SolverKind};

/// The bits of a mode that let other users in.
pub const OTHERS: u32 = 0o077;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Mend what can be mended without a decision
    #[arg(long)]
    pub fix: bool,
    #[command(flatten)]
    pub settings: SettingFlags,
}

/// Whether things may be mended on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hands {
    Look,
    Mend,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Ok,
    Warning,
    Error,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    /// Stable, for scripts.
    code: &'static str,
    level: Level,
    text: String,
    fix: Option<String>,
}

/// All lines, in the order of the looks.
#[derive(Debug, Default)]
struct Report(Vec<Finding>);

impl Report {
    fn ok(&mut self, code: &'static str, text: impl Into<String>) {
        self.0.push(Finding {
            code,
            level: Level::Ok,
            text: text.into(),
            fix: None,
        });
    }

    fn warn(&mut self, code: &'static str, text: impl Into<String>, fix: impl Into<String>) {
        let fix = Some(fix.into());
        self.0.push(Finding {
            code,
            level: Level::Warning,
            text: text.into(),
            fix,
        });
    }

    fn error(&mut self, code: &'static str, text: impl Into<String>, fix: impl Into<String>) {
        let fix = Some(fix.into());
        self.0.push(Finding {
            code,
            level: Level::Error,
            text: text.into(),
            fix,
        });
    }

    /// A look that failed by itself.
    fn failed(&mut self, code: &'static str, failure: &Failure) {
        match failure {
            Failure::Told(told) => {
                let fix = told.fix.clone().unwrap_or_else(|| "try again".to_owned());
                self.error(code, told.message.clone(), fix);
            }
            Failure::ReaderGone => {}
        }
    }

    /// The commands of the fixes work on the installation that was looked at.
    fn carry(&mut self, flags: &SettingFlags) {
        for finding in &mut self.0 {
            finding.fix = finding.fix.as_deref().map(|fix| carried(fix, flags));
        }
    }

    fn count(&self, level: Level) -> usize {
        self.0
            .iter()
            .filter(|finding| finding.level == level)
            .count()
    }
}

pub async fn run(args: DoctorArgs, context: &Context) -> Result<Exit, Failure> {
    let hands = if args.fix { Hands::Mend } else { Hands::Look };
    let loaded = context.look(&args.settings);
    let mut report = Report::default();
    for warning in &loaded.warnings {
        report.warn(
            "config",
            warning.clone(),
            "correct it, then try `helix config check`",
        );
    }
    match loaded.config {
        Ok(config) => look_at(&config, hands, &mut report).await,
        Err(faults) => {
            for fault in faults.0 {
                report.error(
                    "config",
                    fault.to_string(),
                    "correct it, then try `helix config check`",
                );
            }
        }
    }
    report.carry(&args.settings);
    print(&report, context)
}

async fn look_at(config: &Config, hands: Hands, report: &mut Report) {
    scopes(config, report);
    host::data_dir(config, hands, report);
    host::free_disk(config, report);
    host::programs(config, report).await;
    let seen = database::look(config, report).await;
    keys::look(config, hands, seen.as_ref(), report);
    workers(config, seen.as_ref(), report);
    let serving = network::port(config, report).await;
    network::public_url(config, serving, report).await;
    network::issuer(config, report).await;
    model::look(config, report).await;
    library::look(config, hands, report).await;
    sources::look(config, report).await;
}

/// With the solver `worker`, turns wait for somebody who may come.
fn workers(config: &Config, seen: Option<&database::Seen>, report: &mut Report) {
    if !matches!(config.solver.kind, SolverKind::Worker) {
        return;
    }
    match seen.and_then(|seen| seen.worker_tokens) {
        None | Some(0) => report.warn(
            "workers",
            "the solver is `worker` and no worker has a token",
            "`helix worker token create --name NAME`",
        ),
        Some(live) => report.ok("workers", counted(live, "live worker token")),
    }
}

/// Settled question 10.
fn scopes(config: &Config, report: &mut Report) {
    for id in config.agent.unknown_scopes() {
        let text = format!(
            "`{}` is no data scope; runs that ask for it are refused",
            id.escape_default()
        );
        report.warn(
            "data_scope_unknown",
            text,
            "take it out of HELIX_AGENT_DATABASE_SCOPES",
        );
    }
}

/// Exit 0: all well; 1: warnings; 2: errors.
fn print(report: &Report, context: &Context) -> Result<Exit, Failure> {
    let (warnings, errors) = (report.count(Level::Warning), report.count(Level::Error));
    let object = json!({ "checks": report.0, "warnings": warnings, "errors": errors });
    context.output.answer(&object, |output| {
        let width = report
            .0
            .iter()
            .map(|finding| finding.code.len())
            .max()
            .unwrap_or(0);
        for Finding {
            code,
            level,
            text,
            fix,
        } in &report.0
        {
            let mark = match level {
                Level::Ok => "✓",
                Level::Warning => "!",
                Level::Error => "✗",
            };
            output.line(&format!("{mark} {code:width$}  {text}"))?;
            if let Some(fix) = fix {
                output.line(&format!("  {:width$}  fix: {fix}", ""))?;
            }
        }
        output.line(&format!(
            "{}, {}",
            counted(errors, "error"),
            counted(warnings, "warning")
        ))
    })?;
    Ok(match (errors, warnings) {
        (0, 0) => Exit::Ok,
        (0, _) => Exit::No,
        // The code 2, which `verify` alone names otherwise.
        _ => Exit::Unchecked,
    })
}
