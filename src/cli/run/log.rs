//! `helix run log`: the verifiable log, streamed into a file that appears whole or not at all.
//!
//! What must stay true: nothing that is there is lost unless it was asked for, and nothing is written
//! through a link, which may lead anywhere.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::header::HeaderMap;
use serde_json::json;
use tempfile::NamedTempFile;

use super::{path, run_id};
use crate::cli::Context;
use crate::cli::client::{Client, piece};
use crate::cli::failure::{Exit, Failure};

#[derive(Debug, Args)]
pub struct LogArgs {
    /// The run id
    #[arg(value_parser = run_id)]
    run: String,
    /// Write into this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over the file if it is there
    #[arg(long, requires = "out")]
    force: bool,
}

pub async fn run(args: LogArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let found = if args.force {
        Existing::Replaced
    } else {
        Existing::Kept
    };
    let out = args.out.filter(|file| file != Path::new("-"));
    // Before anything is asked for.
    let target = out.map(|file| Target::open(&file, found).map(|target| (file, target)));
    let target = target.transpose()?;
    let mut response = client
        .stream(&path(&args.run, &["log"]), &[], HeaderMap::new())
        .await?;
    let Some((file, mut target)) = target else {
        while let Some(piece) = piece(&mut response).await? {
            context.output.bytes(&piece)?;
        }
        return Ok(Exit::Ok);
    };
    let mut bytes = 0;
    while let Some(piece) = piece(&mut response).await? {
        let written = target.write_all(&piece);
        written.map_err(|error| unwritable(&file, &error))?;
        bytes += piece.len();
    }
    target.finish()?;
    let shown = file.display().to_string();
    context
        .output
        .answer(&json!({ "file": shown, "bytes": bytes }), |out| {
            out.line(&format!(
                "{shown}: {bytes} bytes; check them with: helix verify {shown}"
            ))
        })?;
    Ok(Exit::Ok)
}

/// What becomes of a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Kept,
    Replaced,
}

/// Where a log goes.
enum Target {
    /// A file that appears whole or not at all, in place of a regular file or of nothing.
    Whole {
        partial: NamedTempFile,
        file: PathBuf,
        found: Existing,
    },
    /// A device or a pipe: written as it comes, and never replaced.
    Stream(std::fs::File),
}

impl Target {
    fn open(file: &Path, found: Existing) -> Result<Self, Failure> {
        let kind = std::fs::symlink_metadata(file).map(|there| there.file_type());
        let opened = match kind {
            Ok(kind) if kind.is_symlink() => {
                let link = format!("{} is a link, which is not followed", file.display());
                return Err(Failure::new(Exit::No, "exists", link).fix("name the file itself"));
            }
            Ok(kind) if !kind.is_file() => std::fs::OpenOptions::new()
                .write(true)
                .open(file)
                .map(Self::Stream),
            Ok(_) if found == Existing::Kept => return Err(exists(file)),
            Ok(_) | Err(_) => beside(file).map(|partial| Self::Whole {
                partial,
                file: file.to_owned(),
                found,
            }),
        };
        opened.map_err(|error| unwritable(file, &error))
    }

    fn write_all(&mut self, piece: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Whole { partial, .. } => partial.write_all(piece),
            Self::Stream(stream) => stream.write_all(piece),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Whole {
                partial,
                file,
                found,
            } => {
                let synced = partial.as_file().sync_all();
                synced.map_err(|error| unwritable(&file, &error))?;
                let kept = match found {
                    Existing::Kept => partial.persist_noclobber(&file),
                    Existing::Replaced => partial.persist(&file),
                };
                kept.map(drop).map_err(|error| {
                    if error.error.kind() == ErrorKind::AlreadyExists {
                        exists(&file)
                    } else {
                        unwritable(&file, &error.error)
                    }
                })
            }
            Self::Stream(mut stream) => stream
                .flush()
                .map_err(|error| unwritable(Path::new("the output"), &error)),
        }
    }
}

/// In the folder of the target: a rename does not cross file systems.
fn beside(file: &Path) -> std::io::Result<NamedTempFile> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
}

fn exists(file: &Path) -> Failure {
    let there = format!("{} is there already", file.display());
    Failure::new(Exit::No, "exists", there).fix("name a new file, or add --force")
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::unavailable(
        "output",
        format!("{} cannot be written: {error}", file.display()),
    )
    .fix("name a file in a folder that can be written and has room")
}
