//! The emulator as a device.

mod stream;

pub(super) use stream::{Graph, Stream};

use super::{Argument, DeviceError, Shape, Watch, argument::encode};
use std::{cell::RefCell, fmt, num::NonZeroU32, rc::Rc, sync::Arc, thread};
use warpfold_emulator::{DeviceProperties, Launch, Memory, Program};

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

    /// An emulator with empty memory that stands in for a device of so many multiprocessors. More of them do not make it faster,
    /// but grids that fill the device get as many blocks as there.
    pub fn of_multiprocessors(multiprocessors: NonZeroU32) -> Self {
        Self {
            multiprocessors: multiprocessors.get(),
            ..Self::new(None)
        }
    }

    /// An emulator with empty memory, and why it is not a GPU where one would have been preferred.
    pub(crate) fn new(why_no_gpu: Option<String>) -> Self {
        Self {
            memory: Rc::new(RefCell::new(Memory::new())),
            cores: cores(),
            multiprocessors: Self::MULTIPROCESSORS,
            why_no_gpu,
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.memory, &other.memory)
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
        let address = self.memory.borrow_mut().allocate(bytes)?;
        Ok(Allocation {
            memory: self.memory.clone(),
            address,
            bytes,
        })
    }

    pub(super) fn stream(&self) -> Stream {
        Stream::new(self.memory.clone())
    }

    pub(super) fn graph(&self) -> Graph {
        Graph::new(self.memory.clone())
    }

    pub(super) fn load(&self, ptx: &str) -> Result<Module, DeviceError> {
        let parsed = warpfold_emulator::Module::parse(ptx)?;
        let program = Program::load(parsed, &mut self.memory.borrow_mut())?;
        Ok(Module {
            program,
            memory: self.memory.clone(),
            multiprocessors: self.multiprocessors,
        })
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

/// The one memory that a device's buffers, modules and kernels share.
type SharedMemory = Rc<RefCell<Memory>>;

/// Part of the emulator's memory; freed when it is dropped.
pub(super) struct Allocation {
    memory: SharedMemory,
    address: u64,
    bytes: usize,
}

impl Allocation {
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn is_of(&self, emulator: &Emulator) -> bool {
        Rc::ptr_eq(&self.memory, &emulator.memory)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        Ok(self.memory.borrow_mut().write(self.address, bytes)?)
    }

    pub(super) fn read(&self, bytes: &mut [u8]) -> Result<(), DeviceError> {
        Ok(self.memory.borrow().read(self.address, bytes)?)
    }

    pub(super) fn copy_from(&mut self, source: &Self) -> Result<(), DeviceError> {
        if !Rc::ptr_eq(&self.memory, &source.memory) {
            return Err(DeviceError::OtherDevice);
        }
        let mut memory = self.memory.borrow_mut();
        Ok(memory.copy(source.address, self.address, self.bytes)?)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // This cannot fail: the address came from an allocation, and is freed once.
        let _ = self.memory.borrow_mut().free(self.address);
    }
}

/// PTX that the emulator has parsed.
pub(super) struct Module {
    program: Program,
    memory: SharedMemory,
    multiprocessors: u32,
}

impl Module {
    pub(super) fn kernel(&self, entry: &str) -> Result<Kernel, DeviceError> {
        if !self.program.module().entries().any(|name| name == entry) {
            return Err(DeviceError::NoEntry {
                entry: entry.to_owned(),
            });
        }
        let compiled = self.program.kernel(entry)?;
        Ok(Kernel {
            parameter_bytes: compiled
                .parameters()
                .iter()
                .map(|parameter| parameter.bytes)
                .collect(),
            compiled,
            memory: self.memory.clone(),
            multiprocessors: self.multiprocessors,
        })
    }
}

/// A kernel that the emulator has compiled.
#[derive(Clone)]
pub(super) struct Kernel {
    parameter_bytes: Vec<usize>,
    compiled: Arc<warpfold_emulator::Kernel>,
    memory: SharedMemory,
    multiprocessors: u32,
}

impl Kernel {
    /// Checks a launch without running it.
    fn check(&self, shape: &Shape, arguments: &[Argument]) -> Result<(), DeviceError> {
        let entry = self.compiled.name();
        shape.check(entry)?;
        encode(entry, &self.parameter_bytes, arguments).map(drop)
    }

    pub(super) fn observe(
        &self,
        shape: &Shape,
        arguments: &[Argument],
        observer: &mut dyn Watch,
    ) -> Result<(), DeviceError> {
        let entry = self.compiled.name();
        shape.check(entry)?;
        let arguments = encode(entry, &self.parameter_bytes, arguments)?;
        let launch = Launch {
            grid: shape.grid,
            block: shape.block,
            dynamic_shared_bytes: shape.dynamic_shared_bytes,
            nesting: shape.nesting(),
            threads: 0,
            max_steps: 0,
            cooperative: shape.cooperative,
            multiprocessors: self.multiprocessors,
        };
        let memory = self.memory.borrow();
        Ok(observer.launch(&self.compiled, &memory, &launch, &arguments)?)
    }
}
