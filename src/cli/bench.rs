//! `helix bench`: ratios measured in interleaved slices of one run, each with its target.

use clap::Args;

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Stay under a minute
    #[arg(long)]
    pub quick: bool,
    /// Which ratios to measure; all of them without a name
    pub names: Vec<String>,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[expect(clippy::unused_async, reason = "its parts are not in this build yet")]
pub async fn run(_args: BenchArgs, _context: &Context) -> Result<Exit, Failure> {
    Err(Failure::not_built("bench"))
}
