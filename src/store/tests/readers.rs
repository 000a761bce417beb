use std::collections::HashMap;
use std::time::Duration;

use cqrs_es::CqrsFramework;
use cqrs_es::persist::PersistedEventRepository;
use helix_aggregates::decider::Decider;
use helix_aggregates::sourced::{Sourced, Stamped};

use super::*;
use crate::store::event_store::OwnerStore;
use crate::store::read;

for_each_form! {
    async fn a_reader_behind_32_writers_sees_every_event_once_and_in_order(world) {
        let world = Arc::new(world);
        let stream = world.stream().await;
        let writers: Vec<_> = (0..32)
            .map(|_| {
                let (world, stream) = (Arc::clone(&world), stream.clone());
                tokio::spawn(async move {
                    let mut done = 0;
                    while done < 5 {
                        let tried = world.log.execute(&stream, &tick(1), world.stamp(), &Meta::new()).await;
                        done += u32::from(tried.is_ok());
                    }
                })
            })
            .collect();
        let mut watch = world.core.hub.watch(stream.id);
        let mut seen = Vec::new();
        while seen.len() < 160 {
            let after = u64::try_from(seen.len()).unwrap();
            watch.past(after).await;
            let page = read::events(&world.core.pool, stream.lane, stream.id, after, 200).await.unwrap();
            seen.extend(page.into_iter().map(|event| event.seq));
        }
        assert_eq!(seen, (1..=160).collect::<Vec<u64>>());
        for writer in writers {
            writer.await.unwrap();
        }
    }

    async fn a_waiter_in_another_process_hears_of_a_commit(world) {
        let stream = world.stream().await;
        let elsewhere = world.second(Form::Fast).await;
        let mut watch = elsewhere.hub.watch(stream.id);
        world.tick(&stream, 1).await;
        tokio::time::timeout(Duration::from_secs(20), watch.past(0)).await.unwrap();
    }

    async fn postgres_es_replays_the_same_events_and_reaches_the_same_state(world) {
        let stream = world.stream().await;
        world.tick(&stream, 4).await;
        world.tick(&stream, 1).await;
        let peer = postgres_es::PostgresEventRepository::new(world.core.pool.clone());
        let theirs = peer.get_events::<Sourced<Tally>>(&stream.id.to_string()).await.unwrap();
        let ours = read::events(&world.core.pool, stream.lane, stream.id, 0, 100).await.unwrap();
        assert_eq!(theirs.len(), ours.len());
        let mut state = Tally::default();
        for (their, our) in theirs.iter().zip(&ours) {
            assert_eq!((their.event_type.as_str(), their.sequence as u64), (our.kind.as_str(), our.seq));
            // Read without a key: the structure is there, the text is not.
            state.evolve(&serde_json::from_value(their.payload.clone()).unwrap());
        }
        assert_eq!(state, world.log.load(&stream).await.unwrap().state);
    }

    async fn a_cqrs_es_framework_runs_on_the_log_unchanged(world) {
        let stream = world.stream().await;
        let store = OwnerStore::new(
            Arc::clone(&world.log), stream.owner, stream.lane, Arc::clone(&stream.key),
        );
        let framework = CqrsFramework::new(store, vec![], ());
        let id = stream.id.to_string();
        for times in [1, 2] {
            let command = Stamped { command: tick(times), stamp: world.stamp() };
            let meta = HashMap::from([("by".to_owned(), "test".to_owned())]);
            framework.execute_with_metadata(&id, command, meta).await.unwrap();
        }
        let refused = Stamped { command: tick(0), stamp: world.stamp() };
        assert!(framework.execute(&id, refused).await.is_err());
        let loaded = Log::<Tally>::new(world.second(Form::Fast).await).load(&stream).await.unwrap();
        assert_eq!((loaded.version, loaded.state.count), (3, 3));
    }
}
