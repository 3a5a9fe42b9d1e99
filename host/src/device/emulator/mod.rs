//! The emulator as a device.

mod kernel;
mod memory;
mod stream;

pub(super) use kernel::{EmulatedKernel, EmulatedModule};
pub(super) use memory::Allocation;
pub(super) use stream::{Event, Graph, Stream};

use crate::device::DeviceError;
use memory::SharedMemory;
use std::num::{NonZeroU32, NonZeroUsize};
use std::{fmt, thread};
use warpfold_emulator::DeviceProperties;

/// The PTX emulator on this machine's processor.
pub struct Emulator {
    memory: SharedMemory,
    cores: usize,
    multiprocessors: u32,
    why_no_gpu: Option<String>,
}

impl Emulator {
    /// The compute capability that the emulator stands in for: the newest that PTX is built for.
    pub const SM: u32 = 90;

    /// The multiprocessors that it stands in for unless told otherwise: those of a small GPU.
    pub const MULTIPROCESSORS: u32 = DeviceProperties::EMULATED.multiprocessors;

    /// An emulator with empty memory that stands in for a device with this many multiprocessors. More of them do not make it faster, but
    /// grids that fill the device get as many blocks as they would there.
    pub fn of_multiprocessors(multiprocessors: NonZeroU32) -> Self {
        Self {
            multiprocessors: multiprocessors.get(),
            ..Self::new(None)
        }
    }

    /// Emulators that stand in for several GPUs of one computer: kernels of each may access the memory of the others, once
    /// [`Device::enable_peer_access`](crate::Device::enable_peer_access) has allowed it.
    pub fn group(count: u8) -> Vec<Self> {
        let memories = SharedMemory::of_group(count).into_iter();
        memories
            .map(|memory| Self {
                memory,
                ..Self::new(None)
            })
            .collect()
    }

    /// The same with as many cores of the processor. On one core the blocks of a grid run in order, so that a kernel whose threads wait
    /// for others does the same in every run.
    #[must_use]
    pub fn with_cores(self, cores: NonZeroUsize) -> Self {
        Self {
            cores: cores.get(),
            ..self
        }
    }

    /// An emulator with empty memory, and why it is not a GPU where a GPU was preferred.
    pub(crate) fn new(why_no_gpu: Option<String>) -> Self {
        Self {
            memory: SharedMemory::new(),
            cores: cores(),
            multiprocessors: Self::MULTIPROCESSORS,
            why_no_gpu,
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.memory.is_same(&other.memory)
    }

    /// Whether the two are of one [group](Self::group), or the same.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        self.memory.is_beside(&other.memory)
    }

    /// Lets kernels of this device access the memory of another of its group.
    pub(super) fn enable_peer_access(&self, peer: &Self) {
        let peer = peer.memory.with(warpfold_emulator::Memory::device);
        self.memory
            .with_mut(|memory| memory.enable_peer_access(peer));
    }

    /// Whether it has allocated this.
    pub(super) fn owns(&self, allocation: &Allocation) -> bool {
        self.memory.is_same(&allocation.memory)
    }

    /// Whether it has made this stream.
    pub(super) fn has_made(&self, stream: &Stream) -> bool {
        self.memory.is_same(&stream.memory)
    }

    /// How many cores of the processor it uses.
    pub fn cores(&self) -> usize {
        self.cores
    }

    /// The multiprocessors that it stands in for.
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<Allocation, DeviceError> {
        Allocation::new(&self.memory, bytes)
    }

    pub(super) fn stream(&self) -> Stream {
        Stream::new(self.memory.clone())
    }

    pub(super) fn event(&self) -> Event {
        Event::new(self.memory.clone())
    }

    pub(super) fn graph(&self) -> Graph {
        Graph::new(self.memory.clone())
    }

    pub(super) fn load(&self, ptx: &str) -> Result<EmulatedModule, DeviceError> {
        EmulatedModule::load(&self.memory, self.cores, self.multiprocessors, ptx)
    }
}

impl fmt::Display for Emulator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.cores == 1 { "" } else { "s" };
        write!(formatter, "emulator: {} core{plural}", self.cores)?;
        match &self.why_no_gpu {
            Some(reason) => write!(formatter, ", no GPU found ({reason})"),
            None => Ok(()),
        }
    }
}

/// The number of threads that the processor runs at once.
pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
