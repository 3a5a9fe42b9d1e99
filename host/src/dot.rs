//! Dot products: the sum of the products of the pairs of two arrays.

use crate::device::{
    Argument, Buffer, Device, DeviceError, Kernel, Pod, Shape, Slice, SliceMut, Stream,
};
use crate::family::{Attached, Family, Needs, Source};
use crate::kernels::Error;
use crate::reduce::table::{Launch, Problem, Way, choose_for_pairs, problem_of_pairs};
use crate::reduce::{Accumulator, Reducible};
use crate::sum::Mode;
use crate::values::Values;
use std::fmt;
use std::marker::PhantomData;
use warpfold_device::element::Element;
use warpfold_device::fixed::CHUNK;
use warpfold_device::slots::most_words;
use warpfold_device::words::Words;

/// Dot products of arrays of type `T`, again and again on one device: it keeps the kernels and the memory that they need.
///
/// They are multiplied and added in `A`, usually the type's [`Wide`](warpfold_device::element::Element::Wide): integers of 8 and 16 bits in
/// 32, `f16` and `bf16` in `f32`, others as they are. Integers wrap around.
///
/// ```
/// # use warpfold::{Device, DeviceChoice, DotProduct};
/// let device = Device::open(&DeviceChoice::Emulator)?;
/// let left = device.upload(&[1.0_f32, 2.0, 3.0])?;
/// let right = device.upload(&[4.0_f32, 5.0, 6.0])?;
/// assert_eq!(DotProduct::new(&device)?.of(&left, &right)?, 32.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DotProduct<'d, T: Reducible, A = <T as Element>::Wide> {
    device: &'d Device,
    family: Family,
    mode: Mode,
    values: PhantomData<(T, A)>,
}

impl<'d, T: Reducible> DotProduct<'d, T> {
    /// Prepares for dot products in the usual accumulator. No kernel is loaded yet.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(device: &'d Device) -> Result<Self, Error> {
        Self::with_accumulator(device)
    }
}

impl<'d, T: Reducible, A: Accumulator<T>> DotProduct<'d, T, A> {
    /// Prepares for dot products in this accumulator. No kernel is loaded yet.
    ///
    /// ```
    /// # use warpfold::{Device, DeviceChoice, DotProduct};
    /// # let device = Device::open(&DeviceChoice::Emulator)?;
    /// let values = device.upload(&[i32::MAX; 2])?;
    /// let mut dot = DotProduct::<i32, i64>::with_accumulator(&device)?;
    /// assert_eq!(dot.of(&values, &values)?, 2 * i64::from(i32::MAX).pow(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The device fails.
    pub fn with_accumulator(device: &'d Device) -> Result<Self, Error> {
        Ok(Self {
            device,
            family: Family::new(device, Source::of_library(A::KERNELS), name::<T, A>())?,
            mode: Mode::Fast,
            values: PhantomData,
        })
    }

    /// The same products added in this order: [`Mode::Deterministic`] is that of [`warpfold_device::fixed`].
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// The dot product of two buffers, of parts of them, or of other memory of the device; waits for it.
    ///
    /// # Errors
    /// [`Error::Lengths`]; the values are in the memory of another device, the device has no room for the states of the blocks, or it fails.
    pub fn of<'a, 'b>(
        &mut self,
        left: impl Into<Slice<'a, T>>,
        right: impl Into<Slice<'b, T>>,
    ) -> Result<A, Error> {
        let pair = (left.into(), right.into());
        of(&mut self.family, self.device, self.mode, pair)
    }

