//! Streams, events and graphs of the emulator: every operation runs at once, unless it is captured.

use super::kernel::EmulatedKernel;
use super::memory::{Allocation, SharedMemory};
use crate::device::{Argument, DeviceError, Shape};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use warpfold_emulator::Nothing;

/// What can be queued.
enum Operation {
    Launch {
        kernel: EmulatedKernel,
        shape: Shape,
        arguments: Vec<Argument>,
    },
    Copy {
        memory: SharedMemory,
        from: u64,
        to: u64,
        bytes: usize,
    },
}

impl Operation {
    /// A launch that has been checked.
    fn launch(
        memory: &SharedMemory,
        kernel: &EmulatedKernel,
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

    fn run(&self) -> Result<(), DeviceError> {
        match self {
            Self::Launch {
                kernel,
                shape,
                arguments,
            } => kernel.observe(shape, arguments, &mut Nothing),
            Self::Copy {
                memory,
                from,
                to,
                bytes,
            } => Ok(memory.with_mut(|memory| memory.copy(*from, *to, *bytes))?),
        }
    }
}

/// A capture under way: what was queued, in that order, each with the earlier operations that it waits for.
#[derive(Default)]
struct Recording(RefCell<Vec<Recorded>>);

struct Recorded {
    operation: Rc<Operation>,
    after: Vec<usize>,
}

/// A stream's part in a capture, or an event's: what comes next there waits for these operations.
#[derive(Clone)]
struct Part {
    recording: Weak<Recording>,
    after: Vec<usize>,
}

/// A stream, on which nothing ever waits.
pub(in crate::device) struct Stream {
    pub(super) memory: SharedMemory,
    /// Its part in the capture that it was last part of.
    part: RefCell<Option<Part>>,
}

/// A mark in a stream, which is reached as soon as it is recorded, unless that is captured.
pub(in crate::device) struct Event {
    memory: SharedMemory,
    recorded: RefCell<Mark>,
}

#[derive(Clone)]
enum Mark {
    Nowhere,
    Reached,
    Captured(Part),
}

impl Stream {
    pub(super) fn new(memory: SharedMemory) -> Self {
        Self {
            memory,
            part: RefCell::default(),
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
        self.copy_bytes(from.address(), to.address(), to.bytes())
    }

    /// A copy of bytes, by addresses.
    pub(in crate::device) fn copy_bytes(
        &self,
        from: u64,
        to: u64,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        self.queue(Rc::new(Operation::Copy {
            memory: self.memory.clone(),
            from,
            to,
            bytes,
        }))
    }

    /// A copy to a part of the memory; it runs at once.
    pub(in crate::device) fn upload_part(
        &self,
        from: &[u8],
        to: &mut Allocation,
        at: usize,
    ) -> Result<(), DeviceError> {
        self.memory.check(&to.memory)?;
        to.write_part(from, at)
    }

    /// A copy between memories of one size, of devices of one group; it runs at once.
    pub(in crate::device) fn copy_between(
        &self,
        from: &Allocation,
        to: &mut Allocation,
    ) -> Result<(), DeviceError> {
        let is_ours = self.memory.is_same(&from.memory) || self.memory.is_same(&to.memory);
        if !is_ours || self.is_capturing() {
            return Err(DeviceError::OtherDevice);
        }
        to.copy_from_peer(from)
    }

    pub(in crate::device) fn launch(
        &self,
        kernel: &EmulatedKernel,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        let launch = Operation::launch(&self.memory, kernel, shape, arguments)?;
        self.queue(Rc::new(launch))
    }

    pub(in crate::device) fn record(&self, event: &Event) -> Result<(), DeviceError> {
        self.memory.check(&event.memory)?;
        event.recorded.replace(self.mark());
        Ok(())
    }

    fn mark(&self) -> Mark {
        let part = self.part.borrow().clone();
        let part = part.filter(|part| part.recording.strong_count() > 0);
        part.map_or(Mark::Reached, Mark::Captured)
    }

    pub(in crate::device) fn wait_for(&self, event: &Event) -> Result<(), DeviceError> {
        self.memory.check(&event.memory)?;
        self.hold_back(&event.recorded.borrow())
    }

    /// What is queued from now on waits for what is queued on a stream of any device.
    pub(in crate::device) fn follow(&self, earlier: &Self) -> Result<(), DeviceError> {
        self.hold_back(&earlier.mark())
    }

    fn hold_back(&self, mark: &Mark) -> Result<(), DeviceError> {
        let mut own = self.part.borrow_mut();
        let own_recording = own.as_ref().and_then(|part| part.recording.upgrade());
        match (own_recording, mark) {
            (_, Mark::Nowhere) | (None, Mark::Reached) => Ok(()),
            (None, Mark::Captured(part)) => {
                // The stream has a part in that capture from now on, if it is still under way.
                *own = Some(part.clone());
                Ok(())
            }
            (Some(recording), Mark::Captured(part)) if part.is_of(&recording) => {
                own.get_or_insert_with(|| part.clone())
                    .after
                    .extend(&part.after);
                Ok(())
            }
            (Some(_), Mark::Reached | Mark::Captured(_)) => Err(DeviceError::EventOfCapture),
        }
    }

    pub(in crate::device) fn is_capturing(&self) -> bool {
        let part = self.part.borrow();
        part.as_ref()
            .is_some_and(|part| part.recording.strong_count() > 0)
    }

    fn queue(&self, operation: Rc<Operation>) -> Result<(), DeviceError> {
        if let Some(part) = &mut *self.part.borrow_mut()
            && let Some(recording) = part.recording.upgrade()
        {
            part.after = vec![recording.push(operation, std::mem::take(&mut part.after))];
            return Ok(());
        }
        operation.run()
    }
}

impl Part {
    fn is_of(&self, recording: &Rc<Recording>) -> bool {
        Weak::ptr_eq(&self.recording, &Rc::downgrade(recording))
    }
}

impl Recording {
    /// Adds an operation, and returns its number.
    fn push(&self, operation: Rc<Operation>, after: Vec<usize>) -> usize {
        let mut recorded = self.0.borrow_mut();
        recorded.push(Recorded { operation, after });
        recorded.len() - 1
    }

