//! Sums as fast as the memory gives the numbers: the flagship, for values that lie on a device or on the host.
//!
//! ```
//! use warpfold::device::{Device, DeviceChoice};
//! use warpfold::machine::Machine;
//! use warpfold::ptx::PtxSet;
//! use warpfold::sum::{Mode, Summer};
//!
//! let machine = Machine::new(Device::open(&DeviceChoice::Emulator)?, PtxSet::embedded());
//! let temperatures = machine.device().upload(&[20.5_f32, 21.0, 19.5, 18.0])?;
//! let mut summer = Summer::new(&machine)?;
//! assert_eq!(summer.sum(&temperatures, Mode::Fast)?, 79.0);
//! assert_eq!(summer.sum(temperatures.slice(1..), Mode::Deterministic)?, 58.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One launch makes a sum, whatever the length and wherever the values begin. Which kernel, in how many blocks, is
//! looked up in [`warpfold_kernels::catalogue::flagship`].

#[cfg(test)]
mod tests;

use crate::case::{Case, CaseArgument};
use crate::device::{Buffer, Kernel, Pod, Shape, Slice};
use crate::lesson::{LessonError, LoadedLesson};
use crate::machine::{Machine, MachineError};
use crate::reducible::Reducible;
use std::collections::HashMap;
use warpfold_kernels::catalogue::flagship::{Addend, Launch, MODULE, Order, choose};
use warpfold_kernels::catalogue::{Finish, Geometry, Operator, Reduction, Variant};

/// In which order floats are added, and so what their sum promises. It makes no difference to integers, whose sums wrap around
/// and are the same in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The order that is fastest. The last bits of the sum may change with the GPU, with the address of the values, and with the
    /// version of this library.
    #[default]
    Fast,
    /// An order that follows from the number of values alone: the same values give the same bits on every GPU and on the
    /// emulator, from any address.
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

/// A type that [`Summer`] adds up.
pub trait Summable: Pod {
    /// The flagship's name of what is added.
    const ADDEND: Addend;
}

macro_rules! summable {
    ($($value:ty => $addend:ident),* $(,)?) => { $(
        impl Summable for $value {
            const ADDEND: Addend = Addend::$addend;
        }
    )* };
}

summable! { i32 => I32, u32 => I32, i64 => I64, u64 => I64, f32 => F32, f64 => F64 }

/// Adds up values on a device, again and again: it keeps the kernels and the few words of memory that they need.
#[derive(Debug)]
pub struct Summer<'m, T> {
    machine: &'m Machine,
    kernels: HashMap<&'static str, Kernel>,
    partials: Buffer<T>,
    total: Buffer<T>,
    /// 0 between the launches; those of one `Summer` follow one another.
    ticket: Buffer<u64>,
}

impl<'m, T: Summable> Summer<'m, T> {
    /// Prepares for sums on this machine.
    ///
    /// # Errors
    /// The device has not the memory, which is a few words.
    pub fn new(machine: &'m Machine) -> Result<Self, MachineError> {
        let device = machine.device();
        Ok(Self {
            machine,
            kernels: HashMap::new(),
            partials: device.allocate(0)?,
            total: device.allocate(1)?,
            ticket: device.upload(&[0])?,
        })
    }

