//! The passphrase of a key export, from a file or from standard input.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use crate::cli::failure::Failure;

/// The shortest passphrase of an export, in characters: nothing else guards it.
const SHORTEST: usize = 12;
const MAX_BYTES: u64 = 4_096;

/// Where the passphrase comes from: never from the command line.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct PassphraseArgs {
    /// Read the passphrase from a file
    #[arg(long, value_name = "PASSPHRASE-FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Read the passphrase from standard input
    #[arg(long)]
    pub passphrase_stdin: bool,
}

impl PassphraseArgs {
    /// Reads it; a line break at its end is not part of it.
    pub fn read(&self) -> Result<SecretString, Failure> {
        let mut text = Zeroizing::new(String::new());
        let read = match &self.passphrase_file {
            Some(file) => std::fs::File::open(file)
                .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text)),
            None => std::io::stdin().take(MAX_BYTES).read_to_string(&mut text),
        };
        read.map_err(|error| {
            Failure::usage(
                "passphrase",
                format!("the passphrase cannot be read: {error}"),
            )
            .fix("see the same command with --help")
        })?;
        Ok(SecretString::from(text.trim_end_matches(['\n', '\r'])))
    }

    /// Reads one that is to guard a new export.
    pub fn read_new(&self) -> Result<SecretString, Failure> {
        let passphrase = self.read()?;
        if passphrase.expose_secret().chars().count() >= SHORTEST {
            return Ok(passphrase);
        }
        let message = format!("a passphrase has at least {SHORTEST} characters");
        Err(Failure::usage("passphrase", message)
            .fix("choose a longer one; nothing else guards the export"))
    }
}
