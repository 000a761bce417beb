//! `helix key …`: the key file that every sealed text depends on (settled question 64).
//!
//! What must stay true: a key file is never overwritten by another; no key and no passphrase is
//! printed; an export is remembered, so that `doctor` can say when there is none.

mod passphrase;
mod record;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::attach::{Installation, with_store};
use super::carry::carried;
use super::doctor::OTHERS;
use super::doctor::reach::{self, Look};
use super::failure::{Exit, Failure};
use super::output::counted;
use super::serve::{KEY_IMPORT, key_fix, not_started};
use super::{Context, SettingFlags};
use crate::config::Config;
use crate::store::key_export::{self, KeyExportError};
use crate::store::keyfile::{KeyFile, KeyFileError};
use crate::store::survey::{self, KeysWanted, Schema};
use record::remember;

pub use passphrase::PassphraseArgs;
pub use record::last_export;

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
        /// The new file to write; one that is there is never replaced
        #[arg(long, value_name = "EXPORT")]
        out: PathBuf,
        #[command(flatten)]
        passphrase: PassphraseArgs,
    },
    /// Put an exported key in place of a missing key file
    Import {
        /// A file that a key export has written
        #[arg(value_name = "EXPORT")]
        file: PathBuf,
        #[command(flatten)]
        passphrase: PassphraseArgs,
    },
}

pub async fn run(args: KeyArgs, context: &Context) -> Result<Exit, Failure> {
    let config = context.load(&args.settings)?;
    match args.verb {
        Verb::Status => status(&config, context).await,
        Verb::Rotate => rotate(&config, &args.settings, context).await,
        Verb::Export { out, passphrase } => export(&config, &out, &passphrase, context),
        Verb::Import { file, passphrase } => import(&config, &file, &passphrase, context).await,
    }
}

async fn status(config: &Config, context: &Context) -> Result<Exit, Failure> {
    let path = &config.data.kek_file;
    let wanted = match reach::look(config).await? {
        Some(look) => wanted(look).await?,
        None => None,
    };
    let file = KeyFile::load(path).map_err(|error| file_failure(&error))?;
    let (file, wanted) = match (file, wanted) {
        (Some(file), wanted) => (file, wanted),
        (None, Some(wanted)) if wanted.file_id.is_some() => {
            return Err(file_failure(&KeyFileError::Missing { path: path.clone() }));
        }
        (None, _) => {
            let object = json!({ "key_file": path, "present": false, "matches": null });
            let line = format!(
                "{}: not there yet; the first start makes it",
                path.display()
            );
            context.output.answer(&object, |out| out.line(&line))?;
            return Ok(Exit::Ok);
        }
    };
    let matches = wanted
        .as_ref()
        .and_then(|wanted| Some(fits(&file, wanted.file_id?, &wanted.kek_ids)));
    let private = is_private(path);
    let exported = last_export(config, &file);
    let object = json!({
        "key_file": path, "present": true, "private": private, "matches": matches,
        "file_id": file.file_id, "wrapping_keys": file.keks.len(),
        "data_keys": wanted.as_ref().map(|wanted| wanted.data_keys), "exported_at": exported,
    });
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    context.output.answer(&object, |output| {
        output.pairs(&[
            ("Key file", path.display().to_string()),
            ("Private", yes(private)),
            (
                "Matches",
                matches.map_or_else(|| "there is no database yet".to_owned(), yes),
            ),
            ("File id", file.file_id.to_string()),
            (
                "Wraps",
                counted(
                    wanted.as_ref().map_or(0, |wanted| wanted.data_keys),
                    "data key",
                ),
            ),
            (
                "Exported",
                exported.map_or_else(|| "never, in this edition".to_owned(), |at| at.to_string()),
            ),
        ])
    })?;
    if matches == Some(false) {
        return Err(file_failure(&KeyFileError::Foreign { path: path.clone() }));
    }
    Ok(if private { Exit::Ok } else { Exit::No })
}

/// What the database wants of a key file; `None` before its schema is there.
pub async fn wanted(mut look: Look) -> Result<Option<KeysWanted>, Failure> {
    let read = async {
        match survey::schema(&mut look.conn).await? {
            Schema::None => Ok(None),
            Schema::Behind { .. } | Schema::Current { .. } | Schema::Newer { .. } => {
                survey::keys_wanted(&mut look.conn).await.map(Some)
            }
        }
    };
    let read = read.await;
    look.close().await?;
    read.map_err(|error| {
        Failure::unavailable("database", error.to_string())
            .fix("see that the database is up, then try again")
    })
}

/// Whether a key file is that of a database and opens all of it.
pub fn fits(file: &KeyFile, wanted: uuid::Uuid, kek_ids: &[String]) -> bool {
    file.file_id == wanted && kek_ids.iter().all(|id| file.keks.contains_key(id))
}

async fn rotate(config: &Config, flags: &SettingFlags, context: &Context) -> Result<Exit, Failure> {
    let (rewrapped, keys) = with_store(config, Installation::MustExist, async |core| {
        let rotated = core.keyring.rotate(&core.pool).await;
        let rewrapped = rotated.map_err(|error| not_started(error.into()))?;
        Ok((rewrapped, core.keyring.status().1))
    })
    .await?;
    let object = json!({ "rewrapped": rewrapped, "wrapping_keys": keys });
    context.output.answer(&object, |out| {
        out.line(&format!(
            "{} rewrapped; earlier exports no longer open the data",
            counted(rewrapped, "data key")
        ))?;
        out.line(&carried(
            "make a new one: `helix key export --out EXPORT --passphrase-file PASSPHRASE-FILE`",
            flags,
        ))
    })?;
    Ok(Exit::Ok)
}

