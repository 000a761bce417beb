use std::time::Duration;

use sqlx::{ConnectOptions, Executor, Row};

use super::*;
use crate::store::StoreError;
use crate::store::read_pool::ReadPool;

/// A pool that keeps one connection.
async fn one_kept(world: &World) -> ReadPool {
    let pool = database::connect(world.database.options.clone(), 5).await;
    ReadPool::sharing(pool.unwrap())
}

async fn backend(reads: &ReadPool) -> Result<i32, StoreError> {
    let row = reads.one(|| sqlx::query("select pg_backend_pid()")).await?;
    Ok(row.try_get(0)?)
}

#[tokio::test]
async fn reads_one_after_another_share_a_connection() {
    let world = World::new(Form::Fast).await;
    let reads = one_kept(&world).await;
    let first = backend(&reads).await.unwrap();
    assert_eq!(reads.waiting(), 1);
    assert_eq!(backend(&reads).await.unwrap(), first);
    reads.close().await;
    assert_eq!(reads.waiting(), 0);
    assert!(backend(&reads).await.is_err());
}

#[tokio::test]
async fn a_read_given_up_half_way_leaves_its_answer_to_nobody() {
    let world = World::new(Form::Fast).await;
    let reads = one_kept(&world).await;
    let mut other = world.core.pool.acquire().await.unwrap();
    other.execute("select pg_advisory_lock(7)").await.unwrap();
    let blocked =
        reads.one(|| sqlx::query("select 'stale' from (select pg_advisory_lock(7)) as l"));
    let given_up = tokio::time::timeout(Duration::from_millis(50), blocked).await;
    assert!(given_up.is_err());
    other.execute("select pg_advisory_unlock(7)").await.unwrap();
    for number in 0..20 {
        let row = reads
            .one(|| sqlx::query("select $1::int").bind(number))
            .await
            .unwrap();
        assert_eq!(row.get::<i32, _>(0), number);
    }
}

#[tokio::test]
async fn a_connection_whose_backend_died_is_replaced_unnoticed() {
    let world = World::new(Form::Fast).await;
    let reads = one_kept(&world).await;
    let first = backend(&reads).await.unwrap();
    let mut owner = world.database.options.connect().await.unwrap();
    let ended = sqlx::query("select pg_terminate_backend($1, 5000)").bind(first);
    ended.execute(&mut owner).await.unwrap();
    assert_ne!(backend(&reads).await.unwrap(), first);
}

#[tokio::test]
async fn a_small_pool_is_not_held_back_from_others() {
    let world = World::new(Form::Fast).await;
    let pool = database::connect(world.database.options.clone(), 1)
        .await
        .unwrap();
    let reads = ReadPool::sharing(pool.clone());
    backend(&reads).await.unwrap();
    assert_eq!(reads.waiting(), 0);
    pool.execute("select 1").await.unwrap();
}
