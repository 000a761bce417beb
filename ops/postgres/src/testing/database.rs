//! A migrated template, made once per process, and its clones.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, mpsc};

use sqlx::postgres::PgConnectOptions;
use tokio::sync::OnceCell;

use super::server::{TestServer, shared};
use super::{must, names};
use crate::endpoint::quoted;

static TEMPLATES: LazyLock<Mutex<HashMap<String, Arc<OnceCell<Template>>>>> =
    LazyLock::new(Mutex::default);

/// A database that only serves to be cloned.
#[derive(Debug, Clone)]
pub struct Template {
    server: &'static TestServer,
    label: String,
    database: String,
}

/// One test's own database. Dropping it removes the database from the server, in the background.
#[derive(Debug)]
pub struct TestDatabase {
    pub options: PgConnectOptions,
    pub name: String,
    server: &'static TestServer,
}

/// The template called `name`, migrated by the first caller of this process; the others wait for it.
/// `migrate` gets the options of an empty database and may leave connections behind: they are closed.
pub async fn template<F, R, E>(name: &str, migrate: F) -> Template
where
    F: FnOnce(PgConnectOptions) -> R,
    R: Future<Output = Result<(), E>>,
    E: Display,
{
    let cell = Arc::clone(
        TEMPLATES
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(name.to_owned())
            .or_default(),
    );
    cell.get_or_init(|| make(name, migrate)).await.clone()
}

async fn make<F, R, E>(label: &str, migrate: F) -> Template
where
    F: FnOnce(PgConnectOptions) -> R,
    R: Future<Output = Result<(), E>>,
    E: Display,
{
    let server = shared().await;
    let database = names::unique(label);
    let name = quoted(&database);
    let created = server
        .administer(&[format!(
            "create database {name} template template0 encoding 'UTF8'"
        )])
        .await;
    must("the template database cannot be made", created);
    must(
        "the template database cannot be migrated",
        migrate(server.connect_options(&database)).await,
    );
    let sealed = server
        .administer(&[
            format!("alter database {name} allow_connections false"),
            format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{database}'"),
        ])
        .await;
    must("the template database cannot be sealed", sealed);
    Template {
        server,
        label: label.to_owned(),
        database,
    }
}

impl Template {
    /// A new database with everything the template has.
    pub async fn clone_of_template(&self) -> TestDatabase {
        let name = names::unique(&self.label);
        let cloned = format!(
            "create database {} template {}",
            quoted(&name),
            quoted(&self.database)
        );
        must(
            "the template cannot be cloned",
            self.server.administer(&[cloned]).await,
        );
        TestDatabase {
            options: self.server.connect_options(&name),
            name,
            server: self.server,
        }
    }
}

impl TestDatabase {
    /// The database as a URL, for programs that the test starts.
    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // The janitor only ends with the process, which removes the database in another way.
        if janitor().send(self.name.clone()).is_err() {
            tracing::debug!(database = self.name, "left to the end of the process");
        }
    }
}

/// Drops databases from a runtime of its own, since a test's runtime may be gone before its databases.
fn janitor() -> &'static mpsc::Sender<String> {
    static JANITOR: OnceLock<mpsc::Sender<String>> = OnceLock::new();
    JANITOR.get_or_init(|| {
        let (sender, dropped) = mpsc::channel::<String>();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = must("the runtime that drops test databases", runtime);
            runtime.block_on(async {
                let server = shared().await;
                for name in dropped {
                    let statement =
                        format!("drop database if exists {} with (force)", quoted(&name));
                    if let Err(error) = server.administer(&[statement]).await {
                        tracing::debug!(%error, "test database kept");
                    }
                }
            });
        });
        sender
    })
}
