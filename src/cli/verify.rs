//! `helix verify`: the verdict on a file as an exit code (settled question 36).

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};

use clap::Args;
use helix_aggregates::ids::RunId;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::Context;
use super::client::{Client, ServerArgs};
use super::failure::{Exit, Failure};
use super::output::counted;
use crate::verify::reader::LogReader;
use crate::verify::run_log::Head;
use crate::verify::served::{self, Compared};
use crate::verify::{Damage, Refusal, Verified, self_test};

/// Events asked for at once, and the bytes of log entries that may wait for them.
const PAGE: usize = 200;
const PAGE_BYTES: usize = 4 << 20;
const UNUSABLE_FIX: &str = "name a log that `helix run log RUN --out FILE` has written";

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A run log (`helix run log RUN --out FILE`); `-` reads standard input
    #[arg(required_unless_present = "self_test")]
    file: Option<PathBuf>,
    /// First check this program itself against the published vector
    #[arg(long)]
    self_test: bool,
    /// A head noted earlier: finds a tail that was cut off or rewritten
    #[arg(long, value_name = "SEQ:HASH")]
    head: Option<Head>,
    /// Compare every field stored in clear with what this server serves of the run as well
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The bearer token for that server; safer in the environment, as `HELIX_TOKEN`
    #[arg(long, value_name = "TOKEN", requires = "url")]
    token: Option<SecretString>,
}

type Verdict = Result<(Option<Verified>, Option<Compared>), Refusal>;

pub async fn run(args: VerifyArgs, context: &Context) -> Result<Exit, Failure> {
    if args.self_test {
        self_test::run().map_err(|error| {
            Failure::new(
                Exit::No,
                "self_test",
                format!("this program cannot be trusted: {error}"),
            )
            .fix("install it again")
        })?;
    }
    let verdict = match &args.file {
        None => Ok((None, None)),
        Some(file) => judge(file, &args, context).await?,
    };
    report(&verdict, args.file.as_deref(), context)
}

async fn judge(file: &Path, args: &VerifyArgs, context: &Context) -> Result<Verdict, Failure> {
    let input: Box<dyn BufRead + Send> = if file == Path::new("-") {
        Box::new(BufReader::new(stdin()))
    } else {
        match File::open(file) {
            Ok(opened) if opened.metadata().is_ok_and(|data| data.is_dir()) => {
                let message = format!("{} is a folder", file.display());
                return Ok(Err(Refusal::Unusable(message)));
            }
            Ok(opened) => Box::new(BufReader::new(opened)),
            Err(error) => {
                return Ok(Err(Refusal::Unusable(format!(
                    "{} cannot be opened: {error}",
                    file.display()
                ))));
            }
        }
    };
    let Some(url) = &args.url else {
        let verified = crate::verify::run_log(input, args.head);
        return Ok(verified.map(|verified| (Some(verified), None)));
    };
    let server = ServerArgs {
        url: Some(url.clone()),
        token: args.token.clone(),
    };
    let client = Client::new(&server, context)?;
    Ok(against_server(input, args.head, &client).await)
}

/// Verifies and compares in one reading, so that what was compared is what was verified.
async fn against_server(input: impl BufRead, head: Option<Head>, client: &Client) -> Verdict {
    let mut reader = LogReader::open(input, head)?;
    let run_id = reader.header().run_id;
    let mut compared = Compared::default();
    loop {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        while entries.len() < PAGE && bytes < PAGE_BYTES {
            let Some(entry) = reader.next_entry()? else {
                break;
            };
            bytes += entry.payload.0.len();
            entries.push(entry);
        }
        let Some(first) = entries.first() else {
            let verified = reader.verified()?;
            let last = verified.head.seq;
            if !page(client, run_id, last, 1).await?.is_empty() {
                let message = format!("the server has events after {last}, where this log ends");
                return Err(Refusal::Unchecked(message));
            }
            return Ok((Some(verified), Some(compared)));
        };
        let events = page(client, run_id, first.seq - 1, entries.len()).await?;
        served::compare(run_id, &entries, &events, &mut compared)?;
    }
}

async fn page(
    client: &Client,
    run_id: RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<Value>, Refusal> {
    let run = run_id.to_string();
    let path = ["api", "v1", "agent-runs", run.as_str(), "events"];
    let query = [
        ("after_seq", after.to_string()),
        ("limit", limit.to_string()),
    ];
    let answer = client.get(&path, &query).await;
    match answer.map(|answer| answer.body["events"].as_array().cloned()) {
        Ok(Some(events)) => Ok(events),
        Ok(None) => Err(Refusal::broken(
            after + 1,
            Damage::Served("no page of events"),
        )),
        Err(Failure::Told(told)) => Err(Refusal::Unchecked(format!(
            "the server could not be asked: {}",
            told.message
        ))),
        Err(Failure::ReaderGone) => Err(Refusal::Unchecked("interrupted".into())),
    }
}

fn report(verdict: &Verdict, file: Option<&Path>, context: &Context) -> Result<Exit, Failure> {
    let (exit, word) = match verdict {
        Ok(_) => (Exit::Ok, "verified"),
        Err(Refusal::Broken { .. }) => (Exit::No, "broken"),
        Err(Refusal::Unchecked(_)) => (Exit::Unchecked, "unchecked"),
        Err(Refusal::Unusable(_)) => (Exit::Unusable, "unusable"),
    };
    let mut object =
        json!({ "verdict": word, "file": file.map(|file| file.display().to_string()) });
    match verdict {
        Ok((verified, compared)) => {
            if let Some(verified) = verified {
                object["run_id"] = verified.run_id.clone().into();
                object["entries"] = verified.entries.into();
                object["head"] = json!(verified.head);
                object["not_proven"] = json!(["exported_at"]);
            }
            if let Some(compared) = compared {
                object["compared"] = json!({ "equal": compared.equal, "sealed": compared.sealed });
            }
        }
        Err(refusal) => {
            object["reason"] = refusal.to_string().into();
            if exit == Exit::Unusable {
                object["fix"] = UNUSABLE_FIX.into();
            }
            if let Refusal::Broken { at, damage } = refusal {
                object["at"] = (*at).into();
                object["damage"] = damage.code().into();
            }
        }
    }
    context
        .output
        .answer(&object, |out| out.line(&sentence(verdict)))?;
    if exit == Exit::Unusable {
        context.output.note(&format!("fix: {UNUSABLE_FIX}"));
    }
    Ok(exit)
}

fn sentence(verdict: &Verdict) -> String {
    match verdict {
        Ok((None, _)) => "verified: this program reproduces the published vector".to_owned(),
        Ok((Some(verified), compared)) => {
            let Verified {
                run_id,
                entries,
                head,
            } = verified;
            let compared = compared.map_or_else(String::new, |compared| {
                format!(
                    "; the server agrees on {} fields, {} are sealed in the log",
                    compared.equal, compared.sealed
                )
            });
            format!(
                "verified: {} of {run_id}, head {head}{compared}",
                counted(entries, "event")
            )
        }
        Err(refusal) => refusal.to_string(),
    }
}
