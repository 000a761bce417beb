//! `helix replay RUN`: folds the events again and compares with the stored snapshot; exit 1 on a
//! difference, and nothing is changed.

use clap::Args;
use helix_aggregates::ids::RunId;
use serde_json::json;

use super::attach::{Installation, store_failure, with_store};
use super::failure::{Exit, Failure};
use super::output::Output;
use super::{Context, SettingFlags};
use crate::app::replay::{ReplayError, Replayed, replay};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The run id
    #[arg(value_parser = super::run::run_id)]
    pub run: String,
    /// Fold no further than this event and print the state there
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    pub until: Option<u64>,
    #[command(flatten)]
    pub settings: SettingFlags,
}

pub async fn run(args: ReplayArgs, context: &Context) -> Result<Exit, Failure> {
    let run = RunId::parse(&args.run).map_err(|_| not_found())?;
    let config = context.load(&args.settings)?;
    let replayed = with_store(&config, Installation::MustExist, async |core| {
        replay(&core, run, args.until).await.map_err(failure)
    })
    .await?;
    context
        .output
        .answer(&replayed, |out| people(&replayed, out))?;
    Ok(if replayed.equal { Exit::Ok } else { Exit::No })
}

fn not_found() -> Failure {
    Failure::new(Exit::No, "run_not_found", "there is no such run").fix("see `helix run list`")
}

fn failure(error: ReplayError) -> Failure {
    match error {
        ReplayError::NotFound => not_found(),
        ReplayError::NoSuchEvent { last } => {
            Failure::new(Exit::No, "no_such_event", error.to_string())
                .fix(format!("ask for an event from 1 to {last}"))
                .details(json!({ "last": last }))
        }
        ReplayError::Store(error) => store_failure(&error),
    }
}

fn people(replayed: &Replayed, out: Output) -> Result<(), Failure> {
    let Replayed {
        run_id,
        events,
        hash,
        ..
    } = replayed;
    for difference in &replayed.differences {
        let (field, stored, folded) = (&difference.field, &difference.stored, &difference.folded);
        out.line(&format!(
            "{run_id} differs in {field}: stored {stored}, folded {folded}"
        ))?;
    }
    if let Some(run) = &replayed.run {
        let word = |value: serde_json::Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let status = [
            json!(run.lifecycle_status),
            json!(run.completion_status),
            json!(run.terminal_authority_status),
        ];
        out.pairs(&[
            ("run", run_id.to_string()),
            ("status", status.map(word).join(" / ")),
            ("version", run.version.to_string()),
            (
                "steps",
                format!("{} of {}", run.budget.steps_used, run.budget.max_steps),
            ),
            ("objective", run.objective.clone()),
            ("summary", run.summary.clone().unwrap_or_default()),
        ])?;
    }
    if replayed.equal {
        let texts = if replayed.erased {
            "; its texts are erased and were not compared"
        } else {
            ""
        };
        out.line(&format!(
            "equal: {events} events of {run_id}, hash {hash}, read twice{texts}"
        ))?;
    }
    Ok(())
}
