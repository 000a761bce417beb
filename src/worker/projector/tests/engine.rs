use std::sync::Arc;
use std::time::Duration;

use helix_projections::access::account_activity::table::AccountActivity;
use helix_projections::projector::{Projector, Target};
use sqlx::{Executor, PgPool};

use super::world::{History, World, account, at};
use crate::app::projections::{self, Change, Name, RebuildError};
use crate::store::lease;
use crate::store::upcast::present_shape;
use crate::worker::projector::Projectors;

const SEEDS: std::ops::Range<u64> = 1..5;

fn projector(pool: &PgPool) -> Projector<AccountActivity> {
    Projector::new(pool.clone(), present_shape)
}

/// Runs started and turns that ended, in the order of [`OUTCOMES`].
type Totals = (u64, [u64; 5]);

const OUTCOMES: [&str; 5] = [
    "run_completed",
    "run_waiting",
    "run_blocked",
    "run_failed",
    "budget_exhausted",
];

/// The totals as the names of events tell them: an oracle that shares no fold.
async fn expected(world: &World, history: &History) -> Vec<Totals> {
    let mut totals = vec![(0, [0; 5]); 4];
    for (stream, owner) in &history.runs {
        let (runs, turns) = (0..4)
            .find(|index| account(*index) == *owner)
            .map(|index| {
                let total: &mut Totals = &mut totals[usize::try_from(index).unwrap()];
                (&mut total.0, &mut total.1)
            })
            .unwrap();
        *runs += 1;
        let kinds: Vec<String> = sqlx::query_scalar(
            "select kind from es.event where stream_id = $1
                and convert_from(payload, 'UTF8')::jsonb -> 'state' ? 'operation'",
        )
        .bind(stream.id)
        .fetch_all(&world.core.pool)
        .await
        .unwrap();
        for kind in kinds {
            turns[OUTCOMES
                .iter()
                .position(|outcome| *outcome == kind)
                .unwrap()] += 1;
        }
    }
    totals
}

