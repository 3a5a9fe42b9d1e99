//! Several devices that reduce an array together, each the part that is in its memory.
//!
//! ```
//! use warpfold::operator::{ArgMax, Mean};
//! use warpfold::{DeviceChoice, Group, GroupReduction};
//!
//! let group = Group::open(&[DeviceChoice::Emulator; 2])?;
//! let values: Vec<f32> = (0..10_000).map(|value| value as f32).collect();
//! let parts = group.upload(&values)?;
//! let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
//! assert_eq!(GroupReduction::new(&group, Mean)?.of(&parts)?, 4999.5);
//! assert_eq!(GroupReduction::new(&group, ArgMax::FIRST)?.of(&parts)?, 9999);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The two orders
//!
//! In [`Mode::Fast`] each device reduces its part by one launch to one state, and hands that in to a slot of its own in the memory of the
//! first device, which combines the states in the order of the devices. In [`Mode::Deterministic`] the order is that of
//! [`warpfold_device::fixed`]: each device writes the states of the chunks of its part into the memory of the first, and another kernel there
//! combines them all. The result then has the same bits for any number of devices, GPUs or emulated ones, and as a
//! [`Reduction`](crate::Reduction) in its deterministic mode, as long as each part but the last with values has whole chunks, as
//! [`Group::upload`] makes them.
//!
//! # How they meet
//!
//! Where every device reaches the memory of the first ([`Group::has_peer_access`]), the host takes no part in it.
//!
//! - Fast: the last block of each device stores its state and raises a flag by a release of system scope. The last block of the first device
//!   waits for all flags by acquires of system scope, and goes on ([`warpfold_device::meeting`]). A second kernel that waits for
//!   events of the other streams would do as well, and costs a launch and the driver's events after the slowest device; the flag costs one
//!   store over the link. The first device is launched last, so that nobody waits for what is not queued yet. If another device fails, the
//!   host, which waits for the others first, raises its flag, and the launch ends.
//! - Deterministic: the stream of the first device waits for those of the others, because every block of them has something to hand in.
//!
//! Plain stores over the link are enough: no atomic goes from one device to another, which PCIe does not always carry out.
//!
//! Elsewhere the states go through the host's memory, with the same result.
//!
//! The launches are queued one after another by the thread that calls. Each takes the driver a few microseconds, so that many devices with
//! little to do are limited by that.

mod parts;
#[cfg(test)]
mod tests;

use crate::device::{Buffer, Device, DeviceChoice, DeviceError, Pod, Slice};
use crate::kernels::Error;
use crate::ptx::PtxSet;
use crate::reduce::{BuiltIn, Form, Reducible};
use crate::sum::Mode;
pub use parts::UntypedGroup;
use std::fmt;
use std::marker::PhantomData;
use warpfold_device::fixed::CHUNK;

/// Devices that work together.
#[derive(Debug)]
pub struct Group {
    devices: Vec<Device>,
    has_peer_access: bool,
}

impl Group {
    /// Opens the devices. The same GPU may be there more than once, and up to [`Device::MOST_EMULATORS`] emulators, which reach each other's
    /// memory.
    ///
    /// # Errors
    /// [`DeviceError`] where one cannot be opened; [`Error::NoDevices`] where none is named, [`Error::TooManyEmulators`].
    pub fn open(choices: &[DeviceChoice]) -> Result<Self, Error> {
        let is_emulator = |choice: &&DeviceChoice| **choice == DeviceChoice::Emulator;
        let count = choices.iter().filter(is_emulator).count();
        if count > Device::MOST_EMULATORS {
            return Err(Error::TooManyEmulators { count });
        }
        let mut emulators = Device::emulators(count as u8).into_iter();
        let devices = choices.iter().map(|choice| match choice {
            DeviceChoice::Emulator => emulators.next().map_or_else(|| Device::open(choice), Ok),
            choice => Device::open(choice),
        });
        Self::new(devices.collect::<Result<Vec<_>, DeviceError>>()?)
    }

