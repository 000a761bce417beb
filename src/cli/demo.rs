//! `helix demo`: the main job, end to end, against a server of its own (`operations` 1).
//!
//! Everything after the start is done over HTTP, with a token, as any client would. What must stay
//! true: nothing outside the demo's own directory is read or changed, a second run finds what the
//! first has made, and neither the secret nor the token is printed or logged.

mod access;
mod home;
mod job;
mod person;
mod proof;
mod settings;
mod ticks;
mod workspace;

use std::path::Path;

use clap::Args;
use helix_postgres::Cluster;
use secrecy::SecretString;
use serde_json::json;
use sqlx::ConnectOptions;

use super::carry::quoted;
use super::client::{Client, ServerArgs};
use super::failure::{Exit, Failure};
use super::serve::{database_failure, index, not_started, stop_signal, to_be_had};
use super::{Context, SettingFlags};
use crate::config::Config;
use crate::server::{Running, SolverParts};
use crate::store::database::MIGRATOR;
use home::Home;
use ticks::{Done, Ticks};

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Stop after the steps; exit 1 when one of them is wrong
    #[arg(long)]
    pub check: bool,
    /// Delete the demo's data directory first, if it holds the demo's marker
    #[arg(long)]
    pub reset: bool,
    #[command(flatten)]
    pub settings: SettingFlags,
}

/// A demo's server and its client.
struct Demo<'a> {
    ticks: Ticks,
    home: &'a Home,
    running: Running,
    client: Client,
}

pub async fn run(args: DemoArgs, context: &Context) -> Result<Exit, Failure> {
    let folder = settings::data_dir(&args.settings)?;
    let ticks = Ticks::new(context.output);
    // Asked for before anything starts, so that an early signal is not lost.
    let mut stop = Box::pin(stop_signal()?);
    let started = tokio::select! {
        started = start(&args, &folder, ticks, context) => started,
        () = &mut stop => return Ok(interrupted(context)),
    };
    let (home, running, token) = match started {
        Ok(started) => started,
        Err(failure) => return ticks.fail(failure.carrying(&args.settings)),
    };
    let demo = match Client::new(&server(&running, token), context) {
        Ok(client) => Demo {
            ticks,
            home: &home,
            running,
            client,
        },
        Err(failure) => return ticks.fail(failure.carrying(&args.settings)),
    };
    let done = tokio::select! {
        done = steps(&demo) => Some(done),
        () = &mut stop => None,
    };
    let exit = match done {
        Some(Ok(())) if args.check => Exit::Ok,
        Some(Ok(())) => {
            demo.announce(context)?;
            stop.await;
            context
                .output
                .note("stopping: requests in flight have 10 s");
            Exit::Ok
        }
        Some(Err(failure)) => ticks.fail(failure.carrying(&args.settings))?,
        None => interrupted(context),
    };
    let stopped = demo.running.stop().await;
    stopped.map_err(|error| Failure::new(Exit::No, "stop", error.to_string()).fix(error.fix()))?;
    Ok(exit)
}

/// A run and what can be read of it; then the workspace and who may do what there.
async fn steps(demo: &Demo<'_>) -> Result<(), Failure> {
    job::run(demo).await?;
    workspace::run(demo).await
}

fn interrupted(context: &Context) -> Exit {
    context
        .output
        .note("interrupted: the demo did not come to its end");
    Exit::No
}

fn server(running: &Running, token: SecretString) -> ServerArgs {
    ServerArgs {
        url: Some(running.base.as_str().to_owned()),
        token: Some(token),
    }
}

/// Brings up a server that admits the demo's own token.
async fn start(
    args: &DemoArgs,
    folder: &Path,
    ticks: Ticks,
    context: &Context,
) -> Result<(Home, Running, SecretString), Failure> {
    let home = Home::open(folder, args.reset)?;
    to_be_had(home.path())?;
    let config = settings::config(&args.settings, &home, context)?;
    crate::telemetry::start(&config.log)
        .map_err(|error| Failure::usage("log", error.to_string()))?;
    let unpacked = home.unpack_library()?;
    let begun = std::time::Instant::now();
    let parts = index(&config).await?;
    let indexing = begun.elapsed();
    let running = ticks
        .step("postgres", "Postgres", async {
            let running = Running::start(&config, &parts).await.map_err(not_started)?;
            let version = scalar(&running, "show server_version").await?;
            let version = version.split(' ').next().unwrap_or_default().to_owned();
            Ok(Done::new(running).id(version).status("ready"))
        })
        .await?;
    let prepared = prepare(&home, &running, ticks, &config).await;
    let documents = documents(&parts, unpacked);
    match prepared.and_then(|token| {
        ticks
            .past("documents", "documents indexed", indexing, documents)
            .map(|()| token)
    }) {
        Ok(token) => Ok((home, running, token)),
        Err(failure) => {
            // The failure at hand says more than one of stopping would.
            drop(running.stop().await);
            Err(failure)
        }
    }
}

