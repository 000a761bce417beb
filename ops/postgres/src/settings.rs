//! The server settings, given on the command line so that they always fit the binary that starts.
//!
//! Postgres's log must never tell a secret: statements and parameters are not logged, errors of statements
//! go to the client alone, and the terse form leaves out the `DETAIL` that quotes row values.

use std::ffi::OsString;
use std::path::Path;

use crate::endpoint::PORT;
use crate::error::PostgresError;
use crate::launch::{Identity, command};
use crate::search::Programs;

/// Whether an acknowledged commit survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Full,
    /// For throw-away clusters only: a crash of the machine destroys them, one of the server does not.
    Off,
}

/// Settings as Postgres's `-c name=value`; a later one wins.
pub(crate) fn arguments(
    durability: Durability,
    socket_dir: &Path,
    extra: &[(String, String)],
) -> Vec<OsString> {
    let fixed = COMMON.iter().chain(match durability {
        Durability::Full => FULL,
        Durability::Off => OFF,
    });
    let mut settings: Vec<OsString> = fixed
        .map(|(name, value)| format!("{name}={value}").into())
        .collect();
    settings.extend(
        extra
            .iter()
            .map(|(name, value)| format!("{name}={value}").into()),
    );
    // Last, since no caller may open another door.
    settings.extend(
        DOORS
            .iter()
            .map(|(name, value)| OsString::from(format!("{name}={value}"))),
    );
    settings.push(format!("port={PORT}").into());
    settings.push(socket_setting(socket_dir));
    settings
        .into_iter()
        .flat_map(|setting| [OsString::from("-c"), setting])
        .collect()
}

/// Full page images compress well; lz4 costs least, and not every build has it.
pub(crate) fn wal_compression(
    programs: &Programs,
    cluster: &Path,
    identity: Identity,
) -> Result<(String, String), PostgresError> {
    let mut probe = command(programs, "postgres", identity)?;
    probe
        .arg("-D")
        .arg(cluster)
        .args(["-C", "wal_compression", "-c", "wal_compression=lz4"]);
    let known = probe.output().is_ok_and(|output| output.status.success());
    Ok((
        "wal_compression".into(),
        if known { "lz4" } else { "on" }.into(),
    ))
}

const DOORS: &[(&str, &str)] = &[
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    ("log_statement", "none"),
    ("log_min_duration_statement", "-1"),
    ("log_parameter_max_length", "0"),
    ("log_parameter_max_length_on_error", "0"),
    ("log_min_error_statement", "panic"),
    // In the order of the server log, `log` ranks above `error`.
    ("log_min_messages", "log"),
    ("log_error_verbosity", "terse"),
];

const COMMON: &[(&str, &str)] = &[
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("lc_messages", "C"),
    ("log_line_prefix", "%m [%p] "),
    ("log_destination", "stderr"),
    // The supervisor keeps the log, within bounds that the collector cannot promise.
    ("logging_collector", "off"),
    ("max_connections", "64"),
    ("shared_buffers", "64MB"),
    ("max_wal_size", "512MB"),
    ("min_wal_size", "64MB"),
    // Short statements by the thousand: compiling them costs more than it gains.
    ("jit", "off"),
];

const FULL: &[(&str, &str)] = &[
    ("fsync", "on"),
    ("synchronous_commit", "on"),
    ("full_page_writes", "on"),
];

const OFF: &[(&str, &str)] = &[
    ("fsync", "off"),
    // The write to the kernel is cheap, and keeps acknowledged commits when only processes die.
    ("synchronous_commit", "on"),
    ("full_page_writes", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
];

/// The setting is a list of paths: quotes keep a comma or a blank inside one of them.
fn socket_setting(directory: &Path) -> OsString {
    let mut bytes = b"unix_socket_directories=\"".to_vec();
    for byte in directory.as_os_str().as_encoded_bytes() {
        bytes.push(*byte);
        if *byte == b'"' {
            bytes.push(b'"');
        }
    }
    bytes.push(b'"');
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}
