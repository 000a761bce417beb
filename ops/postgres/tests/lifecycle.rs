//! Starting, stopping and starting again, on real Postgres.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot prepare its case has failed"
)]

use std::os::unix::fs::PermissionsExt;

use helix_postgres::{Cluster, ClusterConfig, DataDirLock, PostgresError, Search, existing_major};
use sqlx::{Connection, PgConnection};

#[tokio::test]
async fn data_is_still_there_after_a_stop_and_a_start() {
    let home = tempfile::tempdir().unwrap();
    let data_dir = home.path().join("ein Pfad ü");
    for expected in [0_i64, 1] {
        let programs = Search::new(home.path().join("cache")).find().unwrap();
        let lock = DataDirLock::acquire(&data_dir).unwrap();
        let cluster = Cluster::start(ClusterConfig::new(programs, lock))
            .await
            .unwrap();
        cluster.ensure_database("kept").await.unwrap();
        let mut connection = PgConnection::connect_with(&cluster.connect_options("kept"))
            .await
            .unwrap();
        sqlx::query("create table if not exists note (text text)")
            .execute(&mut connection)
            .await
            .unwrap();
        let count: i64 = sqlx::query_scalar("select count(*) from note")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(count, expected);
        sqlx::query("insert into note values ('here')")
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        cluster.stop().await.unwrap();
    }
    assert!(existing_major(&data_dir).unwrap().is_some());
}

async fn start(data_dir: &std::path::Path) -> Cluster {
    let programs = Search::new(data_dir.join("cache")).find().unwrap();
    let lock = DataDirLock::acquire(data_dir).unwrap();
    Cluster::start(ClusterConfig::new(programs, lock))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_cluster_is_durable_in_utc_and_reached_through_its_socket_alone() {
    let home = tempfile::tempdir().unwrap();
    let cluster = start(home.path()).await;
    let mut connection = PgConnection::connect(&cluster.url("postgres"))
        .await
        .unwrap();
    for (name, expected) in [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("data_checksums", "on"),
        ("server_encoding", "UTF8"),
        ("lc_collate", "C"),
        ("log_timezone", "UTC"),
        ("listen_addresses", ""),
        ("log_parameter_max_length_on_error", "0"),
    ] {
        let query = format!("select current_setting('{name}')");
        let value: String = sqlx::query_scalar(&query)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(value, expected, "{name}");
    }
    let mode = std::fs::metadata(cluster.endpoint().socket_dir())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    connection.close().await.unwrap();
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn the_log_tells_neither_statements_nor_values() {
    let home = tempfile::tempdir().unwrap();
    let cluster = start(home.path()).await;
    let mut connection = PgConnection::connect_with(&cluster.connect_options("postgres"))
        .await
        .unwrap();
    sqlx::query("create table kept (word text primary key)")
        .execute(&mut connection)
        .await
        .unwrap();
    let insert = "insert into kept values ($1)";
    sqlx::query(insert)
        .bind("canary-value")
        .execute(&mut connection)
        .await
        .unwrap();
    sqlx::query(insert)
        .bind("canary-value")
        .execute(&mut connection)
        .await
        .unwrap_err();
    sqlx::query("select $1::text::int")
        .bind("canary-value")
        .fetch_one(&mut connection)
        .await
        .unwrap_err();
    sqlx::query("select 'canary-value'::int")
        .fetch_one(&mut connection)
        .await
        .unwrap_err();
    connection.close().await.unwrap();
    cluster.stop().await.unwrap();
    let log = std::fs::read_to_string(home.path().join("postgres.log")).unwrap();
    assert!(log.contains("ready to accept connections"));
    assert!(!log.contains("canary") && !log.contains("kept"), "{log}");
}

#[tokio::test]
async fn two_callers_may_ensure_one_database_and_a_second_stop_finds_nothing_to_do() {
    let home = tempfile::tempdir().unwrap();
    let cluster = start(home.path()).await;
    let name = "runs \"of\" Ü";
    let (first, second) =
        tokio::join!(cluster.ensure_database(name), cluster.ensure_database(name));
    first.unwrap();
    second.unwrap();
    PgConnection::connect(&cluster.url(name))
        .await
        .unwrap()
        .close()
        .await
        .unwrap();
    cluster.stop().await.unwrap();
    cluster.stop().await.unwrap();
    assert!(matches!(
        cluster.ensure_database(name).await,
        Err(PostgresError::Connect(_))
    ));
}

#[tokio::test]
async fn a_data_directory_too_deep_for_a_socket_still_works() {
    let home = tempfile::tempdir().unwrap();
    let deep = home.path().join("d".repeat(100)).join("e");
    let cluster = start(&deep).await;
    let socket_dir = cluster.endpoint().socket_dir().to_owned();
    assert_eq!(
        Cluster::attach(&deep).unwrap().as_ref(),
        Some(cluster.endpoint())
    );
    assert!(socket_dir.starts_with("/tmp"));
    cluster.stop().await.unwrap();
    assert!(!socket_dir.exists());
}
