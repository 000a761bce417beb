use helix_projections::agent::run::view::RunView;
use sqlx::Executor;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;

use super::world::{CANARY, History, World, account, at, run_id};
use crate::app::projections::{self, Change, Name};
use crate::app::replay::{ReplayError, replay};
use crate::store::log::Stream;

/// A world whose history has several long runs, and the longest of them.
async fn told(seed: u64) -> (World, History, Stream) {
    let world = World::new().await;
    let mut history = History::new(seed);
    history.go_on(&world, 200).await;
    world.projectors.settle().await.unwrap();
    let mut longest = (0, history.runs[0].0.clone());
    for (stream, _) in &history.runs {
        let version = world.runs.load(stream).await.unwrap().version;
        if version > longest.0 {
            longest = (version, stream.clone());
        }
    }
    assert!(longest.0 >= 5, "seed {seed} has no long run");
    (world, history, longest.1)
}

/// Runs a statement that no process of ours may run, then checks that the proofs change nothing.
async fn altered(
    world: &World,
    statement: Query<'_, sqlx::Postgres, PgArguments>,
) -> (Vec<String>, Vec<String>) {
    let done = world.superuser().await.execute(statement).await.unwrap();
    assert!(done.rows_affected() > 0, "nothing was altered");
    let before = world.everything().await;
    let mut found = (Vec::new(), Vec::new());
    for (name, found) in [
        (Name::Run, &mut found.0),
        (Name::AccountActivity, &mut found.1),
    ] {
        let checked = projections::check(&world.core, name, drop).await.unwrap().0;
        assert_eq!(checked.differing > 0, !checked.differences.is_empty());
        found.extend(
            checked
                .differences
                .into_iter()
                .map(|difference| difference.field),
        );
    }
    assert_eq!(world.everything().await, before);
    found
}

