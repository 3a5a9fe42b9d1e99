//! Devices that reach each other's memory.

use super::backend::Backend;
use super::buffer::{Buffer, MemoryOn};
use super::emulator::EmulatedKernel;
use super::kernel::{Kernel, KernelOn};
use super::link::PeerLink;
use super::stream::{Stream, StreamOn};
use super::{Argument, Device, DeviceError, Shape};
use bytemuck::Pod;
use warpfold_emulator::{
    Finding, Order, Tool, Watch, check_together, compare_orders_together, launch_together,
};

/// A launch among others that run at the same time.
pub type LaunchOn<'a> = (&'a Kernel, &'a Shape, &'a [Argument]);

impl Device {
    /// The most emulated devices of a group.
    pub const MOST_EMULATORS: usize = 64;

    /// Several emulated devices of one computer, each of which can be given access to the memory of the others.
    pub fn emulators(count: u8) -> Vec<Self> {
        super::Emulator::group(count)
            .into_iter()
            .map(Self::from)
            .collect()
    }

    /// What kernels of this device may do with the memory of that one.
    ///
    /// # Errors
    /// The driver does not tell.
    pub fn peer_link(&self, peer: &Self) -> Result<PeerLink, DeviceError> {
        match (&self.backend, &peer.backend) {
            (Backend::Gpu(one), Backend::Gpu(other)) => one.peer_link(other),
            (Backend::Emulator(one), Backend::Emulator(other)) if one.is_beside(other) => {
                Ok(PeerLink::SAME)
            }
            _ => Ok(PeerLink::NONE),
        }
    }

    /// Lets kernels of this device access the memory of that one, in this direction only. Returns whether they may: not if
    /// [`Self::peer_link`] has no access.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn enable_peer_access(&self, peer: &Self) -> Result<bool, DeviceError> {
        if !self.peer_link(peer)?.has_access {
            return Ok(false);
        }
        match (&self.backend, &peer.backend) {
            (Backend::Gpu(one), Backend::Gpu(other)) => one.enable_peer_access(other)?,
            (Backend::Emulator(one), Backend::Emulator(other)) => one.enable_peer_access(other),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Stream {
    /// Queues a copy between two devices, of one of which this stream is. It needs no peer access: without, the driver takes the bytes through
    /// the host's memory.
    ///
    /// # Errors
    /// The two differ in length, neither is of this stream's device, or the stream is being captured.
    pub fn copy_between<T: Pod>(
        &self,
        from: &Buffer<T>,
        to: &mut Buffer<T>,
    ) -> Result<(), DeviceError> {
        DeviceError::check_length(to.len(), from.len())?;
        match (&self.0, &from.memory, &mut to.memory) {
            (StreamOn::Gpu(stream), MemoryOn::Gpu(from), MemoryOn::Gpu(to)) => {
                stream.copy_between(from, to)
            }
            (StreamOn::Emulator(stream), MemoryOn::Emulator(from), MemoryOn::Emulator(to)) => {
                stream.copy_between(from, to)
            }
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// What is queued here from now on waits for what is queued on that stream, which may be of another device. Nothing waits on the
    /// emulator, where all of it is done. If that stream is being captured, this one has a part in the capture from then on, as by
    /// [`Self::wait_for`].
    ///
    /// # Errors
    /// One of the two is of a GPU and the other of the emulator, or the driver refuses.
    pub fn follow(&self, earlier: &Self) -> Result<(), DeviceError> {
        match (&self.0, &earlier.0) {
            (StreamOn::Gpu(later), StreamOn::Gpu(earlier)) => later.follow(earlier),
            (StreamOn::Emulator(later), StreamOn::Emulator(earlier)) => later.follow(earlier),
            _ => Err(DeviceError::OtherDevice),
        }
    }
}

/// Runs launches at the same time on emulated devices of one [group](Device::emulators), while an observer watches.
///
/// # Errors
/// As [`Kernel::observe`]; [`DeviceError::OtherDevice`] for devices of several groups.
pub fn observe_together(
    launches: &[LaunchOn<'_>],
    order: Order,
    observer: &mut dyn Watch,
) -> Result<(), DeviceError> {
    together(launches, |launches, memories| {
        let memories: Vec<_> = memories.iter().map(|memory| &**memory).collect();
        launch_together(launches, &memories, order, observer)
    })
}

/// What the sanitizers find in launches at the same time, those of each device and those between devices. The memory is left as it was.
///
/// # Errors
/// As [`observe_together`].
pub fn check(launches: &[LaunchOn<'_>], tools: &[Tool]) -> Result<Vec<Finding>, DeviceError> {
    together(launches, |launches, memories| {
        check_together(launches, memories, tools)
    })
}

/// The first difference between what launches at the same time leave in memory in these orders. The memory is left as it was.
///
/// # Errors
/// As [`observe_together`].
pub fn compare_orders(
    launches: &[LaunchOn<'_>],
    orders: impl IntoIterator<Item = Order>,
) -> Result<Option<Finding>, DeviceError> {
    together(launches, |launches, memories| {
        compare_orders_together(launches, memories, orders)
    })
}

fn together<R>(
    launches: &[LaunchOn<'_>],
    run: impl FnOnce(
        &[warpfold_emulator::DeviceLaunch<'_>],
        &mut [&mut warpfold_emulator::Memory],
    ) -> Result<R, warpfold_emulator::LaunchError>,
) -> Result<R, DeviceError> {
    let on_emulator = |launch: &LaunchOn<'_>| match launch.0.on() {
        KernelOn::Emulator(kernel) => Ok(kernel.clone()),
        KernelOn::Gpu(_) => Err(DeviceError::NotObservable),
    };
    let kernels = launches.iter().map(on_emulator);
    let kernels: Vec<EmulatedKernel> = kernels.collect::<Result<_, _>>()?;
    let launches = kernels.iter().zip(launches);
    let launches: Vec<_> = launches
        .map(|(kernel, &(_, shape, arguments))| (kernel, shape, arguments))
        .collect();
    EmulatedKernel::together(&launches, run)
}