    /// The operations, if these come after all others.
    fn ended_by(&self, last: &[usize]) -> Result<Vec<Rc<Operation>>, DeviceError> {
        let recorded = self.0.take();
        let mut is_before_last = vec![false; recorded.len()];
        last.iter().for_each(|&index| is_before_last[index] = true);
        for (index, recorded) in recorded.iter().enumerate().rev() {
            if !is_before_last[index] {
                return Err(DeviceError::UnjoinedCapture);
            }
            for &earlier in &recorded.after {
                is_before_last[earlier] = true;
            }
        }
        let operations = recorded.into_iter().map(|recorded| recorded.operation);
        Ok(operations.collect())
    }
}

impl Event {
    pub(super) fn new(memory: SharedMemory) -> Self {
        Self {
            memory,
            recorded: RefCell::new(Mark::Nowhere),
        }
    }

    /// What is not captured has been reached.
    pub(in crate::device) fn check_reached(&self) -> Result<(), DeviceError> {
        match &*self.recorded.borrow() {
            Mark::Nowhere | Mark::Reached => Ok(()),
            Mark::Captured(_) => Err(DeviceError::EventOfCapture),
        }
    }
}

/// Operations in the order in which they were added, which keeps every dependency: a node depends on earlier ones only.
pub(in crate::device) struct Graph {
    memory: SharedMemory,
    operations: Vec<Rc<Operation>>,
}

impl Graph {
    pub(super) fn new(memory: SharedMemory) -> Self {
        Self {
            memory,
            operations: Vec::new(),
        }
    }

    /// What `queue` queues on the stream, and on those that join it by events, which run none of it.
    pub(in crate::device) fn captured(
        stream: &Stream,
        queue: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        let recording = Rc::new(Recording::default());
        stream.part.replace(Some(Part {
            recording: Rc::downgrade(&recording),
            after: Vec::new(),
        }));
        let queued = queue();
        let part = stream.part.take();
        queued?;
        let last = part.map(|part| part.after).unwrap_or_default();
        Ok(Self {
            memory: stream.memory.clone(),
            operations: recording.ended_by(&last)?,
        })
    }

    /// Adds a launch after nodes, which are given by their numbers, and returns its own number.
    pub(in crate::device) fn add_kernel(
        &mut self,
        kernel: &EmulatedKernel,
        shape: &Shape,
        arguments: &[Argument],
        after: impl IntoIterator<Item = usize>,
    ) -> Result<usize, DeviceError> {
        self.memory.check(&kernel.memory)?;
        self.add_kernel_of_any(kernel, shape, arguments, after)
    }

    /// The same of a kernel of any device of the group.
    pub(in crate::device) fn add_kernel_of_any(
        &mut self,
        kernel: &EmulatedKernel,
        shape: &Shape,
        arguments: &[Argument],
        after: impl IntoIterator<Item = usize>,
    ) -> Result<usize, DeviceError> {
        if !self.memory.is_same(&kernel.memory) && !self.memory.is_beside(&kernel.memory) {
            return Err(DeviceError::OtherDevice);
        }
        let launch = Operation::launch(&kernel.memory, kernel, shape, arguments)?;
        if after.into_iter().any(|node| node >= self.operations.len()) {
            return Err(DeviceError::NoNode);
        }
        self.operations.push(Rc::new(launch));
        Ok(self.operations.len() - 1)
    }

    pub(in crate::device) fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.memory.check(&self.memory)?;
        self.operations
            .iter()
            .try_for_each(|operation| stream.queue(operation.clone()))
    }
}
