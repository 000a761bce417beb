//! The one binary (`operations` 1).

use std::process::ExitCode;

fn main() -> ExitCode {
    helix::cli::main()
}