async fn found(world: &World) -> Vec<Totals> {
    let mut totals = Vec::new();
    for index in 0..4 {
        let view = world.totals(account(index)).await;
        let turns = view.turns;
        let turns = [
            turns.completed,
            turns.waiting,
            turns.blocked,
            turns.failed,
            turns.budget_exhausted,
        ];
        totals.push((view.runs_started, turns));
    }
    totals
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_gives_what_was_folded_step_by_step() {
    let mut met = [false; 5];
    for seed in SEEDS {
        let world = World::new().await;
        let mut history = History::new(seed);
        for _ in 0..6 {
            history.go_on(&world, 40).await;
            world.projectors.settle().await.unwrap();
        }
        let totals = expected(&world, &history).await;
        for (_, turns) in &totals {
            met.iter_mut()
                .zip(turns)
                .for_each(|(met, count)| *met |= *count > 0);
        }
        assert_eq!(found(&world).await, totals, "seed {seed}");
        let step_by_step = world.projected().await;
        let checked = projections::check(&world.core, Name::AccountActivity, drop)
            .await
            .unwrap()
            .0;
        assert_eq!(
            (checked.differing, checked.behind),
            (0, 0),
            "seed {seed}: {:?}",
            checked.differences
        );
        assert_eq!(checked.streams, step_by_step.len() as u64);
        let rebuilt = projections::rebuild(&world.core, Name::AccountActivity, drop)
            .await
            .unwrap();
        assert_eq!(rebuilt.change, Change::Switched { from: 1, to: 2 });
        assert_eq!(world.projected().await, step_by_step, "seed {seed}");
        history.go_on(&world, 40).await;
        world.projectors.settle().await.unwrap();
        assert_eq!(
            found(&world).await,
            expected(&world, &history).await,
            "seed {seed}"
        );
    }
    assert_eq!(met, [true; 5], "the histories lack an outcome");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_read_twice_changes_nothing() {
    let world = World::new().await;
    History::new(11).go_on(&world, 200).await;
    world.projectors.settle().await.unwrap();
    let once = world.projected().await;
    assert!(once.len() > 5);
    world
        .core
        .pool
        .execute("update es.projection set pos = 0")
        .await
        .unwrap();
    world.projectors.settle().await.unwrap();
    assert_eq!(world.projected().await, once);
    assert_eq!(
        world
            .core
            .metrics
            .projection_parked
            .with_label_values(&["account_activity"])
            .get(),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projectors_at_once_over_one_database_never_count_twice() {
    let world = World::new().await;
    let mut history = History::new(12);
    let second = world.second().await;
    let folders: Vec<_> = [&world.core, &second, &world.core, &second]
        .map(|core| Projectors::new(Arc::clone(core)))
        .into_iter()
        .map(|projectors| {
            tokio::spawn(async move {
                for _ in 0..60 {
                    projectors.settle().await.unwrap();
                }
            })
        })
        .collect();
    history.go_on(&world, 250).await;
    for folder in folders {
        folder.await.unwrap();
    }
    world.projectors.settle().await.unwrap();
    assert_eq!(found(&world).await, expected(&world, &history).await);
    let checked = projections::check(&world.core, Name::AccountActivity, drop)
        .await
        .unwrap()
        .0;
    assert_eq!(checked.differing, 0, "{:?}", checked.differences);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poison_event_parks_its_own_stream_and_the_rest_goes_on() {
    let world = World::new().await;
    let mut streams = Vec::new();
    for owner in ["a", "b", "c"] {
        streams.push(world.start(owner, account(1), at(1)).await);
    }
    world
        .superuser()
        .await
        .execute(
            sqlx::query("update es.event set payload = '{}' where stream_id = $1")
                .bind(streams[1].id),
        )
        .await
        .unwrap();
    world.projectors.settle().await.unwrap();
    assert_eq!(world.totals(account(1)).await.runs_started, 2);
    let parked: Vec<(uuid::Uuid, i64, String)> =
        sqlx::query_as("select stream_id, seq, reason from es.projection_parked")
            .fetch_all(&world.core.pool)
            .await
            .unwrap();
    assert_eq!(
        parked,
        [(
            streams[1].id,
            1,
            "its payload is not one of its kind and version".to_owned()
        )]
    );
    let gauge = world
        .core
        .metrics
        .projection_parked
        .with_label_values(&["account_activity"]);
    assert_eq!(gauge.get(), 1);

    // What follows in the parked stream is passed over; what follows elsewhere is folded.
    world
        .superuser()
        .await
        .execute(
            sqlx::query(
                "with moved as (update es.lane set pos = pos + 1 where lane = $1 returning pos)
                 insert into es.event (lane, stream_id, seq, pos, at, kind, ver, payload, meta, hash)
                 select $1, $2, 2, pos, '2026-11-30T12:00:00.000Z', 'run_cancelled', 1, '{}', '{}', sha256('')
                   from moved",
            )
            .bind(streams[1].lane.number())
            .bind(streams[1].id),
        )
        .await
        .unwrap();
    world.start("b", account(1), at(2)).await;
    world.projectors.settle().await.unwrap();
    assert_eq!(world.totals(account(1)).await.runs_started, 3);
    assert_eq!(gauge.get(), 1);
    assert_eq!(
        world
            .core
            .metrics
            .projection_lag
            .with_label_values(&["account_activity"])
            .get(),
        0
    );
    let checked = projections::check(&world.core, Name::AccountActivity, drop)
        .await
        .unwrap()
        .0;
    assert_eq!(
        (checked.differing, checked.parked),
        (0, 1),
        "{:?}",
        checked.differences
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_rows_come_back_by_a_rebuild_and_a_gap_is_never_folded_over() {
    let world = World::new().await;
    let mut history = History::new(13);
    history.go_on(&world, 120).await;
    world.projectors.settle().await.unwrap();
    let before = world.projected().await;
    world
        .core
        .pool
        .execute("delete from access.account_activity")
        .await
        .unwrap();
    let checked = projections::check(&world.core, Name::AccountActivity, drop)
        .await
        .unwrap()
        .0;
    assert_eq!(checked.differing, before.len() as u64);
    history.go_on(&world, 40).await;
    world.projectors.settle().await.unwrap();
    assert!(
        world
            .core
            .metrics
            .projection_parked
            .with_label_values(&["account_activity"])
            .get()
            > 0
    );
    projections::rebuild(&world.core, Name::AccountActivity, drop)
        .await
        .unwrap();
    world.projectors.settle().await.unwrap();
    assert_eq!(found(&world).await, expected(&world, &history).await);
    assert_eq!(
        world
            .core
            .metrics
            .projection_parked
            .with_label_values(&["account_activity"])
            .get(),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_under_writers_and_projectors_ends_with_every_event_counted_once() {
    let world = Arc::new(World::new().await);
    let mut history = History::new(14);
    history.go_on(&world, 80).await;
    let running = tokio::spawn(world.projectors.clone().run());
    let rebuilder = Arc::clone(&world);
    let rebuilds = tokio::spawn(async move {
        for version in 1..6 {
            let rebuilt = projections::rebuild(&rebuilder.core, Name::AccountActivity, drop)
                .await
                .unwrap();
            assert_eq!(
                rebuilt.change,
                Change::Switched {
                    from: version,
                    to: version + 1
                }
            );
        }
    });
    history.go_on(&world, 160).await;
    rebuilds.await.unwrap();
    running.abort();
    world.projectors.settle().await.unwrap();
    assert_eq!(found(&world).await, expected(&world, &history).await);
    let left: Vec<i32> = sqlx::query_scalar("select distinct version from access.account_activity")
        .fetch_all(&world.core.pool)
        .await
        .unwrap();
    assert_eq!(left, [6]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_rebuild_leaves_reads_alone_and_the_next_one_starts_clean() {
    let world = World::new().await;
    History::new(15).go_on(&world, 100).await;
    world.projectors.settle().await.unwrap();
    let before = world.projected().await;
    let lane: i16 = sqlx::query_scalar("select lane from es.lane where pos > 0 limit 1")
        .fetch_one(&world.core.pool)
        .await
        .unwrap();
    projector(&world.core.pool)
        .advance(Target::Version(2), lane)
        .await
        .unwrap();
    world
        .core
        .pool
        .execute("update access.account_activity set runs_started = 99 where version = 2")
        .await
        .unwrap();
    assert_eq!(world.projected().await, before);
    projections::rebuild(&world.core, Name::AccountActivity, drop)
        .await
        .unwrap();
    assert_eq!(world.projected().await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_rebuild_at_once_is_refused() {
    let world = World::new().await;
    let other = world.core.ids.uuid();
    let life = Duration::from_secs(60);
    assert!(
        lease::hold(&world.core.pool, "rebuild/account_activity", other, life)
            .await
            .unwrap()
    );
    let refused = projections::rebuild(&world.core, Name::AccountActivity, drop).await;
    assert!(matches!(
        refused,
        Err(RebuildError::Busy("account_activity"))
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_projector_hears_of_commits_of_both_processes() {
    let world = World::new().await;
    let elsewhere = world.second().await;
    let running = tokio::spawn(Projectors::new(elsewhere).run());
    world.start("a", account(3), at(1)).await;
    let mut look = tokio::time::interval(Duration::from_millis(20));
    let seen = async {
        while world.totals(account(3)).await.runs_started == 0 {
            look.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen)
        .await
        .unwrap();
    running.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_holder_of_a_lane_s_lease_folds_it() {
    let world = World::new().await;
    let stream = world.start("a", account(1), at(1)).await;
    let task = format!("projector/account_activity/{}", stream.lane.number());
    let other = world.core.ids.uuid();
    assert!(
        lease::hold(&world.core.pool, &task, other, Duration::from_secs(60))
            .await
            .unwrap()
    );
    let keeper = world.projectors.keeper::<AccountActivity>();
    keeper.follow(stream.lane.number()).await.unwrap();
    assert_eq!(world.totals(account(1)).await.runs_started, 0);
    lease::release(&world.core.pool, &task, other)
        .await
        .unwrap();
    keeper.follow(stream.lane.number()).await.unwrap();
    assert_eq!(world.totals(account(1)).await.runs_started, 1);
}