    /// Queues the dot product on a stream, which writes it to `result`, one element of a [`Buffer`] or of other memory of the device. Does
    /// not wait, except for memory of `cust`.
    ///
    /// A call that needs another kernel or more memory than those before loads or allocates, which waits; [`Self::prepare`] does that
    /// before.
    ///
    /// # Errors
    /// As [`Self::of`]; the stream or the result is of another device, or its length is not 1; [`Error::Unprepared`].
    pub fn queue<'a, 'b, 'r>(
        &mut self,
        stream: &Stream,
        left: impl Into<Slice<'a, T>>,
        right: impl Into<Slice<'b, T>>,
        result: impl Into<SliceMut<'r, A>>,
    ) -> Result<(), Error> {
        let (device, mode, pair) = (self.device, self.mode, (left.into(), right.into()));
        let result = result.into();
        launch(&mut self.family, device, mode, Some(stream), pair, result)
    }

    /// The bytes of workspace that the dot product of arrays of this many values takes.
    pub fn plan(&self, values: usize) -> usize {
        let launch = choose::<T>(self.device, self.mode, values);
        needs_of::<A>(self.mode, values, launch).bytes()
    }

    /// Loads the kernel and allocates what arrays of this many values need, so that queueing them does neither: it may then be captured
    /// into a graph. Waits if there is anything to load or to allocate. Returns what [`Self::plan`] says.
    ///
    /// Whoever launches such a graph keeps this value, and has not prepared it for more since.
    ///
    /// # Errors
    /// The device refuses the kernel, or has no room.
    pub fn prepare(&mut self, values: usize) -> Result<usize, Error> {
        let launch = choose::<T>(self.device, self.mode, values);
        let needs = needs_of::<A>(self.mode, values, launch);
        self.family.prepare(self.device, &needs)?;
        Ok(needs.bytes())
    }
}

/// For measurements.
#[doc(hidden)]
impl<T: Reducible, A: Accumulator<T>> DotProduct<'_, T, A> {
    /// What the choice of a launch depends on.
    pub fn problem(&self, values: usize) -> Problem {
        problem_of_pairs(self.device, self.mode, values, size_of::<T>())
    }

    /// As [`Self::queue`], by another launch.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// The launch has one dimension and up to 1024 threads in a block, of the kernel of this mode.
    pub unsafe fn launch_by(
        &mut self,
        stream: Option<&Stream>,
        pair: (Slice<'_, T>, Slice<'_, T>),
        result: &mut Buffer<A>,
        launch: Launch,
    ) -> Result<(), Error> {
        let (device, mode, result) = (self.device, self.mode, Slice::from(&*result));
        launch_to(&mut self.family, device, mode, stream, pair, result, launch)
    }

    /// The kernel of a launch that has been made before, and its arguments.
    pub fn arguments(
        &self,
        pair: (Slice<'_, T>, Slice<'_, T>),
        result: &Buffer<A>,
        launch: Launch,
    ) -> (&Kernel, Vec<Argument>) {
        let needs = needs_of::<A>(self.mode, pair.0.len(), launch);
        let arguments = arguments_of(&self.family, pair, Slice::from(result), &needs, launch);
        (self.family.kernel(needs.suffix), arguments)
    }
}

fn name<T: Reducible, A: Accumulator<T>>() -> String {
    format!("dot_{}", A::KERNELS.name())
}

fn choose<T>(device: &Device, mode: Mode, n: usize) -> Launch {
    choose_for_pairs(device, mode, n, size_of::<T>())
}

fn needs_of<A: Words>(mode: Mode, n: usize, launch: Launch) -> Needs {
    match mode {
        Mode::Fast => Needs {
            slots: most_words::<A>(launch.blocks as usize),
            words: 1,
            ..Needs::kernel(match launch.way {
                Way::Large(_) => "_large_pairs",
                _ => "_pairs",
            })
        },
        Mode::Deterministic => Needs {
            states: (n.div_ceil(CHUNK) * size_of::<A>()).div_ceil(size_of::<u64>()),
            words: 1,
            ..Needs::kernel("_fixed_pairs")
        },
    }
}

fn arguments_of<T: Pod, A: Pod>(
    family: &Family,
    (left, right): (Slice<'_, T>, Slice<'_, T>),
    result: Slice<'_, A>,
    needs: &Needs,
    launch: Launch,
) -> Vec<Argument> {
    let mut arguments = vec![left.argument(), right.argument(), left.len().into()];
    if let Way::Large(kept) = launch.way {
        arguments.push(kept.into());
    }
    arguments.extend(match launch.way {
        Way::FixedBlocks => family.workspace(),
        _ => family.slots(needs),
    });
    arguments.push(result.argument());
    arguments
}

