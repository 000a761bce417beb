//! `helix projections rebuild`: views made again from events beside the live rows.

use std::io::IsTerminal;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use helix_projections::projector::{Checked, Difference};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::attach::{Installation, store_failure, with_store};
use super::failure::{Exit, Failure};
use super::output::counted;
use super::{Context, SettingFlags};
use crate::app::projections::{self, Change, Name, RebuildError, Rebuilt};
use crate::store::Core;

#[derive(Debug, Args)]
pub struct ProjectionsArgs {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub settings: SettingFlags,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Rebuild one projection, or all of them
    Rebuild {
        /// The projection; all of them without a name
        #[arg(value_parser = PossibleValuesParser::new(Name::ALL.map(Name::as_str)))]
        name: Option<String>,
        /// Only compare with the live rows; exit 1 on a difference
        #[arg(long)]
        check: bool,
    },
}

/// How the work on one projection ended.
struct Ended {
    name: Name,
    whole: bool,
    object: Value,
    lines: Vec<String>,
}

pub async fn run(args: ProjectionsArgs, context: &Context) -> Result<Exit, Failure> {
    let config = context.load(&args.settings)?;
    let Verb::Rebuild { name, check } = args.verb;
    let all = with_store(&config, Installation::MustExist, async |core| {
        let mut all = Vec::new();
        for one in Name::ALL {
            if name.as_deref().is_none_or(|name| name == one.as_str()) {
                let ended = if check {
                    checked(&core, one).await
                } else {
                    rebuilt(&core, one).await
                };
                all.push(ended.map_err(failure)?);
            }
        }
        Ok(all)
    })
    .await?;
    let whole = all.iter().all(|ended| ended.whole);
    let objects: Vec<&Value> = all.iter().map(|ended| &ended.object).collect();
    let object = json!({ "check": check, "ok": whole, "projections": objects });
    context.output.answer(&object, |out| {
        let lines = all
            .iter()
            .flat_map(|ended| ended.lines.iter().map(|line| (ended.name, line)));
        lines
            .into_iter()
            .try_for_each(|(name, line)| out.line(&format!("{}: {line}", name.as_str())))
    })?;
    Ok(if whole { Exit::Ok } else { Exit::No })
}

async fn checked(core: &Core, name: Name) -> Result<Ended, RebuildError> {
    let bar = progress(core, name).await?;
    let outcome = projections::check(core, name, |events| bar.inc(events)).await;
    bar.finish_and_clear();
    let (checked, took) = outcome?;
    let rate = rate(checked.events, took);
    let whole = checked.differing == 0;
    let mut lines = differing(&checked);
    let verdict = if whole {
        "equal to what is stored"
    } else {
        "different from what is stored"
    };
    lines.push(format!(
        "{verdict}: {} of {}, {rate} events/s",
        counted(checked.events, "event"),
        counted(checked.streams, "stream")
    ));
    lines.extend(
        (checked.behind > 0)
            .then(|| format!("not folded yet: {}", counted(checked.behind, "event"))),
    );
    lines.extend(
        (checked.parked > 0).then(|| format!("parked: {}", counted(checked.parked, "stream"))),
    );
    let object = json!({
        "name": name.as_str(), "ok": whole, "events": checked.events, "events_per_second": rate,
        "streams": checked.streams, "behind": checked.behind, "parked": checked.parked,
        "differing": checked.differing, "differences": checked.differences,
    });
    Ok(Ended {
        name,
        whole,
        object,
        lines,
    })
}

async fn rebuilt(core: &Core, name: Name) -> Result<Ended, RebuildError> {
    let bar = progress(core, name).await?;
    let outcome = projections::rebuild(core, name, |events| bar.inc(events)).await;
    bar.finish_and_clear();
    let Rebuilt {
        events,
        took,
        change,
        unresolved,
        parked,
    } = outcome?;
    let rate = rate(events, took);
    let whole = unresolved.differing == 0 && parked.is_empty();
    let mut lines = differing(&unresolved);
    lines.extend(parked.iter().map(|one| {
        format!(
            "stream {} is parked at event {}: {}",
            one.stream, one.seq, one.reason
        )
    }));
    let (done, change) = match change {
        Change::Written { rows } => (
            format!("{} written", counted(rows, "row")),
            json!({ "rows_written": rows }),
        ),
        Change::Switched { from, to } => (
            format!("version {to} took the place of version {from}"),
            json!({ "from": from, "to": to }),
        ),
    };
    lines.push(format!(
        "{done}: {}, {rate} events/s",
        counted(events, "event")
    ));
    let object = json!({
        "name": name.as_str(), "ok": whole, "events": events, "events_per_second": rate,
        "change": change, "parked": parked,
        "differing": unresolved.differing, "differences": unresolved.differences,
    });
    Ok(Ended {
        name,
        whole,
        object,
        lines,
    })
}

fn differing(checked: &Checked) -> Vec<String> {
    let mut lines: Vec<String> = checked.differences.iter().map(told).collect();
    if checked.differing > 1 {
        lines.push(format!("{} streams differ", checked.differing));
    }
    lines
}

fn told(difference: &Difference) -> String {
    let Difference {
        stream,
        field,
        stored,
        folded,
    } = difference;
    let place = stream.map_or_else(String::new, |stream| format!("stream {stream}, "));
    format!("{place}{field}: stored {stored}, folded {folded}")
}

/// Whole events a second, at least one.
fn rate(events: u64, took: Duration) -> u64 {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
    (events.saturating_mul(1_000_000) / micros).max(1)
}

/// A bar on standard error, if somebody can see it.
async fn progress(core: &Core, name: Name) -> Result<ProgressBar, RebuildError> {
    if !std::io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let bar = ProgressBar::with_draw_target(
        Some(projections::size(core).await?),
        ProgressDrawTarget::stderr(),
    );
    if let Ok(style) =
        ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} events {per_sec} {eta}")
    {
        bar.set_style(style);
    }
    bar.set_message(name.as_str());
    Ok(bar)
}

fn failure(error: RebuildError) -> Failure {
    match error {
        RebuildError::Busy(_) => Failure::new(Exit::InUse, "rebuild_under_way", error.to_string())
            .fix("wait for it, or a minute after it died"),
        RebuildError::Store(error) => store_failure(&error),
        RebuildError::Projection(error) => Failure::unavailable("projection", error.to_string())
            .fix("see `helix doctor`, then try again"),
    }
}
