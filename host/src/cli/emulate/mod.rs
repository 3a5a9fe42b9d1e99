//! `warpfold emulate`: any PTX on the emulator.

mod argument;
mod report;
mod shape;

use super::failure::Failure;
use super::output::{JsonArguments, Output, write_file};
use super::suggest::did_you_mean;
use argument::{Argument, parse_argument};
use shape::{Shape, parse_shape};
use std::path::PathBuf;
use std::time::Instant;
use warpfold::element::ElementType;
use warpfold_emulator::{Counters, Kernel, Launch, LaunchError, Memory, Module, Program, launch};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The PTX text, whoever compiled it
    file: PathBuf,
    /// Name of the .entry to run
    #[arg(long, value_name = "NAME")]
    kernel: String,
    /// Blocks: 8, 8x4 or 8,4,2
    #[arg(long, value_parser = parse_shape)]
    grid: Shape,
    /// Threads of a block: 256, 16x16 or 8,4,2
    #[arg(long, value_parser = parse_shape)]
    block: Shape,
    /// Dynamically sized shared memory of each block
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = parse_bytes)]
    shared: u32,
    /// One argument per kernel parameter, in order (see the forms below)
    #[arg(long = "arg", value_name = "ARGUMENT", value_parser = parse_argument, allow_hyphen_values = true)]
    arguments: Vec<Argument>,
    /// After the run, print the sum of argument I (counted from 0), which is a buffer: integers exactly, floats in f64
    #[arg(long = "sum", value_name = "I")]
    sums: Vec<usize>,
    /// After the run, write argument I (counted from 0), which is a buffer, to FILE as raw little-endian bytes
    #[arg(long = "out", value_name = "I=FILE", value_parser = parse_out)]
    outs: Vec<(usize, PathBuf)>,
    /// Stop with an error after so many warp instructions [default: no limit]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true, value_parser = super::size::parse_size)]
    max_steps: u64,
    #[command(flatten)]
    json: JsonArguments,
}

const EXAMPLES: &str = "\
Arguments:
  i32:7  u64:10  f32:1.5         a scalar: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64
  bytes:0a0b0c0d                 a struct, byte for byte, in hexadecimal
  buf:i32:zeros:64               a buffer of 64 zeros
  buf:i32:iota:1024              a buffer of 0, 1, 2, … 1023
  buf:i32:random:1024:7:-50:50   1024 random values under seed 7, from -50 to 50
  buf:i32:file:data.bin          a buffer holding the file's raw little-endian bytes

Random values come from ChaCha8 (rand_chacha) under the seed, one 64-bit word z each:
integers LO + z mod (HI - LO + 1), both ends included;
floats LO + (z >> 11) / 2^53 · (HI - LO), HI excluded.

Example:
  warpfold emulate sum.ptx --kernel block_sum --grid 4 --block 256 \\
      --arg buf:i32:iota:1024 --arg buf:i32:zeros:4 --arg u64:1024 --sum 1 --out 1=partials.bin";

/// A kernel argument on the device.
struct Placed {
    /// What the kernel finds in its parameter.
    parameter: Vec<u8>,
    /// Where the argument is a buffer: its place.
    buffer: Option<PlacedBuffer>,
}

#[derive(Clone, Copy)]
struct PlacedBuffer {
    element_type: ElementType,
    address: u64,
    bytes: usize,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    check_indices(arguments)?;
    let module = parse(arguments)?;
    let mut memory = Memory::new();
    let program = Program::load(module, &mut memory).map_err(|error| failure(arguments, &error))?;
    let kernel = program
        .kernel(&arguments.kernel)
        .map_err(|error| failure(arguments, &error))?;
    check_parameters(&kernel, &arguments.arguments)?;
    let placed = arguments
        .arguments
        .iter()
        .map(|argument| place(argument, &mut memory))
        .collect::<Result<Vec<_>, _>>()?;

    let shape = Launch {
        grid: arguments.grid.0,
        block: arguments.block.0,
        dynamic_shared_bytes: arguments.shared,
        threads: 0,
        max_steps: arguments.max_steps,
    };
    let parameters: Vec<Vec<u8>> = placed
        .iter()
        .map(|argument| argument.parameter.clone())
        .collect();
    let mut counters = Counters::default();
    let start = Instant::now();
    launch(&kernel, &memory, &shape, &parameters, &mut counters)
        .map_err(|error| failure(arguments, &error))?;
    let emulated_in_ms = start.elapsed().as_secs_f64() * 1e3;

    let mut report = report::Report::new(arguments, counters, emulated_in_ms);
    for &index in &arguments.sums {
        let (element_type, bytes) = read_buffer(&placed, index, &memory)?;
        report.add_sum(index, element_type, &bytes);
    }
    for (index, path) in &arguments.outs {
        let (_, bytes) = read_buffer(&placed, *index, &memory)?;
        write_file(path, &bytes)?;
    }
    report.print(&output)
}

