//! `helix projections rebuild`: views made again from events beside the live rows.

use clap::{Args, Subcommand};

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};

#[derive(Debug, Args)]
pub struct ProjectionsArgs {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Rebuild one projection, or all of them
    Rebuild {
        name: Option<String>,
        /// Only compare with the live rows; exit 1 on a difference
        #[arg(long)]
        check: bool,
    },
}

#[expect(clippy::unused_async, reason = "its parts are not in this build yet")]
pub async fn run(_args: ProjectionsArgs, _context: &Context) -> Result<Exit, Failure> {
    Err(Failure::not_built("projections"))
}
