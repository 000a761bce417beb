//! The command line: nouns, then verbs (`operations` 3).
//!
//! What must stay true: `--json` prints one object (one a line for streams) on standard output and
//! nothing else there; errors end as `error[code]: …` and `fix: …` on standard error and as a typed
//! exit code; nothing a server or file says reaches a terminal with control characters in it.

pub mod account;
mod attach;
pub mod bench;
mod carry;
pub(crate) mod client;
mod completions;
mod config;
mod conformance;
pub mod demo;
pub mod doctor;
pub mod failure;
mod health;
mod index_bar;
pub mod key;
mod man;
pub mod output;
pub mod owner;
pub mod projections;
pub mod replay;
mod run;
pub mod serve;
pub mod settings;
pub mod token;
mod verify;
pub mod webhook;
pub mod worker;
pub mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use serde_json::json;

use crate::config::{Environment, Loaded};
use failure::{Exit, Failure};
use output::Output;
use settings::SettingFlags;

const EXIT_STATUS: &str = "\
Exit status:
  0   done
  1   a negative answer: not found, different, a target missed
  3   in use: the data directory, the port, a running turn, a key in progress
  4   not to be had now: unreachable, starting, overloaded
  5   not allowed to this caller
  64  the command line or the configuration is wrong

  doctor: 0 all well, 1 warnings, 2 errors
  verify: 0 verified, 1 broken, 2 unchecked, 3 unusable";

/// An open, self-hosted backend for durable, governed agent runs
#[derive(Debug, Parser)]
#[command(
    name = "helix",
    disable_version_flag = true,
    arg_required_else_help = true,
    after_help = EXIT_STATUS
)]
struct Cli {
    /// Print one JSON object (one a line for streams)
    #[arg(long, global = true)]
    json: bool,
    /// Print the version
    #[arg(long, short = 'V')]
    version: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start everything and run until SIGINT or SIGTERM
    Serve(serve::ServeArgs),
    /// Do the main job once, end to end, on a private embedded Postgres
    Demo(demo::DemoArgs),
    /// Create, list, link and unlink accounts
    Account(account::AccountArgs),
    /// Make the link with which the first owner sets the server up
    Owner(owner::OwnerArgs),
    /// Have other servers told when runs end or need something
    Webhook(webhook::WebhookArgs),
    /// Create, list and revoke the tokens of external workers
    Worker(worker::WorkerArgs),
    /// Create, list, rotate and revoke the named tokens of workspaces
    Token(token::TokenArgs),
    /// List workspaces, and add members to them
    Workspace(workspace::WorkspaceArgs),
    /// Look after the key file
    Key(key::KeyArgs),
    /// Start, continue and read runs, as an ordinary client of a server
    Run(run::RunArgs),
    /// Fold a run's events again and compare with what is served
    Replay(replay::ReplayArgs),
    /// Rebuild views from events
    Projections(projections::ProjectionsArgs),
    /// Verify an exported run log offline; exit 0 verified, 1 broken, 2 unchecked, 3 unusable
    Verify(verify::VerifyArgs),
    /// Find what is wrong with an installation
    Doctor(doctor::DoctorArgs),
    /// Ask a server whether it is up and ready
    Health(health::HealthArgs),
    /// Ask a server whether it is what MCP clients expect; changes nothing
    Conformance(conformance::ConformanceArgs),
    /// Show or check the configuration
    Config(config::ConfigArgs),
    /// Measure, and print each ratio with its target
    Bench(bench::BenchArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page
    Man(man::ManArgs),
}

impl Command {
    /// What was set by flags, where the command reads the configuration.
    fn settings(&self) -> Option<&SettingFlags> {
        match self {
            Self::Serve(args) => Some(&args.settings),
            Self::Demo(args) => Some(&args.settings),
            Self::Account(args) => Some(&args.settings),
            Self::Owner(args) => Some(&args.settings),
            Self::Webhook(args) => Some(&args.settings),
            Self::Worker(args) => Some(&args.settings),
            Self::Token(args) => Some(&args.settings),
            Self::Workspace(args) => Some(&args.settings),
            Self::Key(args) => Some(&args.settings),
            Self::Replay(args) => Some(&args.settings),
            Self::Projections(args) => Some(&args.settings),
            Self::Doctor(args) => Some(&args.settings),
            Self::Health(args) => Some(&args.settings),
            Self::Config(args) => Some(&args.settings),
            Self::Bench(args) => Some(&args.settings),
            Self::Run(_)
            | Self::Verify(_)
            | Self::Conformance(_)
            | Self::Completions(_)
            | Self::Man(_) => None,
        }
    }
}

/// The hidden command by which this binary reads one PDF in a child process of its own.
pub(super) const PDF_TEXT: &str = "pdf-text";

/// What every command may use of its surroundings.
#[derive(Debug)]
pub struct Context {
    pub output: Output,
    pub environment: Environment,
    /// The working directory, where relative paths start.
    pub folder: PathBuf,
}

impl Context {
    /// Reads the configuration; warnings go to standard error.
    pub fn load(&self, flags: &SettingFlags) -> Result<crate::config::Config, Failure> {
        let loaded = self.look(flags);
        for warning in &loaded.warnings {
            self.output.note(&format!("warning: {warning}"));
        }
        loaded.config.map_err(Failure::from)
    }