fn export(
    config: &Config,
    out: &Path,
    passphrase: &PassphraseArgs,
    context: &Context,
) -> Result<Exit, Failure> {
    let path = &config.data.kek_file;
    let file = KeyFile::load(path).map_err(|error| file_failure(&error))?;
    let file = file.ok_or_else(|| {
        Failure::unavailable(
            "key_file",
            format!("there is no key file at {}", path.display()),
        )
        .fix(format!(
            "start the server once; when the file was lost: {KEY_IMPORT}"
        ))
    })?;
    let passphrase = passphrase.read_new()?;
    if out.exists() {
        return Err(exists(out));
    }
    let sealed =
        key_export::seal(&file, &passphrase).map_err(|error| export_failure(&error, out))?;
    write_new(out, sealed.as_bytes())?;
    remember(config, &file)?;
    let object = json!({ "file": out, "file_id": file.file_id });
    context.output.answer(&object, |output| {
        output.line(&format!(
            "{}: keep it and its passphrase apart from the database's backups",
            out.display()
        ))
    })?;
    Ok(Exit::Ok)
}

async fn import(
    config: &Config,
    from: &Path,
    passphrase: &PassphraseArgs,
    context: &Context,
) -> Result<Exit, Failure> {
    let path = &config.data.kek_file;
    let passphrase = passphrase.read()?;
    let file = key_export::open(from, &passphrase).map_err(|error| export_failure(&error, from))?;
    let present = KeyFile::load(path).map_err(|error| in_the_way(path, &error.to_string()))?;
    if present.as_ref().is_some_and(|present| *present != file) {
        return Err(in_the_way(
            path,
            "it is another key file, or another edition",
        ));
    }
    let checked = check_belongs(config, &file, context).await?;
    if present.is_none() {
        file.store(path).map_err(|error| file_failure(&error))?;
    }
    remember(config, &file)?;
    let status = if present.is_none() {
        "imported"
    } else {
        "already in place"
    };
    let object = json!({ "key_file": path, "file_id": file.file_id, "status": status, "matches": checked.then_some(true) });
    context.output.answer(&object, |out| {
        out.line(&format!("{}: {status}", path.display()))
    })?;
    Ok(Exit::Ok)
}

/// Refuses a key of another database or of an earlier edition. `false`: there is nothing to check
/// against.
async fn check_belongs(
    config: &Config,
    file: &KeyFile,
    context: &Context,
) -> Result<bool, Failure> {
    let wanted = match reach::look(config).await {
        Ok(Some(look)) => wanted(look).await?,
        Ok(None) => None,
        Err(Failure::Told(told)) => {
            context.output.note(&format!(
                "warning: not checked against the database: {}",
                told.message
            ));
            None
        }
        Err(failure) => return Err(failure),
    };
    let Some(KeysWanted {
        file_id: Some(file_id),
        kek_ids,
        ..
    }) = wanted
    else {
        return Ok(false);
    };
    if file.file_id != file_id {
        return Err(Failure::new(
            Exit::No,
            "foreign_key",
            "the export belongs to another database",
        )
        .fix("name the export of this database, or its own data directory with --data-dir"));
    }
    if !fits(file, file_id, &kek_ids) {
        return Err(Failure::new(
            Exit::No,
            "old_export",
            "the export was made before the key was last rotated",
        )
        .fix("import a later export"));
    }
    Ok(true)
}

/// Appears whole, readable by its owner alone, and never in place of another file.
fn write_new(out: &Path, content: &[u8]) -> Result<(), Failure> {
    let unwritable = |error: &std::io::Error| {
        Failure::unavailable(
            "output",
            format!("{} cannot be written: {error}", out.display()),
        )
        .fix("name a file in a folder that can be written and has room")
    };
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut draft = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
        .map_err(|error| unwritable(&error))?;
    std::io::Write::write_all(&mut draft, content).map_err(|error| unwritable(&error))?;
    draft
        .as_file()
        .sync_all()
        .map_err(|error| unwritable(&error))?;
    match draft.persist_noclobber(out) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(out)),
        Err(error) => Err(unwritable(&error.error)),
    }
}

fn exists(out: &Path) -> Failure {
    Failure::new(
        Exit::No,
        "exists",
        format!("{} is there already", out.display()),
    )
    .fix("name a new file")
}

/// Nobody but its owner can read the file.
fn is_private(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & OTHERS == 0)
}

fn file_failure(error: &KeyFileError) -> Failure {
    Failure::unavailable("key_file", error.to_string()).fix(key_fix(error))
}

fn in_the_way(path: &Path, why: &str) -> Failure {
    let path = path.display();
    Failure::new(
        Exit::No,
        "key_file_present",
        format!("a key file is in the way at {path}: {why}"),
    )
    .fix(format!(
        "when it is of no use, move it away: mv '{path}' '{path}.old'"
    ))
}

fn export_failure(error: &KeyExportError, file: &Path) -> Failure {
    let message = format!("{}: {error}", file.display());
    match error {
        KeyExportError::File(KeyFileError::WrongPassphrase) => {
            Failure::new(Exit::NotAllowed, "passphrase", message)
                .fix("give the passphrase the export was made with")
        }
        KeyExportError::NotSealed => Failure::unavailable("randomness", message),
        KeyExportError::Damaged(_) | KeyExportError::File(_) => {
            Failure::new(Exit::No, "not_an_export", message)
                .fix("name a file that a key export has written")
        }
        KeyExportError::Unreadable(_) => {
            Failure::usage("file", message).fix("name a file that can be read")
        }
    }
}
