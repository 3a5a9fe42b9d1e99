//! PTX in the emulator, and its kernels.

use super::memory::SharedMemory;
use crate::device::{Argument, DeviceError, Shape, argument::encode};
use std::sync::Arc;
use warpfold_emulator::{DeviceProperties, Launch, Program, Watch};

/// PTX that the emulator has parsed.
pub(in crate::device) struct Module {
    program: Program,
    memory: SharedMemory,
    cores: usize,
    multiprocessors: u32,
}

impl Module {
    pub(super) fn load(
        memory: &SharedMemory,
        cores: usize,
        multiprocessors: u32,
        ptx: &str,
    ) -> Result<Self, DeviceError> {
        let parsed = warpfold_emulator::Module::parse(ptx)?;
        Ok(Self {
            program: memory.with_mut(|memory| Program::load(parsed, memory))?,
            memory: memory.clone(),
            cores,
            multiprocessors,
        })
    }

    pub(in crate::device) fn kernel(&self, entry: &str) -> Result<Kernel, DeviceError> {
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
            cores: self.cores,
            multiprocessors: self.multiprocessors,
        })
    }
}

/// A kernel that the emulator has compiled.
#[derive(Clone)]
pub(in crate::device) struct Kernel {
    parameter_bytes: Vec<usize>,
    compiled: Arc<warpfold_emulator::Kernel>,
    pub(super) memory: SharedMemory,
    cores: usize,
    multiprocessors: u32,
}

impl Kernel {
    /// Checks a launch, and encodes its arguments.
    pub(super) fn check(
        &self,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<Vec<Vec<u8>>, DeviceError> {
        let entry = self.compiled.name();
        shape.check(entry)?;
        encode(entry, &self.parameter_bytes, arguments)
    }

    /// Shared memory of a block that the launch does not ask for.
    pub(in crate::device) fn static_shared_bytes(&self) -> u32 {
        self.compiled.static_shared_bytes()
    }

    /// Blocks of this shape that are resident on a multiprocessor at once, if registers suffice.
    pub(in crate::device) fn resident_blocks(&self, shape: &Shape) -> u32 {
        let (block, shared) = (shape.block, shape.dynamic_shared_bytes);
        DeviceProperties::EMULATED.resident_blocks(&self.compiled, block, shared)
    }

    pub(in crate::device) fn observe(
        &self,
        shape: &Shape,
        arguments: &[Argument],
        observer: &mut dyn Watch,
    ) -> Result<(), DeviceError> {
        let arguments = self.check(shape, arguments)?;
        let launch = Launch {
            grid: shape.grid,
            block: shape.block,
            dynamic_shared_bytes: shape.dynamic_shared_bytes,
            nesting: shape.nesting(),
            threads: self.cores,
            max_steps: 0,
            cooperative: shape.cooperative,
            multiprocessors: self.multiprocessors,
        };
        let compiled = &self.compiled;
        Ok(self.memory.with(|memory| {
            warpfold_emulator::launch(compiled, memory, &launch, &arguments, observer)
        })?)
    }
}
