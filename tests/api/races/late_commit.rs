use std::time::Duration;

use helix::testing::{Setup, TestApp};
use serde_json::json;

use super::beside::Beside;
use crate::harness::Client;

/// Two callers whose runs live in different lanes.
async fn in_two_lanes(app: &TestApp) -> [Client<'_>; 2] {
    let first = Client::new(app, &app.caller("ana").await);
    let lane = |run: &str| run[run.len() - 2..].to_owned();
    let ours = first
        .start("which-lane", &json!({"objective": "List"}))
        .await
        .run_id();
    for number in 0.. {
        let second = Client::new(app, &app.caller(&format!("ben-{number}")).await);
        let theirs = second
            .start("which-lane", &json!({"objective": "List"}))
            .await
            .run_id();
        if lane(&theirs) != lane(&ours) {
            return [first, second];
        }
    }
    unreachable!("64 lanes are not all one")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_took_its_place_early_and_came_late_is_missed_by_no_reader() {
    let setup = Setup {
        settings: vec![("lanes", "64".to_owned())],
        ..Setup::default()
    };
    let app = TestApp::with(setup).await;
    let [slow, fast] = in_two_lanes(&app).await;
    let mut beside = Beside::open(&app).await;
    let started = "create function public.gate() returns trigger language plpgsql as
           $$ begin perform pg_advisory_xact_lock_shared(4242); return new; end $$;
         create trigger gate before insert on es.event for each row
           when (new.kind = 'run_cancelled') execute function public.gate();
         select pg_advisory_lock(4242)";
    beside.run(started).await;
    let held = slow
        .started("held-at-the-gate", &json!({"objective": "List"}))
        .await;
    let cancel = json!({"expected_version": 1, "reason": "late"});
    let (late, ()) = tokio::join!(slow.cancel(&held, "cancelled-late", &cancel), async {
        let waiting = "select count(*) from pg_stat_activity
            where datname = current_database() and wait_event = 'advisory'";
        let mut tick = tokio::time::interval(Duration::from_millis(20));
        while beside.number(waiting).await == 0 {
            tick.tick().await;
        }
        // A later commit on another run; readers of both pass by.
        let run = fast
            .started("passes-the-gate", &json!({"objective": "List"}))
            .await;
        assert_eq!(fast.event_names(&run).await, ["run_started"]);
        assert_eq!(slow.event_names(&held).await, ["run_started"]);
        app.settle().await;
        beside.run("select pg_advisory_unlock(4242)").await;
    });
    late.ok(200);
    assert_eq!(
        slow.event_names(&held).await,
        ["run_started", "run_cancelled"]
    );
    app.settle().await;
    // Every event has exactly one place, and the projector has passed all of them.
    let behind =
        "select count(*) from es.projection p join es.lane l using (lane) where p.pos <> l.pos";
    assert_eq!(beside.number(behind).await, 0);
    let cancelled = "select count(*) from es.stream where kind = 'run' and status = 'cancelled'";
    assert_eq!(beside.number(cancelled).await, 1);
    app.finish().await;
}
