//! Sixteen callers at work on a server that ends in the middle of it, and what must then be there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use tokio::sync::Notify;

use crate::harness::client::{Answer, Client, Keyed, RUNS};
use crate::harness::seed::Seed;

const CALLERS: usize = 16;

/// One request and, when it was acknowledged, its answer.
#[derive(Debug)]
pub struct Act {
    request: Keyed,
    answer: Option<Answer>,
}

/// What all callers did in one round, each in its own order.
#[derive(Debug)]
pub struct Round {
    lines: Vec<Vec<Act>>,
}

/// Counts acknowledgements and tells when there are enough.
#[derive(Debug)]
struct Count {
    acknowledged: AtomicUsize,
    enough: usize,
    reached: Notify,
}

/// A round under way.
pub struct Storm {
    count: Arc<Count>,
    callers: Vec<tokio::task::JoinHandle<Vec<Act>>>,
}

impl Storm {
    /// Lets the callers loose; [`Self::reached`] returns after `enough` acknowledged answers.
    pub fn begin(client: &Client, round: usize, enough: usize, seed: &mut Seed) -> Self {
        let count = Arc::new(Count {
            acknowledged: AtomicUsize::new(0),
            enough,
            reached: Notify::new(),
        });
        let callers = (0..CALLERS).map(|caller| {
            let (client, count, seed) = (client.clone(), Arc::clone(&count), seed.fork());
            tokio::spawn(act(client, format!("r{round}-c{caller}"), count, seed))
        });
        Self {
            callers: callers.collect(),
            count,
        }
    }

    pub async fn reached(&self) {
        self.count.reached.notified().await;
    }

    /// What was done by the time the server was gone.
    pub async fn ended(self) -> Round {
        let lines = join_all(self.callers).await;
        Round {
            lines: lines.into_iter().map(Result::unwrap).collect(),
        }
    }
}

/// Starts, continues and cancels until a request is left without a success.
async fn act(client: Client, name: String, count: Arc<Count>, mut seed: Seed) -> Vec<Act> {
    let mut acts: Vec<Act> = Vec::new();
    for number in 0.. {
        let key = |what: &str| format!("{name}-{number}-{what}");
        let start = Keyed::start(
            &key("start"),
            &format!("List the ferries of {name} {number}"),
        );
        let Some(started) = one(&client, start, &count, &mut acts).await else {
            break;
        };
        if seed.below(2) == 0 {
            continue;
        }
        let (run, version) = (started.run_id(), started.version());
        let turn = Keyed::continue_run(&run, &key("turn"), version);
        let Some(continued) = one(&client, turn, &count, &mut acts).await else {
            break;
        };
        let open = matches!(
            continued.body["lifecycle_status"].as_str(),
            Some("waiting" | "needs_input" | "blocked")
        );
        if open && seed.below(2) == 0 {
            let cancel = Keyed::cancel(&run, &key("cancel"), continued.version());
            if one(&client, cancel, &count, &mut acts).await.is_none() {
                break;
            }
        }
    }
    acts
}

async fn one(
    client: &Client,
    request: Keyed,
    count: &Count,
    acts: &mut Vec<Act>,
) -> Option<Answer> {
    let answer = client.try_send(&request).await.ok();
    let answer = answer.filter(|answer| {
        // While it stops, a server may refuse in a typed way, and may do nothing else.
        assert!(answer.is_ok() || answer.status == 503, "{}", answer.text);
        answer.is_ok()
    });
    acts.push(Act {
        request,
        answer: answer.clone(),
    });
    if answer.is_some() && count.acknowledged.fetch_add(1, Ordering::SeqCst) + 1 == count.enough {
        count.reached.notify_one();
    }
    answer
}

impl Round {
    pub fn acknowledged(&self) -> usize {
        self.lines
            .iter()
            .flatten()
            .filter(|act| act.answer.is_some())
            .count()
    }

    /// Sends every request again under its key: what was acknowledged is replayed word for word,
    /// what was not is done now or has been, and nothing twice. Returns the runs by start key.
    pub async fn retried(&self, client: &Client) -> BTreeMap<String, String> {
        let lines = self.lines.iter().map(|line| retry(client, line));
        join_all(lines).await.into_iter().flatten().collect()
    }
}

async fn retry(client: &Client, line: &[Act]) -> Vec<(String, String)> {
    let mut runs = Vec::new();
    for Act {
        request,
        answer: before,
    } in line
    {
        let again = client.send(request).await;
        if let Some(before) = before {
            assert_eq!(
                (again.status, &again.text),
                (before.status, &before.text),
                "{}",
                request.key
            );
            assert!(again.is_replay(), "{}", request.key);
        }
        if request.path == RUNS {
            runs.push((request.key.clone(), again.ok(201).run_id()));
        } else if !again.is_ok() {
            // A turn that died with its server keeps its key until the lease is over.
            assert!(
                request.path.ends_with("/continue"),
                "{}: {}",
                request.path,
                again.text
            );
            again.expect(409, "idempotency_in_progress");
        }
    }
    runs
}
