//! Streams and events: work that is queued while the host goes on.

use super::backend::Backend;
use super::buffer::{Buffer, MemoryOn};
use super::host_buffer::{HostBuffer, HostMemoryOn};
use super::kernel::{Kernel, KernelOn};
use super::{AccessPolicy, Argument, DeviceError, Shape, emulator, gpu};
use bytemuck::Pod;
use std::fmt;

/// A queue of copies and launches that a device works off in order.
///
/// Work on different streams has no order, except by [`Self::wait_for`]; on a GPU it overlaps where the hardware has room. The exception
/// is the *default stream* ([`Device::default_stream`](super::Device::default_stream)): what is queued there waits for what was queued
/// before on every other stream, and what is queued on them later waits for it, unless they are
/// [non-blocking](super::Device::non_blocking_stream).
///
/// [`Kernel::launch`], [`Kernel::time`] and [`Buffer::copy_from`] go to a stream of the device's own. Uploads, downloads and the freeing
/// of memory wait for everything that is queued on any stream. The emulator runs each operation at once.
///
/// Functions that queue here do not wait: they return while the device is still at work. [`Self::synchronize`] waits.
pub struct Stream(pub(super) StreamOn);

pub(super) enum StreamOn {
    Gpu(gpu::Stream),
    Emulator(emulator::Stream),
}

/// A mark in a stream, which other streams and the host can wait for, and which has the time when it was reached.
pub struct Event(pub(super) EventOn);

pub(super) enum EventOn {
    Gpu(gpu::Event),
    Emulator(emulator::Event),
}

impl Stream {
    pub(super) fn new(backend: &Backend) -> Result<Self, DeviceError> {
        Ok(Self(match backend {
            Backend::Gpu(gpu) => StreamOn::Gpu(gpu.stream()?),
            Backend::Emulator(emulator) => StreamOn::Emulator(emulator.stream()),
        }))
    }

    pub(super) fn non_blocking(backend: &Backend) -> Result<Self, DeviceError> {
        Ok(Self(match backend {
            Backend::Gpu(gpu) => StreamOn::Gpu(gpu.non_blocking_stream()?),
            Backend::Emulator(emulator) => StreamOn::Emulator(emulator.stream()),
        }))
    }

    pub(super) fn default(backend: &Backend) -> Self {
        Self(match backend {
            Backend::Gpu(gpu) => StreamOn::Gpu(gpu.default_stream()),
            Backend::Emulator(emulator) => StreamOn::Emulator(emulator.stream()),
        })
    }

    pub(super) fn of_thread(backend: &Backend) -> Self {
        Self(match backend {
            Backend::Gpu(gpu) => StreamOn::Gpu(gpu.thread_stream()),
            Backend::Emulator(emulator) => StreamOn::Emulator(emulator.stream()),
        })
    }

    /// A stream of this one's device and access policy for what is captured, and for nothing else. While it has a part in a capture, the
    /// driver lets the uploads and downloads of other threads go on, which it would refuse with an ordinary stream.
    pub(crate) fn recorder(&self) -> Result<Self, DeviceError> {
        Ok(Self(match &self.0 {
            StreamOn::Gpu(stream) => StreamOn::Gpu(stream.recorder()?),
            StreamOn::Emulator(stream) => StreamOn::Emulator(stream.recorder()),
        }))
    }

