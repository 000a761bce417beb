//! `helix bench`: ratios measured in interleaved slices of one run, each with its target.

use clap::Args;
use helix_postgres::Search;

use super::failure::{Exit, Failure};
use super::{Context, SettingFlags};
use crate::bench::{BenchError, Order, Pace, Progress, Ratio, Report};

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Stay under a minute
    #[arg(long)]
    pub quick: bool,
    /// Which ratios to measure; all of them without a name
    pub names: Vec<String>,
    #[command(flatten)]
    pub settings: SettingFlags,
}

pub async fn run(args: BenchArgs, context: &Context) -> Result<Exit, Failure> {
    let ratios = ratios(&args.names)?;
    let config = context.load(&args.settings)?;
    let order = Order {
        ratios,
        pace: if args.quick { Pace::QUICK } else { Pace::FULL },
        search: Search {
            pg_bin: config.database.pg_bin.clone(),
            ..Search::new(config.data.dir.join("cache"))
        },
        folder: context.folder.clone(),
    };
    let progress = Progress::on_terminal();
    let report = tokio::select! {
        report = crate::bench::run(&order, &progress) => report.map_err(|error| failed(&error))?,
        _ = tokio::signal::ctrl_c() => {
            return Err(Failure::new(Exit::No, "interrupted", "stopped before there were figures"));
        }
    };
    drop(progress);
    print(&report, context)?;
    Ok(if report.all_met() { Exit::Ok } else { Exit::No })
}

/// The ratios called so, once each and in the order of the table; all of them without a name.
fn ratios(names: &[String]) -> Result<Vec<Ratio>, Failure> {
    if let Some(unknown) = names.iter().find(|name| Ratio::named(name).is_none()) {
        let known: Vec<&str> = Ratio::all().map(Ratio::name).collect();
        return Err(Failure::usage(
            "unknown_name",
            format!("there is no ratio called `{unknown}`"),
        )
        .fix(format!("use some of: {}", known.join(" "))));
    }
    let asked = |ratio: &Ratio| names.is_empty() || names.iter().any(|name| name == ratio.name());
    Ok(Ratio::all().filter(asked).collect())
}

fn print(report: &Report, context: &Context) -> Result<(), Failure> {
    context.output.answer(report, |out| {
        report.lines().iter().try_for_each(|line| out.line(line))
    })
}

fn failed(error: &BenchError) -> Failure {
    if let BenchError::Postgres(error) = error {
        return Failure::unavailable("no_postgres", error.to_string()).fix(error.fix());
    }
    Failure::unavailable("not_measured", error.to_string())
        .fix("try again; if it fails the same way, this is a fault of helix")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_ratios_in_the_order_of_the_table_and_once_each() {
        let names = ["replay", "append_1", "replay"].map(str::to_owned);
        assert_eq!(ratios(&names), Ok(vec![Ratio::Append1, Ratio::Replay]));
        assert_eq!(ratios(&[]), Ok(Ratio::all().collect()));
    }

    #[test]
    fn an_unknown_name_is_wrong_usage() {
        let Err(Failure::Told(told)) = ratios(&["append_3".to_owned()]) else {
            panic!("accepted");
        };
        assert_eq!((told.exit.code(), told.code.as_str()), (64, "unknown_name"));
        assert!(told.fix.unwrap().contains("append_32"));
    }
}