    /// Reads the configuration without judging it.
    pub fn look(&self, flags: &SettingFlags) -> Loaded {
        crate::config::load(&flags.0, &self.environment, &self.folder)
    }
}

/// Parses the command line, runs the command and turns its end into an exit code.
pub fn main() -> ExitCode {
    if std::env::args_os().skip(1).eq([PDF_TEXT]) {
        return crate::solver::tools::extract::answer_as_child();
    }
    let asked_json = std::env::args_os().any(|word| word == "--json");
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return parse_error(&error, Output::new(asked_json)),
    };
    let output = Output::new(cli.json);
    let context = Context {
        output,
        environment: Environment::of_process(),
        folder: PathBuf::from("."),
    };
    let ended = match cli.command {
        _ if cli.version => version(&context),
        Some(command) => in_runtime(command, &context),
        None => help(&context),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => output.fail(&failure),
    }
}

fn in_runtime(command: Command, context: &Context) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::unavailable("runtime", format!("no threads to be had: {error}"))
    })?;
    let flags = command.settings().cloned().unwrap_or_default();
    let ended = runtime.block_on(dispatch(command, context));
    let ended = ended.map_err(|failure| failure.carrying(&flags));
    // Blocking reads of standard input cannot be cancelled and must not hold up the end.
    runtime.shutdown_background();
    ended
}

async fn dispatch(command: Command, context: &Context) -> Result<Exit, Failure> {
    match command {
        Command::Serve(args) => serve::run(args, context).await,
        Command::Demo(args) => demo::run(args, context).await,
        Command::Account(args) => account::run(args, context).await,
        Command::Owner(args) => owner::run(args, context).await,
        Command::Webhook(args) => webhook::run(args, context).await,
        Command::Worker(args) => worker::run(args, context).await,
        Command::Token(args) => token::run(args, context).await,
        Command::Workspace(args) => workspace::run(args, context).await,
        Command::Key(args) => key::run(args, context).await,
        Command::Run(args) => run::run(args, context).await,
        Command::Replay(args) => replay::run(args, context).await,
        Command::Projections(args) => projections::run(args, context).await,
        Command::Verify(args) => verify::run(args, context).await,
        Command::Doctor(args) => doctor::run(args, context).await,
        Command::Health(args) => health::run(args, context).await,
        Command::Conformance(args) => conformance::run(args, context).await,
        Command::Config(args) => config::run(&args, context),
        Command::Bench(args) => bench::run(args, context).await,
        Command::Completions(args) => completions::run(&args, context),
        Command::Man(args) => man::run(&args, context),
    }
}

fn version(context: &Context) -> Result<Exit, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let object =
        json!({ "name": "helix", "version": version, "run_log": crate::verify::run_log::SCHEMA });
    context
        .output
        .answer(&object, |out| out.line(&format!("helix {version}")))?;
    Ok(Exit::Ok)
}

fn help(context: &Context) -> Result<Exit, Failure> {
    context
        .output
        .text(&Cli::command().render_help().to_string())?;
    Ok(Exit::Usage)
}

/// Help goes to standard output with exit 0; wrong usage is an error like any other.
fn parse_error(error: &clap::Error, output: Output) -> ExitCode {
    let text = error.render().to_string();
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        return match output.text(&text) {
            Ok(()) => Exit::Ok.into(),
            Err(failure) => output.fail(&failure),
        };
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        output.note(text.trim_end());
        return Exit::Usage.into();
    }
    let message = text.strip_prefix("error: ").unwrap_or(&text);
    let message = message
        .split("\n\nFor more information")
        .next()
        .unwrap_or(message)
        .trim_end();
    let fix = "see the same command with --help";
    output.fail(&Failure::usage("usage", message).fix(fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_of_all_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_argument_of_every_command_is_described() {
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string);
                assert!(
                    help.is_some_and(|help| !help.is_empty()),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
