//! The shell.

pub mod app;
pub mod auth;
pub mod http;
