//! How a turn is solved: the seam between the run service and whatever finds the answer.
//!
//! Exists so that a solver can be anything (a rule engine, a model, a remote worker) without being
//! trusted. What must stay true: a solver cannot name a ref, a status or an authority, because
//! [`seam::Draft`] has no place for them; every read passes [`host::ToolHost`]; and only
//! [`finaliser`] turns a draft into a result. Deliberately absent: storage, clocks, credentials and
//! the run's state machine, which belong to the service and the run aggregate.

pub mod corpora;
pub mod corpus_extract;
pub mod engine;
pub mod finaliser;
#[cfg(test)]
mod fixture;
pub mod host;
pub mod model;
pub mod samples;
pub mod seam;
pub mod tools;
pub mod worker;