    /// The sum of a buffer or of a part of one: of integers modulo 2^32 or 2^64, of floats rounded at each addition. The sum
    /// of nothing is 0.
    ///
    /// # Errors
    /// There is no PTX for the device, the device has not the memory for the partial sums, or it fails.
    pub fn sum<'a>(
        &mut self,
        values: impl Into<Slice<'a, T>>,
        mode: Mode,
    ) -> Result<T, MachineError> {
        let values = values.into();
        if values.is_empty() {
            return Ok(T::zeroed());
        }
        let device = self.machine.device();
        let launch = choose(
            T::ADDEND,
            mode.into(),
            values.len(),
            device.sm(),
            device.multiprocessors(),
        );
        self.launch(values, &launch)
    }

    /// The sum of at least one value by a launch of the flagship.
    pub(crate) fn launch(
        &mut self,
        values: Slice<'_, T>,
        launch: &Launch,
    ) -> Result<T, MachineError> {
        let device = self.machine.device();
        if self.partials.len() < launch.partials {
            self.partials = device.allocate(launch.partials)?;
        }
        let shape = Shape::linear(launch.blocks, launch.block)
            .with_dynamic_shared_bytes(launch.dynamic_shared_bytes);
        let arguments = [
            values.argument(),
            self.partials.argument(),
            values.len().into(),
            self.total.argument(),
            self.ticket.argument(),
        ];
        if !self.kernels.contains_key(launch.entry) {
            let kernel = self.machine.kernel(MODULE, launch.entry)?;
            self.kernels.insert(launch.entry, kernel);
        }
        // SAFETY: the entry is one of the flagship's for `T`, which takes these arguments in any grid of such blocks; it reads the
        // values, which the slice keeps alive, and writes to as many partials as the launch says, one total and the ticket.
        let launched = unsafe { self.kernels[launch.entry].launch(&shape, &arguments) };
        if let Err(error) = launched {
            // Blocks that did not come to their end have not drawn their tickets.
            self.ticket = device.upload(&[0])?;
            return Err(error.into());
        }
        Ok(self.total.read()?[0])
    }
}

/// The sum of values that lie on the host: uploads them, and adds them up as [`Summer::sum`] does. Uploading takes
/// longer than any sum; where there is more than one to be made of the same values, keep them on the device.
///
/// ```
/// # use warpfold::{device::{Device, DeviceChoice}, machine::Machine, ptx::PtxSet};
/// use warpfold::sum::{Mode, sum};
///
/// # let machine = Machine::new(Device::open(&DeviceChoice::Emulator)?, PtxSet::embedded());
/// assert_eq!(sum(&machine, &[1_i64, 2, 3], Mode::Fast)?, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Summer::sum`], and the device has not the memory for the values.
pub fn sum<T: Summable>(machine: &Machine, values: &[T], mode: Mode) -> Result<T, MachineError> {
    let values = machine.device().upload(values)?;
    Summer::new(machine)?.sum(&values, mode)
}

/// What [`sum`] launches for these values on the machine, ready to be counted or timed and verified as a lesson is; the order of additions
/// is that of [`Mode::Fast`].
///
/// # Errors
/// There is no PTX for the device, or it has not the memory.
pub fn load<T: Summable + Reducible>(
    machine: &Machine,
    values: &[T],
) -> Result<LoadedLesson<T>, LessonError> {
    let device = machine.device();
    let launch = choose(
        T::ADDEND,
        Mode::Fast.into(),
        values.len().max(1),
        device.sm(),
        device.multiprocessors(),
    );
    let reduction = Reduction {
        operator: Operator::Sum,
        element_type: T::ELEMENT_TYPE,
        // A thread of it adds up what four loads of 16 bytes bring, again and again.
        geometry: Geometry::Resident {
            elements_per_thread: 64 / size_of::<T>() as u32,
            threads_per_multiprocessor: launch.block,
        },
        finish: Finish::OneLaunch,
        in_place: false,
        shared_bytes_per_thread: launch.dynamic_shared_bytes / launch.block,
    };
    let variant = Variant {
        block: launch.block,
        parameter: None,
    };
    let case = (!values.is_empty()).then(|| Case {
        entry: launch.entry,
        shape: Shape::linear(launch.blocks, launch.block)
            .with_dynamic_shared_bytes(launch.dynamic_shared_bytes),
        arguments: vec![
            CaseArgument::input(values),
            CaseArgument::output(launch.partials, T::NO_PARTIAL),
            CaseArgument::scalar(values.len()),
            CaseArgument::output(1, T::NO_PARTIAL),
            CaseArgument::rewritten(vec![0_u64]),
        ],
    });
    // SAFETY: as in `Summer::launch`, of whose arguments these are copies.
    unsafe { LoadedLesson::of_case(machine, MODULE, &reduction, variant, case, values) }
}
