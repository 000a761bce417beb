//! `helix doctor`: what is wrong with an installation, a stable code and a fix a line.

use clap::Args;

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Mend what can be mended without a decision
    #[arg(long)]
    pub fix: bool,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[expect(clippy::unused_async, reason = "its parts are not in this build yet")]
pub async fn run(_args: DoctorArgs, _context: &Context) -> Result<Exit, Failure> {
    Err(Failure::not_built("doctor"))
}
