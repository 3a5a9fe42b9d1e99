//! Sums at the speed of the memory, of values on a device or on the host.
//!
//! ```
//! use warpfold::sum::{Mode, Sum};
//! use warpfold::{Device, DeviceChoice};
//!
//! let device = Device::open(&DeviceChoice::Emulator)?;
//! let temperatures = device.upload(&[20.5_f32, 21.0, 19.5, 18.0])?;
//! let mut sum = Sum::new(&device)?;
//! assert_eq!(sum.of(&temperatures, Mode::Fast)?, 79.0);
//! assert_eq!(sum.of(temperatures.slice(1..), Mode::Deterministic)?, 58.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Sum::of`] waits for the sum; [`Sum::queue`] and [`Sum::queue_into`] only queue it, and the second leaves it on the device.
//! All take any memory of the device, whether this crate or other code has allocated it ([`Slice`]).
//!
//! One launch makes a sum, for any length and any first address. Which kernel makes it, in how many blocks, is looked up
//! in [`warpfold_kernels::catalogue::flagship`].

#[cfg(test)]
mod tests;

use crate::device::{
    Argument, Buffer, Device, DeviceError, Kernel, Pod, Shape, Slice, SliceMut, Stream, StreamOrder,
};
use crate::kernels::Error;
use crate::values::Values;
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Debug;
use warpfold_kernels::catalogue::flagship::{Addend, MODULE, Order, SumLaunch, choose};
use warpfold_kernels::catalogue::{Finish, Role};
use warpfold_kernels::for_each_element;

/// What rounds a total on the device.
const ROUND: &str = include_str!("sum/round.ptx");

/// The order in which floats are added, which decides what their sum promises. Sums of integers wrap around and are the same in any
/// order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Any order, which is fastest: the last bits of the sum may change from one sum to the next.
    #[default]
    Fast,
    /// An order that follows from the number of values alone: the same values give the same bits on every GPU and on the
    /// emulator, from any address; those of a NaN may differ.
    Deterministic,
}

impl From<Mode> for Order {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Fast => Self::Any,
            Mode::Deterministic => Self::Fixed,
        }
    }
}

/// A type that [`Sum`] adds up. Nobody else can implement it: the kernels are launched by what it says.
pub trait Summable: Pod + Debug + sealed::Sealed {
    /// The kernels' name of what is added.
    const ADDEND: Addend;

    /// What blocks add their sums up in by atomic additions: for `f32` it is `f64`.
    type Total: Pod + Debug;

    /// The total to begin with: 0; of floats −0.0, which added to any float leaves it as it is.
    const IDENTITY: Self::Total;

    /// The sum that a total stands for, rounded if need be.
    fn of_total(total: Self::Total) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! summable {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => { $(summable!(@$kind $bits $value);)* };
    (@integer 32 $value:ident) => { summable!(@impl $value: I32, $value, 0); };
    (@integer 64 $value:ident) => { summable!(@impl $value: I64, $value, 0); };
    (@float 32 $value:ident) => { summable!(@impl $value: F32, f64, -0.0); };
    (@float 64 $value:ident) => { summable!(@impl $value: F64, f64, -0.0); };
    (@impl $value:ident: $addend:ident, $total:ident, $identity:expr) => {
        impl sealed::Sealed for $value {}

        impl Summable for $value {
            const ADDEND: Addend = Addend::$addend;
            type Total = $total;
            const IDENTITY: $total = $identity;

            fn of_total(total: $total) -> Self {
                total as Self
            }
        }
    };
}

for_each_element!(summable);

/// Adds up values on a device, again and again: it keeps the kernels and the few words of memory that they need. For one sum
/// after another, each of which is waited for, [`sum()`] is shorter and as fast.
#[derive(Debug)]
pub struct Sum<'d, T: Summable> {
    device: &'d Device,
    state: State<T>,
}

/// What is kept from sum to sum.
#[derive(Debug)]
struct State<T: Summable> {
    kernels: HashMap<&'static str, Kernel>,
    in_any_order: Turns<T>,
    in_fixed_order: OneLaunch<T>,
    /// Which of the two has the last sum; `None` if it was the sum of no values.
    last: Option<Mode>,
    /// Rounds a total to the type of the sum, from the first time on that this is done on the device.
    round: Option<Kernel>,
    /// That of the launches, which share the totals.
    order: StreamOrder,
    /// Whether a launch has failed: some blocks may have come to their end and others not.
    is_spoiled: bool,
}

