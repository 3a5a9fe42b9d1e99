//! A launch performed: its arguments laid out, its blocks run, its trap given the text of its line.

use crate::clock::HostInstant;
use std::any::Any;
use std::sync::atomic::AtomicU64;

use crate::error::LaunchError;
use crate::kernel::Kernel;
use crate::launch::{Launch, check_shape};
use crate::memory::Memory;
use crate::observer::{Nothing, Watch, Watched};
use crate::region::Region;
use crate::simt;

/// Runs a kernel to its end. `arguments` holds one little-endian byte string per parameter, of exactly its size.
///
/// # Errors
/// [`LaunchError::Invalid`] for a shape or arguments that no device would take, before anything has run;
/// [`LaunchError::Trap`] when the kernel does what it must not.
pub fn launch(
    kernel: &Kernel,
    memory: &Memory,
    launch: &Launch,
    arguments: &[Vec<u8>],
    observer: &mut dyn Watch,
) -> Result<(), LaunchError> {
    start(kernel, memory, launch, arguments, None, observer)
}

/// As [`launch`], by a random schedule: blocks, warps and the lanes of a warp, converged or not, advance in an order that the seed
/// decides, as a GPU may let them. A seed gives the same schedule every time; it all runs on one host thread.
///
/// # Errors
/// As [`launch`].
pub fn launch_scheduled(
    kernel: &Kernel,
    memory: &Memory,
    launch: &Launch,
    arguments: &[Vec<u8>],
    seed: u64,
    observer: &mut dyn Watch,
) -> Result<(), LaunchError> {
    start(kernel, memory, launch, arguments, Some(seed), observer)
}

fn start(
    kernel: &Kernel,
    memory: &Memory,
    launch: &Launch,
    arguments: &[Vec<u8>],
    schedule: Option<u64>,
    observer: &mut dyn Watch,
) -> Result<(), LaunchError> {
    check_shape(kernel, launch)?;
    let words = parameter_words(kernel, arguments)?;
    let shape = simt::Shape {
        kernel: kernel.name.clone(),
        grid: launch.grid,
        block: launch.block,
        dynamic_shared_bytes: launch.dynamic_shared_bytes,
        cluster: kernel.cluster,
        cooperative: launch.cooperative,
        multiprocessors: launch.multiprocessors,
        workspace: match kernel.workspace {
            Some(address) if launch.cooperative => {
                clear_workspace(memory, address);
                address
            }
            _ => 0,
        },
        number: 0,
        depth: 0,
        started: HostInstant::now(),
    };
    let threads = match launch.threads {
        _ if observer.wants().in_order => 1,
        0 => simt::cores(),
        threads => threads,
    };
    let bytes = 8 * words.len() as u64;
    let number = memory.heap().begin_launch();
    let family = simt::Family::new(number, &kernel.launchable, launch.nesting, schedule);
    let run = simt::Run {
        code: &kernel.code,
        shape: &shape,
        memory,
        parameters: Region::new(0, bytes, true, &words),
        family: &family,
        threads,
        max_steps: launch.max_steps,
    };
    let observed: &dyn Any = observer;
    let result = if observed.is::<Nothing>() {
        simt::run(&run, &mut Nothing)
    } else {
        let mut watched = Watched::of(observer);
        let result = simt::run(&run, &mut watched);
        observer.merge_watch(watched.into_watch());
        result
    };
    result.map_err(|mut trap| {
        trap.text = kernel
            .line_text(trap.line as u32)
            .unwrap_or_default()
            .to_owned();
        trap.origin = kernel.origin(trap.line as u32);
        LaunchError::Trap(trap)
    })
}

/// The barrier of the grid begins each launch as the driver leaves it: with nobody there.
fn clear_workspace(memory: &Memory, address: u64) {
    if let Some(region) = memory.region(address) {
        region.store(address - region.base, 0_u64);
    }
}

/// The parameter memory of the launch: every argument at its parameter's offset.
fn parameter_words(kernel: &Kernel, arguments: &[Vec<u8>]) -> Result<Vec<AtomicU64>, LaunchError> {
    let name = &kernel.name;
    if arguments.len() != kernel.parameters.len() {
        return Err(LaunchError::Invalid(format!(
            "kernel `{name}` takes {} arguments, not {}",
            kernel.parameters.len(),
            arguments.len()
        )));
    }
    let mut bytes = Vec::new();
    for (index, (argument, slice)) in arguments
        .iter()
        .zip(&kernel.code.functions[0].parameters)
        .enumerate()
    {
        if argument.len() != slice.bytes as usize {
            return Err(LaunchError::Invalid(format!(
                "argument {index} of kernel `{name}` has {} bytes, but its parameter `{}` has {}",
                argument.len(),
                kernel.parameters[index].name,
                slice.bytes
            )));
        }
        bytes.resize(slice.offset as usize, 0);
        bytes.extend_from_slice(argument);
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let words = bytes.chunks_exact(8).map(|word| {
        let word = word.try_into().map(u64::from_le_bytes).unwrap_or_default();
        AtomicU64::new(word)
    });
    Ok(words.collect())
}
