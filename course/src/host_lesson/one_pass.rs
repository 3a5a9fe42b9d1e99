//! The sum in one launch, with all that it needs.

use super::sum::{Input, NO_PARTIAL, SumKernel};
use super::{HostLessonError, Setting};
use warpfold::device::{Buffer, DeviceError, Stream};

/// Step 11: the last block to finish adds up the partials of all.
pub(super) struct OnePass {
    kernel: SumKernel,
    partials: Buffer<i32>,
    total: Buffer<i32>,
    /// How many blocks have finished: 0 before a launch, and again behind it.
    counter: Buffer<u32>,
}

impl OnePass {
    /// Room for sums of `n` elements, which are at least 1.
    pub(super) fn new(setting: &Setting<'_>, n: usize) -> Result<Self, HostLessonError> {
        let kernel = SumKernel::in_one_launch(setting)?;
        let device = setting.device();
        Ok(Self {
            partials: kernel.partials(device, n)?,
            total: device.upload(&[NO_PARTIAL])?,
            counter: device.upload(&[0])?,
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
    /// The input has another number of elements than there is room for, or the launch is refused.
    pub(super) fn queue(&self, stream: &Stream, input: &Input<'_>) -> Result<(), DeviceError> {
        let more = [self.total.argument(), self.counter.argument()];
        // SAFETY: a lesson that finishes in one launch takes the total and the counter behind the others, a word each.
        unsafe { self.kernel.queue_with(stream, input, &self.partials, &more) }
    }

    /// Where the total is, in a buffer of one element.
    pub(super) fn total(&self) -> &Buffer<i32> {
        &self.total
    }
}
