//! `helix run …`: runs through REST, as an ordinary client (`operations` 3, settled question 84).

mod call;
mod change;
mod events;
mod log;
mod read;
mod show;

use clap::{Args, Subcommand};

use super::Context;
use super::client::{Client, ServerArgs};
use super::failure::{Exit, Failure};

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a run; it works when it is continued
    Start(change::StartArgs),
    /// Let a run take one turn, with an instruction or answers
    Continue(change::ContinueArgs),
    /// End a run
    Cancel(change::CancelArgs),
    /// Print a run
    Inspect(read::InspectArgs),
    /// Print a run's evidence, or one item of it
    Evidence(read::EvidenceArgs),
    /// List runs, newest first
    List(read::ListArgs),
    /// Print a run's events
    Events(events::EventsArgs),
    /// Take a run's verifiable log home
    Log(log::LogArgs),
}

pub async fn run(args: RunArgs, context: &Context) -> Result<Exit, Failure> {
    let client = Client::new(&args.server, context)?;
    match args.verb {
        Verb::Start(args) => change::start(args, &client, context).await,
        Verb::Continue(args) => change::resume(args, &client, context).await,
        Verb::Cancel(args) => change::cancel(args, &client, context).await,
        Verb::Inspect(args) => read::inspect(args, &client, context).await,
        Verb::Evidence(args) => read::evidence(args, &client, context).await,
        Verb::List(args) => read::list(args, &client, context).await,
        Verb::Events(args) => events::run(args, &client, context).await,
        Verb::Log(args) => log::run(args, &client, context).await,
    }
}

/// Refuses what no server would know, before it becomes part of an address (`agent-api` 1.4).
pub(super) fn run_id(text: &str) -> Result<String, &'static str> {
    let shaped = helix_aggregates::ids::has_run_id_shape(text);
    if shaped {
        Ok(text.to_owned())
    } else {
        Err("a run id is `run_` and 8 to 200 more characters")
    }
}

/// The path of a run, or of something below it.
fn path<'a>(run: &'a str, below: &[&'a str]) -> Vec<&'a str> {
    [&["api", "v1", "agent-runs", run], below].concat()
}
