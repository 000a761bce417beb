//! `helix completions SHELL`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::failure::{Exit, Failure};
use super::{Cli, Context};

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell the script is for
    shell: Shell,
}

pub fn run(args: &CompletionsArgs, context: &Context) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "helix", &mut script);
    context.output.bytes(&script)?;
    Ok(Exit::Ok)
}
