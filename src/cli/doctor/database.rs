//! The database: its cluster, clock, schema, chains and backlog.

use crate::cli::failure::Failure;
use crate::cli::output::counted;
use crate::config::Config;
use crate::store::StoreError;
use crate::store::survey::{self, Backlog, KeysWanted, Schema, Setup};

use super::Report;
use super::reach::{self, Keeper, Look};

/// A skew above it breaks tokens and expiry, in milliseconds.
const SKEW: i64 = 5_000;
/// Waits that say that nobody is at work, in milliseconds.
const RESERVATION_WAIT: i64 = 10 * 60_000;
const DUE_WAIT: i64 = 2 * 60_000;

/// What other looks need to know of the database.
#[derive(Debug, Default)]
pub struct Seen {
    pub keys: Option<KeysWanted>,
    /// Credentials of external workers that live.
    pub worker_tokens: Option<i64>,
}

/// `None`: there is none yet, or it cannot be reached.
pub async fn look(config: &Config, report: &mut Report) -> Option<Seen> {
    let mut look = match reach::look(config).await {
        Ok(Some(look)) => look,
        Ok(None) => {
            report.ok("cluster", "there is none yet; the first start makes it");
            return None;
        }
        Err(failure) => {
            report.failed("cluster", &failure);
            return None;
        }
    };
    report.ok(
        "cluster",
        match look.keeper {
            Keeper::External => "the external database answers",
            Keeper::Running => "present and running",
            Keeper::Started => "present; it was started for this look",
        },
    );
    let seen = match examine(&mut look, report).await {
        Ok(seen) => Some(seen),
        Err(error) => {
            let failure = Failure::unavailable("database", error.to_string());
            report.failed("database", &failure);
            None
        }
    };
    if let Err(failure) = look.close().await {
        report.failed("cluster", &failure);
    }
    seen
}

async fn examine(look: &mut Look, report: &mut Report) -> Result<Seen, StoreError> {
    setup(&survey::setup(&mut look.conn).await?, report);
    match survey::schema(&mut look.conn).await? {
        Schema::Current { applied } => {
            report.ok("migrations", format!("all {applied} are applied"));
        }
        Schema::None => {
            report.ok("migrations", "none yet; the first start applies them");
            return Ok(Seen::default());
        }
        Schema::Behind { applied, known } => {
            report.warn(
                "migrations",
                format!("{applied} of {known} are applied"),
                "start the server; it migrates",
            );
            return Ok(Seen::default());
        }
        Schema::Newer { found } => {
            let text =
                format!("the database has migration {found}, which this version does not know");
            report.error(
                "migrations",
                text,
                "install the version that wrote this database, or a later one",
            );
            return Ok(Seen::default());
        }
    }
    chains(look, report).await?;
    backlog(survey::backlog(&mut look.conn).await?, look.keeper, report);
    Ok(Seen {
        keys: Some(survey::keys_wanted(&mut look.conn).await?),
        worker_tokens: Some(survey::worker_tokens(&mut look.conn).await?),
    })
}

fn setup(setup: &Setup, report: &mut Report) {
    let text = format!(
        "PostgreSQL {}, {}, collation {}",
        setup.version, setup.encoding, setup.collation
    );
    if setup.encoding == "UTF8" {
        report.ok("encoding", text);
    } else {
        report.error("encoding", text, "make a database with encoding UTF8");
    }
    if setup.checksums {
        report.ok("checksums", "pages carry checksums");
    } else {
        report.warn(
            "checksums",
            "pages carry no checksums",
            "stop the cluster and run pg_checksums --enable",
        );
    }
    let skew = setup.now_ms - host_ms();
    let text = format!(
        "the database's clock and this host's are {} ms apart",
        skew.abs()
    );
    if skew.abs() <= SKEW {
        report.ok("clock", text);
    } else {
        report.error("clock", text, "let both hosts follow one time server (NTP)");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the host's own clock is what is looked at"
)]
fn host_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

async fn chains(look: &mut Look, report: &mut Report) -> Result<(), StoreError> {
    let chains = survey::chains(&mut look.conn).await?;
    if chains.broken.is_empty() {
        let text = format!(
            "{} heads match their last event, {} chains recomputed",
            chains.heads, chains.recomputed
        );
        report.ok("chains", text);
    }
    for stream in chains.broken.iter().take(20) {
        let text = format!("the chain of stream {stream} is broken");
        report.error(
            "chains",
            text,
            "keep the data directory as it is and restore a backup beside it",
        );
    }
    Ok(())
}

fn backlog(backlog: Backlog, keeper: Keeper, report: &mut Report) {
    let seconds = |ms: i64| ms / 1_000;
    match backlog.reservation_ms {
        Some(ms) if ms > RESERVATION_WAIT => report.warn(
            "reservations",
            format!(
                "an idempotency key has waited {} s for its answer",
                seconds(ms)
            ),
            "see that a server is running; a retry with the same key resolves it",
        ),
        Some(_) | None => report.ok("reservations", "none is left over"),
    }
    match backlog.due_ms {
        Some(ms) if ms > DUE_WAIT && keeper != Keeper::Started => report.warn(
            "due_runs",
            format!(
                "a run has been due for {} s and nobody looks at it",
                seconds(ms)
            ),
            "see in the server's log why its sweeper does not work",
        ),
        Some(ms) => report.ok(
            "due_runs",
            format!("the oldest has been due for {} s", seconds(ms)),
        ),
        None => report.ok("due_runs", "none is waiting"),
    }
    if backlog.parked == 0 {
        report.ok("projections", "no stream is parked");
    } else {
        let text = format!("parked: {}", counted(backlog.parked, "stream"));
        report.error("projections", text, "`helix projections rebuild`");
    }
}
