//! A launch performed: its arguments laid out, its blocks run, its trap given the text of its line.

use crate::clock::HostInstant;
use std::any::Any;
use std::sync::atomic::AtomicU64;

use crate::error::{LaunchError, Trap};
use crate::kernel::Kernel;
use crate::launch::{DeviceLaunch, Launch, Order, check_shape};
use crate::memories::Memories;
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
    start(
        kernel,
        Memories::new(memory, &[]),
        launch,
        arguments,
        None,
        observer,
    )
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
    let memories = Memories::new(memory, &[]);
    start(kernel, memories, launch, arguments, Some(seed), observer)
}

/// As [`launch`], where other devices share the address space: the kernel may access the memory of those to which peer access has been
/// enabled ([`Memory::enable_peer_access`]). Addresses of devices that are not named here lead nowhere.
///
/// # Errors
/// As [`launch`].
pub fn launch_with_peers(
    kernel: &Kernel,
    memory: &Memory,
    peers: &[&Memory],
    launch: &Launch,
    arguments: &[Vec<u8>],
    observer: &mut dyn Watch,
) -> Result<(), LaunchError> {
    let memories = Memories::new(memory, peers);
    start(kernel, memories, launch, arguments, None, observer)
}

/// Runs several kernels at the same time, each on one of the devices; several may be on the same. They may wait for each other: in the
/// fixed order their blocks take turns, under a seed chance decides. `memories` are those of all devices, which need not all have a
/// launch. It all runs on one host thread.
///
/// # Errors
/// As [`launch`]; also a device that has no memory here, or two of one number. The first trap ends all of the launches.
pub fn launch_together(
    launches: &[DeviceLaunch<'_>],
    memories: &[&Memory],
    order: Order,
    observer: &mut dyn Watch,
) -> Result<(), LaunchError> {
    check_devices(memories)?;
    let count = launches.len() as u32;
    let schedule = match order {
        Order::Fixed => None,
        Order::Seed(seed) => Some(seed),
    };
    let prepared = launches.iter().zip(0..).map(|(launch, number)| {
        let memory = memory_of(memories, launch.device)?;
        let among = [number, count];
        ReadyLaunch::new(
            launch.kernel,
            memory,
            &launch.shape,
            launch.arguments,
            among,
            schedule,
        )
    });
    let prepared: Vec<ReadyLaunch<'_>> = prepared.collect::<Result<_, _>>()?;
    let runs = launches.iter().zip(&prepared).map(|(launch, prepared)| {
        let memory = memory_of(memories, launch.device)?;
        Ok(prepared.run(Memories::new(memory, memories), 1))
    });
    let runs: Vec<simt::Run<'_>> = runs.collect::<Result<_, LaunchError>>()?;
    let result = observed(observer, |watched| match watched {
        None => simt::run_together(&runs, &mut Nothing),
        Some(watched) => simt::run_together(&runs, watched),
    });
    result.map_err(|(number, trap)| with_place(trap, launches[number].kernel))
}

/// Whether each device is there once.
pub(crate) fn check_devices(memories: &[&Memory]) -> Result<(), LaunchError> {
    for (index, memory) in memories.iter().enumerate() {
        let device = memory.device();
        if memories[..index]
            .iter()
            .any(|other| other.device() == device)
        {
            return Err(LaunchError::Invalid(format!(
                "two memories of device {device}: give each its own number (Memory::of_device)"
            )));
        }
    }
    Ok(())
}

fn memory_of<'m>(memories: &[&'m Memory], device: u8) -> Result<&'m Memory, LaunchError> {
    let found = memories.iter().find(|memory| memory.device() == device);
    found.copied().ok_or_else(|| {
        LaunchError::Invalid(format!(
            "a launch on device {device}, whose memory is not among those that were given"
        ))
    })
}

fn start(
    kernel: &Kernel,
    memories: Memories<'_>,
    launch: &Launch,
    arguments: &[Vec<u8>],
    schedule: Option<u64>,
    observer: &mut dyn Watch,
) -> Result<(), LaunchError> {
    let prepared = ReadyLaunch::new(kernel, memories.own, launch, arguments, [0, 1], schedule)?;
    let threads = match launch.threads {
        _ if observer.wants().in_order => 1,
        0 => simt::cores(),
        threads => threads,
    };
    let run = prepared.run(memories, threads);
    let result = observed(observer, |watched| match watched {
        None => simt::run(&run, &mut Nothing),
        Some(watched) => simt::run(&run, watched),
    });
    result.map_err(|trap| with_place(trap, kernel))
}

/// Runs with an observer of known type, or none, which costs nothing.
fn observed<R>(observer: &mut dyn Watch, run: impl FnOnce(Option<&mut Watched>) -> R) -> R {
    let any: &dyn Any = observer;
    if any.is::<Nothing>() {
        return run(None);
    }
    let mut watched = Watched::of(observer);
    let result = run(Some(&mut watched));
    observer.merge_watch(watched.into_watch());
    result
}

/// A trap with the text of its line.
fn with_place(mut trap: Box<Trap>, kernel: &Kernel) -> LaunchError {
    trap.text = kernel
        .line_text(trap.line as u32)
        .unwrap_or_default()
        .to_owned();
    trap.origin = kernel.origin(trap.line as u32);
    LaunchError::Trap(trap)
}

/// What a launch needs while it runs.
struct ReadyLaunch<'a> {
    kernel: &'a Kernel,
    shape: simt::Shape,
    words: Vec<AtomicU64>,
    family: simt::Family<'a>,
    max_steps: u64,
}

impl<'a> ReadyLaunch<'a> {
    /// Checks a launch, which has a number among those that run at the same time.
    fn new(
        kernel: &'a Kernel,
        memory: &Memory,
        launch: &Launch,
        arguments: &[Vec<u8>],
        [number, count]: [u32; 2],
        schedule: Option<u64>,
    ) -> Result<Self, LaunchError> {
        check_shape(kernel, launch)?;
        let words = parameter_words(kernel, arguments)?;
        let workspace = match kernel.workspace {
            Some(address) if launch.cooperative => {
                clear_workspace(memory, address);
                address
            }
            _ => 0,
        };
        let of_memory = memory.heap().begin_launch();
        let limits = launch.nesting;
        Ok(Self {
            kernel,
            shape: simt::Shape {
                kernel: kernel.name.clone(),
                grid: launch.grid,
                block: launch.block,
                dynamic_shared_bytes: launch.dynamic_shared_bytes,
                cluster: kernel.cluster,
                cooperative: launch.cooperative,
                multiprocessors: launch.multiprocessors,
                workspace,
                number: number.into(),
                launch: number,
                depth: 0,
                started: HostInstant::now(),
            },
            words,
            family: simt::Family::new(
                of_memory,
                [number, count],
                &kernel.launchable,
                limits,
                schedule,
            ),
            max_steps: launch.max_steps,
        })
    }

    fn run<'r>(&'r self, memory: Memories<'r>, threads: usize) -> simt::Run<'r> {
        let bytes = 8 * self.words.len() as u64;
        simt::Run {
            code: &self.kernel.code,
            shape: &self.shape,
            memory,
            parameters: Region::new(0, bytes, true, &self.words),
            family: &self.family,
            threads,
            max_steps: self.max_steps,
        }
    }
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
