//! Streams and graphs of the emulator: every operation runs at once, unless it is captured.

use super::kernel::Kernel;
use super::memory::{Allocation, SharedMemory};
use crate::device::{Argument, DeviceError, Shape};
use std::cell::RefCell;
use warpfold_emulator::{Compiled, Nothing};

/// What can be queued.
enum Operation {
    Launch {
        kernel: Kernel,
        shape: Shape,
        arguments: Vec<Argument>,
    },
    Copy {
        from: u64,
        to: u64,
        bytes: usize,
    },
}

impl Operation {
    /// A launch that has been checked.
    fn launch(
        memory: &SharedMemory,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<Self, DeviceError> {
        memory.check(&kernel.memory)?;
        kernel.check(shape, arguments)?;
        Ok(Self::Launch {
            kernel: kernel.clone(),
            shape: *shape,
            arguments: arguments.to_vec(),
        })
    }

    fn run(&self, memory: &SharedMemory) -> Result<(), DeviceError> {
        match self {
            Self::Launch {
                kernel,
                shape,
                arguments,
            } => kernel.observe(shape, arguments, Nothing.compiled()),
            Self::Copy { from, to, bytes } => {
                Ok(memory.with_mut(|memory| memory.copy(*from, *to, *bytes))?)
            }
        }
    }
}

/// A stream, on which nothing ever waits.
pub(in crate::device) struct Stream {
    pub(super) memory: SharedMemory,
    /// What is captured, while a capture is under way.
    captured: RefCell<Option<Vec<Operation>>>,
}

impl Stream {
    pub(super) fn new(memory: SharedMemory) -> Self {
        Self {
            memory,
            captured: RefCell::new(None),
        }
    }

    /// A stream to capture on.
    pub(in crate::device) fn recorder(&self) -> Self {
        Self::new(self.memory.clone())
    }

    /// A copy between memories of one size.
    pub(in crate::device) fn copy(
        &self,
        from: &Allocation,
        to: &mut Allocation,
    ) -> Result<(), DeviceError> {
        self.memory.check(&from.memory)?;
        self.memory.check(&to.memory)?;
        self.queue(Operation::Copy {
            from: from.address(),
            to: to.address(),
            bytes: to.bytes(),
        })
    }

    pub(in crate::device) fn launch(
        &self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        self.queue(Operation::launch(&self.memory, kernel, shape, arguments)?)
    }

    pub(in crate::device) fn is_capturing(&self) -> bool {
        self.captured.borrow().is_some()
    }

    fn queue(&self, operation: Operation) -> Result<(), DeviceError> {
        if let Some(captured) = &mut *self.captured.borrow_mut() {
            captured.push(operation);
            return Ok(());
        }
        operation.run(&self.memory)
    }
}

/// Operations in the order in which they were added, which keeps every dependency: a node depends on earlier ones only.
pub(in crate::device) struct Graph {
    memory: SharedMemory,
    operations: Vec<Operation>,
}

impl Graph {
    pub(super) fn new(memory: SharedMemory) -> Self {
        Self {
            memory,
            operations: Vec::new(),
        }
    }

    /// What `queue` queues on the stream, which runs none of it.
    pub(in crate::device) fn captured(
        stream: &Stream,
        queue: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        let before = stream.captured.replace(Some(Vec::new()));
        let queued = queue();
        let operations = stream.captured.replace(before).unwrap_or_default();
        queued?;
        Ok(Self {
            memory: stream.memory.clone(),
            operations,
        })
    }

    /// Adds a launch after nodes, which are given by their numbers, and returns its own number.
    pub(in crate::device) fn add_kernel(
        &mut self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
        after: impl IntoIterator<Item = usize>,
    ) -> Result<usize, DeviceError> {
        let launch = Operation::launch(&self.memory, kernel, shape, arguments)?;
        if after.into_iter().any(|node| node >= self.operations.len()) {
            return Err(DeviceError::NoNode);
        }
        self.operations.push(launch);
        Ok(self.operations.len() - 1)
    }

    pub(in crate::device) fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.memory.check(&self.memory)?;
        self.operations
            .iter()
            .try_for_each(|operation| operation.run(&self.memory))
    }
}