impl<T: Summable> State<T> {
    fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self {
            kernels: HashMap::new(),
            in_any_order: Turns::new(device)?,
            in_fixed_order: OneLaunch::new(device, 0)?,
            last: None,
            round: None,
            order: StreamOrder::default(),
            is_spoiled: false,
        })
    }
}

/// The state of [`sum()`], attached to its device.
struct Kept<T: Summable>(Cell<Option<State<T>>>);

impl<T: Summable> Default for Kept<T> {
    fn default() -> Self {
        Self(Cell::new(None))
    }
}

/// Two totals: the next launch adds to the one whose turn it is, and clears the other.
#[derive(Debug)]
struct Turns<T: Summable> {
    totals: [Buffer<T::Total>; 2],
    turn: usize,
}

/// What a launch needs whose last block adds up the sums of all.
#[derive(Debug)]
struct OneLaunch<T> {
    partials: Buffer<T>,
    total: Buffer<T>,
    /// 0 between the launches.
    ticket: Buffer<u64>,
}

impl<T: Summable> Turns<T> {
    fn new(device: &Device) -> Result<Self, DeviceError> {
        let identity = || device.upload(&[T::IDENTITY]);
        Ok(Self {
            totals: [identity()?, identity()?],
            turn: 0,
        })
    }

    /// The total that the last launch added to.
    fn last(&self) -> &Buffer<T::Total> {
        &self.totals[1 - self.turn]
    }

    /// What the next launch gets for a parameter.
    fn argument(&self, role: Role) -> Option<Argument> {
        match role {
            Role::Total => Some(self.totals[self.turn].argument()),
            Role::NextTotal => Some(self.totals[1 - self.turn].argument()),
            _ => None,
        }
    }
}

impl<T: Pod> OneLaunch<T> {
    fn new(device: &Device, partials: usize) -> Result<Self, DeviceError> {
        Ok(Self {
            partials: device.allocate(partials)?,
            total: device.allocate(1)?,
            ticket: device.upload(&[0])?,
        })
    }

    /// What a launch gets for a parameter.
    fn argument(&self, role: Role) -> Option<Argument> {
        match role {
            Role::Partials => Some(self.partials.argument()),
            Role::Total => Some(self.total.argument()),
            Role::Counter => Some(self.ticket.argument()),
            _ => None,
        }
    }
}

impl<'d, T: Summable> Sum<'d, T> {
    /// Prepares for sums on this device. Waits until the few words that it uploads are there.
    ///
    /// # Errors
    /// The device has no room for these few words.
    pub fn new(device: &'d Device) -> Result<Self, Error> {
        Ok(Self {
            device,
            state: State::new(device)?,
        })
    }