fn parse(arguments: &Arguments) -> Result<Module, Failure> {
    let file = arguments.file.display();
    let source = std::fs::read_to_string(&arguments.file)
        .map_err(|error| Failure::Input(format!("cannot read {file}: {error}")))?;
    let module = Module::parse(&source).map_err(|error| failure(arguments, &error.into()))?;
    let entries: Vec<&str> = module.entries().collect();
    if entries.is_empty() {
        return Err(Failure::Input(format!(
            "{file} has no kernel: there is no .entry in it"
        )));
    }
    if !entries.contains(&arguments.kernel.as_str()) {
        let suggestion = did_you_mean(&arguments.kernel, entries);
        return Err(Failure::Input(format!(
            "{file} has no kernel `{}`{suggestion}",
            arguments.kernel
        )));
    }
    Ok(module)
}

/// A fault of the kernel is a finding; everything else is bad input.
fn failure(arguments: &Arguments, error: &LaunchError) -> Failure {
    match error {
        LaunchError::Trap(trap) => Failure::finding(trap),
        LaunchError::Ptx(error) => Failure::Input(format!("{}: {error}", arguments.file.display())),
        error => Failure::input(error),
    }
}

/// `--sum` and `--out` must name buffers; better said before the run than after it.
fn check_indices(arguments: &Arguments) -> Result<(), Failure> {
    let sums = arguments.sums.iter().map(|&index| ("--sum", index));
    let outs = arguments.outs.iter().map(|&(index, _)| ("--out", index));
    for (option, index) in sums.chain(outs) {
        match arguments.arguments.get(index) {
            Some(Argument::Buffer(..)) => {}
            Some(_) => {
                return Err(Failure::Input(format!(
                    "{option} {index}: argument {index} is not a buffer (arguments count from 0)"
                )));
            }
            None => {
                return Err(Failure::Input(format!(
                    "{option} {index}: there is no argument {index}; {} given, counted from 0",
                    arguments.arguments.len()
                )));
            }
        }
    }
    Ok(())
}

fn check_parameters(kernel: &Kernel, arguments: &[Argument]) -> Result<(), Failure> {
    let parameters = kernel.parameters();
    if parameters.len() != arguments.len() {
        let sizes: Vec<String> = parameters
            .iter()
            .map(|parameter| format!("{} of {} bytes", parameter.name, parameter.bytes))
            .collect();
        return Err(Failure::Input(format!(
            "kernel `{}` takes {} arguments and {} given; its parameters are: {}",
            kernel.name(),
            parameters.len(),
            arguments.len(),
            if sizes.is_empty() {
                "none".to_owned()
            } else {
                sizes.join(", ")
            }
        )));
    }
    for (index, (parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
        let bytes = match argument {
            Argument::Scalar(_, bytes) | Argument::Bytes(bytes) => bytes.len(),
            Argument::Buffer(..) => size_of::<u64>(),
        };
        if bytes != parameter.bytes {
            return Err(Failure::Input(format!(
                "argument {index} has {bytes} bytes where parameter {} of kernel `{}` has {}; give a value of that size",
                parameter.name,
                kernel.name(),
                parameter.bytes
            )));
        }
    }
    Ok(())
}

fn place(argument: &Argument, memory: &mut Memory) -> Result<Placed, Failure> {
    match argument {
        Argument::Scalar(_, bytes) | Argument::Bytes(bytes) => Ok(Placed {
            parameter: bytes.clone(),
            buffer: None,
        }),
        Argument::Buffer(element_type, contents) => {
            let bytes = contents.bytes(*element_type).map_err(Failure::Input)?;
            let address = memory.allocate(bytes.len()).map_err(Failure::input)?;
            memory.write(address, &bytes).map_err(Failure::input)?;
            Ok(Placed {
                parameter: address.to_le_bytes().to_vec(),
                buffer: Some(PlacedBuffer {
                    element_type: *element_type,
                    address,
                    bytes: bytes.len(),
                }),
            })
        }
    }
}

/// The contents of a buffer argument, whose index was checked before the run.
fn read_buffer(
    placed: &[Placed],
    index: usize,
    memory: &Memory,
) -> Result<(ElementType, Vec<u8>), Failure> {
    let buffer = placed
        .get(index)
        .and_then(|argument| argument.buffer)
        .ok_or_else(|| Failure::Input(format!("argument {index} is not a buffer")))?;
    let mut bytes = vec![0; buffer.bytes];
    memory
        .read(buffer.address, &mut bytes)
        .map_err(Failure::input)?;
    Ok((buffer.element_type, bytes))
}

fn parse_bytes(text: &str) -> Result<u32, String> {
    u32::try_from(super::size::parse_size(text)?)
        .map_err(|_| format!("'{text}' is beyond 2^32 - 1 bytes"))
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
