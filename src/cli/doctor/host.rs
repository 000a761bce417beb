//! The machine: data directory, disk and Postgres programs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Hands, OTHERS, Report, reach};
use crate::config::Config;

const GIB: u64 = 1 << 30;
/// Free space below which a warning is due, and below which a server will soon fail, in bytes.
const LITTLE: u64 = GIB;
const TOO_LITTLE: u64 = 100 << 20;

pub fn data_dir(config: &Config, hands: Hands, report: &mut Report) {
    let path = &config.data.dir;
    let shown = path.display();
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            report.ok(
                "data_dir",
                format!("{shown} is not there yet; the first start makes it"),
            );
        }
        Err(error) => report.error(
            "data_dir",
            format!("{shown} cannot be entered: {error}"),
            "run as the user it belongs to, or choose another --data-dir",
        ),
        Ok(found) if !found.is_dir() => {
            report.error(
                "data_dir",
                format!("{shown} is not a directory"),
                "choose another --data-dir",
            );
        }
        Ok(_) => permissions("data_dir", path, 0o700, hands, report),
    }
}

/// Whoever may read these files may read everything; they are for their owner alone.
pub fn permissions(
    code: &'static str,
    path: &Path,
    wanted: u32,
    hands: Hands,
    report: &mut Report,
) {
    let shown = path.display();
    let mode = match std::fs::metadata(path) {
        Ok(found) => found.permissions().mode() & 0o777,
        Err(error) => {
            return report.error(
                code,
                format!("{shown} cannot be seen: {error}"),
                "check its folder",
            );
        }
    };
    if mode & OTHERS == 0 {
        return report.ok(code, format!("{shown} is private"));
    }
    let fix = format!("chmod {wanted:o} '{shown}', or `helix doctor --fix`");
    if hands == Hands::Mend {
        match std::fs::set_permissions(path, std::fs::Permissions::from_mode(wanted)) {
            Ok(()) => {
                return report.ok(
                    code,
                    format!("{shown} was open to others ({mode:o}); mended"),
                );
            }
            Err(error) => {
                return report.error(code, format!("{shown} cannot be mended: {error}"), fix);
            }
        }
    }
    report.error(
        code,
        format!("{shown} is open to other users (mode {mode:o})"),
        fix,
    );
}

pub fn free_disk(config: &Config, report: &mut Report) {
    let Some(place) = existing(&config.data.dir) else {
        return;
    };
    let Ok(seen) = rustix::fs::statvfs(&place) else {
        return report.warn("disk", "free space cannot be told", "look with df");
    };
    let free = seen.f_bavail.saturating_mul(seen.f_frsize);
    let text = format!("{} MiB free for {}", free >> 20, config.data.dir.display());
    let fix = "free some space, or move the data directory to a larger disk";
    match free {
        ..TOO_LITTLE => report.error("disk", text, fix),
        TOO_LITTLE..LITTLE => report.warn("disk", text, fix),
        LITTLE.. => report.ok("disk", text),
    }
}

/// The nearest folder above that is there.
fn existing(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    absolute
        .ancestors()
        .find(|place| place.exists())
        .map(Path::to_owned)
}

/// The server's programs, and those of backups.
pub async fn programs(config: &Config, report: &mut Report) {
    if config.database.url.is_some() {
        report.ok("postgres", "an external database is configured");
        pg_dump(None, report);
        return;
    }
    let search = match reach::search(config) {
        Ok(search) => search,
        Err(failure) => return report.failed("postgres", &failure),
    };
    match tokio::task::spawn_blocking(move || search.find()).await {
        Ok(Ok(programs)) => {
            let text = format!(
                "PostgreSQL {} in {}",
                programs.version,
                programs.bin.display()
            );
            report.ok("postgres", text);
            pg_dump(Some(&programs.bin), report);
        }
        Ok(Err(error)) => report.error("postgres", error.to_string(), error.fix()),
        Err(_) => report.error(
            "postgres",
            "the programs could not be looked for",
            "try again",
        ),
    }
}

fn pg_dump(bin: Option<&Path>, report: &mut Report) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = bin
        .map(Path::to_owned)
        .into_iter()
        .chain(std::env::split_paths(&path));
    match places
        .map(|place| place.join("pg_dump"))
        .find(|program| program.is_file())
    {
        Some(program) => report.ok("pg_dump", program.display().to_string()),
        None => report.warn(
            "pg_dump",
            "pg_dump is missing; backups need it",
            "install the PostgreSQL client programs",
        ),
    }
}
