//! What must hold after any history, checked at the end of every black-box test.

use std::time::Duration;

use uuid::Uuid;

use crate::app::projections::{self, Name};
use crate::store::Core;

pub(super) async fn check(core: &Core) {
    // Folds every stream of these kinds, checking each link, and compares heads and rows.
    for name in [Name::Run, Name::Brief, Name::Review] {
        let (checked, _) = projections::check(core, name, |_| {}).await.unwrap();
        let found = &checked.differences;
        assert_eq!(checked.differing, 0, "{}: {found:?}", name.as_str());
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
