//! The run door.

mod budgets;
mod cancels;
mod continues;
mod credentials;
mod events;
mod evidence;
mod executors;
mod headers;
mod input;
mod keys;
mod lifecycle;
mod limits;
mod lists;
mod logs;
mod marks;
mod models;
mod questions;
mod scopes;
mod starts;
mod streams;
pub mod tokens;
mod tools;
