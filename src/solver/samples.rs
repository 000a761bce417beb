//! Sample documents about a harbour town that does not exist, written for this project.
//!
//! Part of the binary, so that a demonstration needs nothing from outside. They hold one
//! contradiction (the first weekday ferry), two documents that one question fits equally well (the
//! harbour offices), and topics with a single answer.

macro_rules! samples {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_bytes!(concat!("../../ops/demo/library/", $name)) as &[u8])),+]
    };
}

/// File names and contents.
pub const SAMPLE_DOCUMENTS: &[(&str, &[u8])] = samples![
    "fares.html",
    "ferry-timetable.md",
    "fish-market.md",
    "harbour-museum.txt",
    "harbour-office-north.txt",
    "harbour-office-south.txt",
    "lighthouse-history.html",
    "lighthouse-renovation.md",
    "quay-notice.txt",
    "storm-barrier.pdf",
    "tide-tables.html",
];
