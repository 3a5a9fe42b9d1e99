//! The kernel that the lessons sum with, queued on a stream.

use super::{HostLessonError, Setting};
use crate::lesson;
use crate::oracle::cpu_sequential;
use std::ops::Range;
use warpfold::device::{
    Argument, Buffer, Device, DeviceError, Graph, HostBuffer, Kernel, Node, Shape, Stream, Watch,
};
use warpfold_kernels::catalogue::{self, ElementType, Finish, Lesson, Role};

/// Threads of a block: the size that the ladder is taught with.
const BLOCK: u32 = 512;

/// A lesson of the ladder, on a device.
pub(super) struct LadderKernel<'a> {
    device: &'a Device,
    lesson: &'static Lesson,
    kernel: Kernel,
    /// The kernel's parameters in their order.
    roles: &'static [Role],
    /// Whether it overwrites its input.
    in_place: bool,
    /// How many blocks, and so how many partials, there are for a number of elements.
    blocks: Box<dyn Fn(usize) -> usize>,
}

/// The elements that a kernel reads: where they are, and how many.
#[derive(Clone)]
pub(super) struct Input<'a> {
    address: Argument,
    n: usize,
    memory: Memory<'a>,
}

#[derive(Clone)]
enum Memory<'a> {
    Device(&'a Buffer<i32>),
    Host(&'a HostBuffer<i32>),
    /// Of another device, which this one reaches.
    Peer(&'a Device),
}

impl<'a> Input<'a> {
    pub(super) fn of(buffer: &'a Buffer<i32>) -> Self {
        Self {
            address: buffer.argument(),
            n: buffer.len(),
            memory: Memory::Device(buffer),
        }
    }

    /// Some of the elements of a buffer.
    pub(super) fn part(buffer: &'a Buffer<i32>, range: Range<usize>) -> Self {
        let part = buffer.slice(range);
        Self {
            address: part.argument(),
            n: part.len(),
            memory: Memory::Device(buffer),
        }
    }

    /// Those of a peer, for the kernels of a device that reaches its memory.
    ///
    /// # Errors
    /// [`DeviceError::OtherDevice`] if it does not, or the buffer is not the peer's; or the driver refuses.
    pub(super) fn on_peer(
        buffer: &'a Buffer<i32>,
        peer: &Device,
        device: &'a Device,
    ) -> Result<Self, DeviceError> {
        if !buffer.is_of(peer) || !device.enable_peer_access(peer)? {
            return Err(DeviceError::OtherDevice);
        }
        Ok(Self {
            address: buffer.argument(),
            n: buffer.len(),
            memory: Memory::Peer(device),
        })
    }

    /// # Errors
    /// Kernels cannot reach this kind of memory.
    pub(super) fn on_host(buffer: &'a HostBuffer<i32>) -> Result<Self, DeviceError> {
        Ok(Self {
            address: buffer.argument()?,
            n: buffer.len(),
            memory: Memory::Host(buffer),
        })
    }

    fn is_of(&self, device: &Device) -> bool {
        match self.memory {
            Memory::Device(buffer) => buffer.is_of(device),
            Memory::Host(buffer) => buffer.is_of(device),
            Memory::Peer(reached_from) => std::ptr::eq(reached_from, device),
        }
    }
}

/// Where a kernel leaves its partials: a place for each.
pub(super) struct Partials<'a> {
    address: Argument,
    length: usize,
    buffer: &'a Buffer<i32>,
}

impl<'a> Partials<'a> {
    /// Some of the places of a buffer.
    pub(super) fn part(buffer: &'a Buffer<i32>, range: Range<usize>) -> Self {
        let part = buffer.slice(range);
        Self {
            address: part.argument(),
            length: part.len(),
            buffer,
        }
    }
}

impl<'a> From<&'a Buffer<i32>> for Partials<'a> {
    fn from(buffer: &'a Buffer<i32>) -> Self {
        Self::part(buffer, 0..buffer.len())
    }
}

