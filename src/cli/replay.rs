//! `helix replay RUN`: folds the events again and compares with the stored snapshot; exit 1 on a
//! difference, and nothing is changed.

use clap::Args;

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The run id
    #[arg(value_parser = super::run::run_id)]
    pub run: String,
    /// Fold no further than this event and print the state there
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    pub until: Option<u64>,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[expect(clippy::unused_async, reason = "its parts are not in this build yet")]
pub async fn run(_args: ReplayArgs, _context: &Context) -> Result<Exit, Failure> {
    Err(Failure::not_built("replay"))
}
