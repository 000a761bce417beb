//! Views of a run: its snapshot, its events and its line in a list.

pub mod event;
pub mod fold;
pub mod list;
pub mod view;

#[cfg(test)]
mod tests;
