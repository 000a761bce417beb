//! Black-box tests: everything goes through the doors of real servers on a real database.

mod agent;
mod harness;
