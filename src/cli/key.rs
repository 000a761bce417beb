//! `helix key …`: the key file that every sealed text depends on (settled question 64).

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};

#[derive(Debug, Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Whether the key file is there, private, and the one the data was sealed under
    Status,
    /// Make a new key and rewrap everything under it
    Rotate,
    /// Write the key, sealed under a passphrase
    Export {
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        #[command(flatten)]
        passphrase: PassphraseArgs,
    },
    /// Put an exported key in place of a missing key file
    Import {
        file: PathBuf,
        #[command(flatten)]
        passphrase: PassphraseArgs,
    },
}

/// Where the passphrase comes from: never from the command line.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct PassphraseArgs {
    /// Read the passphrase from a file
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Read the passphrase from standard input
    #[arg(long)]
    pub passphrase_stdin: bool,
}

#[expect(clippy::unused_async, reason = "its parts are not in this build yet")]
pub async fn run(_args: KeyArgs, _context: &Context) -> Result<Exit, Failure> {
    Err(Failure::not_built("key"))
}
