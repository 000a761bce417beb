//! Connections and migrations.

use std::time::Duration;

use sqlx::migrate::{Migrate, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Executor, PgConnection, PgPool};

use super::StoreError;
use super::appender::Redacted;

/// The schema this binary brings.
pub static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// Names the lock that migrating processes take in turn.
const MIGRATION_LOCK: i64 = 0x6865_6c69_7801;

#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error("the database has migration {found}, which this version does not know")]
    Newer { found: i64 },
    #[error("another process has been migrating for {0} s")]
    Locked(u64),
    #[error("migrating failed{}", cause(.0))]
    Failed(#[from] sqlx::migrate::MigrateError),
    #[error("the database is not available")]
    Unavailable(#[from] sqlx::Error),
}

/// Which step failed and how, without what the database may quote.
fn cause(error: &sqlx::migrate::MigrateError) -> String {
    use sqlx::migrate::MigrateError as Error;
    let (Error::Execute(source) | Error::ExecuteMigration(source, _)) = error else {
        return format!(": {error}");
    };
    format!(": {}", Redacted(source))
}

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    pub before: usize,
    pub after: usize,
}

/// A pool whose connections act as the role that may only append.
pub async fn connect(options: PgConnectOptions, size: u32) -> Result<PgPool, StoreError> {
    let options = options
        .application_name("helix")
        .statement_cache_capacity(256);
    PgPoolOptions::new()
        .max_connections(size)
        .acquire_timeout(Duration::from_secs(5))
        .max_lifetime(None)
        .test_before_acquire(true)
        .after_connect(|conn, _| {
            Box::pin(async move {
                conn.execute("set role helix_app; set time zone 'UTC'")
                    .await?;
                Ok(())
            })
        })
        .connect_with(options)
        .await
        .map_err(StoreError::from)
}

/// Brings the schema up to date, forward only. Waits at most `patience` for another process.
pub async fn migrate(
    options: &PgConnectOptions,
    patience: Duration,
) -> Result<Migrated, MigrateError> {
    use sqlx::ConnectOptions;
    let mut conn = options.connect().await?;
    take_lock(&mut conn, patience).await?;
    conn.ensure_migrations_table().await?;
    let applied = conn.list_applied_migrations().await?;
    if let Some(unknown) = applied
        .iter()
        .find(|one| !MIGRATOR.version_exists(one.version))
    {
        return Err(MigrateError::Newer {
            found: unknown.version,
        });
    }
    // sqlx's own lock is off: a waiting server would deadlock an index built concurrently.
    let mut migrator = Migrator {
        migrations: MIGRATOR.migrations.clone(),
        ..Migrator::DEFAULT
    };
    migrator.set_locking(false);
    migrator.run_direct(&mut conn).await?;
    sqlx::query("select pg_advisory_unlock($1)")
        .bind(MIGRATION_LOCK)
        .execute(&mut conn)
        .await?;
    Ok(Migrated {
        before: applied.len(),
        after: MIGRATOR.iter().count(),
    })
}

async fn take_lock(conn: &mut PgConnection, patience: Duration) -> Result<(), MigrateError> {
    let started = std::time::Instant::now();
    loop {
        let taken: bool = sqlx::query_scalar("select pg_try_advisory_lock($1)")
            .bind(MIGRATION_LOCK)
            .fetch_one(&mut *conn)
            .await?;
        if taken {
            return Ok(());
        }
        if started.elapsed() > patience {
            return Err(MigrateError::Locked(patience.as_secs()));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
