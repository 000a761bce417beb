//! Starting, stopping and starting again, on real Postgres.

use helix_postgres::{Cluster, ClusterConfig, DataDirLock, Search, existing_major};
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
