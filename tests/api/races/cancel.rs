use helix::testing::{Gate, Script, TestApp};
use serde_json::json;
use tokio::task::JoinHandle;

use super::beside::Beside;
use super::seed::Seed;
use crate::harness::{Answer, Client};

/// Races run at the same time.
const GROUP: usize = 20;

/// A run whose turn is held, and the answer its continue will get.
struct Race {
    run: String,
    gate: Gate,
    turn: JoinHandle<Answer>,
}

/// How many races each side has won.
#[derive(Default)]
struct Score {
    cancelled: usize,
    finished: usize,
}

impl Score {
    fn plus(self, other: &Self) -> Self {
        Self {
            cancelled: self.cancelled + other.cancelled,
            finished: self.finished + other.finished,
        }
    }
}

async fn race(app: &TestApp, client: &Client<'_>, number: usize, server: usize) -> Race {
    let key = format!("race-start-{number}");
    let start = client
        .at(server)
        .start(&key, &json!({"objective": "List"}))
        .await;
    let run = start.ok(201).run_id();
    let gate = app.script.hold(&Script::success());
    let begun = app.script.turns() + 1;
    let body = json!({"expected_version": 1, "instruction": "go"});
    let turn = client
        .at(server)
        .request(
            reqwest::Method::POST,
            &format!("{}/{run}/continue", crate::harness::RUNS),
        )
        .header("Idempotency-Key", format!("race-turn-{number}"))
        .body(body.to_string());
    let turn = tokio::spawn(Answer::of(turn));
    app.script.begun(begun).await;
    Race { run, gate, turn }
}

/// Which side moves first.
#[derive(Clone, Copy)]
enum Order {
    /// The cancel is answered before the turn may end.
    CancelWhole,
    /// The turn has ended before the cancel is sent.
    TurnWhole,
    /// Both at once, the turn this many steps of the scheduler behind.
    TurnBehind(usize),
    /// Both at once, the cancel this many steps behind.
    CancelBehind(usize),
}

/// Finds the head start at which both sides have a chance. Machines differ in
/// it, and a race that one side always wins shows nothing.
struct Starter {
    seed: Seed,
    reach: usize,
}

impl Starter {
    fn order(&mut self, number: usize) -> Order {
        match number % 10 {
            0 => Order::CancelWhole,
            1 => Order::TurnWhole,
            2 => Order::CancelBehind(self.seed.below(100)),
            _ => Order::TurnBehind(self.seed.below(self.reach)),
        }
    }

    fn learn(&mut self, group: &Score) {
        if group.cancelled < GROUP / 3 {
            self.reach = (self.reach * 2).min(1 << 20);
        } else if group.finished < GROUP / 3 {
            self.reach = (self.reach / 2).max(1);
        }
    }
}

async fn steps(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// Opens the gate and cancels, in this order.
async fn decide(client: Client<'_>, mut race: Race, number: usize, order: Order) -> Score {
    let cancel_body = json!({"expected_version": 2, "reason": "enough"});
    let cancel_key = format!("race-cancel-{number}");
    let cancel = client.cancel(&race.run, &cancel_key, &cancel_body);
    let gate = race.gate;
    let (cancel, turn) = match order {
        Order::CancelWhole => {
            let cancel = cancel.await;
            gate.open();
            (cancel, race.turn.await)
        }
        Order::TurnWhole => {
            gate.open();
            let turn = race.turn.await;
            (cancel.await, turn)
        }
        Order::TurnBehind(count) => {
            let open = async {
                steps(count).await;
                gate.open();
            };
            let (cancel, ()) = tokio::join!(cancel, open);
            (cancel, race.turn.await)
        }
        Order::CancelBehind(count) => {
            gate.open();
            steps(count).await;
            let (cancel, turn) = tokio::join!(cancel, &mut race.turn);
            (cancel, turn)
        }
    };
    let turn = turn.unwrap();
    let names = client.event_names(&race.run).await;
    let closing = |name: &&String| {
        matches!(
            name.as_str(),
            "run_completed" | "run_cancelled" | "run_failed" | "budget_exhausted"
        )
    };
    assert_eq!(names.iter().filter(closing).count(), 1, "{names:?}");
    let mut score = Score::default();
    if cancel.status == 200 {
        score.cancelled += 1;
        let lost = turn.expect(409, "outcome_unknown");
        assert_eq!(lost.body["details"]["run_id"], race.run);
        assert_eq!(lost.body["details"]["claimed_version"], 2);
        assert_eq!(
            names,
            ["run_started", "continuation_received", "run_cancelled"]
        );
    } else {
        score.finished += 1;
        cancel.expect(409, "version_conflict");
        assert_eq!(turn.ok(200).version(), 3);
        assert_eq!(names.last().unwrap(), "run_completed");
    }
    // The loser is told the same again, and nothing follows the end.
    let key = format!("race-turn-{number}");
    let body = json!({"expected_version": 1, "instruction": "go"});
    let again = client.continue_run(&race.run, &key, &body).await;
    if score.cancelled == 1 {
        again.expect(409, "outcome_unknown");
    } else {
        again.ok(200);
    }
    assert_eq!(client.event_names(&race.run).await, names);
    score
}

async fn races(servers: usize, count: usize) {
    let mut starter = Starter {
        seed: Seed::fresh(),
        reach: 400,
    };
    let mut app = TestApp::start().await;
    for _ in 1..servers {
        app.add_server().await;
    }
    let client = Client::new(&app, &app.caller("ana").await);
    let mut total = Score::default();
    for group in 0..count / GROUP {
        let mut held = Vec::new();
        for number in group * GROUP..(group + 1) * GROUP {
            held.push((number, race(&app, &client, number, number % servers).await));
        }
        let decided = held.into_iter().map(|(number, race)| {
            // With two servers the cancel comes through the other one.
            let other = client.at((number + 1) % servers);
            decide(other, race, number, starter.order(number))
        });
        let group = futures_util::future::join_all(decided)
            .await
            .into_iter()
            .fold(Score::default(), |sum, score| sum.plus(&score));
        starter.learn(&group);
        total = total.plus(&group);
    }
    assert_eq!(total.cancelled + total.finished, count);
    // Of ten races one is decided beforehand for either side.
    assert!(
        total.cancelled >= count / 10 && total.finished >= count / 10,
        "{} cancelled, {} finished",
        total.cancelled,
        total.finished
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_hundred_cancels_against_finishing_turns_end_each_run_once() {
    races(1, 600).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_hundred_cancels_through_another_server_end_each_run_once() {
    races(2, 400).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_on_another_server_needs_no_message_to_count() {
    let mut app = TestApp::start().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let mut beside = Beside::open(&app).await;
    // From now on no process hears of another's commits.
    beside
        .run("revoke execute on function pg_catalog.pg_notify(text, text) from public")
        .await;
    let race = race(&app, &client, 0, 0).await;
    let cancel = json!({"expected_version": 2, "reason": "enough"});
    let cancelled = client
        .at(1)
        .cancel(&race.run, "cancel-from-b", &cancel)
        .await
        .ok(200);
    for server in [0, 1] {
        let seen = client.at(server).inspect(&race.run).await.ok(200);
        assert_eq!(
            (&seen.body["lifecycle_status"], seen.version()),
            (&json!("cancelled"), 3)
        );
        assert_eq!(seen.body, cancelled.body);
    }
    race.gate.open();
    race.turn.await.unwrap().expect(409, "outcome_unknown");
    assert_eq!(
        client.event_names(&race.run).await.last().unwrap(),
        "run_cancelled"
    );
    app.finish().await;
}
