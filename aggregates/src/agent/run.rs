//! One durable run.

pub mod turn;