async fn replayed(world: &World, stream: &Stream) -> Vec<String> {
    let before = world.everything().await;
    let replayed = replay(&world.core, run_id(stream), None).await.unwrap();
    assert_eq!(replayed.equal, replayed.differences.is_empty());
    let shown = format!(
        "{:?} {}",
        replayed.differences,
        serde_json::to_string(&replayed).unwrap()
    );
    assert!(!shown.contains("canary"), "{shown}");
    assert_eq!(world.everything().await, before);
    replayed
        .differences
        .into_iter()
        .map(|difference| difference.field)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replay_agrees_with_what_is_served_for_every_run_of_a_random_history() {
    for seed in 21..24 {
        let (world, history, longest) = told(seed).await;
        for (stream, _) in &history.runs {
            let version = world.runs.load(stream).await.unwrap().version;
            let replayed = replay(&world.core, run_id(stream), None).await.unwrap();
            assert!(replayed.equal, "seed {seed}: {:?}", replayed.differences);
            assert_eq!(
                (replayed.events, replayed.head.seq, replayed.run),
                (version, version, None)
            );
        }
        let checked = projections::check(&world.core, Name::Run, drop)
            .await
            .unwrap()
            .0;
        assert_eq!(
            (checked.differing, checked.streams),
            (0, history.runs.len() as u64)
        );
        let first = replay(&world.core, run_id(&longest), Some(1))
            .await
            .unwrap();
        let run = first.run.unwrap();
        assert_eq!((first.events, first.equal, run.version), (1, true, 1));
        assert_eq!(run.objective, CANARY);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_altered_inline_row_is_named_and_a_rebuild_puts_it_right() {
    let (world, _, longest) = told(25).await;
    for (statement, field) in [
        (
            "update es.stream set status = 'queued' where stream_id = $1",
            "status",
        ),
        (
            "update es.stream set due_at_ms = 7 where stream_id = $1",
            "due_at_ms",
        ),
        (
            "update es.stream set created_at_ms = 7 where stream_id = $1",
            "created_at_ms",
        ),
        (
            "update es.stream set updated_at_ms = 7 where stream_id = $1",
            "updated_at_ms",
        ),
        (
            "update es.stream set key_id = gen_random_uuid() where stream_id = $1",
            "key_id",
        ),
        (
            "update es.stream set body = set_byte(body, 40, 255 - get_byte(body, 40)) where stream_id = $1",
            "body",
        ),
        (
            "update es.stream set body = null where stream_id = $1",
            "body",
        ),
    ] {
        let right = world.everything().await;
        let found = altered(&world, sqlx::query(statement).bind(longest.id)).await;
        assert_eq!(found, (vec![field.to_owned()], Vec::new()), "{statement}");
        assert_eq!(replayed(&world, &longest).await, [field], "{statement}");
        let rebuilt = projections::rebuild(&world.core, Name::Run, drop)
            .await
            .unwrap();
        assert_eq!(rebuilt.change, Change::Written { rows: 1 });
        assert_eq!(rebuilt.unresolved.differing, 0);
        assert_eq!(replayed(&world, &longest).await, Vec::<String>::new());
        assert_eq!(world.everything().await.len(), right.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_view_that_opens_but_says_something_else_is_named_by_its_places_alone() {
    let (world, _, longest) = told(26).await;
    let loaded = world.runs.load(&longest).await.unwrap();
    let mut view = serde_json::to_value(RunView::of(&loaded.state, run_id(&longest))).unwrap();
    view["summary"] = "canary of somebody else".into();
    view["budget"]["steps_used"] = 63.into();
    view.as_object_mut().unwrap().remove("objective");
    let place = format!("{}/row/{}", longest.id, loaded.version);
    let sealed = longest
        .key
        .seal(&place, &serde_json::to_vec(&view).unwrap())
        .unwrap();
    let statement = "update es.stream set body = $2 where stream_id = $1";
    let found = altered(&world, sqlx::query(statement).bind(longest.id).bind(sealed))
        .await
        .0;
    let mut named = found.clone();
    named.sort();
    assert_eq!(
        named,
        ["body.budget.steps_used", "body.objective", "body.summary"]
    );
    assert_eq!(replayed(&world, &longest).await, found);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_altered_event_is_found_and_no_rebuild_covers_it_up() {
    for (statement, activity) in [
        (
            "update es.event set payload = convert_to(replace(convert_from(payload, 'UTF8'), '\"version\":1', '\"version\":7'), 'UTF8') where stream_id = $1 and seq = 1",
            false,
        ),
        (
            "update es.event set at = replace(at, '2026', '2025') where stream_id = $1 and seq = 2",
            false,
        ),
        (
            "update es.event set payload = 'no json' where stream_id = $1 and seq = 2",
            true,
        ),
        (
            "update es.event set kind = 'run_invented' where stream_id = $1 and seq = 2",
            true,
        ),
        (
            "update es.event set meta = '{\"by\":\"me\"}' where stream_id = $1 and seq = 2",
            false,
        ),
        (
            "update es.event set hash = sha256('x') where stream_id = $1 and seq = 3",
            false,
        ),
    ] {
        let (world, _, longest) = told(27).await;
        let found = altered(&world, sqlx::query(statement).bind(longest.id)).await;
        assert_eq!(found.0, ["log"], "{statement}");
        assert_eq!(!found.1.is_empty(), activity, "{statement}: {:?}", found.1);
        assert_eq!(replayed(&world, &longest).await, ["log"], "{statement}");
        let rebuilt = projections::rebuild(&world.core, Name::Run, drop)
            .await
            .unwrap();
        assert_eq!(
            (rebuilt.change, rebuilt.unresolved.differing),
            (Change::Written { rows: 0 }, 1)
        );
        assert_eq!(replayed(&world, &longest).await, ["log"], "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_cut_at_its_end_or_grown_behind_its_head_is_found() {
    let (world, _, longest) = told(28).await;
    let version = world.runs.load(&longest).await.unwrap().version;
    let back = "update es.stream set version = version - 1 where stream_id = $1";
    let found = altered(&world, sqlx::query(back).bind(longest.id)).await;
    assert_eq!(found.0, ["version"]);
    assert_eq!(replayed(&world, &longest).await, ["version"]);
    let far = "update es.stream set version = $2 where stream_id = $1";
    let more = i64::try_from(version).unwrap() + 1;
    assert_eq!(
        altered(&world, sqlx::query(far).bind(longest.id).bind(more))
            .await
            .0,
        ["version"]
    );
    let head = "update es.stream set version = $2, head = sha256('x') where stream_id = $1";
    let same = i64::try_from(version).unwrap();
    assert_eq!(
        altered(&world, sqlx::query(head).bind(longest.id).bind(same))
            .await
            .0,
        ["head"]
    );
    assert_eq!(replayed(&world, &longest).await, ["head"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_altered_projected_row_is_named_and_a_rebuild_puts_it_right() {
    let (world, _, longest) = told(29).await;
    let right = world.projected().await;
    for (statement, field) in [
        (
            "update access.account_activity set turns_waiting = turns_waiting + 1 where stream_id = $1",
            "turns_waiting",
        ),
        (
            "update access.account_activity set account_id = gen_random_uuid() where stream_id = $1",
            "account_id",
        ),
        (
            "update access.account_activity set seq = seq - 1 where stream_id = $1",
            "seq",
        ),
        (
            "delete from access.account_activity where stream_id = $1",
            "row",
        ),
        (
            "update access.account_activity set stream_id = gen_random_uuid() where stream_id = $1",
            "row",
        ),
    ] {
        let found = altered(&world, sqlx::query(statement).bind(longest.id)).await;
        assert!(
            found.0.is_empty() && found.1.contains(&field.to_owned()),
            "{statement}: {found:?}"
        );
        projections::rebuild(&world.core, Name::AccountActivity, drop)
            .await
            .unwrap();
        assert_eq!(world.projected().await, right, "{statement}");
    }
    let cursor = "update es.projection set pos = pos + 1 where lane = $1";
    let found = altered(&world, sqlx::query(cursor).bind(longest.lane.number()))
        .await
        .1;
    assert_eq!(found, [format!("cursor of lane {}", longest.lane.number())]);
    assert!(world.projectors.settle().await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erased_run_is_still_proved_by_its_structure() {
    let (world, _, longest) = told(30).await;
    let drop_key =
        "update es.data_key set dropped_at_ms = 1, kek_id = null, wrapped = null where key_id = $1";
    world
        .core
        .pool
        .execute(sqlx::query(drop_key).bind(longest.key.id()))
        .await
        .unwrap();
    let core = world.second().await;
    let replayed = replay(&core, run_id(&longest), None).await.unwrap();
    assert_eq!(
        (replayed.equal, replayed.erased),
        (true, true),
        "{:?}",
        replayed.differences
    );
    let checked = projections::check(&core, Name::Run, drop).await.unwrap().0;
    assert_eq!(checked.differing, 0, "{:?}", checked.differences);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_refused() {
    let world = World::new().await;
    let stream = world.start("a", account(1), at(1)).await;
    let beyond = replay(&world.core, run_id(&stream), Some(2)).await;
    assert!(matches!(beyond, Err(ReplayError::NoSuchEvent { last: 1 })));
    for stranger in [world.core.ids.stream(stream.lane), world.core.ids.uuid()] {
        let missing = replay(
            &world.core,
            helix_aggregates::ids::RunId::new(stranger),
            None,
        )
        .await;
        assert!(matches!(missing, Err(ReplayError::NotFound)));
    }
}
