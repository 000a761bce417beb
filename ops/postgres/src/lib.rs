//! The private Postgres of a data directory: found, started, watched and stopped (operations 2).
//!
//! Why: `helix` and every test need a real Postgres, and nobody should have to install, configure or
//! clean up one by hand.
//!
//! What must stay true:
//! - one supervisor per data directory, proved by [`DataDirLock`], without which no cluster starts;
//! - the cluster listens on a unix socket in a 0700 directory and on nothing else;
//! - the postmaster never outlives its supervisor for long, however the supervisor ends;
//! - Postgres's log holds no statement, parameter or row value;
//! - nothing here reads the environment, `PATH` apart; `testing` alone reads its override.
//!
//! Deliberately absent: the schema, migrations, pools, backup, and any knowledge of Helix's tables.
//!
//! The only `unsafe` block of the project is in `launch`.

mod apt;
mod cluster;
mod endpoint;
mod error;
mod health;
mod initdb;
mod keeper;
mod launch;
mod leftovers;
mod lock;
mod log;
mod pid_file;
mod search;
mod settings;
mod socket;
#[cfg(feature = "testing")]
pub mod testing;

pub use cluster::{Cluster, ClusterConfig};
pub use endpoint::Endpoint;
pub use error::PostgresError;
pub use health::Health;
pub use initdb::existing_major;
pub use lock::{DataDirLock, Held};
pub use search::{Programs, Search};
pub use settings::Durability;
