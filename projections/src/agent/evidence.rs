//! Evidence as clients read it back.

pub mod view;