impl<'a> LadderKernel<'a> {
    /// Step 9, the fastest of those that every device runs and that leave their input as it is.
    pub(super) fn fast(setting: &Setting<'a>) -> Result<Self, HostLessonError> {
        Self::of(setting, "shuffle", Finish::PartialPerBlock, None)
    }

    /// Step 10 in as many blocks as run at once on a part of the device, of this many multiprocessors.
    pub(super) fn on_part(
        setting: &Setting<'a>,
        multiprocessors: u32,
    ) -> Result<Self, HostLessonError> {
        let part = Some(multiprocessors);
        Self::of(setting, "vectorized", Finish::PartialPerBlock, part)
    }

    /// Step 1, the slowest, which overwrites its input.
    pub(super) fn slow(setting: &Setting<'a>) -> Result<Self, HostLessonError> {
        Self::of(setting, "neighbored", Finish::PartialPerBlock, None)
    }

    /// The kernel of a sum of `i32` values that finishes like this, on all multiprocessors or on part of them.
    fn of(
        setting: &Setting<'a>,
        id: &str,
        finish: Finish,
        multiprocessors: Option<u32>,
    ) -> Result<Self, HostLessonError> {
        let missing = || HostLessonError::Unsuitable(format!("there is no kernel `{id}` here"));
        let lesson = catalogue::find(id).ok_or_else(missing)?;
        let reduction = *lesson
            .reduction()
            .filter(|reduction| reduction.element_type == ElementType::I32)
            .filter(|reduction| reduction.finish == finish)
            .filter(|reduction| reduction.shared_bytes_per_thread == 0 && !lesson.cooperative)
            .ok_or_else(missing)?;
        let variant = lesson.usual(BLOCK);
        let entry = lesson::entry(lesson, variant)?;
        let device = setting.device;
        let multiprocessors = multiprocessors.unwrap_or(device.multiprocessors());
        Ok(Self {
            device,
            lesson,
            kernel: device.kernel(lesson.module, entry)?,
            roles: finish.roles(),
            in_place: reduction.in_place,
            blocks: Box::new(move |n| {
                reduction.blocks(n as u64, variant, multiprocessors) as usize
            }),
        })
    }

    /// What it is, for a line on what was run.
    pub(super) fn describe(&self) -> String {
        format!("{}, block {BLOCK}", self.lesson.id)
    }

    /// How many blocks, and so how many partials, there are for `n` elements.
    pub(super) fn blocks(&self, n: usize) -> usize {
        (self.blocks)(n)
    }

    /// Room for the partials of `n` elements, filled with what no lesson leaves there.
    pub(super) fn partials(&self, n: usize) -> Result<Buffer<i32>, DeviceError> {
        self.device.upload(&vec![NO_PARTIAL; self.blocks(n)])
    }

