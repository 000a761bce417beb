//! Given, when, then for every arm.
