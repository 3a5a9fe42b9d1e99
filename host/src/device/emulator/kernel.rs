//! PTX in the emulator, and its kernels.

use super::memory::SharedMemory;
use crate::device::{Argument, DeviceError, Shape, argument::encode};
use std::sync::Arc;
use warpfold_emulator::{
    DeviceLaunch, DeviceProperties, Launch, LaunchError, Memory, Program, Watch, launch_with_peers,
};

/// PTX that the emulator has parsed.
pub(in crate::device) struct EmulatedModule {
    program: Program,
    memory: SharedMemory,
    cores: usize,
    multiprocessors: u32,
}

impl EmulatedModule {
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

    pub(in crate::device) fn kernel(&self, entry: &str) -> Result<EmulatedKernel, DeviceError> {
        if !self.program.module().entries().any(|name| name == entry) {
            return Err(DeviceError::NoEntry {
                entry: entry.to_owned(),
            });
        }
        let compiled = self.program.kernel(entry)?;
        Ok(EmulatedKernel {
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
pub(in crate::device) struct EmulatedKernel {
    parameter_bytes: Vec<usize>,
    compiled: Arc<warpfold_emulator::Kernel>,
    pub(super) memory: SharedMemory,
    cores: usize,
    multiprocessors: u32,
}

impl EmulatedKernel {
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
        let launch = self.launch(shape);
        let compiled = &self.compiled;
        Ok(self.memory.with_peers(|memory, peers| {
            launch_with_peers(compiled, memory, peers, &launch, &arguments, observer)
        })?)
    }

    fn launch(&self, shape: &Shape) -> Launch {
        Launch {
            grid: shape.grid,
            block: shape.block,
            dynamic_shared_bytes: shape.dynamic_shared_bytes,
            nesting: shape.nesting(),
            threads: self.cores,
            max_steps: 0,
            cooperative: shape.cooperative,
            multiprocessors: self.multiprocessors,
        }
    }

    /// Calls `run` with launches that are to run at the same time, on devices of one group, and with the memories of all of them.
    pub(in crate::device) fn together<R>(
        launches: &[(&Self, &Shape, &[Argument])],
        run: impl FnOnce(&[DeviceLaunch<'_>], &mut [&mut Memory]) -> Result<R, LaunchError>,
    ) -> Result<R, DeviceError> {
        let arguments = launches
            .iter()
            .map(|(kernel, shape, arguments)| kernel.check(shape, arguments));
        let arguments: Vec<_> = arguments.collect::<Result<_, _>>()?;
        let Some((first, _, _)) = launches.first() else {
            return Ok(run(&[], &mut [])?);
        };
        let is_beside = |kernel: &Self| kernel.memory.is_beside(&first.memory);
        if !launches.iter().all(|(kernel, _, _)| is_beside(kernel)) {
            return Err(DeviceError::OtherDevice);
        }
        let prepared = launches.iter().zip(&arguments);
        let prepared: Vec<DeviceLaunch<'_>> = prepared
            .map(|((kernel, shape, _), arguments)| DeviceLaunch {
                kernel: &kernel.compiled,
                device: kernel.memory.with(Memory::device),
                shape: kernel.launch(shape),
                arguments,
            })
            .collect();
        Ok(first
            .memory
            .with_all_mut(|memories| run(&prepared, memories))?)
    }
}
