//! Launching kernels that take `(input, partials, n)` and leave one partial result per block.

use crate::device::{
    Argument, Buffer, Counters, Device, DeviceError, Kernel, Observer, Pod, Shape, Times, Timing,
};
use std::time::Instant;

/// What a launch tells beside its results.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one for each launch of thousands of blocks"
)]
pub enum Measured {
    /// Nothing: there was no launch, or no time was asked for.
    Nothing,
    /// Device times of the kernel on a GPU.
    Times(Times),
    /// What the emulator counted, and how long it took, which says nothing about a GPU.
    Counters {
        /// The counters of the one launch.
        counters: Counters,
        /// Host time of the launch.
        emulated_in_ms: f64,
    },
}

/// A kernel with its input and its partials on the device.
pub(crate) struct PartialsLaunch<T> {
    kernel: Kernel,
    shape: Shape,
    n: usize,
    /// What the kernel reads, and overwrites if it works in place.
    input: Buffer<T>,
    /// For a kernel that works in place: the values as they were.
    pristine: Option<Buffer<T>>,
    partials: Buffer<T>,
    is_gpu: bool,
}

impl<T: Pod> PartialsLaunch<T> {
    /// Uploads the input of a kernel that works in place or not, and makes room for its partials.
    ///
    /// `no_partial` is what the partials hold before the launch: memory that was just freed may still hold the right
    /// results of another kernel, and one that writes none must not pass for right.
    ///
    /// # Safety
    /// The kernel takes a pointer to values of `T`, a pointer to values of `T` and a 64-bit `n`; in this shape it reads
    /// and writes only the first `n` values through the one and one value per block through the other.
    pub(crate) unsafe fn new(
        device: &Device,
        kernel: Kernel,
        shape: Shape,
        values: &[T],
        in_place: bool,
        no_partial: T,
    ) -> Result<Self, DeviceError> {
        let blocks = shape.grid.iter().map(|&extent| extent as usize).product();
        Ok(Self {
            kernel,
            shape,
            n: values.len(),
            input: device.upload(values)?,
            pristine: in_place.then(|| device.upload(values)).transpose()?,
            partials: device.upload(&vec![no_partial; blocks])?,
            is_gpu: device.is_gpu(),
        })
    }

    /// The first launch: counted on the emulator, without times on a GPU.
    pub(crate) fn first(&self) -> Result<Measured, DeviceError> {
        if self.is_gpu {
            // SAFETY: the kernel keeps to the two buffers, as `new` was promised, and both are alive.
            unsafe { self.kernel.launch(&self.shape, &self.arguments())? };
            return Ok(Measured::Nothing);
        }
        let mut counters = Counters::default();
        let start = Instant::now();
        self.observe(&mut counters)?;
        let emulated_in_ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(Measured::Counters {
            counters,
            emulated_in_ms,
        })
    }

    /// A launch on the emulator while `observer` watches.
    pub(crate) fn observe(&self, observer: &mut impl Observer) -> Result<(), DeviceError> {
        self.kernel
            .observe(&self.shape, &self.arguments(), observer)
    }

    /// Timed launches on a GPU, each on a fresh copy of the input where the kernel works in place.
    pub(crate) fn time(&mut self, timing: &Timing) -> Result<Times, DeviceError> {
        let arguments = self.arguments();
        let Self {
            kernel,
            shape,
            input,
            pristine,
            ..
        } = self;
        let restore = || match &*pristine {
            Some(pristine) => input.copy_from(pristine),
            None => Ok(()),
        };
        // SAFETY: the kernel keeps to the two buffers, as `new` was promised, and both are alive.
        unsafe { kernel.time(shape, &arguments, timing, restore) }
    }

    /// The partials as the last launch left them, in block order.
    pub(crate) fn partials(&self) -> Result<Vec<T>, DeviceError> {
        self.partials.read()
    }

    fn arguments(&self) -> [Argument; 3] {
        [
            self.input.argument(),
            self.partials.argument(),
            self.n.into(),
        ]
    }
}
