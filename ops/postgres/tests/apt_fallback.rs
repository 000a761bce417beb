//! The download of Postgres with apt, for real; it needs the network, and `HELIX_TEST_APT=1` to say so.

use helix_postgres::{Cluster, ClusterConfig, DataDirLock, Search};

#[tokio::test]
async fn a_downloaded_postgres_runs_and_is_found_again_without_the_network() {
    assert_eq!(
        std::env::var("HELIX_TEST_APT").as_deref(),
        Ok("1"),
        "set HELIX_TEST_APT=1 to allow the download"
    );
    let home = tempfile::tempdir().unwrap();
    let search = Search {
        hide_system: true,
        ..Search::new(home.path().join("cache"))
    };
    let fetched = search.find().unwrap();
    let offline = Search {
        offline: true,
        ..search
    }
    .find()
    .unwrap();
    assert_eq!(fetched, offline);
    assert!(fetched.bin.starts_with(home.path().canonicalize().unwrap()));

    let lock = DataDirLock::acquire(&home.path().join("data")).unwrap();
    let cluster = Cluster::start(ClusterConfig::new(fetched, lock))
        .await
        .unwrap();
    cluster.ensure_database("from_packages").await.unwrap();
    cluster.stop().await.unwrap();
}
