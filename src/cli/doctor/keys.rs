//! The key file, and whether there is a copy of it elsewhere.

use super::database::Seen;
use super::{Hands, Report, host};
use crate::cli::key::{fits, last_export};
use crate::cli::output::counted;
use crate::cli::serve::{KEY_IMPORT, KEY_MOVED_AWAY, key_fix};
use crate::config::Config;
use crate::store::keyfile::KeyFile;

pub fn look(config: &Config, hands: Hands, seen: Option<&Seen>, report: &mut Report) {
    let path = &config.data.kek_file;
    let shown = path.display();
    let wanted = seen.and_then(|seen| seen.keys.as_ref());
    let file = match KeyFile::load(path) {
        Ok(Some(file)) => file,
        Ok(None) if wanted.is_some_and(|keys| keys.file_id.is_some()) => {
            let text = format!("{shown} is missing although the database holds sealed data");
            return report.error("key_file", text, KEY_IMPORT);
        }
        Ok(None) => {
            return report.ok(
                "key_file",
                format!("{shown} is not there yet; the first start makes it"),
            );
        }
        Err(error) => return report.error("key_file", error.to_string(), key_fix(&error)),
    };
    host::permissions("key_file", path, 0o600, hands, report);
    match wanted.and_then(|keys| Some((keys.file_id?, keys))) {
        Some((file_id, keys)) if fits(&file, file_id, &keys.kek_ids) => {
            report.ok(
                "key_match",
                format!("opens {}", counted(keys.data_keys, "data key")),
            );
        }
        Some((file_id, _)) if file.file_id != file_id => report.error(
            "key_match",
            format!("{shown} belongs to another database"),
            "name this database's own key file with HELIX_KEK_FILE, or its own data directory",
        ),
        Some(_) => report.error(
            "key_match",
            format!("{shown} is older than the last rotation"),
            KEY_MOVED_AWAY,
        ),
        None => {}
    }
    match last_export(config, &file) {
        Some(at) => report.ok("key_export", format!("exported at {at}")),
        None => report.warn(
            "key_export",
            "the present key was never exported; without its file all texts are lost",
            "`helix key export --out EXPORT --passphrase-file PASSPHRASE-FILE`. \
             Keep both files apart from the data.",
        ),
    }
}