    /// Queues the kernel over all of `input`.
    ///
    /// # Errors
    /// There are more or fewer partials than blocks, memory is of another device, or the launch is refused.
    ///
    /// # Panics
    /// The kernel overwrites its input, which is in the host's memory.
    pub(super) fn queue<'p>(
        &self,
        stream: &Stream,
        input: &Input<'_>,
        partials: impl Into<Partials<'p>>,
    ) -> Result<(), DeviceError> {
        // SAFETY: `fast`, `on_part` and `slow` leave their partials, and take nothing else. [`OnePass`] keeps its kernel to itself.
        unsafe { self.queue_with(stream, input, &partials.into(), NOTHING_ELSE) }
    }

    /// As [`Self::queue`], with what the kernel takes besides input, partials and their number.
    ///
    /// # Safety
    /// `others` has an argument for each other role of the lesson's parameters, as [`Role`] says, on the kernel's device.
    unsafe fn queue_with(
        &self,
        stream: &Stream,
        input: &Input<'_>,
        partials: &Partials<'_>,
        others: &[(Role, Argument)],
    ) -> Result<(), DeviceError> {
        let (shape, arguments) = self.launch(input, partials, others)?;
        // SAFETY: these are the lesson's parameters, for some of which the caller vouches. Launched with the catalogue's geometry, it keeps
        // to n elements and one partial per block, which `launch` has checked. All memory is the kernel's device's, or a peer's that it
        // reaches, and is freed when its device has done what is queued.
        unsafe { stream.launch(&self.kernel, &shape, &arguments) }
    }

    /// Runs the kernel over all of `input` on an emulated device while an observer watches.
    ///
    /// # Errors
    /// As [`Self::queue`], and a GPU.
    pub(super) fn observe<'p>(
        &self,
        input: &Input<'_>,
        partials: impl Into<Partials<'p>>,
        observer: &mut dyn Watch,
    ) -> Result<(), DeviceError> {
        let (shape, arguments) = self.launch(input, &partials.into(), NOTHING_ELSE)?;
        self.kernel.observe(&shape, &arguments, observer)
    }

    /// Adds the kernel over all of `input` to a graph, which must not be launched when the input or the partials are gone.
    ///
    /// # Errors
    /// As [`Self::queue`].
    pub(super) fn add_to<'p>(
        &self,
        graph: &mut Graph,
        input: &Input<'_>,
        partials: impl Into<Partials<'p>>,
        after: &[Node],
    ) -> Result<Node, DeviceError> {
        let (shape, arguments) = self.launch(input, &partials.into(), NOTHING_ELSE)?;
        graph.add_kernel(&self.kernel, &shape, &arguments, after)
    }

    fn launch(
        &self,
        input: &Input<'_>,
        partials: &Partials<'_>,
        others: &[(Role, Argument)],
    ) -> Result<(Shape, Vec<Argument>), DeviceError> {
        if !input.is_of(self.device) || !partials.buffer.is_of(self.device) {
            return Err(DeviceError::OtherDevice);
        }
        // The host may read its memory at any time.
        assert!(
            !self.in_place || matches!(input.memory, Memory::Device(_)),
            "`{}` would overwrite memory of the host, or of a peer",
            self.lesson.id
        );
        let blocks = self.blocks(input.n);
        if blocks != partials.length {
            return Err(DeviceError::LengthMismatch {
                length: partials.length,
                given: blocks,
            });
        }
        let grid = u32::try_from(blocks).map_err(|_| DeviceError::TooLarge { length: input.n })?;
        let argument = |role: &Role| match role {
            Role::Input => input.address.clone(),
            Role::Partials => partials.address.clone(),
            Role::Count => input.n.into(),
            role => {
                let other = others.iter().find(|(other, _)| other == role);
                let (_, argument) = other.expect("the caller has the other arguments");
                argument.clone()
            }
        };
        let arguments = self.roles.iter().map(argument).collect();
        Ok((Shape::linear(grid, BLOCK), arguments))
    }
}

/// What a kernel takes that leaves its partials.
const NOTHING_ELSE: &[(Role, Argument)] = &[];

/// What partials hold before a launch: nothing that a kernel is likely to leave there.
pub(super) const NO_PARTIAL: i32 = 0x5eed_bad0;

/// Launch after launch, each over the partials of the one before, until one value is left: the total.
pub(super) struct Cascade {
    /// What each launch leaves; never empty, and the last has one element.
    levels: Vec<Buffer<i32>>,
}

impl Cascade {
    /// Room for every level over `n` elements, which are at least 1.
    pub(super) fn new(kernel: &LadderKernel<'_>, n: usize) -> Result<Self, DeviceError> {
        let mut levels = vec![kernel.partials(n)?];
        while let Some(last) = levels.last()
            && last.len() > 1
        {
            levels.push(kernel.partials(last.len())?);
        }
        Ok(Self { levels })
    }

    /// The number of launches.
    pub(super) fn launches(&self) -> usize {
        self.levels.len()
    }

    /// Queues all launches.
    pub(super) fn queue(
        &self,
        kernel: &LadderKernel<'_>,
        stream: &Stream,
        input: &Input<'_>,
    ) -> Result<(), DeviceError> {
        self.queue_first(self.launches(), kernel, stream, input)
    }