    /// The sum of a buffer, of a part of one, or of other memory of the device; waits for it. A sum of integers is modulo 2^32 or 2^64; a
    /// sum of floats is rounded at each addition. The sum of no values is 0.
    ///
    /// # Errors
    /// The values are in the memory of another device; there is no PTX for the device; it has no room for the partial sums of
    /// [`Mode::Deterministic`]; or it fails.
    pub fn of<'a>(&mut self, values: impl Into<Slice<'a, T>>, mode: Mode) -> Result<T, Error> {
        let values = values.into();
        values.check_device(self.device)?;
        if values.is_empty() {
            self.state.last = None;
            return self.result();
        }
        let launch = choose(T::ADDEND, mode.into(), values.len());
        // SAFETY: it was chosen for this type and as many values.
        unsafe { self.launch(values, &launch) }
    }

    /// Queues the sum on a stream and does not wait, except for memory of `cust`. [`Self::result`] waits for the sum and gives it, until
    /// the next sum is queued. A call that needs another kernel or more memory than those before loads or allocates, which waits.
    ///
    /// Sums of one `Sum` follow one another, on whichever streams they are queued.
    ///
    /// # Errors
    /// As [`Self::of`]; the stream is of another device; or it [is capturing](Stream::is_capturing): the totals would not take turns in
    /// the launches of the graph, each of which would add to the same one.
    pub fn queue<'a>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        mode: Mode,
    ) -> Result<(), Error> {
        let values = values.into();
        let device = self.device;
        values.check_device(device)?;
        stream.check_device(device)?;
        if stream.is_capturing()? {
            return Err(DeviceError::CapturedSum.into());
        }
        if values.is_empty() {
            self.state.last = None;
            return Ok(());
        }
        let launch = choose(T::ADDEND, mode.into(), values.len());
        // SAFETY: it was chosen for this type and as many values.
        unsafe { self.start(values, &launch, Some(stream)) }
    }

    /// As [`Self::queue`], and the sum is written to `sum`, one element of a [`Buffer`] or of other memory of the device, without a detour
    /// through the host.
    ///
    /// What is queued on the stream from then on finds it there; the host may also read the buffer, which waits. After the kernel that
    /// makes the sum comes a copy of one element or, of [`Mode::Fast`] and `f32`, whose totals are `f64`, a launch that rounds it; the
    /// first such launch loads its kernel, which waits. The sum of no values comes from the host, which waits too.
    ///
    /// ```
    /// # use warpfold::{Device, DeviceChoice, sum::{Mode, Sum}};
    /// # let device = Device::open(&DeviceChoice::Emulator)?;
    /// let (values, mut sum) = (device.upload(&[1.5_f32, 2.0])?, device.allocate(1)?);
    /// let stream = device.stream()?;
    /// Sum::new(&device)?.queue_into(&stream, &values, Mode::Fast, &mut sum)?;
    /// assert_eq!(sum.read()?, [3.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::queue`]; the memory is of another device, or its length is not 1.
    pub fn queue_into<'a, 'r>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        mode: Mode,
        sum: impl Into<SliceMut<'r, T>>,
    ) -> Result<(), Error> {
        let device = self.device;
        sum.into().written_by(device, Some(stream), |sum| {
            sum.check_device(device)?;
            DeviceError::check_length(sum.len(), 1)?;
            self.queue(stream, values, mode)?;
            self.leave(stream, sum)
        })
    }

    /// Queues what writes the last sum to one element on the device.
    fn leave(&mut self, stream: &Stream, sum: Slice<'_, T>) -> Result<(), Error> {
        let device = self.device;
        let leave = |total: Slice<'_, T>| {
            // SAFETY: both are one element. Buffers are freed when the device has done what is queued; `written_by` keeps the order of
            // other memory, or who has made the slice has promised it.
            unsafe { stream.copy_bytes(total.address(), sum.address(), size_of::<T>()) }
        };
        let total = match self.state.last {
            None => return Ok(leave(device.upload(&[T::zeroed()])?.slice(..))?),
            Some(Mode::Deterministic) => {
                return Ok(leave(self.state.in_fixed_order.total.slice(..))?);
            }
            Some(Mode::Fast) => self.state.in_any_order.last(),
        };
        if let Some(total) = (total as &dyn Any).downcast_ref::<Buffer<T>>() {
            return Ok(leave(total.slice(..))?);
        }
        let round = match &self.state.round {
            Some(round) => round,
            None => self
                .state
                .round
                .insert(device.load(ROUND)?.kernel("round_f64_to_f32")?),
        };
        let arguments = [total.argument(), sum.argument()];
        // SAFETY: the kernel reads one `f64` and writes one `f32`, the only type whose totals are of another, which is `f64`. Buffers
        // are freed when the device has done what is queued.
        Ok(unsafe { stream.launch(round, &Shape::linear(1, 1), &arguments) }?)
    }

    /// The last sum that was made, for which it waits; 0 before the first.
    ///
    /// # Errors
    /// The device fails.
    pub fn result(&self) -> Result<T, Error> {
        Ok(match self.state.last {
            None => T::zeroed(),
            Some(Mode::Fast) => T::of_total(self.state.in_any_order.last().read()?[0]),
            Some(Mode::Deterministic) => self.state.in_fixed_order.total.read()?[0],
        })
    }

    /// The sum of at least one value by a launch of the flagship.
    ///
    /// # Safety
    /// The launch is one of [`choose`], of this type and for as many values.
    unsafe fn launch(&mut self, values: Slice<'_, T>, launch: &SumLaunch) -> Result<T, Error> {
        // SAFETY: the caller's contract is the same.
        unsafe { self.start(values, launch, None)? };
        self.result()
    }

    /// Starts a launch of the flagship on values in the device's memory; without a stream it is waited for.
    ///
    /// # Safety
    /// As for [`Self::launch`].
    unsafe fn start(
        &mut self,
        values: Slice<'_, T>,
        launch: &SumLaunch,
        stream: Option<&Stream>,
    ) -> Result<(), Error> {
        let device = self.device;
        if self.state.is_spoiled {
            self.state.in_any_order = Turns::new(device)?;
            self.state.in_fixed_order = OneLaunch::new(device, 0)?;
            self.state.is_spoiled = false;
        }
        if !self.state.kernels.contains_key(launch.entry) {
            let kernel = device.kernel_of(MODULE, &warpfold_ptx::KERNELS, launch.entry)?;
            self.state.kernels.insert(launch.entry, kernel);
        }
        if self.state.in_fixed_order.partials.len() < launch.partials {
            self.state.in_fixed_order.partials = device.allocate(launch.partials)?;
        }
        let argument = |role| match (role, launch.finish) {
            (Role::Input, _) => Some(values.argument()),
            (Role::Count, _) => Some(values.len().into()),
            (_, Finish::TotalInTurns) => self.state.in_any_order.argument(role),
            (_, Finish::OneLaunch) => self.state.in_fixed_order.argument(role),
            _ => None,
        };
        let roles = launch.finish.roles().iter();
        let arguments = roles
            .map(|&role| argument(role))
            .collect::<Option<Vec<_>>>();
        let arguments = arguments.expect("the flagship's kernels take what is kept for them");
        let shape = Shape::linear(launch.blocks, launch.block);
        let (kernel, order) = (&self.state.kernels[launch.entry], &self.state.order);
        let started = values.read_by(device, stream, || {
            // SAFETY: the kernel takes these arguments in this shape; it reads the values, and writes only to the buffers of this `Sum`,
            // which are as large as the caller's launch asks. Memory of buffers is freed when the device has done what is queued; `read_by`
            // keeps the order of other memory, or who has made the slice has promised it.
            unsafe { order.launch(stream, kernel, &shape, &arguments) }
        });
        if let Err(error) = started {
            (self.state.last, self.state.is_spoiled) = (None, true);
            return Err(error.into());
        }
        self.state.last = Some(match launch.finish {
            Finish::TotalInTurns => {
                self.state.in_any_order.turn ^= 1;
                Mode::Fast
            }
            _ => Mode::Deterministic,
        });
        Ok(())
    }
}