    /// A group of devices that are open already. Gives the others access to the memory of the first, where there is a way.
    ///
    /// # Errors
    /// [`Error::NoDevices`]; a driver fails.
    pub fn new(devices: Vec<Device>) -> Result<Self, Error> {
        let Some((first, others)) = devices.split_first() else {
            return Err(Error::NoDevices);
        };
        let mut has_peer_access = true;
        for other in others {
            has_peer_access &= other.enable_peer_access(first)?;
        }
        Ok(Self {
            devices,
            has_peer_access,
        })
    }

    /// The same devices with other PTX for the kernels of the course than the library carries ([`Device::with_ptx`]).
    #[must_use]
    pub fn with_ptx(self, ptx: &PtxSet) -> Self {
        let devices = self.devices.into_iter();
        Self {
            devices: devices.map(|device| device.with_ptx(ptx.clone())).collect(),
            ..self
        }
    }

    /// Whether all devices reach the memory of the first, where they meet. Otherwise they meet in the host's memory.
    pub fn has_peer_access(&self) -> bool {
        self.has_peer_access
    }

    /// The devices, in their order.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Uploads a part of the values to each device: neighbouring ones, as many to each as whole chunks allow.
    ///
    /// # Errors
    /// A device has no room for its part.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Vec<Buffer<T>>, DeviceError> {
        self.upload_in(values, 1)
    }

    /// As [`Self::upload`], of values of so many elements each.
    #[doc(hidden)]
    pub fn upload_in<T: Pod>(
        &self,
        values: &[T],
        each: usize,
    ) -> Result<Vec<Buffer<T>>, DeviceError> {
        let chunk = CHUNK * each;
        let chunks = values.len().div_ceil(chunk);
        let begin = |device: usize| {
            let before = chunks as u128 * device as u128 / self.devices.len() as u128;
            values.len().min(before as usize * chunk)
        };
        let devices = self.devices.iter().enumerate();
        devices
            .map(|(number, device)| device.upload(&values[begin(number)..begin(number + 1)]))
            .collect()
    }
}

/// A reduction by an operator of the library of arrays that a group has parts of, again and again.
pub struct GroupReduction<'g, T, O: BuiltIn<T>>
where
    T: Reducible,
{
    group: &'g Group,
    untyped: UntypedGroup,
    mode: Mode,
    types: PhantomData<(T, O)>,
}

impl<'g, T: Reducible, O: BuiltIn<T>> GroupReduction<'g, T, O> {
    /// Prepares for reductions. No kernel is loaded yet.
    ///
    /// # Errors
    /// A device fails.
    pub fn new(group: &'g Group, operator: O) -> Result<Self, Error> {
        let (name, parameter) = operator.kernels();
        let form = Form::of::<T, O>();
        // SAFETY: the form is that of this operator and this type.
        let untyped = unsafe { UntypedGroup::of_library(group, name, T::NAME, parameter, form) };
        Ok(Self {
            group,
            untyped: untyped?,
            mode: Mode::Fast,
            types: PhantomData,
        })
    }

    /// The same reduction in this order: see [the module](self).
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// The same reduction, whose states meet on the host even where the devices reach each other.
    #[must_use]
    pub fn meeting_on_host(mut self) -> Self {
        self.untyped.meet_on_host_always();
        self
    }

    /// The reduction of the values of all parts, one after another; waits for it. There is a part for each device, in its memory, which may
    /// be empty.
    ///
    /// # Errors
    /// [`Error::Parts`] for another number of parts; a part is in the memory of another device, a device has no room for its states, or it
    /// fails.
    pub fn of(&mut self, parts: &[Slice<'_, T>]) -> Result<O::Output, Error> {
        let parts: Vec<Slice<'_, u8>> = parts.iter().map(|part| part.bytes()).collect();
        let result = self.group.devices[0].allocate::<O::Output>(1)?;
        let bytes = Slice::from(&result).bytes();
        // SAFETY: buffers and slices are at addresses for their types, and the result is this call's own.
        unsafe { self.untyped.reduce(self.group, self.mode, &parts, bytes)? };
        Ok(result.read()?[0])
    }
}

impl<T: Reducible, O: BuiltIn<T>> fmt::Debug for GroupReduction<'_, T, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GroupReduction")
            .field("devices", &self.group.devices.len())
            .finish_non_exhaustive()
    }
}
