//! The run door.

mod lifecycle;
