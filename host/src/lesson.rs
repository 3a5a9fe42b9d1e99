//! Running one lesson of the ladder on a device: launch, add up the partials, compare with the CPU.

use crate::device::{Device, DeviceError, Module, Shape, Timing};
use crate::oracle::cpu_sequential;
use crate::partials::{Measured, PartialsLaunch};
use warpfold_kernels::catalogue::{BLOCK_SIZES, Finish, Lesson};

/// What came of one lesson on one input.
#[derive(Clone, Debug)]
pub struct LessonRun {
    /// Number of blocks launched; 0 where there was nothing to add and nothing was launched.
    pub blocks: u32,
    /// The sum that the kernel and the host's last additions give.
    pub sum: i32,
    /// The sum that the CPU reference gives.
    pub expected: i32,
    /// What was measured on the way.
    pub measured: Measured,
}

impl LessonRun {
    /// Whether the lesson gives the sum of the CPU reference.
    pub fn is_right(&self) -> bool {
        self.sum == self.expected
    }
}

/// Why a lesson could not be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LessonError {
    /// The lesson is not built for this block size.
    #[error("{lesson} is not built for blocks of {block} threads; use one of {}", BLOCK_SIZES.map(|size| size.to_string()).join(", "))]
    BlockSize {
        /// The lesson's id.
        lesson: &'static str,
        /// The block size asked for.
        block: u32,
    },
    /// More elements than a grid has blocks for.
    #[error(
        "{n} elements are more than one launch of {lesson} takes with blocks of {block} threads; use larger blocks or fewer elements"
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

/// Adds up `values` by a lesson and verifies the sum.
///
/// On a GPU a right kernel is launched again and timed, where `timing` asks for it; on the emulator it is launched once
/// and counted. The sum of nothing is 0, for which nothing is launched.
///
/// # Errors
/// A block size or a number of elements that the lesson does not take; a device without the memory; a kernel that faults.
/// A wrong sum is no error: it is in the result.
pub fn run(
    device: &Device,
    module: &Module,
    lesson: &Lesson,
    block: u32,
    values: &[i32],
    timing: Option<Timing>,
) -> Result<LessonRun, LessonError> {
    // No sum that a test is likely to expect.
    const NO_PARTIAL: i32 = 0x5eed_bad0;
    let entry = lesson.entry(block).ok_or(LessonError::BlockSize {
        lesson: lesson.id,
        block,
    })?;
    let n = values.len();
    let blocks =
        u32::try_from(lesson.grid(n as u64, block)).map_err(|_| LessonError::TooManyElements {
            lesson: lesson.id,
            block,
            n,
        })?;
    let expected = cpu_sequential(values);
    if blocks == 0 {
        return Ok(LessonRun {
            blocks,
            sum: 0,
            expected,
            measured: Measured::Nothing,
        });
    }
    let kernel = module.kernel(entry)?;
    let shape = Shape::linear(blocks, block);
    // SAFETY: every lesson of the catalogue takes (input, partials, n) over i32 and, launched with the catalogue's
    // geometry, keeps to n elements and one partial per block; the tests hold each to it on the emulator.
    let mut launch =
        unsafe { PartialsLaunch::new(device, kernel, shape, values, lesson.in_place, NO_PARTIAL)? };
    let mut measured = launch.first()?;
    let mut sum = finish(lesson.finish, &launch.partials()?);
    if let (Some(timing), true) = (timing, device.is_gpu() && sum == expected) {
        measured = Measured::Times(launch.time(&timing)?);
        // The last of the timed launches must be right as well.
        sum = finish(lesson.finish, &launch.partials()?);
    }
    Ok(LessonRun {
        blocks,
        sum,
        expected,
        measured,
    })
}

fn finish(finish: Finish, partials: &[i32]) -> i32 {
    match finish {
        Finish::PartialPerBlock => cpu_sequential(partials),
    }
}
