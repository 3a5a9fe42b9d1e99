//! The binary `warpfold`: the library's devices, lessons and reducers behind a command line.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