    /// Queues a copy to the device.
    ///
    /// # Errors
    /// The two differ in length or device, or the copy cannot be queued.
    pub fn upload<T: Pod>(
        &self,
        from: &HostBuffer<T>,
        to: &mut Buffer<T>,
    ) -> Result<(), DeviceError> {
        DeviceError::check_length(to.len(), from.len())?;
        match (&self.0, &from.memory, &mut to.memory) {
            (StreamOn::Gpu(stream), HostMemoryOn::Gpu(from), MemoryOn::Gpu(to)) => {
                stream.upload(from, to)
            }
            (StreamOn::Emulator(stream), HostMemoryOn::Emulator(from), MemoryOn::Emulator(to)) => {
                stream.copy(from, to)
            }
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// Queues a copy of bytes that the program has, to a part of a buffer: from the byte `at` on. It goes on beside the host's work where
    /// the bytes' pages are [locked](super::Device::lock_pages); elsewhere the driver may wait for it.
    ///
    /// # Errors
    /// The bytes do not fit there, the buffer is of another device, the stream is being captured, or the copy cannot be queued.
    ///
    /// # Safety
    /// The bytes stay allocated and unchanged until the copy is done.
    pub unsafe fn upload_part(
        &self,
        from: &[u8],
        to: &mut Buffer<u8>,
        at: usize,
    ) -> Result<(), DeviceError> {
        let room = to.len().saturating_sub(at);
        if from.len() > room {
            return DeviceError::check_length(room, from.len());
        }
        if self.is_capturing()? {
            return Err(DeviceError::EventOfCapture);
        }
        match (&self.0, &mut to.memory) {
            // SAFETY: the caller's contract, and the bytes fit there.
            (StreamOn::Gpu(stream), MemoryOn::Gpu(to)) => unsafe {
                stream.upload_part(from, to, at)
            },
            (StreamOn::Emulator(stream), MemoryOn::Emulator(to)) => {
                stream.upload_part(from, to, at)
            }
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// Queues a copy to the host, which [`HostBuffer::read`] then waits for.
    ///
    /// # Errors
    /// The two differ in length or device, or the copy cannot be queued.
    pub fn download<T: Pod>(
        &self,
        from: &Buffer<T>,
        to: &mut HostBuffer<T>,
    ) -> Result<(), DeviceError> {
        DeviceError::check_length(to.len(), from.len())?;
        match (&self.0, &from.memory, &mut to.memory) {
            (StreamOn::Gpu(stream), MemoryOn::Gpu(from), HostMemoryOn::Gpu(to)) => {
                stream.download(from, to)
            }
            (StreamOn::Emulator(stream), MemoryOn::Emulator(from), HostMemoryOn::Emulator(to)) => {
                stream.copy(from, to)
            }
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// Queues a copy within the device.
    ///
    /// # Errors
    /// The two differ in length or device, or the copy cannot be queued.
    pub fn copy<T: Pod>(&self, from: &Buffer<T>, to: &mut Buffer<T>) -> Result<(), DeviceError> {
        DeviceError::check_length(to.len(), from.len())?;
        match (&self.0, &from.memory, &mut to.memory) {
            (StreamOn::Gpu(stream), MemoryOn::Gpu(from), MemoryOn::Gpu(to)) => {
                stream.copy(from, to)
            }
            (StreamOn::Emulator(stream), MemoryOn::Emulator(from), MemoryOn::Emulator(to)) => {
                stream.copy(from, to)
            }
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// As [`Self::copy`], of bytes, by addresses.
    ///
    /// # Safety
    /// Both are addresses of as much memory of the stream's device; nothing else writes the first, or reads or writes the second, until the
    /// copy has ended.
    pub(crate) unsafe fn copy_bytes(
        &self,
        from: u64,
        to: u64,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        match &self.0 {
            // SAFETY: the caller's contract is the same.
            StreamOn::Gpu(stream) => unsafe { stream.copy_bytes(from, to, bytes) },
            StreamOn::Emulator(stream) => stream.copy_bytes(from, to, bytes),
        }
    }

    /// Queues an overwrite of the L2 cache: what is queued next finds nothing there. The emulator has no cache, and does nothing.
    ///
    /// # Errors
    /// There is no room for twice the cache, or the driver refuses.
    pub fn overwrite_l2(&self) -> Result<(), DeviceError> {
        match &self.0 {
            StreamOn::Gpu(stream) => stream.flush_cache(),
            StreamOn::Emulator(_) => Ok(()),
        }
    }

    /// Queues the move of managed memory to the device, before a kernel would ask for it page by page. It changes no contents.
    ///
    /// # Errors
    /// The memory is of another device or not managed, or the driver refuses.
    pub fn prefetch<T: Pod>(&self, memory: &HostBuffer<T>) -> Result<(), DeviceError> {
        match (&self.0, &memory.memory) {
            (StreamOn::Gpu(stream), HostMemoryOn::Gpu(memory)) => stream.prefetch(memory),
            (StreamOn::Emulator(_), HostMemoryOn::Emulator(_)) => Ok(()),
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// Queues a launch.
    ///
    /// # Errors
    /// A shape or arguments that do not fit the kernel or the device, or a kernel of another device. A fault of the kernel is told by the
    /// next call that waits; on the emulator, by this one.
    ///
    /// # Safety
    /// As [`Kernel::launch`], from now until the kernel has ended.
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        match (&self.0, kernel.on()) {
            // SAFETY: the caller's contract is the same.
            (StreamOn::Gpu(stream), KernelOn::Gpu(kernel)) => unsafe {
                stream.launch(kernel, shape, arguments)
            },
            (StreamOn::Emulator(stream), KernelOn::Emulator(kernel)) => {
                stream.launch(kernel, shape, arguments)
            }
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// Queues a mark.
    ///
    /// # Errors
    /// The event is of another device, or the driver refuses.
    pub fn record(&self, event: &Event) -> Result<(), DeviceError> {
        match (&self.0, &event.0) {
            (StreamOn::Gpu(stream), EventOn::Gpu(event)) => stream.record(event),
            (StreamOn::Emulator(stream), EventOn::Emulator(event)) => stream.record(event),
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// What is queued from now on starts only when the event, as last recorded, has been reached. The host does not wait.
    ///
    /// An event that was recorded in a [capture](Self::capture) gives this stream a part in it: what is queued here from now on becomes
    /// part of the graph, until the capture ends.
    ///
    /// # Errors
    /// The event is of another device, or the driver refuses. [`DeviceError::EventOfCapture`] if this stream is being captured and the
    /// event was recorded outside that capture.
    pub fn wait_for(&self, event: &Event) -> Result<(), DeviceError> {
        match (&self.0, &event.0) {
            (StreamOn::Gpu(stream), EventOn::Gpu(event)) => stream.wait_for(event),
            (StreamOn::Emulator(stream), EventOn::Emulator(event)) => stream.wait_for(event),
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// Waits until everything that is queued on any stream of the device has been done.
    pub(crate) fn wait_for_device(&self) -> Result<(), DeviceError> {
        match &self.0 {
            StreamOn::Gpu(stream) => stream.wait_for_device(),
            // It runs each operation at once.
            StreamOn::Emulator(_) => Ok(()),
        }
    }

    /// Waits until everything that is queued has been done.
    ///
    /// # Errors
    /// A kernel that was queued has faulted.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        match &self.0 {
            StreamOn::Gpu(stream) => stream.synchronize(),
            StreamOn::Emulator(_) => Ok(()),
        }
    }

    /// Tells the L2 cache what to do with accesses to a buffer by kernels that are launched on this stream from now on; `None` ends that.
    /// Neither waits nor queues.
    ///
    /// The emulator has no cache, and runs the same.
    ///
    /// # Errors
    /// The buffer is of another device, or larger than a window may be ([`Device::l2_cache`](crate::device::Device::l2_cache)).
    pub fn set_access_policy<T: Pod>(
        &self,
        policy: Option<(&Buffer<T>, AccessPolicy)>,
    ) -> Result<(), DeviceError> {
        let Some((buffer, policy)) = policy else {
            return match &self.0 {
                StreamOn::Gpu(stream) => stream.end_access_policy(),
                StreamOn::Emulator(_) => Ok(()),
            };
        };
        match (&self.0, &buffer.memory) {
            (StreamOn::Gpu(stream), MemoryOn::Gpu(memory)) => {
                stream.set_access_policy(memory, buffer.bytes(), policy)
            }
            (StreamOn::Emulator(_), MemoryOn::Emulator(_)) => Ok(()),
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// Runs what queues work of other code on this stream, a GPU's, in the order of uploads and downloads.
    pub(crate) fn in_order<E: From<DeviceError>>(
        &self,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.0 {
            StreamOn::Gpu(stream) => stream.foreign_in_order(work),
            StreamOn::Emulator(_) => Err(DeviceError::NoForeignCode.into()),
        }
    }

    /// Whether what is queued now becomes part of a graph instead of running: by [`Self::capture`], or by other code that has
    /// [`Self::raw`].
    ///
    /// # Errors
    /// The driver does not tell, for example after a kernel faulted.
    pub fn is_capturing(&self) -> Result<bool, DeviceError> {
        match &self.0 {
            StreamOn::Gpu(stream) => stream.is_capturing(),
            StreamOn::Emulator(stream) => Ok(stream.is_capturing()),
        }
    }
}

impl Event {
    pub(super) fn new(backend: &Backend) -> Result<Self, DeviceError> {
        Ok(Self(match backend {
            Backend::Gpu(gpu) => EventOn::Gpu(gpu.event()?),
            Backend::Emulator(emulator) => EventOn::Emulator(emulator.event()),
        }))
    }

    /// Waits until the event, as last recorded, has been reached.
    ///
    /// # Errors
    /// A kernel that was queued before it has faulted, or [`DeviceError::EventOfCapture`].
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        match &self.0 {
            EventOn::Gpu(event) => event.synchronize(),
            EventOn::Emulator(event) => event.check_reached(),
        }
    }

    /// Whether the event, as last recorded, has been reached; also if it was never recorded. Does not wait: a host that has other work
    /// asks now and then. On the emulator it always has.
    ///
    /// # Errors
    /// As [`Self::synchronize`].
    pub fn is_reached(&self) -> Result<bool, DeviceError> {
        match &self.0 {
            EventOn::Gpu(event) => event.is_reached(),
            EventOn::Emulator(event) => event.check_reached().map(|()| true),
        }
    }

    /// Milliseconds on the device's clock from `start` to this event, both of which have been reached.
    ///
    /// # Errors
    /// One of the two was not recorded or has not been reached, or they are of different devices; [`DeviceError::NoTimes`] on the emulator.
    pub fn elapsed_ms_since(&self, start: &Self) -> Result<f64, DeviceError> {
        match (&self.0, &start.0) {
            (EventOn::Gpu(end), EventOn::Gpu(start)) => end.elapsed_ms_since(start),
            (EventOn::Emulator(_), EventOn::Emulator(_)) => Err(DeviceError::NoTimes),
            _ => Err(DeviceError::OtherDevice),
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Stream")
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Event")
    }
}
