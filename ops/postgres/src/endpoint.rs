//! Where a running cluster is reached, and as whom.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};

use crate::error::PostgresError;

/// The superuser of every private cluster; the 0700 directory of the socket is what guards it.
pub(crate) const SUPERUSER: &str = "helix";

/// The number in the socket's name; no TCP port is opened.
pub(crate) const PORT: u16 = 5432;

/// The unix socket of a live cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub(crate) socket_dir: PathBuf,
    pub(crate) port: u16,
}

impl Endpoint {
    /// The directory that holds the socket.
    pub fn socket_dir(&self) -> &Path {
        &self.socket_dir
    }

    /// Options for one database, with nothing taken from `PG…` variables that could lead elsewhere.
    pub fn connect_options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .socket(&self.socket_dir)
            .port(self.port)
            .username(SUPERUSER)
            .database(database)
            .ssl_mode(PgSslMode::Disable)
    }

    /// The same as a URL that both sqlx and psql understand. It holds no secret.
    pub fn url(&self, database: &str) -> String {
        let directory = percent(self.socket_dir.as_os_str().as_encoded_bytes());
        format!(
            "postgresql://{SUPERUSER}@{directory}:{}/{}",
            self.port,
            percent(database.as_bytes())
        )
    }

    /// Creates the database when it is missing. Two callers at once both succeed.
    ///
    /// # Errors
    /// [`PostgresError::Connect`].
    pub async fn ensure_database(&self, name: &str) -> Result<(), PostgresError> {
        ensure_database(&self.connect_options("postgres"), name).await
    }

    pub(crate) async fn answers(&self) -> Result<(), PostgresError> {
        let mut connection = PgConnection::connect_with(&self.connect_options("postgres")).await?;
        sqlx::query("select 1").execute(&mut connection).await?;
        Ok(connection.close().await?)
    }
}

async fn ensure_database(server: &PgConnectOptions, name: &str) -> Result<(), PostgresError> {
    let mut connection = PgConnection::connect_with(server).await?;
    let found: Option<i32> = sqlx::query_scalar("select 1 from pg_database where datname = $1")
        .bind(name)
        .fetch_optional(&mut connection)
        .await?;
    if found.is_none() {
        let created = sqlx::query(&format!("create database {}", quoted(name)))
            .execute(&mut connection)
            .await;
        if let Err(error) = created
            && !made_by_another(&error)
        {
            return Err(error.into());
        }
    }
    Ok(connection.close().await?)
}

/// `duplicate_database`, or the unique index that two simultaneous creators meet at.
fn made_by_another(error: &sqlx::Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    matches!(code.as_deref(), Some("42P04" | "23505"))
}

/// An SQL identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn percent(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._".contains(byte) {
            text.push(char::from(*byte));
        } else if write!(text, "%{byte:02X}").is_err() {
            // Writing into a string does not fail.
            return text;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_leads_to_the_same_socket_as_the_options() {
        let endpoint = Endpoint {
            socket_dir: "/tmp/ein Pfad/ü?#%".into(),
            port: PORT,
        };
        let parsed: PgConnectOptions = endpoint.url("runs/1").parse().unwrap();
        assert_eq!(parsed.get_socket(), Some(&endpoint.socket_dir));
        assert_eq!(parsed.get_database(), Some("runs/1"));
        assert_eq!(
            (parsed.get_username(), parsed.get_port()),
            (SUPERUSER, PORT)
        );
    }

    #[test]
    fn quotes_in_a_name_stay_inside_the_identifier() {
        assert_eq!(
            quoted(r#"a"; drop database b; --"#),
            r#""a""; drop database b; --""#
        );
    }
}