/// Schema, owner and token.
async fn prepare(
    home: &Home,
    running: &Running,
    ticks: Ticks,
    config: &Config,
) -> Result<SecretString, Failure> {
    ticks
        .step("schema", "schema", async {
            let applied = "select count(*)::text from _sqlx_migrations where success";
            let applied = scalar(running, applied).await?;
            if applied != MIGRATOR.iter().count().to_string() {
                let message = format!(
                    "{applied} of {} migrations are applied",
                    MIGRATOR.iter().count()
                );
                return Err(Failure::unavailable("schema", message).fix("start the demo again"));
            }
            Ok(Done::new(())
                .id(format!("{applied} migrations"))
                .status("applied"))
        })
        .await?;
    let core = running.runs.core();
    let passphrase = home.passphrase()?;
    let owner = access::owner(core, passphrase);
    let account = ticks.step("owner", "owner", owner).await?;
    tracing::debug!(account, "the demo's owner is ready");
    access::token(core, home, config)
}

fn documents(parts: &SolverParts, restored: usize) -> Result<Done<()>, Failure> {
    let documents: usize = parts
        .corpora
        .summary()
        .iter()
        .map(|corpus| corpus.documents)
        .sum();
    let samples = crate::solver::samples::SAMPLE_DOCUMENTS.len();
    if documents < samples {
        let message = format!("{documents} of {samples} sample documents could be read");
        return Err(Failure::new(Exit::No, "documents", message).fix("try `helix demo --reset`"));
    }
    let status = if restored == 0 {
        "kept".to_owned()
    } else {
        format!("{restored} unpacked")
    };
    Ok(Done::new(())
        .id(format!("{documents} documents"))
        .status(status))
}

/// Asks the demo's own cluster; the server's connections may not look at migrations.
async fn scalar(running: &Running, query: &'static str) -> Result<String, Failure> {
    let endpoint =
        Cluster::attach(&running.data_dir).map_err(|error| database_failure(&error.into()))?;
    let endpoint = endpoint.ok_or_else(|| {
        Failure::unavailable("database", "the demo's Postgres is gone").fix("start the demo again")
    })?;
    let options = endpoint.connect_options("helix");
    let mut conn = options
        .connect()
        .await
        .map_err(|error| unreadable(&error))?;
    sqlx::query_scalar(query)
        .fetch_one(&mut conn)
        .await
        .map_err(|error| unreadable(&error))
}

fn unreadable(error: &sqlx::Error) -> Failure {
    Failure::unavailable("database", format!("the database does not answer: {error}"))
        .fix("start the demo again")
}

impl Demo<'_> {
    /// What there is to click and to copy.
    fn announce(&self, context: &Context) -> Result<(), Failure> {
        let base = self.running.base.as_str();
        let token_file = self.home.token_file();
        let helix = std::env::args()
            .next()
            .unwrap_or_else(|| "helix".to_owned());
        let try_it = format!(
            "HELIX_URL={base} HELIX_TOKEN=\"$(cat {})\" {} run list",
            quoted(&token_file.display().to_string()),
            quoted(&helix),
        );
        let seen = json!({
            "step": "serving", "ok": true, "url": base, "health": format!("{base}/readyz"),
            "pages": format!("{base}/workspaces"), "email": access::EMAIL,
            "passphrase_file": self.home.passphrase_file(),
            "data": self.home.path(), "token_file": token_file, "try": try_it,
        });
        context.output.answer(&seen, |output| {
            output.line("")?;
            output.pairs(&[
                ("URL", base.to_owned()),
                ("API", format!("{base}/api/v1/agent-runs")),
                ("MCP", format!("{base}/mcp")),
                (
                    "Pages",
                    format!(
                        "{base}/workspaces (as {}; passphrase in {})",
                        access::EMAIL,
                        self.home.passphrase_file().display()
                    ),
                ),
                ("Health", format!("{base}/readyz")),
                (
                    "Data",
                    format!(
                        "{} (kept; `demo --reset` starts afresh)",
                        self.home.path().display()
                    ),
                ),
                (
                    "Token",
                    format!("{} (readable by you alone)", token_file.display()),
                ),
                ("Try", try_it.clone()),
                ("Stop", "Ctrl-C".to_owned()),
            ])
        })
    }
}
