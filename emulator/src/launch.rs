//! The shape of a launch, and whether a device would take it.

use std::fmt;

use crate::device::DeviceProperties;
use crate::error::LaunchError;
use crate::kernel::Kernel;
use crate::limits::{MAX_BLOCK_THREADS, check_extents, check_threads};

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Size of `extern .shared` arrays, in bytes.
    pub dynamic_shared_bytes: u32,
    /// What limits the grids that the kernel launches itself.
    pub nesting: Nesting,
    /// Host threads that run blocks; 0 takes all cores. An observer may ask for one ([`Wants::in_order`](crate::Wants::in_order)).
    pub threads: usize,
    /// The launch traps after this many warp instructions; 0 sets no limit.
    pub max_steps: u64,
    /// Whether blocks may wait for each other. All of them are then resident together and advance in turn, and the launch is refused if
    /// the device has no room for that many ([`DeviceProperties`]).
    pub cooperative: bool,
    /// The multiprocessors of the emulated device (`%nsmid`), on which the blocks of a cooperative launch must have room.
    pub multiprocessors: u32,
}

/// What limits the grids that kernels launch (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"). A launch beyond a limit is a
/// trap. A GPU returns an error, which kernels seldom look at, or lets it pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nesting {
    /// How deep grids may nest: the host's grid is at depth 0, those that it launches at depth 1.
    pub depth: u32,
    /// How many launched grids may be unfinished at a time (`cudaLimitDevRuntimePendingLaunchCount`), those that wait and those that
    /// run. The emulator begins grids as late as it may, and so counts the most that there can be.
    pub pending: u64,
}

/// The depth that CUDA promises, and a GPU's default count.
impl Default for Nesting {
    fn default() -> Self {
        Self {
            depth: 24,
            pending: 2048,
        }
    }
}

/// One block of one thread, on all cores, without a limit.
impl Default for Launch {
    fn default() -> Self {
        Self {
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared_bytes: 0,
            nesting: Nesting::default(),
            threads: 0,
            max_steps: 0,
            cooperative: false,
            multiprocessors: DeviceProperties::EMULATED.multiprocessors,
        }
    }
}

/// In which order blocks, warps and lanes advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order of [`launch`](crate::launch): one block after another, each warp as far as it gets, lanes together.
    Fixed,
    /// The order of [`launch_scheduled`](crate::launch_scheduled) under this seed.
    Seed(u64),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("the fixed order"),
            Self::Seed(seed) => write!(f, "seed {seed}"),
        }
    }
}

/// One of several launches that run at the same time, each on a device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLaunch<'a> {
    /// The kernel, of a program that is loaded into the memory of that device.
    pub kernel: &'a Kernel,
    /// The number of the device ([`Memory::device`](crate::Memory::device)).
    pub device: u8,
    /// Its shape. The number of host threads means nothing: there is one.
    pub shape: Launch,
    /// One little-endian byte string per parameter.
    pub arguments: &'a [Vec<u8>],
}

/// Whether a device takes a launch of this shape.
pub(crate) fn check_shape(kernel: &Kernel, launch: &Launch) -> Result<(), LaunchError> {
    let invalid = |message: String| Err(LaunchError::Invalid(message));
    let name = &kernel.name;
    let threads = launch
        .block
        .iter()
        .map(|&extent| u64::from(extent))
        .product::<u64>();
    let extents = check_extents(launch.grid, launch.block).and_then(|()| {
        let most = kernel.max_threads.unwrap_or(MAX_BLOCK_THREADS);
        check_threads(threads, most)
    });
    if let Err(reason) = extents {
        return invalid(format!("kernel `{name}`: {reason}"));
    }
    if let Some(required) = kernel
        .required_block
        .filter(|required| *required != launch.block)
    {
        return invalid(format!(
            "kernel `{name}`: a block of {:?} threads, where `.reqntid` asks for {required:?}",
            launch.block
        ));
    }
    if (0..3).any(|axis| !launch.grid[axis].is_multiple_of(kernel.cluster[axis])) {
        return invalid(format!(
            "kernel `{name}`: a grid of {:?} blocks, which is no multiple of its clusters of {:?}",
            launch.grid, kernel.cluster
        ));
    }
    if launch.multiprocessors == 0 {
        return invalid(format!(
            "kernel `{name}`: a device of 0 multiprocessors, where it takes at least one"
        ));
    }
    let device = DeviceProperties {
        multiprocessors: launch.multiprocessors,
        ..DeviceProperties::EMULATED
    };
    let shared = kernel.code.shared_bytes(launch.dynamic_shared_bytes);
    if shared > u64::from(device.each.shared_bytes_per_block) {
        return invalid(format!(
            "kernel `{name}`: {shared} bytes of shared memory, where at most {} are allowed",
            device.each.shared_bytes_per_block
        ));
    }
    if launch.cooperative {
        let blocks: u64 = launch
            .grid
            .iter()
            .map(|&extent| u64::from(extent))
            .product();
        let each = device.resident_blocks(kernel, launch.block, launch.dynamic_shared_bytes);
        let resident = u64::from(device.multiprocessors) * u64::from(each);
        if blocks > resident {
            return invalid(format!(
                "kernel `{name}`: a cooperative launch of {blocks} blocks of {threads} threads, where the emulated device holds {resident} such blocks at a time ({each} on each of {} multiprocessors): launch fewer, and let each do more",
                device.multiprocessors
            ));
        }
    }
    Ok(())
}
