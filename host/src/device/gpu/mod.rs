//! NVIDIA GPUs, through their driver.

mod compiler_log;
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
mod page_lock;
mod peer;
mod queue;
mod recording;
mod session;
mod stream;

pub(super) use event::Event;
pub(super) use graph::{ExecutableGraph, Graph};
pub(super) use host_memory::HostAllocation;
pub use information::GpuInformation;
pub(super) use l2_cache::SetAside;
pub(super) use launch::GpuKernel;
pub(super) use memory::Allocation;
pub use memory::IPC_HANDLE_BYTES;
pub(super) use module::GpuModule;
pub(super) use page_lock::PageLock;
pub(super) use queue::StreamIdentity;
pub(super) use session::CurrentContext;
pub(super) use stream::Stream;

#[cfg(feature = "cudarc")]
use crate::device::cudarc_memory::Access;
use crate::device::{DeviceError, HostMemory, L2Cache, LoadOptions};
#[cfg(feature = "cudarc")]
use queue::Queue;
use session::Session;
use std::{ffi::c_void, rc::Rc};
use warpfold_driver::sys::{self, CUdevice, CUdevice_attribute, CUpointer_attribute};

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
        let session = Rc::new(Session::new(device, information, driver)?);
        session.register();
        Ok(Self { session })
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

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.session, &other.session)
    }

    /// Whether it has allocated this.
    pub(super) fn owns(&self, allocation: &Allocation) -> bool {
        Rc::ptr_eq(&self.session, allocation.session())
    }

    /// Whether it has allocated this.
    pub(super) fn owns_on_host(&self, allocation: &HostAllocation) -> bool {
        Rc::ptr_eq(&self.session, allocation.session())
    }

    /// Whether it has made this stream.
    pub(super) fn has_made(&self, stream: &Stream) -> bool {
        Rc::ptr_eq(&self.session, stream.session())
    }

    pub(super) fn raw_context(&self) -> *mut c_void {
        self.session.context().cast()
    }

    /// Makes it the GPU that calls of other libraries on this thread mean.
    pub(super) fn activate(&self) -> Result<(), DeviceError> {
        self.session.activate()
    }

    /// Its domain, bus and device on PCI, which no other GPU of this host has.
    pub(super) fn pci_place(&self) -> Result<[u32; 3], DeviceError> {
        let of = |which| information::attribute(self.session.device(), which);
        Ok([
            of(CUdevice_attribute::PCI_DOMAIN_ID)?,
            of(CUdevice_attribute::PCI_BUS_ID)?,
            of(CUdevice_attribute::PCI_DEVICE_ID)?,
        ])
    }

    /// Checks that the driver knows this address as one of this GPU's.
    pub(super) fn check_address(&self, address: u64) -> Result<(), DeviceError> {
        self.session.activate()?;
        let mut index = -1_i32;
        // SAFETY: the attribute is a number of this size, which may be written, and the driver checks the address.
        unsafe {
            sys::cuPointerGetAttribute(
                (&raw mut index).cast(),
                CUpointer_attribute::DEVICE_ORDINAL,
                address,
            )
        }
        .map_err(|failure| DeviceError::NotDeviceMemory { address, failure })?;
        if u32::try_from(index) == Ok(self.session.information.index) {
            Ok(())
        } else {
            Err(DeviceError::OtherDevice)
        }
    }

    /// Whether a context is this GPU's primary context.
    #[cfg(feature = "cudarc")]
    pub(super) fn has_context(&self, context: *mut c_void) -> bool {
        self.raw_context() == context
    }

    /// Whether an address is that of memory which was allocated in this GPU's primary context.
    #[cfg(feature = "cust")]
    pub(super) fn has_allocated(&self, address: u64) -> Result<bool, DeviceError> {
        self.session.activate()?;
        let mut context = std::ptr::null_mut::<c_void>();
        // SAFETY: the attribute is a pointer, which may be written, and the driver checks the address.
        unsafe {
            sys::cuPointerGetAttribute(
                (&raw mut context).cast(),
                CUpointer_attribute::CONTEXT,
                address,
            )
        }
        .map_err(|failure| DeviceError::NotDeviceMemory { address, failure })?;
        Ok(self.raw_context() == context)
    }

    /// Runs `queue`, which queues work with this access to memory on this stream, or on the session's own: after what `cudarc` has queued for
    /// the memory, and before what it will queue.
    #[cfg(feature = "cudarc")]
    pub(super) fn in_order_of<E: From<DeviceError>>(
        &self,
        mut access: Access<'_>,
        stream: Option<&Stream>,
        queue: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let own = stream.map_or(&self.session.stream, Stream::queue);
        let wait = |one: &Queue, other: &Queue| -> Result<(), DeviceError> {
            self.session.activate()?;
            if one.handle() != other.handle() {
                one.follow(other)?;
            }
            Ok(())
        };
        // SAFETY: the memory, which is borrowed, keeps its stream.
        let others = unsafe { Queue::borrowed(access.memory().stream().cast()) };
        // What waits for a capture would become part of it.
        if others.handle() != own.handle() && others.is_capturing().map_err(DeviceError::from)? {
            return Err(DeviceError::ForeignCapture.into());
        }
        access.touch();
        wait(own, &others)?;
        let queued = queue();
        // Also after a failure, which may come after something has been queued.
        let waited = wait(&others, own);
        access.touch();
        queued?;
        Ok(waited?)
    }

    /// # Safety
    /// As for [`crate::device::Stream::from_raw`].
    pub(super) unsafe fn stream_from_raw(
        &self,
        handle: *mut c_void,
    ) -> Result<Stream, DeviceError> {
        // SAFETY: the caller's contract is the same.
        unsafe { Stream::from_raw(&self.session, handle.cast()) }
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

    /// # Safety
    /// As for [`crate::device::Device::lock_pages`].
    pub(super) unsafe fn lock_pages(&self, memory: *mut [u8]) -> Result<PageLock, DeviceError> {
        // SAFETY: the caller's contract is the same.
        unsafe { PageLock::new(&self.session, memory) }
    }

    pub(super) fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(&self.session)
    }

    pub(super) fn non_blocking_stream(&self) -> Result<Stream, DeviceError> {
        Stream::non_blocking(&self.session)
    }

    pub(super) fn default_stream(&self) -> Stream {
        Stream::default(&self.session)
    }

    pub(super) fn thread_stream(&self) -> Stream {
        Stream::of_thread(&self.session)
    }

    /// # Safety
    /// As for [`crate::device::Event::from_raw`].
    pub(super) unsafe fn event_from_raw(&self, handle: *mut c_void) -> Event {
        // SAFETY: the caller's contract is the same.
        unsafe { Event::from_raw(&self.session, handle.cast()) }
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

    pub(super) fn load(
        &self,
        ptx: &str,
        options: LoadOptions,
    ) -> Result<Rc<GpuModule>, DeviceError> {
        GpuModule::load(&self.session, ptx, options)
    }
}

/// All GPUs, as the driver counts them. [`warpfold_driver::available`] has started the driver.
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
