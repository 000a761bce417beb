//! What must hold after any history, checked at the end of every black-box test.

use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::agent::run::Run;
use helix_projections::inline::Inline;
use sqlx::Row;
use uuid::Uuid;

use crate::store::Core;
use crate::store::log::{Log, Stream, open_row};
use crate::store::owner::{Lane, OwnerKey};
use crate::store::read::{self, bytes32};

pub(super) async fn check(core: &Arc<Core>) {
    let log = Log::<Run>::new(Arc::clone(core));
    let rows =
        sqlx::query("select lane, stream_id, owner_key, key_id from es.stream where kind = 'run'")
            .fetch_all(&core.pool)
            .await
            .unwrap();
    for row in rows {
        let lane = Lane::new(u8::try_from(row.get::<i16, _>("lane")).unwrap()).unwrap();
        let owner = OwnerKey::from_mac(bytes32(row.get("owner_key")).unwrap());
        let key = core.key(row.get("key_id")).await.unwrap().unwrap();
        let stream = Stream {
            id: row.get("stream_id"),
            lane,
            owner,
            key,
        };
        // Loading checks every link and that no sequence number is missing.
        let loaded = log.load(&stream).await.unwrap();
        let head = read::head(&core.pool, lane, stream.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (loaded.version, loaded.head),
            (head.version, head.head),
            "{}",
            stream.id
        );
        let stored = open_row(Some(&stream.key), stream.id, &head).unwrap();
        assert_eq!(
            stored,
            loaded.state.summary(stream.id).body,
            "{}",
            stream.id
        );
    }
    no_transaction_is_left(core).await;
    let gaps: Vec<Uuid> = sqlx::query_scalar(
        "select stream_id from es.event group by lane, stream_id having max(seq) <> count(*)",
    )
    .fetch_all(&core.pool)
    .await
    .unwrap();
    assert!(gaps.is_empty(), "streams with gaps: {gaps:?}");
}

/// Background work has transactions of its own, which end at once; a forgotten one stays.
async fn no_transaction_is_left(core: &Core) {
    let mut tick = tokio::time::interval(Duration::from_millis(50));
    let mut idle: Vec<(i32, Option<String>)> = Vec::new();
    for _ in 0..100 {
        tick.tick().await;
        idle = sqlx::query_as(
            "select pid, query from pg_stat_activity
              where datname = current_database() and state like 'idle in transaction%'",
        )
        .fetch_all(&core.pool)
        .await
        .unwrap();
        if idle.is_empty() {
            return;
        }
    }
    assert!(
        idle.is_empty(),
        "sessions are idle in a transaction: {idle:?}"
    );
}
