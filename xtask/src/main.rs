//! The chores of the workspace: `cargo xtask <chore>`.

mod architecture;
mod bench_check;
mod build_ptx;
mod ci;
mod compare_codegen;
mod cross;
mod failure;
mod files;
mod matrix;
mod package;
mod page_commands;
mod peers;
mod registers;
mod results;
mod tune;
mod wheel;

use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use failure::{BAD_USE, Failure};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Compile the kernels to PTX and write kernels/ptx/, or check that what is there is what a rebuild gives.
    BuildPtx(build_ptx::Options),
    /// What two compilers made of the same kernels: instructions, registers, counters and, on a GPU, times, side by side.
    CompareCodegen(compare_codegen::Options),
    /// Write down how many registers NVIDIA's assembler gives each kernel on each GPU; takes a `ptxas`.
    Registers,
    /// Time the kernels and everybody else's on this machine's GPU, interleaved on one input, and keep the record.
    Peers(peers::Options),
    /// Write the tables and the picture of speed, in README.md and docs/, from a record of `peers`.
    Results(results::Options),
    /// Measure how rows are reduced fastest on this machine's GPU, and make the library's table of it.
    Tune(tune::Options),
    /// Run every command that a page of the course names, and compare what it prints with what the page shows.
    PageCommands(page_commands::Options),
    /// Test every operator over every type.
    Matrix,
    /// Count what the emulator and the kernels' PTX cost, and fail where it is over 5 % more than in benches/baseline.json.
    BenchCheck(bench_check::Options),
    /// Draw into ARCHITECTURE.md which crates and modules use which, and fail where they do so in a circle.
    Architecture(architecture::Options),
    /// Build the product for every system that it is for, and run it where this machine can.
    Cross(cross::Options),
    /// Pack every crate of the product as a registry would get it, and build each from that alone.
    Package,
    /// Build the command line and the Python library as wheels, and try each in a fresh environment.
    Wheel(wheel::Options),
    /// Everything that has to pass before a change lands, step by step, up to the first that fails.
    Ci {
        /// Leave `cargo test` out, which whoever calls this has run; the tests of the chores run all the same.
        #[arg(long)]
        skip_tests: bool,
    },
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    match run(arguments.chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            error.exit_status().into()
        }
    }
}

fn run(chore: Chore) -> Result<(), Box<dyn Failure>> {
    match chore {
        Chore::BuildPtx(options) => build_ptx::run(repository(), &options)?,
        Chore::CompareCodegen(options) => compare_codegen::run(repository(), &options)?,
        Chore::Registers => registers::run(repository())?,
        Chore::Peers(options) => peers::run(repository(), &options)?,
        Chore::Results(options) => results::run(repository(), &options)?,
        Chore::Tune(options) => tune::run(repository(), &options)?,
        Chore::PageCommands(options) => page_commands::run(repository(), &options)?,
        Chore::Matrix => matrix::run(repository())?,
        Chore::BenchCheck(options) => bench_check::run(repository(), &options)?,
        Chore::Architecture(options) => architecture::run(repository(), &options)?,
        Chore::Cross(options) => cross::run(repository(), &options)?,
        Chore::Package => package::run(repository())?,
        Chore::Wheel(options) => wheel::run(repository(), &options)?,
        Chore::Ci { skip_tests } => ci::run(repository(), skip_tests)?,
    }
    Ok(())
}

/// Prints the help that was asked for or that is needed, or the one sentence that says what is wrong with the arguments.
fn usage(error: &clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        eprint!("{}", error.render());
        BAD_USE.into()
    } else if error.use_stderr() {
        let text = error.render().to_string();
        let sentence: Vec<&str> = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.is_empty())
            .collect();
        eprintln!("{} (see `cargo xtask --help`)", sentence.join(" "));
        BAD_USE.into()
    } else {
        print!("{}", error.render());
        ExitCode::SUCCESS
    }
}

/// The root of the repository that this program was built in.
fn repository() -> &'static Path {
    let own_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    own_folder.parent().unwrap_or(own_folder)
}