fn of<T: Reducible, A: Accumulator<T>>(
    family: &mut Family,
    device: &Device,
    mode: Mode,
    pair: (Slice<'_, T>, Slice<'_, T>),
) -> Result<A, Error> {
    let mut result = device.allocate(1)?;
    launch(family, device, mode, None, pair, (&mut result).into())?;
    Ok(result.read()?[0])
}

fn launch<T: Reducible, A: Accumulator<T>>(
    family: &mut Family,
    device: &Device,
    mode: Mode,
    stream: Option<&Stream>,
    pair: (Slice<'_, T>, Slice<'_, T>),
    result: SliceMut<'_, A>,
) -> Result<(), Error> {
    let launch = choose::<T>(device, mode, pair.0.len());
    result.written_by(device, stream, |result| {
        launch_to(family, device, mode, stream, pair, result, launch)
    })
}

fn launch_to<T: Reducible, A: Accumulator<T>>(
    family: &mut Family,
    device: &Device,
    mode: Mode,
    stream: Option<&Stream>,
    (left, right): (Slice<'_, T>, Slice<'_, T>),
    result: Slice<'_, A>,
    launch: Launch,
) -> Result<(), Error> {
    if left.len() != right.len() {
        return Err(Error::Lengths {
            left: left.len(),
            right: right.len(),
        });
    }
    left.check_device(device)?;
    right.check_device(device)?;
    result.check_device(device)?;
    DeviceError::check_length(result.len(), 1)?;
    let needs = needs_of::<A>(mode, left.len(), launch);
    let shape = Shape::linear(launch.blocks, launch.block);
    family.prepare_on(device, stream, &needs)?;
    let arguments = arguments_of(family, (left, right), result, &needs, launch);
    // SAFETY: both have as many values; there is one result; the workspace is large enough, and its slots and its word are 0. Memory of buffers is freed when
    // the device has done what is queued; `read_by` keeps the order of other memory, or who has made the slice has promised it.
    let launch = || unsafe { family.launch(stream, needs.suffix, &shape, &arguments) };
    Ok(left.read_by(device, stream, || right.read_by(device, stream, launch))?)
}

/// As [`DotProduct::queue`], with the kernels that are kept with the device, to memory of any kind.
///
/// # Errors
/// As there.
///
/// # Safety
/// Nothing else reads or writes the result until the kernel has ended.
#[doc(hidden)]
pub unsafe fn queue_dot<T: Reducible>(
    device: &Device,
    stream: &Stream,
    mode: Mode,
    pair: (Slice<'_, T>, Slice<'_, T>),
    result: Slice<'_, T::Wide>,
) -> Result<(), Error> {
    Attached::with(device, name::<T, T::Wide>(), T::KERNELS, |family| {
        let launch = choose::<T>(device, mode, pair.0.len());
        launch_to(family, device, mode, Some(stream), pair, result, launch)
    })
}

impl<T: Reducible, A> fmt::Debug for DotProduct<'_, T, A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("DotProduct")
            .field("name", &self.family.name())
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// The sum of the products of two arrays' values, on the host or on the device; waits for it. [`DotProduct`] also queues it.
///
/// ```
/// # let device = warpfold::Device::open(&warpfold::DeviceChoice::Emulator)?;
/// assert_eq!(warpfold::dot(&device, &[1_i32, 2, 3], &[4, 5, 6])?, 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`DotProduct::of`], and the device has no room for the values.
pub fn dot<'a, 'b, T: Reducible>(
    device: &Device,
    left: impl Into<Values<'a, T>>,
    right: impl Into<Values<'b, T>>,
) -> Result<T::Wide, Error> {
    let (mut of_left, mut of_right) = (None, None);
    let left = left.into().on(device, &mut of_left)?;
    let right = right.into().on(device, &mut of_right)?;
    Attached::with(device, name::<T, T::Wide>(), T::KERNELS, |family| {
        of(family, device, Mode::Fast, (left, right))
    })
}
