//! Running one lesson on a device: launch, put the partials together, compare with the CPU.

use crate::device::{Device, DeviceError, Module, Observer, Shape, Timing};
use crate::element::ElementType;
use crate::number::Number;
use crate::oracle::Oracle;
use crate::partials::{Measured, PartialsLaunch};
use crate::reducible::Reducible;
use warpfold_kernels::catalogue::{BLOCK_SIZES, Finish, Geometry, Lesson};

/// What came of one lesson on one input.
#[derive(Clone, Debug)]
pub struct LessonRun<T: Reducible> {
    /// Number of blocks launched; 0 where there was nothing to reduce and nothing was launched.
    pub blocks: u32,
    /// What the kernel and the host's last steps give.
    pub result: T,
    /// What the CPU makes of the same values.
    pub oracle: T::Oracle,
    /// The most roundings that one value goes through, if its type rounds at all.
    pub roundings: u32,
    /// What was measured on the way.
    pub measured: Measured,
}

impl<T: Reducible> LessonRun<T> {
    /// The right result, as exactly as the CPU knows it.
    pub fn expected(&self) -> Number {
        self.oracle.expected()
    }

    /// How far from it the result may be; `None` where it must be exact.
    pub fn tolerance(&self) -> Option<f64> {
        self.oracle.tolerance(self.roundings)
    }

    /// Whether the lesson gives the result of the CPU, but for the rounding it may have.
    pub fn is_right(&self) -> bool {
        self.oracle.accepts(self.result, self.roundings)
    }
}

/// Why a lesson could not be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LessonError {
    /// The lesson is not built for this block size.
    #[error("`{lesson}` is not built for blocks of {block} threads; use one of {}", BLOCK_SIZES.map(|size| size.to_string()).join(", "))]
    BlockSize {
        /// The lesson's id.
        lesson: &'static str,
        /// The block size asked for.
        block: u32,
    },
    /// The lesson is not built for elements of this type.
    #[error("`{lesson}` is built for {built_for} elements, not for {element_type}")]
    ElementType {
        /// The lesson's id.
        lesson: &'static str,
        /// The type it is built for.
        built_for: ElementType,
        /// The type of the elements given.
        element_type: ElementType,
    },
    /// More elements than a grid has blocks for.
    #[error(
        "{n} elements are more than one launch of `{lesson}` takes with blocks of {block} threads; use larger blocks or fewer elements"
    )]
    TooManyElements {
        /// The lesson's id.
        lesson: &'static str,
        /// The block size asked for.
        block: u32,
        /// The number of elements.
        n: usize,
    },
    /// The device has not the memory, refuses the launch, or the kernel faults.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Reduces `values` by a lesson and verifies the result.
///
/// On a GPU a right kernel is launched again and timed, where `timing` asks for it; on the emulator it is launched once
/// and counted. The sum of nothing is 0, for which nothing is launched.
///
/// # Errors
/// A block size, a type or a number of elements that the lesson does not take; a device without the memory; a kernel that
/// faults. A wrong result is no error: it is in the run.
pub fn run<T: Reducible>(
    device: &Device,
    module: &Module,
    lesson: &Lesson,
    block: u32,
    values: &[T],
    timing: Option<Timing>,
) -> Result<LessonRun<T>, LessonError> {
    let (mut run, launch) = prepare(device, module, lesson, block, values)?;
    let Some(mut launch) = launch else {
        return Ok(run);
    };
    run.measured = launch.first()?;
    run.result = finish(lesson, &launch.partials()?);
    if let (Some(timing), true) = (timing, device.is_gpu() && run.is_right()) {
        run.measured = Measured::Times(launch.time(&timing)?);
        // The last of the timed launches must be right as well.
        run.result = finish(lesson, &launch.partials()?);
    }
    Ok(run)
}

/// Reduces `values` by a lesson on the emulator while `observer` watches, and verifies the result. For no values nothing is
/// launched, and there is nothing to see.
///
/// # Errors
/// As [`run`], and a device that is a GPU.
pub fn observe<T: Reducible>(
    device: &Device,
    module: &Module,
    lesson: &Lesson,
    block: u32,
    values: &[T],
    observer: &mut impl Observer,
) -> Result<LessonRun<T>, LessonError> {
    let (mut run, launch) = prepare(device, module, lesson, block, values)?;
    if let Some(launch) = launch {
        launch.observe(observer)?;
        run.result = finish(lesson, &launch.partials()?);
    }
    Ok(run)
}

/// How a lesson is launched.
pub(crate) struct LaunchShape {
    /// The kernel's entry.
    pub(crate) entry: &'static str,
    /// The number of blocks.
    pub(crate) blocks: u32,
}

/// How a lesson is launched over `n` elements of the type.
pub(crate) fn shape<T: Reducible>(
    lesson: &Lesson,
    block: u32,
    n: usize,
) -> Result<LaunchShape, LessonError> {
    if lesson.element_type != T::ELEMENT_TYPE {
        return Err(LessonError::ElementType {
            lesson: lesson.id,
            built_for: lesson.element_type.into(),
            element_type: T::ELEMENT_TYPE.into(),
        });
    }
    let entry = lesson.entry(block).ok_or(LessonError::BlockSize {
        lesson: lesson.id,
        block,
    })?;
    let blocks =
        u32::try_from(lesson.grid(n as u64, block)).map_err(|_| LessonError::TooManyElements {
            lesson: lesson.id,
            block,
            n,
        })?;
    Ok(LaunchShape { entry, blocks })
}

/// A run before its launch, and the launch, unless there is nothing to launch.
fn prepare<T: Reducible>(
    device: &Device,
    module: &Module,
    lesson: &Lesson,
    block: u32,
    values: &[T],
) -> Result<(LessonRun<T>, Option<PartialsLaunch<T>>), LessonError> {
    let n = values.len();
    let LaunchShape { entry, blocks } = shape::<T>(lesson, block, n)?;
    let run = LessonRun {
        blocks,
        result: finish(lesson, &[]),
        oracle: T::Oracle::new(lesson.operator, values),
        roundings: roundings(lesson, block),
        measured: Measured::Nothing,
    };
    if blocks == 0 {
        return Ok((run, None));
    }
    let kernel = module.kernel(entry)?;
    let shape = Shape::linear(blocks, block);
    // SAFETY: every lesson of the catalogue takes (input, partials, n) over its element type, which is `T`, and, launched
    // with the catalogue's geometry, keeps to n elements and one partial per block; the tests hold each to it on the emulator.
    let launch = unsafe {
        PartialsLaunch::new(
            device,
            kernel,
            shape,
            values,
            lesson.in_place,
            T::NO_PARTIAL,
        )?
    };
    Ok((run, Some(launch)))
}

fn finish<T: Reducible>(lesson: &Lesson, partials: &[T]) -> T {
    match lesson.finish {
        Finish::PartialPerBlock => T::finish(lesson.operator, partials),
    }
}

/// The most roundings that one value goes through: those of its thread, those of the tree, and the last one of the host,
/// which puts the partials of floats together without rounding them.
fn roundings(lesson: &Lesson, block: u32) -> u32 {
    let Geometry::Tiles {
        elements_per_thread,
    } = lesson.geometry;
    elements_per_thread + block.ilog2() + 1
}
