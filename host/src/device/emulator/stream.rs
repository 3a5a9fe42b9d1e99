//! Streams and graphs of the emulator: every operation runs at once, unless it is captured.

use super::{Allocation, Emulator, Kernel, SharedMemory};
use crate::device::{Argument, DeviceError, Node, Shape};
use std::{cell::RefCell, rc::Rc};
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
    fn run(&self, memory: &SharedMemory) -> Result<(), DeviceError> {
        match self {
            Self::Launch {
                kernel,
                shape,
                arguments,
            } => kernel.observe(shape, arguments, Nothing.compiled()),
            Self::Copy { from, to, bytes } => Ok(memory.borrow_mut().copy(*from, *to, *bytes)?),
        }
    }
}

/// A stream, which is never behind.
pub(in crate::device) struct Stream {
    memory: SharedMemory,
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

    pub(in crate::device) fn is_of(&self, emulator: &Emulator) -> bool {
        Rc::ptr_eq(&self.memory, &emulator.memory)
    }

    /// A copy between memories of one size.
    pub(in crate::device) fn copy(
        &self,
        from: &Allocation,
        to: &mut Allocation,
    ) -> Result<(), DeviceError> {
        self.check_memory(&from.memory)?;
        self.check_memory(&to.memory)?;
        self.queue(Operation::Copy {
            from: from.address,
            to: to.address,
            bytes: to.bytes,
        })
    }

    pub(in crate::device) fn launch(
        &self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        self.check_memory(&kernel.memory)?;
        kernel.check(shape, arguments)?;
        self.queue(Operation::Launch {
            kernel: kernel.clone(),
            shape: *shape,
            arguments: arguments.to_vec(),
        })
    }

    pub(in crate::device) fn capture(
        &self,
        queue: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<Graph, DeviceError> {
        let before = self.captured.replace(Some(Vec::new()));
        let queued = queue();
        let operations = self.captured.replace(before).unwrap_or_default();
        queued?;
        Ok(Graph {
            memory: self.memory.clone(),
            operations,
        })
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

    fn check_memory(&self, other: &SharedMemory) -> Result<(), DeviceError> {
        if Rc::ptr_eq(&self.memory, other) {
            Ok(())
        } else {
            Err(DeviceError::OtherDevice)
        }
    }
}

/// Operations in an order that keeps every dependency: that in which they were added, since a node depends on earlier ones only.
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

    pub(in crate::device) fn add_kernel(
        &mut self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
        after: &[Node],
    ) -> Result<Node, DeviceError> {
        if !Rc::ptr_eq(&self.memory, &kernel.memory) {
            return Err(DeviceError::OtherDevice);
        }
        if after.iter().any(|node| node.0 >= self.operations.len()) {
            return Err(DeviceError::NoNode);
        }
        kernel.check(shape, arguments)?;
        self.operations.push(Operation::Launch {
            kernel: kernel.clone(),
            shape: *shape,
            arguments: arguments.to_vec(),
        });
        Ok(Node(self.operations.len() - 1))
    }

    pub(in crate::device) fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.check_memory(&self.memory)?;
        self.operations
            .iter()
            .try_for_each(|operation| operation.run(&self.memory))
    }
}
