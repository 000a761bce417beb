//! `helix bench`: ratios measured in one run, in interleaved slices (ADR 0006).

pub mod tally;
