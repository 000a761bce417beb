//! `helix demo`: the main job, end to end, against a server of its own (`operations` 1).

use clap::Args;

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Stop after the steps; exit 1 when one of them is wrong
    #[arg(long)]
    pub check: bool,
    /// Delete the demo's data directory first, if it holds the demo's marker
    #[arg(long)]
    pub reset: bool,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[expect(clippy::unused_async, reason = "its parts are not in this build yet")]
pub async fn run(_args: DemoArgs, _context: &Context) -> Result<Exit, Failure> {
    Err(Failure::not_built("demo"))
}
