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
    let Some(file) = args.out else {
        while let Some(piece) = piece(&mut response).await? {
            context.output.bytes(&piece)?;
        }
        return Ok(Exit::Ok);
    };
    let mut partial = beside(&file).map_err(|error| unwritable(&file, &error))?;
    let mut bytes = 0;
    while let Some(piece) = piece(&mut response).await? {
        partial
            .write_all(&piece)
            .map_err(|error| unwritable(&file, &error))?;
        bytes += piece.len();
    }
    partial
        .as_file()
        .sync_all()
        .map_err(|error| unwritable(&file, &error))?;
    partial
        .persist(&file)
        .map_err(|error| unwritable(&file, &error.error))?;
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
