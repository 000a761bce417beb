//! `helix serve`: everything in one process, until SIGINT or SIGTERM.

use std::io::ErrorKind;
use std::path::Path;

use clap::Args;
use helix_postgres::{DataDirLock, PostgresError};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::PDF_TEXT;
use super::failure::{Exit, Failure};
use super::index_bar::IndexBar;
use super::owner;
use super::{Context, SettingFlags};
use crate::config::{Config, OAuth};
use crate::server::database::{self, DatabaseError};
use crate::server::{self, Running, SolverParts, StartError};
use crate::solver::corpora::LoadStep;
use crate::solver::tools::extract::PdfReading;
use crate::store::keyfile::KeyFileError;
use crate::store::keyring::KeyringError;

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Print a systemd unit for this binary and stop
    #[arg(long)]
    pub print_systemd: bool,
    #[command(flatten)]
    pub settings: SettingFlags,
}

pub async fn run(args: ServeArgs, context: &Context) -> Result<Exit, Failure> {
    if args.print_systemd {
        context.output.text(&systemd_unit()?)?;
        return Ok(Exit::Ok);
    }
    let config = context.load(&args.settings)?;
    crate::telemetry::start(&config.log)
        .map_err(|error| Failure::usage("log", error.to_string()))?;
    // Asked for before anything starts, so that an early signal is not lost.
    let stop = stop_signal()?;
    to_be_had(&config.data.dir)?;
    let parts = index(&config).await?;
    let running = Running::start(&config, &parts).await.map_err(not_started)?;
    let base = running.base.as_str();
    let setup = match running.door() {
        Some(door) => owner::first_link(&config, &door.sign_in, base).await?,
        None => None,
    };
    announce(context, &config, &parts, &running, setup.as_deref())?;
    stop.await;
    context
        .output
        .note("stopping: requests in flight have 10 s");
    running
        .stop()
        .await
        .map_err(|error| Failure::unavailable("stop", error.to_string()).fix(error.fix()))?;
    Ok(Exit::Ok)
}

/// Refuses a data directory that is held or cannot be made. What a start does before it takes the
/// directory would otherwise be blamed: the library in it, or the port of whoever holds it.
pub(super) fn to_be_had(data_dir: &Path) -> Result<(), Failure> {
    DataDirLock::acquire(data_dir)
        .map(drop)
        .map_err(|error| database_failure(&error.into()))
}

/// Reads and indexes the corpora, with a bar where somebody watches.
pub(super) async fn index(config: &Config) -> Result<SolverParts, Failure> {
    for library in &config.solver.libraries {
        if library.starts_with(&config.data.dir) && !library.exists() {
            database::make_library(library).map_err(|error| {
                Failure::unavailable("library", error.to_string()).fix(error.fix())
            })?;
        }
    }
    // A hostile PDF may take its reader down, so it is read in a process of its own.
    let pdf =
        std::env::current_exe().map_or(PdfReading::default(), |program| PdfReading::InChild {
            program,
            arguments: vec![PDF_TEXT.into()],
        });
    let config = config.clone();
    tokio::task::spawn_blocking(move || {
        let bar = IndexBar::new();
        let parts = server::solver(&config, pdf, &|step: LoadStep| bar.step(step));
        bar.finish();
        parts
    })
    .await
    .map_err(|_| Failure::new(Exit::No, "index", "the documents could not be indexed"))
}

/// SIGINT or SIGTERM.
pub(super) fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    let listen =
        |kind| signal(kind).map_err(|error| Failure::unavailable("signals", error.to_string()));
    let (mut interrupt, mut terminate) = (
        listen(SignalKind::interrupt())?,
        listen(SignalKind::terminate())?,
    );
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

fn announce(
    context: &Context,
    config: &Config,
    parts: &SolverParts,
    running: &Running,
    setup: Option<&str>,
) -> Result<(), Failure> {
    for warning in parts.engine.warnings() {
        context.output.note(&format!("warning: {warning}"));
    }
    let base = running.base.as_str();
    let documents: Vec<String> = parts
        .corpora
        .summary()
        .iter()
        .map(|corpus| format!("{} {}", corpus.documents, corpus.scope))
        .collect();
    let metrics = running
        .metrics_address
        .map(|address| format!("http://{address}/metrics"));
    let seen = json!({
        "url": base, "metrics": metrics, "data": config.data.dir, "documents": documents,
        "setup": setup,
    });
    context.output.answer(&seen, |output| {
        let mut lines = vec![
            ("URL", base.to_owned()),
            ("API", format!("{base}/api/v1/agent-runs")),
            ("MCP", format!("{base}/mcp")),
            ("Health", format!("{base}/readyz")),
            (
                "Metrics",
                metrics.clone().unwrap_or_else(|| "off".to_owned()),
            ),
            ("Data", format!("{} (kept)", config.data.dir.display())),
            (
                "Documents",
                if documents.is_empty() {
                    "none".to_owned()
                } else {
                    documents.join(", ")
                },
            ),
            ("Callers", callers(config)),
        ];
        if let Some(link) = setup {
            lines.push(("Setup", format!("{link} (once, within 60 minutes)")));
        }
        lines.push(("Stop", "Ctrl-C".to_owned()));
        output.pairs(&lines)
    })
}

