//! The devices themselves, and how values are divided among them.

use crate::device::{Buffer, Device, DeviceChoice, DeviceError, Pod};
use crate::kernels::Error;
use crate::ptx::PtxSet;
use warpfold_device::fixed::CHUNK;

/// Devices that work together.
#[derive(Debug)]
pub struct Group {
    devices: Vec<Device>,
    has_peer_access: bool,
}

impl Group {
    /// Opens the devices; waits as [`Device::open`] does. The same GPU may be there more than once, and up to [`Device::MOST_EMULATORS`]
    /// emulators, which reach each other's memory.
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

    /// Whether no GPU is there twice.
    pub(super) fn has_each_once(&self) -> bool {
        let gpus = self.devices.iter().filter_map(Device::gpu_information);
        let mut indices: Vec<u32> = gpus.map(|gpu| gpu.index).collect();
        let count = indices.len();
        indices.sort_unstable();
        indices.dedup();
        indices.len() == count
    }

    /// The devices, in their order.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Uploads a part of the values to each device, which waits. Each part consists of neighbouring values; the parts are as equal as whole
    /// chunks allow.
    ///
    /// # Errors
    /// A device has no room for its part.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Vec<Buffer<T>>, DeviceError> {
        self.upload_in(values, 1)
    }

    /// As [`Self::upload`], of values of this many elements each.
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
