//! `helix run log`: the verifiable log, streamed into a file that appears whole or not at all.

use std::io::Write;
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
}

pub async fn run(args: LogArgs, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let mut response = client
        .stream(&path(&args.run, &["log"]), &[], HeaderMap::new())
        .await?;
    let Some(file) = args.out.filter(|file| file != Path::new("-")) else {
        while let Some(piece) = piece(&mut response).await? {
            context.output.bytes(&piece)?;
        }
        return Ok(Exit::Ok);
    };
    let mut target = Target::open(&file).map_err(|error| unwritable(&file, &error))?;
    let mut bytes = 0;
    while let Some(piece) = piece(&mut response).await? {
        let written = target.write_all(&piece);
        written.map_err(|error| unwritable(&file, &error))?;
        bytes += piece.len();
    }
    target.finish().map_err(|error| unwritable(&file, &error))?;
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

/// Where a log goes.
enum Target {
    /// A file that appears whole or not at all, in place of a regular file or of nothing.
    Whole {
        partial: NamedTempFile,
        file: PathBuf,
    },
    /// A device or a pipe: written as it comes, and never replaced.
    Stream(std::fs::File),
}

impl Target {
    fn open(file: &Path) -> std::io::Result<Self> {
        // A link's target is what its owner means.
        let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        match std::fs::metadata(&file) {
            Ok(found) if !found.is_file() => std::fs::OpenOptions::new()
                .write(true)
                .open(&file)
                .map(Self::Stream),
            _ => Ok(Self::Whole {
                partial: beside(&file)?,
                file,
            }),
        }
    }

    fn write_all(&mut self, piece: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Whole { partial, .. } => partial.write_all(piece),
            Self::Stream(stream) => stream.write_all(piece),
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Self::Whole { partial, file } => {
                partial.as_file().sync_all()?;
                partial.persist(file).map(drop).map_err(|error| error.error)
            }
            Self::Stream(mut stream) => stream.flush(),
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

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::unavailable(
        "output",
        format!("{} cannot be written: {error}", file.display()),
    )
    .fix("name a file in a folder that can be written and has room")
}