/// Who may call the agent doors, in a few words.
fn callers(config: &Config) -> String {
    match &config.oauth {
        OAuth::BuiltIn => "apps that an account of this server has connected".to_owned(),
        OAuth::External(external) => format!("tokens of {}", external.issuer.issuer),
        OAuth::LocalHs256(_) => {
            "tokens signed with the local HS256 secret (never in production)".to_owned()
        }
        OAuth::Incomplete { reason } => format!("nobody: {reason}"),
    }
}

/// The code of a data directory that another process holds.
pub(super) const IN_USE: &str = "in_use";

/// Each way a start can fail, with its fix.
pub(super) fn not_started(error: StartError) -> Failure {
    let message = error.to_string();
    match error {
        StartError::Listen { source, .. } => {
            let (exit, fix) = listen_fix(source.kind());
            Failure::new(exit, "listen", message).fix(fix)
        }
        StartError::Database(error) => database_failure(&error),
        StartError::Keys(KeyringError::File(fault)) => {
            Failure::unavailable("key_file", message).fix(key_fix(&fault))
        }
        StartError::Keys(KeyringError::Store(_)) => Failure::unavailable("database", message)
            .fix("see that the database is up, then start again"),
        StartError::Setting(_) => Failure::usage("setting", message).fix("see `helix config show`"),
        StartError::Metrics(_) => Failure::new(Exit::No, "metrics", message),
    }
}

/// What it means that an address cannot be had, and what to do.
pub(super) fn listen_fix(kind: ErrorKind) -> (Exit, &'static str) {
    if kind == ErrorKind::PermissionDenied {
        let fix = "choose a --listen with a port from 1024 on, or give helix CAP_NET_BIND_SERVICE. \
                   This user may not take a privileged port.";
        return (Exit::NotAllowed, fix);
    }
    if kind == ErrorKind::AddrNotAvailable {
        let fix = "choose a --listen with an address of this machine";
        return (Exit::Unavailable, fix);
    }
    let fix = "stop what listens there, or choose another --listen";
    (Exit::InUse, fix)
}

pub(super) fn database_failure(error: &DatabaseError) -> Failure {
    let (exit, code) = match error {
        DatabaseError::Postgres(PostgresError::Held(_)) => (Exit::InUse, IN_USE),
        DatabaseError::Postgres(
            PostgresError::Directory { .. }
            | PostgresError::Path { .. }
            | PostgresError::ForeignOwner { .. },
        )
        | DatabaseError::DataDir { .. } => (Exit::Unavailable, "data_dir"),
        DatabaseError::Url => (Exit::Usage, "database"),
        DatabaseError::Postgres(_) | DatabaseError::Migrate(_) => (Exit::Unavailable, "database"),
    };
    Failure::new(exit, code, error.to_string()).fix(error.fix())
}

/// How a key file that was lost comes back.
pub(super) const KEY_IMPORT: &str = "`helix key import EXPORT --passphrase-file PASSPHRASE-FILE`. \
    Where there is no export, put the key file back from a backup.";
/// An import never takes the place of a file that is there.
pub(super) const KEY_MOVED_AWAY: &str = "move the key file away, then \
    `helix key import EXPORT --passphrase-file PASSPHRASE-FILE`. \
    Where there is no export, put the key file back from a backup.";

pub(super) fn key_fix(fault: &KeyFileError) -> String {
    match fault {
        KeyFileError::Missing { .. } => KEY_IMPORT.to_owned(),
        KeyFileError::Foreign { .. } => {
            "name this database's own key file with HELIX_KEK_FILE, or its own data directory"
                .to_owned()
        }
        KeyFileError::Unusable { .. } => KEY_MOVED_AWAY.to_owned(),
        KeyFileError::WrongPassphrase => "enter the passphrase the export was made with".to_owned(),
    }
}

/// A unit that keeps everything under its state directory and may write nowhere else.
fn systemd_unit() -> Result<String, Failure> {
    let binary = std::env::current_exe().map_err(|error| {
        Failure::unavailable("own_path", format!("cannot find this binary: {error}"))
    })?;
    let binary = binary
        .display()
        .to_string()
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    Ok(format!(
        "[Unit]\n\
         Description=Helix\n\
         After=network-online.target\n\
         Wants=network-online.target\n\
         \n\
         [Service]\n\
         ExecStart=\"{binary}\" serve --config /etc/helix/helix.toml --data-dir /var/lib/helix\n\
         EnvironmentFile=-/etc/helix/environment\n\
         DynamicUser=yes\n\
         StateDirectory=helix\n\
         WorkingDirectory=/var/lib/helix\n\
         KillMode=mixed\n\
         TimeoutStopSec=60\n\
         Restart=on-failure\n\
         RestartPreventExitStatus=64\n\
         NoNewPrivileges=yes\n\
         ProtectSystem=strict\n\
         ProtectHome=yes\n\
         PrivateTmp=yes\n\
         UMask=0077\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_may_not_be_taken_is_told_from_one_that_is_taken() {
        let failure = |kind: ErrorKind| {
            let listen = StartError::Listen {
                address: ([127, 0, 0, 1], 80).into(),
                source: kind.into(),
            };
            match not_started(listen) {
                Failure::Told(told) => (told.exit, told.fix.unwrap()),
                Failure::ReaderGone => panic!("told"),
            }
        };
        let (exit, fix) = failure(ErrorKind::PermissionDenied);
        assert!(
            exit == Exit::NotAllowed && fix.contains("privileged"),
            "{fix}"
        );
        let (exit, fix) = failure(ErrorKind::AddrInUse);
        assert!(exit == Exit::InUse && fix.contains("stop what"), "{fix}");
    }
}
