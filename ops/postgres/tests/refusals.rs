//! Directories and programs that cannot be used: each refused with its own error and a line that mends it.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot prepare its case has failed"
)]

use std::path::Path;

use helix_postgres::{
    Cluster, ClusterConfig, DataDirLock, Durability, PostgresError, Search, existing_major,
};

async fn start(data_dir: &Path) -> Result<Cluster, PostgresError> {
    let programs = Search::new(std::env::temp_dir()).find()?;
    let mut config = ClusterConfig::new(programs, DataDirLock::acquire(data_dir)?);
    config.durability = Durability::Off;
    Cluster::start(config).await
}

async fn started_and_stopped() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    start(home.path()).await.unwrap().stop().await.unwrap();
    home
}

#[tokio::test]
async fn a_cluster_without_its_version_is_broken_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("pg")).unwrap();
    std::fs::write(home.path().join("pg/precious"), "data").unwrap();
    let error = start(home.path()).await.unwrap_err();
    assert!(
        matches!(
            &error,
            PostgresError::BrokenCluster {
                missing: "PG_VERSION",
                ..
            }
        ),
        "{error}"
    );
    assert!(error.fix().contains("backup"));
    assert_eq!(
        std::fs::read(home.path().join("pg/precious")).unwrap(),
        b"data"
    );
    assert!(existing_major(home.path()).is_err());
}

#[tokio::test]
async fn a_cluster_without_its_control_file_is_broken() {
    let home = started_and_stopped().await;
    std::fs::remove_file(home.path().join("pg/global/pg_control")).unwrap();
    let error = start(home.path()).await.unwrap_err();
    assert!(
        matches!(
            &error,
            PostgresError::BrokenCluster {
                missing: "global/pg_control",
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_damaged_control_file_is_reported_with_the_servers_own_words() {
    let home = started_and_stopped().await;
    std::fs::write(home.path().join("pg/global/pg_control"), [0; 8192]).unwrap();
    let error = start(home.path()).await.unwrap_err();
    assert!(
        matches!(&error, PostgresError::Start { detail, .. } if detail.contains("FATAL")),
        "{error}"
    );
    assert!(error.fix().contains("postgres.log"));
    // Nothing runs on, and nothing keeps the directory.
    DataDirLock::acquire(home.path()).unwrap();
}

#[tokio::test]
async fn a_cluster_of_another_version_names_the_package_to_install() {
    let home = started_and_stopped().await;
    std::fs::write(home.path().join("pg/PG_VERSION"), "14\n").unwrap();
    let wanted = existing_major(home.path()).unwrap();
    assert_eq!(wanted, Some(14));
    let error = start(home.path()).await.unwrap_err();
    assert!(
        matches!(error, PostgresError::MajorMissing { wanted: 14, .. }),
        "{error}"
    );
    let search = Search {
        offline: true,
        major: wanted,
        ..Search::new(home.path())
    };
    let error = search.find().unwrap_err();
    assert!(
        matches!(error, PostgresError::MajorMissing { wanted: 14, .. }),
        "{error}"
    );
    assert!(error.fix().contains("postgresql-14"), "{}", error.fix());
}

#[test]
fn a_place_that_cannot_be_written_is_refused_by_name() {
    // Not even root makes directories here.
    let place = Path::new("/proc/helix-data");
    let error = DataDirLock::acquire(place).unwrap_err();
    assert!(
        matches!(&error, PostgresError::Directory { path, .. } if path == place),
        "{error}"
    );
    assert!(error.fix().contains("--data-dir"));
}

#[test]
fn a_named_directory_without_programs_is_not_silently_replaced() {
    let home = tempfile::tempdir().unwrap();
    let search = Search {
        pg_bin: Some(home.path().into()),
        ..Search::new(home.path())
    };
    let error = search.find().unwrap_err();
    assert!(
        matches!(
            &error,
            PostgresError::NotPrograms {
                missing: "postgres",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn without_any_postgres_the_error_says_what_to_type() {
    let home = tempfile::tempdir().unwrap();
    let search = Search {
        offline: true,
        hide_system: true,
        ..Search::new(home.path())
    };
    let error = search.find().unwrap_err();
    assert!(matches!(error, PostgresError::NotFound { .. }), "{error}");
    assert!(error.fix().contains("postgresql") && !error.fix().contains('\n'));
}