    /// Queues the first few launches.
    pub(super) fn queue_first(
        &self,
        launches: usize,
        kernel: &LadderKernel<'_>,
        stream: &Stream,
        input: &Input<'_>,
    ) -> Result<(), DeviceError> {
        let mut input = input.clone();
        for level in self.levels.iter().take(launches) {
            kernel.queue(stream, &input, level)?;
            input = Input::of(level);
        }
        Ok(())
    }

    /// Adds all launches to a graph, the first after the node `after`, and returns the last.
    pub(super) fn add_to(
        &self,
        graph: &mut Graph,
        kernel: &LadderKernel<'_>,
        input: &Input<'_>,
        after: Option<Node>,
    ) -> Result<Option<Node>, DeviceError> {
        let mut last = after;
        let mut input = input.clone();
        for level in &self.levels {
            last = Some(kernel.add_to(graph, &input, level, last.as_slice())?);
            input = Input::of(level);
        }
        Ok(last)
    }

    /// What the first few launches leave: partials, or, after all of them, the total.
    pub(super) fn after(&self, launches: usize) -> &Buffer<i32> {
        &self.levels[launches - 1]
    }

    /// Downloads the total.
    pub(super) fn read(&self) -> Result<i32, DeviceError> {
        Ok(cpu_sequential(&self.after(self.launches()).read()?))
    }
}

/// Step 11: the sum in one launch. The last block to finish adds up the partials of all.
pub(super) struct OnePass<'a> {
    kernel: LadderKernel<'a>,
    partials: Buffer<i32>,
    total: Buffer<i32>,
    /// How many blocks have finished: 0 before and after a launch.
    counter: Buffer<u64>,
}

impl<'a> OnePass<'a> {
    /// Room for sums of `n` elements, which are at least 1.
    pub(super) fn new(setting: &Setting<'a>, n: usize) -> Result<Self, HostLessonError> {
        let kernel = LadderKernel::of(setting, "single_pass", Finish::OneLaunch, None)?;
        Ok(Self {
            partials: kernel.partials(n)?,
            total: setting.device.upload(&[NO_PARTIAL])?,
            counter: setting.device.upload(&[0])?,
            kernel,
        })
    }

    /// What it is, for a line on what was run.
    pub(super) fn describe(&self) -> String {
        self.kernel.describe()
    }

    /// Queues the launch.
    ///
    /// # Errors
    /// The input has another number of elements than there is room for, or is of another device, or the launch is refused.
    pub(super) fn queue(&self, stream: &Stream, input: &Input<'_>) -> Result<(), DeviceError> {
        let others = [
            (Role::Total, self.total.argument()),
            (Role::Counter, self.counter.argument()),
        ];
        // SAFETY: a lesson that finishes in one launch takes a total and a counter besides: an `i32` and a `u64`.
        unsafe {
            let partials = Partials::from(&self.partials);
            self.kernel.queue_with(stream, input, &partials, &others)
        }
    }

    /// Where the total is, in a buffer of one element.
    pub(super) fn total(&self) -> &Buffer<i32> {
        &self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::DeviceChoice;

    #[test]
    fn memory_of_another_device_is_refused() {
        let [device, other] =
            [(); 2].map(|()| Device::open(&DeviceChoice::Emulator).expect("it always opens"));
        let setting = Setting {
            device: &device,
            group: None,
            n: None,
            repeat: 1,
            seed: 1,
        };
        let kernel = LadderKernel::fast(&setting).expect("it is there");
        let stream = device.stream().expect("a stream");
        let [here, there] = [&device, &other].map(|device| device.upload(&[1; 1000]).unwrap());
        let partials = kernel.partials(1000).expect("it fits");
        let queue = |input, partials| kernel.queue(&stream, &Input::of(input), partials);
        assert_eq!(queue(&here, &partials), Ok(()));
        assert_eq!(queue(&there, &partials), Err(DeviceError::OtherDevice));
        let partials = other.upload(&vec![0; partials.len()]).expect("it fits");
        assert_eq!(queue(&here, &partials), Err(DeviceError::OtherDevice));
    }
}