/// The sum of values on the host or on the device; waits for it. A sum of integers is modulo 2^32 or 2^64; floats are added in the
/// fastest order ([`Mode::Fast`]). The sum of no values is 0.
///
/// Values on the host are uploaded, which takes longer than the sum. To reduce the same values several times, keep them on the device.
///
/// ```
/// use warpfold::{Device, sum};
///
/// let device = Device::best();
/// assert_eq!(sum(&device, &[1_i64, 2, 3])?, 6);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Sum::of`], and the device has no room for the values.
pub fn sum<'a, T: Summable>(device: &Device, values: impl Into<Values<'a, T>>) -> Result<T, Error> {
    sum_with(device, values, Mode::Fast)
}

/// As [`sum()`], of floats in the order that the mode asks for.
///
/// # Errors
/// As [`sum()`].
pub fn sum_with<'a, T: Summable>(
    device: &Device,
    values: impl Into<Values<'a, T>>,
    mode: Mode,
) -> Result<T, Error> {
    let uploaded;
    let values = match values.into() {
        Values::OnDevice(slice) => slice,
        Values::OnHost(values) => {
            uploaded = device.upload(values)?;
            uploaded.slice(..)
        }
    };
    let kept = device.attached::<Kept<T>>();
    let state = match kept.0.take() {
        Some(state) => state,
        None => State::new(device)?,
    };
    let mut sum = Sum { device, state };
    let result = sum.of(values, mode);
    kept.0.set(Some(sum.state));
    result
}
