//! The `research_library` scope: folders of text, Markdown, HTML and PDF files.

use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::extract::Format;
use super::{FILE_LIMIT, Found, FoundFile, stamp};
use crate::solver::corpora::CorpusFault;

const DEPTH_LIMIT: usize = 32;
/// Entries looked at in all folders together, so that a vast tree cannot hold up a start.
const ENTRY_LIMIT: usize = 200_000;

/// Finds the readable files of the configured folders. Links are named, not followed.
pub(in crate::solver) fn scan(roots: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let mut entries = 0;
    for root in roots {
        scan_root(root, roots.len() > 1, &mut entries, &mut found);
    }
    found
        .files
        .sort_by(|a, b| a.locator.cmp(&b.locator).then_with(|| a.path.cmp(&b.path)));
    found
        .files
        .dedup_by(|next, kept| next.locator == kept.locator);
    if found.files.len() > FILE_LIMIT {
        found.files.truncate(FILE_LIMIT);
        found.fault(
            String::new(),
            CorpusFault::TooManyFiles { limit: FILE_LIMIT },
        );
    }
    found
}

fn scan_root(root: &Path, several: bool, entries: &mut usize, found: &mut Found) {
    let shown = root.display().to_string();
    match std::fs::metadata(root) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return found.fault(shown, CorpusFault::NotAFolder),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return found.fault(shown, CorpusFault::MissingFolder);
        }
        Err(_) => return found.fault(shown, CorpusFault::Unreadable),
    }
    let prefix = match root.file_name() {
        Some(name) if several => format!("{}/", name.to_string_lossy()),
        _ => String::new(),
    };
    let walk = WalkDir::new(root)
        .max_depth(DEPTH_LIMIT)
        .sort_by_file_name();
    for entry in walk.into_iter().filter_entry(|entry| !is_hidden(entry)) {
        *entries += 1;
        if *entries > ENTRY_LIMIT {
            return found.fault(shown, CorpusFault::TooManyFiles { limit: ENTRY_LIMIT });
        }
        match entry {
            Ok(entry) => take(root, &prefix, &entry, found),
            Err(error) => {
                let path = error
                    .path()
                    .map_or_else(|| shown.clone(), |path| relative(root, path));
                found.fault(path, CorpusFault::Unreadable);
            }
        }
    }
}

fn take(root: &Path, prefix: &str, entry: &DirEntry, found: &mut Found) {
    let format = Format::of_name(entry.path());
    let locator = format!("{prefix}{}", relative(root, entry.path()));
    if entry.path_is_symlink() && entry.depth() > 0 {
        if format.is_some() || entry.path().is_dir() {
            found.fault(locator, CorpusFault::Link);
        }
        return;
    }
    let Some(format) = format else { return };
    if entry.file_type().is_dir() {
        return;
    }
    if entry.path().to_str().is_none() {
        return found.fault(locator, CorpusFault::OddName);
    }
    let path = entry.path().to_owned();
    match stamp(&path) {
        Some(stamp) => found.files.push(FoundFile {
            locator,
            path,
            root: root.to_owned(),
            format,
            stamp,
        }),
        None => found.fault(locator, CorpusFault::Unreadable),
    }
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}
