//! The command's arguments.

use super::argument::{Argument, parse_argument};
use super::extents::{Extents, parse_extents};
use crate::output::JsonArguments;
use crate::size::parse_size;
use std::path::PathBuf;
use warpfold_course::element::ElementType;

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_long_help = EXAMPLES.replace("{types}", ElementType::NAMES))]
pub struct Arguments {
    /// The PTX file, from any compiler
    pub(super) file: PathBuf,
    /// Name of the .entry to run
    #[arg(long, value_name = "NAME")]
    pub(super) kernel: String,
    /// Blocks: 8, 8x4 or 8,4,2
    #[arg(long, value_parser = parse_extents)]
    pub(super) grid: Extents,
    /// Threads of a block: 256, 16x16 or 8,4,2
    #[arg(long, value_parser = parse_extents)]
    pub(super) block: Extents,
    /// Dynamically sized shared memory of each block
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = parse_bytes)]
    pub(super) shared: u32,
    /// Launch cooperatively: all blocks are resident together and may wait for each other
    #[arg(long)]
    pub(super) cooperative: bool,
    /// One argument per kernel parameter, in order (see the forms below)
    #[arg(long = "arg", value_name = "ARGUMENT", value_parser = parse_argument, allow_hyphen_values = true)]
    pub(super) arguments: Vec<Argument>,
    /// After the run, print the sum of argument I (counted from 0), which is a buffer: integers exactly, floats in f64
    #[arg(long = "sum", value_name = "I")]
    pub(super) sums: Vec<usize>,
    /// After the run, write argument I (counted from 0), which is a buffer, to FILE as raw little-endian bytes
    #[arg(long = "out", value_name = "I=FILE", value_parser = parse_out)]
    pub(super) outs: Vec<(usize, PathBuf)>,
    /// Stop with an error after N warp instructions [default: no limit]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true, value_parser = parse_size)]
    pub(super) max_steps: u64,
    #[command(flatten)]
    pub(super) json: JsonArguments,
}

const EXAMPLES: &str = "\
Arguments:
  i32:7  u64:10  f32:1.5         a scalar: {types}
  bytes:0a0b0c0d                 a struct, byte for byte, in hexadecimal
  buf:i32:zeros:64               a buffer of 64 zeros
  buf:i32:uninit:64              a buffer of 64 uninitialised elements (`warpfold check` reports their use)
  buf:i32:iota:1024              a buffer of 0, 1, 2, … 1023
  buf:i32:random:1024:7:-50:50   1024 random values under seed 7, from -50 to 50
  buf:i32:file:data.bin          a buffer holding the file's raw little-endian bytes

Random values come from ChaCha8 (rand's ChaCha8Rng) under the seed, one 64-bit word z each:
integers LO + z mod (HI - LO + 1), both ends included;
floats LO + (z >> 11) / 2^53 · (HI - LO), HI excluded.

Example:
  warpfold emulate sum.ptx --kernel block_sum --grid 4 --block 256 \\
      --arg buf:i32:iota:1024 --arg buf:i32:zeros:4 --arg u64:1024 --sum 1 --out 1=partials.bin";

pub(super) fn parse_bytes(text: &str) -> Result<u32, String> {
    u32::try_from(parse_size(text)?).map_err(|_| format!("'{text}' is beyond 2^32 - 1 bytes"))
}

fn parse_out(text: &str) -> Result<(usize, PathBuf), String> {
    let unreadable = || format!("'{text}' is not an output; write it like 1=partials.bin");
    let (index, path) = text.split_once('=').ok_or_else(unreadable)?;
    let index = index.parse().map_err(|_| unreadable())?;
    if path.is_empty() {
        return Err(unreadable());
    }
    Ok((index, PathBuf::from(path)))
}
