//! What a run's turns read and may cite.

pub mod item;
