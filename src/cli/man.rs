//! `helix man`: the manual, written from the same definitions as `--help`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use super::failure::{Exit, Failure};
use super::{Cli, Context};

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for every command into this folder instead
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub fn run(args: &ManArgs, context: &Context) -> Result<Exit, Failure> {
    let unwritable = |place: &str, error: std::io::Error| {
        let message = format!("the manual cannot be written to {place}: {error}");
        Failure::unavailable("output", message).fix("name a folder that exists and can be written")
    };
    if let Some(folder) = &args.out {
        clap_mangen::generate_to(Cli::command(), folder)
            .map_err(|error| unwritable(&folder.display().to_string(), error))?;
        return Ok(Exit::Ok);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| unwritable("standard output", error))?;
    context.output.bytes(&page)?;
    Ok(Exit::Ok)
}
