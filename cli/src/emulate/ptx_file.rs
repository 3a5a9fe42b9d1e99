//! The options of commands that take a kernel of a PTX file instead of a lesson.

use super::argument::{Argument, parse_argument};
use super::arguments::parse_bytes;
use super::extents::{Extents, parse_extents};
use super::launch::EmulatedLaunch;
use crate::failure::Failure;
use std::path::PathBuf;
use warpfold_emulator::Launch;

/// What to launch; the block comes from an option that the command shares with lessons.
#[derive(clap::Args, Debug)]
pub struct PtxFileArguments {
    /// A PTX file, from any compiler, instead of a lesson
    #[arg(long = "ptx", value_name = "FILE", requires_all = ["kernel", "grid", "blocks"])]
    file: Option<PathBuf>,
    /// With --ptx: name of the .entry to run
    #[arg(long, value_name = "NAME", requires = "file")]
    kernel: Option<String>,
    /// With --ptx: blocks, as 8, 8x4 or 8,4,2
    #[arg(long, value_parser = parse_extents, requires = "file")]
    grid: Option<Extents>,
    /// With --ptx: dynamically sized shared memory of each block
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = parse_bytes, requires = "file")]
    shared: u32,
    /// With --ptx: launch cooperatively: all blocks are resident together and may wait for each other
    #[arg(long, requires = "file")]
    cooperative: bool,
    /// With --ptx: one argument per kernel parameter, in order, as for `warpfold emulate` (see there)
    #[arg(long = "arg", value_name = "ARGUMENT", value_parser = parse_argument, allow_hyphen_values = true, requires = "file")]
    arguments: Vec<Argument>,
}

impl PtxFileArguments {
    /// Whether there is a `--ptx`.
    pub fn is_given(&self) -> bool {
        self.file.is_some()
    }

    /// Reads and places what `--ptx` asks for; `None` without it.
    pub fn prepare(&self, block: Extents) -> Result<Option<EmulatedLaunch>, Failure> {
        let (Some(file), Some(kernel), Some(grid)) = (&self.file, &self.kernel, self.grid) else {
            return Ok(None);
        };
        let shape = Launch {
            grid: grid.0,
            block: block.0,
            dynamic_shared_bytes: self.shared,
            cooperative: self.cooperative,
            ..Launch::default()
        };
        EmulatedLaunch::new(file, kernel, shape, &self.arguments).map(Some)
    }
}
