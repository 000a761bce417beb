//! Who does leader work: one holder a task, judged by the database clock.

use std::time::Duration;

use sqlx::PgPool;
use uuid::Uuid;

use super::StoreError;
use super::patience::in_time;

/// Takes or renews the lease of `task` for `life`; `false` while another process holds it.
pub async fn hold(
    pool: &PgPool,
    task: &str,
    holder: Uuid,
    life: Duration,
) -> Result<bool, StoreError> {
    let life_ms = i64::try_from(life.as_millis()).unwrap_or(i64::MAX);
    let query = sqlx::query_scalar(
        "insert into es.lease as t (task, holder, epoch, until_ms)
         values ($1, $2, 1, es.now_ms() + $3)
         on conflict (task) do update
            set holder = excluded.holder, until_ms = excluded.until_ms,
                epoch = t.epoch + case when t.holder = excluded.holder then 0 else 1 end
          where t.holder = excluded.holder or t.until_ms <= es.now_ms()
         returning epoch",
    )
    .bind(task)
    .bind(holder)
    .bind(life_ms);
    let held: Option<i64> = in_time(query.fetch_optional(pool)).await?;
    Ok(held.is_some())
}

/// Lets another process take over at once.
pub async fn release(pool: &PgPool, task: &str, holder: Uuid) -> Result<(), StoreError> {
    let query = sqlx::query("update es.lease set until_ms = 0 where task = $1 and holder = $2")
        .bind(task)
        .bind(holder);
    in_time(query.execute(pool)).await.map(drop)
}
