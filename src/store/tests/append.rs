use sqlx::Row;
use uuid::Uuid;

use super::*;
use crate::store::StoreError;
use crate::store::append::Append;
use crate::store::log::{Loaded, record};
use crate::store::receipt::{ReceiptKey, ReceiptOutcome, ReceiptWrite};
use helix_aggregates::decider::Decider;

fn receipt(stream: &Stream, key: u8) -> ReceiptWrite {
    ReceiptWrite {
        key: ReceiptKey {
            owner: stream.owner,
            operation: "start".to_owned(),
            key_hash: [key; 32],
        },
        request_mac: [1; 32],
        subject: stream.id.to_string(),
        outcome: ReceiptOutcome::Completed {
            claim: None,
            status: 201,
            key_id: stream.key.id(),
            body: b"{}".to_vec(),
        },
    }
}

/// An append of one tick after `loaded`.
fn ticked(world: &World, stream: &Stream, loaded: &Loaded<Tally>) -> Append {
    let events = loaded.state.decide(&tick(1), world.stamp()).unwrap();
    let prepared = record(stream, loaded, events, world.stamp().at, &Meta::new()).unwrap();
    Append::of(stream.lane, vec![prepared.append])
}

async fn versions(world: &World) -> Vec<(Uuid, i64)> {
    let rows = sqlx::query("select stream_id, version from es.stream order by stream_id");
    let rows = rows.fetch_all(&world.core.pool).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

for_each_form! {
    async fn what_is_appended_is_loaded_again_by_a_process_that_never_saw_it(world) {
        let stream = world.stream().await;
        assert_eq!(world.tick(&stream, 3).await, 3);
        assert_eq!(world.tick(&stream, 2).await, 5);
        let elsewhere = Log::<Tally>::new(world.second(Form::Fast).await);
        let loaded = elsewhere.load(&stream).await.unwrap();
        assert_eq!((loaded.version, loaded.state.count), (5, 5));
    }

    async fn of_many_writers_on_one_head_exactly_one_wins_and_nobody_else_suffers(world) {
        let contested = world.stream().await;
        let loaded = Loaded::default();
        let mut appends: Vec<Append> = (0..8).map(|_| ticked(&world, &contested, &loaded)).collect();
        for _ in 0..8 {
            let bystander = world.stream().await;
            appends.push(ticked(&world, &bystander, &loaded));
        }
        let verdicts = futures_util::future::join_all(
            appends.into_iter().map(|append| world.core.append(append)),
        )
        .await;
        let (contested, bystanders) = verdicts.split_at(8);
        assert_eq!(contested.iter().filter(|verdict| verdict.is_ok()).count(), 1);
        assert!(contested.iter().all(|verdict| matches!(verdict, Ok(()) | Err(StoreError::HeadMoved))));
        assert!(bystanders.iter().all(Result::is_ok));
        assert_eq!(versions(&world).await.len(), 9);
    }

    async fn a_receipt_is_taken_once_and_its_loser_writes_nothing(world) {
        let mut appends = Vec::new();
        for _ in 0..16 {
            let stream = world.stream().await;
            let append = ticked(&world, &stream, &Loaded::default());
            appends.push(Append { receipt: Some(receipt(&stream, 7)), ..append });
        }
        let verdicts = futures_util::future::join_all(
            appends.into_iter().map(|append| world.core.append(append)),
        )
        .await;
        assert_eq!(verdicts.iter().filter(|verdict| verdict.is_ok()).count(), 1);
        assert!(verdicts.iter().all(|verdict| matches!(verdict, Ok(()) | Err(StoreError::ReceiptTaken))));
        assert_eq!(versions(&world).await.len(), 1);
    }

    async fn a_dead_ledger_row_refuses_its_own_command_alone(world) {
        let (live, dead) = (ledger_row(&world, false).await, ledger_row(&world, true).await);
        let mut appends = Vec::new();
        for guard in [live, dead, live] {
            let stream = world.stream().await;
            let append = ticked(&world, &stream, &Loaded::default());
            appends.push(Append { guards: vec![guard], ..append });
        }
        let verdicts = futures_util::future::join_all(
            appends.into_iter().map(|append| world.core.append(append)),
        )
        .await;
        assert!(verdicts[0].is_ok() && verdicts[2].is_ok());
        assert!(matches!(verdicts[1], Err(StoreError::Revoked)));
        assert_eq!(versions(&world).await.len(), 2);
    }

    async fn a_reservation_is_completed_by_its_own_claim_only(world) {
        let stream = world.stream().await;
        let (claim, other) = (world.core.ids.uuid(), world.core.ids.uuid());
        let mut loaded = Loaded::default();
        let mut write = receipt(&stream, 9);
        for (outcome, expected) in [
            (ReceiptOutcome::Processing { claim, claimed_version: 2, lease_ms: 60_000 }, true),
            (ReceiptOutcome::Processing { claim, claimed_version: 2, lease_ms: 60_000 }, false),
            (completed(&stream, Some(other)), false),
            (completed(&stream, None), false),
            (completed(&stream, Some(claim)), true),
            (completed(&stream, Some(claim)), false),
        ] {
            write.outcome = outcome;
            let append = ticked(&world, &stream, &loaded);
            let verdict = world.core.append(Append { receipt: Some(write.clone()), ..append }).await;
            assert_eq!(verdict.is_ok(), expected, "{:?}", write.outcome);
            loaded = Loaded::clone(&*world.log.load(&stream).await.unwrap());
        }
        assert_eq!(loaded.version, 2);
    }

    async fn positions_of_a_lane_have_no_gap_although_commands_were_refused(world) {
        let contested = world.stream().await;
        let mut appends: Vec<Append> = Vec::new();
        for _ in 0..20 {
            appends.push(ticked(&world, &contested, &Loaded::default()));
            let stream = world.stream().await;
            appends.push(ticked(&world, &stream, &Loaded::default()));
        }
        futures_util::future::join_all(appends.into_iter().map(|append| world.core.append(append))).await;
        let positions: Vec<i64> = sqlx::query_scalar("select pos from es.event where lane = $1 order by pos")
            .bind(contested.lane.number())
            .fetch_all(&world.core.pool)
            .await
            .unwrap();
        assert_eq!(positions, (1..=21).collect::<Vec<i64>>());
        let head: i64 = sqlx::query_scalar("select pos from es.lane where lane = $1")
            .bind(contested.lane.number())
            .fetch_one(&world.core.pool)
            .await
            .unwrap();
        assert_eq!(head, 21);
    }
}

fn completed(stream: &Stream, claim: Option<Uuid>) -> ReceiptOutcome {
    ReceiptOutcome::Completed {
        claim,
        status: 200,
        key_id: stream.key.id(),
        body: b"{}".to_vec(),
    }
}

async fn ledger_row(world: &World, revoked: bool) -> Uuid {
    let (row, account) = (world.core.ids.uuid(), world.core.ids.uuid());
    sqlx::query(
        "insert into access.account (account_id, account_type, key_id, body, created_at_ms)
         values ($1, 'user', $1, '', 0)",
    )
    .bind(account)
    .execute(&world.core.pool)
    .await
    .unwrap();
    sqlx::query(
        "insert into access.ledger (row_id, kind, door, account_id, created_at_ms, revoked_at_ms)
         values ($1, 'agent_binding', 'agent', $2, 0, $3)",
    )
    .bind(row)
    .bind(account)
    .bind(revoked.then_some(1_i64))
    .execute(&world.core.pool)
    .await
    .unwrap();
    row
}
