//! Database names that tell their maker, so that a later process can sweep a dead one's.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::leftovers::is_alive;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// `helix_test_<machine>_<pid>_<n>_<label>`, at most 63 bytes, unique in this process.
pub(super) fn unique(label: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            c
        } else {
            '_'
        }
    };
    let label: String = label
        .to_ascii_lowercase()
        .chars()
        .map(plain)
        .take(20)
        .collect();
    format!(
        "{}{}_{}_{label}",
        prefix(),
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// What every name made on this machine begins with.
pub(super) fn prefix() -> String {
    let machine = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    // FNV-1a: short, and the same in every process.
    let hash = machine.iter().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    });
    format!("helix_test_{hash:08x}_")
}

/// Whether a database was made by a process of this machine that is gone.
pub(super) fn is_orphaned(database: &str) -> bool {
    let maker = database
        .strip_prefix(&prefix())
        .and_then(|rest| rest.split('_').next());
    maker
        .and_then(|pid| pid.parse().ok())
        .is_some_and(|pid: u32| !is_alive(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_and_belongs_to_its_living_maker() {
        let name = unique("Rooms & the Ünreasonably long label of a template");
        assert!(
            name.len() <= 63 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
            "{name}"
        );
        assert!(!is_orphaned(&name));
        assert_ne!(
            name,
            unique("Rooms & the Ünreasonably long label of a template")
        );
    }

    #[test]
    fn only_names_of_dead_makers_here_are_orphans() {
        assert!(is_orphaned(&format!("{}4194305_0_runs", prefix())));
        assert!(!is_orphaned("helix_test_zzzzzzzz_4194305_0_runs"));
        assert!(!is_orphaned("helix"));
    }
}
