//! NVIDIA GPUs, through their driver.

mod device_runtime;
mod event;
mod graph;
mod host_memory;
mod information;
mod l2_cache;
mod launch;
mod link;
mod memory;
mod module;
mod queue;
mod session;
mod stream;

pub(super) use event::Event;
pub(super) use graph::{ExecutableGraph, Graph};
pub(super) use host_memory::HostAllocation;
pub use information::GpuInformation;
pub(super) use l2_cache::SetAside;
pub(super) use launch::Kernel;
pub(super) use memory::Allocation;
pub(super) use module::Module;
pub(super) use stream::Stream;

use super::{DeviceError, HostMemory, L2Cache};
use session::Session;
use std::rc::Rc;
use warpfold_driver::sys::{self, CUdevice};

/// The oldest architecture that the product's PTX is built for.
const OLDEST_SM: u32 = 70;

/// An NVIDIA GPU, opened.
pub struct Gpu {
    session: Rc<Session>,
}

impl Gpu {
    pub(super) fn open(index: u32) -> Result<Self, DeviceError> {
        let driver = warpfold_driver::available().map_err(DeviceError::NoGpu)?;
        let count = count()?;
        if index >= count {
            return Err(DeviceError::NoSuchGpu { index, count });
        }
        let device = device(index)?;
        let information = GpuInformation::of(index, device)?;
        Ok(Self {
            session: Rc::new(Session::new(device, information, driver)?),
        })
    }

    /// Opens the first GPU that the product's PTX runs on.
    pub(super) fn open_first() -> Result<Self, DeviceError> {
        warpfold_driver::available().map_err(DeviceError::NoGpu)?;
        let gpus = all()?;
        match gpus.iter().find(|gpu| gpu.sm >= OLDEST_SM) {
            Some(gpu) => Self::open(gpu.index),
            None => Err(DeviceError::TooOld {
                sm: gpus.iter().map(|gpu| gpu.sm).max().unwrap_or(0),
                targets: format!("sm_{OLDEST_SM} and later"),
            }),
        }
    }

    /// What the driver tells about it.
    pub fn information(&self) -> &GpuInformation {
        &self.session.information
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<Allocation, DeviceError> {
        Allocation::new(&self.session, bytes)
    }

    pub(super) fn allocate_on_host(
        &self,
        kind: HostMemory,
        bytes: usize,
    ) -> Result<HostAllocation, DeviceError> {
        HostAllocation::new(&self.session, kind, bytes)
    }

    pub(super) fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(&self.session)
    }

    pub(super) fn event(&self) -> Result<Event, DeviceError> {
        Event::new(&self.session)
    }

    pub(super) fn graph(&self) -> Result<Graph, DeviceError> {
        Graph::new(&self.session)
    }

    pub(super) fn l2_cache(&self) -> Result<L2Cache, DeviceError> {
        l2_cache::of(self.session.device())
    }

    pub(super) fn persist_l2(&self, bytes: usize) -> Result<SetAside, DeviceError> {
        SetAside::new(&self.session, bytes)
    }

    pub(super) fn load(&self, ptx: &str) -> Result<Module, DeviceError> {
        Module::load(&self.session, ptx)
    }
}

/// All GPUs, as the driver counts them. The driver has been found [`warpfold_driver::available`] before.
pub(super) fn all() -> Result<Vec<GpuInformation>, DeviceError> {
    (0..count()?)
        .map(|index| GpuInformation::of(index, device(index)?))
        .collect()
}

/// How many GPUs the driver counts.
fn count() -> Result<u32, DeviceError> {
    let mut count = 0;
    // SAFETY: `count` may be written.
    unsafe { sys::cuDeviceGetCount(&raw mut count) }?;
    Ok(count.unsigned_abs())
}

/// The GPU of this index, of which the driver checks that there is one.
fn device(index: u32) -> Result<CUdevice, DeviceError> {
    let mut device = 0;
    // SAFETY: `device` may be written.
    unsafe { sys::cuDeviceGet(&raw mut device, i32::try_from(index).unwrap_or(i32::MAX)) }?;
    Ok(device)
}
