//! The kernel that the lessons sum with, queued on a stream.

use super::{HostLessonError, Setting};
use crate::lesson;
use crate::oracle::cpu_sequential;
use std::marker::PhantomData;
use warpfold::device::{
    Argument, Buffer, Device, DeviceError, Graph, HostBuffer, Kernel, Node, Shape, Stream,
};
use warpfold_kernels::catalogue::{self, ElementType, Finish, Lesson};

/// Threads of a block: the size that the ladder is taught with.
const BLOCK: u32 = 512;

/// A lesson of the ladder that leaves one partial per block.
pub(super) struct SumKernel {
    lesson: &'static Lesson,
    kernel: Kernel,
    /// How many blocks, and so how many partials, there are for so many elements.
    blocks: Box<dyn Fn(usize) -> usize>,
}

/// The elements that a kernel reads: where they are, and how many.
#[derive(Clone)]
pub(super) struct Input<'a> {
    address: Argument,
    n: usize,
    elements: PhantomData<&'a [i32]>,
}

impl<'a> Input<'a> {
    pub(super) fn of(buffer: &'a Buffer<i32>) -> Self {
        Self {
            address: buffer.argument(),
            n: buffer.len(),
            elements: PhantomData,
        }
    }

    /// # Errors
    /// Kernels cannot reach this kind of memory.
    pub(super) fn on_host(buffer: &'a HostBuffer<i32>) -> Result<Self, DeviceError> {
        Ok(Self {
            address: buffer.argument()?,
            n: buffer.len(),
            elements: PhantomData,
        })
    }
}

impl SumKernel {
    /// Step 9, the fastest of those that every device runs and that leave their input as it is.
    pub(super) fn fast(setting: &Setting<'_>) -> Result<Self, HostLessonError> {
        Self::of(setting, "shuffle", Finish::PartialPerBlock)
    }

    /// Step 1, the slowest.
    pub(super) fn slow(setting: &Setting<'_>) -> Result<Self, HostLessonError> {
        Self::of(setting, "neighbored", Finish::PartialPerBlock)
    }

    /// Step 11, which needs more than the other two: see [`OnePass`](super::one_pass::OnePass).
    pub(super) fn in_one_launch(setting: &Setting<'_>) -> Result<Self, HostLessonError> {
        Self::of(setting, "single_pass", Finish::OneLaunch)
    }

    /// The kernel of a sum of `i32` values that finishes so.
    fn of(setting: &Setting<'_>, id: &str, finish: Finish) -> Result<Self, HostLessonError> {
        let missing = || HostLessonError::Unsuitable(format!("there is no kernel `{id}` here"));
        let lesson = catalogue::find(id).ok_or_else(missing)?;
        let reduction = *lesson
            .reduction()
            .filter(|reduction| reduction.element_type == ElementType::I32)
            .filter(|reduction| reduction.finish == finish)
            .ok_or_else(missing)?;
        let variant = lesson.usual(BLOCK);
        let entry = lesson::entry(lesson, variant)?;
        let multiprocessors = setting.device().multiprocessors();
        Ok(Self {
            lesson,
            kernel: setting.machine.kernel(lesson.part.module(), entry)?,
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
    pub(super) fn partials(&self, device: &Device, n: usize) -> Result<Buffer<i32>, DeviceError> {
        device.upload(&vec![NO_PARTIAL; self.blocks(n)])
    }

    /// Queues the kernel over all of `input`.
    ///
    /// # Errors
    /// There are more or fewer partials than blocks, or the launch is refused.
    pub(super) fn queue(
        &self,
        stream: &Stream,
        input: &Input<'_>,
        partials: &Buffer<i32>,
    ) -> Result<(), DeviceError> {
        // SAFETY: a lesson that leaves its partials takes nothing else.
        unsafe { self.queue_with(stream, input, partials, &[]) }
    }

    /// As [`Self::queue`], with more arguments behind (input, partials, n).
    ///
    /// # Safety
    /// They are those that the lesson takes there.
    pub(super) unsafe fn queue_with(
        &self,
        stream: &Stream,
        input: &Input<'_>,
        partials: &Buffer<i32>,
        more: &[Argument],
    ) -> Result<(), DeviceError> {
        let (shape, arguments) = self.launch(input, partials)?;
        let arguments = [&arguments[..], more].concat();
        // SAFETY: the lesson takes (input, partials, n) and what the caller vouches for; launched with the catalogue's geometry, it keeps
        // to n elements and one partial per block, of which there are as many as that; memory is freed when the device has done what
        // is queued.
        unsafe { stream.launch(&self.kernel, &shape, &arguments) }
    }

    /// Adds the kernel over all of `input` to a graph, which must not be launched when the input or the partials are gone.
    ///
    /// # Errors
    /// As [`Self::queue`].
    pub(super) fn add_to(
        &self,
        graph: &mut Graph,
        input: &Input<'_>,
        partials: &Buffer<i32>,
        after: &[Node],
    ) -> Result<Node, DeviceError> {
        let (shape, arguments) = self.launch(input, partials)?;
        graph.add_kernel(&self.kernel, &shape, &arguments, after)
    }

    fn launch(
        &self,
        input: &Input<'_>,
        partials: &Buffer<i32>,
    ) -> Result<(Shape, [Argument; 3]), DeviceError> {
        let blocks = self.blocks(input.n);
        if blocks != partials.len() {
            return Err(DeviceError::LengthMismatch {
                length: partials.len(),
                given: blocks,
            });
        }
        let grid = u32::try_from(blocks).map_err(|_| DeviceError::TooLarge { length: input.n })?;
        let arguments = [input.address.clone(), partials.argument(), input.n.into()];
        Ok((Shape::linear(grid, BLOCK), arguments))
    }
}

/// What partials hold before a launch: nothing that a kernel is likely to leave there.
pub(super) const NO_PARTIAL: i32 = 0x5eed_bad0;

/// Launch after launch, each over the partials of the one before, until one value is left: the total.
pub(super) struct Cascade {
    /// What each launch leaves; never empty, and the last has one element.
    levels: Vec<Buffer<i32>>,
}

impl Cascade {
    /// Room for every level over `n` elements, which are at least 1.
    pub(super) fn new(device: &Device, kernel: &SumKernel, n: usize) -> Result<Self, DeviceError> {
        let mut levels = vec![kernel.partials(device, n)?];
        while let Some(last) = levels.last()
            && last.len() > 1
        {
            levels.push(kernel.partials(device, last.len())?);
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
        kernel: &SumKernel,
        stream: &Stream,
        input: &Input<'_>,
    ) -> Result<(), DeviceError> {
        self.queue_first(self.launches(), kernel, stream, input)
    }

    /// Queues the first few launches.
    pub(super) fn queue_first(
        &self,
        launches: usize,
        kernel: &SumKernel,
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

    /// Adds all launches to a graph, the first behind the nodes of `after`, and returns the last.
    pub(super) fn add_to(
        &self,
        graph: &mut Graph,
        kernel: &SumKernel,
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
