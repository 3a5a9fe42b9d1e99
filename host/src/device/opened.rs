//! A device, opened.

use super::attached::Attached;
use super::backend::Backend;
use super::buffer::Buffer;
use super::gpu::{Gpu, GpuInformation};
use super::graph::Graph;
use super::host_buffer::HostBuffer;
use super::kernel::{Module, ModuleOn};
use super::ptx::LoadOptions;
use super::stream::{Event, Stream, StreamOn};
use super::{DeviceChoice, DeviceError, Emulator, HostMemory, L2Cache, PersistingL2};
use bytemuck::Pod;
use std::any::Any;
use std::fmt;
use std::rc::Rc;

/// Something that runs kernels: an NVIDIA GPU, or the emulator.
pub struct Device {
    pub(super) backend: Backend,
    attached: Attached,
}

impl From<Backend> for Device {
    fn from(backend: Backend) -> Self {
        Self {
            backend,
            attached: Attached::default(),
        }
    }
}

/// An emulator with other settings than [`Device::open`] gives it.
impl From<Emulator> for Device {
    fn from(emulator: Emulator) -> Self {
        Backend::Emulator(emulator).into()
    }
}

impl Device {
    /// Opens the device that was asked for. Waits until the driver has started, which takes up to a second.
    ///
    /// # Errors
    /// A GPU was asked for, and there is none, or none that the product's PTX supports. `auto` has no errors: it falls back to the
    /// emulator, and [`Self::describe`] tells why.
    pub fn open(choice: &DeviceChoice) -> Result<Self, DeviceError> {
        Ok(match choice {
            DeviceChoice::Emulator => Emulator::new(None).into(),
            DeviceChoice::Gpu(index) => Backend::Gpu(Gpu::open(*index)?).into(),
            DeviceChoice::Auto => Self::best(),
        })
    }

    /// The first GPU that the product's PTX supports, or the emulator if there is none; [`Self::describe`] then tells why. Waits as
    /// [`Self::open`] does.
    pub fn best() -> Self {
        match Gpu::open_first() {
            Ok(gpu) => Backend::Gpu(gpu).into(),
            Err(reason) => Emulator::new(Some(reason.summary())).into(),
        }
    }

    /// What the driver tells about the GPU; `None` of the emulator.
    pub fn gpu_information(&self) -> Option<&GpuInformation> {
        match &self.backend {
            Backend::Gpu(gpu) => Some(gpu.information()),
            Backend::Emulator(_) => None,
        }
    }

    /// The bytes of a GPU's L2 cache; 0 for the emulator.
    pub(crate) fn l2_bytes(&self) -> u64 {
        self.gpu_information().map_or(0, |gpu| gpu.l2_bytes)
    }

    /// Makes a GPU's primary context current on this thread, for a library that goes by it.
    pub(crate) fn activate(&self) -> Result<(), DeviceError> {
        match &self.backend {
            Backend::Gpu(gpu) => gpu.activate(),
            Backend::Emulator(_) => Ok(()),
        }
    }

    /// A GPU's domain, bus and device on PCI, by which two processes of a host find out whether they share it; `None` of the emulator.
    pub(crate) fn pci_place(&self) -> Result<Option<[u32; 3]>, DeviceError> {
        match &self.backend {
            Backend::Gpu(gpu) => gpu.pci_place().map(Some),
            Backend::Emulator(_) => Ok(None),
        }
    }

    /// A value that another module of this crate keeps with the device: one of each type, which begins as its default.
    pub(crate) fn attached<T: Any + Default>(&self) -> Rc<T> {
        self.attached.get()
    }

    /// Replaces what is attached.
    pub(crate) fn attach<T: Any>(&self, value: T) {
        self.attached.put(value);
    }

    /// One line on what this is: `GPU 0: NVIDIA H200, sm_90, 132 SMs, 139.8 GiB, 4.8 TB/s` or `emulator: 2 cores, no GPU found (…)`.
    pub fn describe(&self) -> String {
        match &self.backend {
            Backend::Gpu(gpu) => gpu.information().to_string(),
            Backend::Emulator(emulator) => emulator.to_string(),
        }
    }

    /// Whether kernels run on hardware, where their times mean something.
    pub fn is_gpu(&self) -> bool {
        matches!(self.backend, Backend::Gpu(_))
    }

    /// The compute capability: 90 for sm_90. The emulator counts as the newest architecture that it stands in for.
    pub fn sm(&self) -> u32 {
        match &self.backend {
            Backend::Gpu(gpu) => gpu.information().sm,
            Backend::Emulator(_) => Emulator::SM,
        }
    }

    /// The number of multiprocessors. Blocks run on all of them at once.
    pub fn multiprocessors(&self) -> u32 {
        match &self.backend {
            Backend::Gpu(gpu) => gpu.information().multiprocessors,
            Backend::Emulator(emulator) => emulator.multiprocessors(),
        }
    }

    /// The most that its memory can transfer; `None` on the emulator, and where the driver does not tell.
    pub(crate) fn memory_bytes_per_second(&self) -> Option<u64> {
        match &self.backend {
            Backend::Gpu(gpu) => gpu.information().memory_bytes_per_second,
            Backend::Emulator(_) => None,
        }
    }

    /// Loads PTX text. Waits for the driver's compiler, which keeps what it has compiled on disk.
    ///
    /// # Errors
    /// PTX that the device refuses, with the driver's compiler log or the emulator's line number.
    pub fn load(&self, ptx: &str) -> Result<Module, DeviceError> {
        self.load_with(ptx, LoadOptions::default())
    }

    /// As [`Self::load`].
    pub(crate) fn load_with(&self, ptx: &str, options: LoadOptions) -> Result<Module, DeviceError> {
        match &self.backend {
            Backend::Gpu(gpu) => gpu.load(ptx, options).map(ModuleOn::Gpu),
            Backend::Emulator(emulator) => emulator
                .load(ptx)
                .map(|module| ModuleOn::Emulator(Box::new(module))),
        }
        .map(Module)
    }

    /// Allocates `length` elements (0 is allowed) with unspecified contents. Queues nothing; the driver may wait for the device.
    ///
    /// # Errors
    /// The device has too little memory left.
    pub fn allocate<T: Pod>(&self, length: usize) -> Result<Buffer<T>, DeviceError> {
        Buffer::allocate(&self.backend, length)
    }

    /// Allocates a buffer and fills it from `elements`. Waits, as [`Buffer::write`] does.
    ///
    /// # Errors
    /// The device has too little memory left, or the copy fails.
    pub fn upload<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>, DeviceError> {
        let mut buffer = self.allocate(elements.len())?;
        buffer.write(elements)?;
        Ok(buffer)
    }

    /// Allocates `length` elements (0 is allowed) with unspecified contents in memory of the host that this device knows. Queues nothing;
    /// the driver may wait for the device.
    ///
    /// # Errors
    /// The host has too little memory of this kind left.
    pub fn allocate_on_host<T: Pod>(
        &self,
        kind: HostMemory,
        length: usize,
    ) -> Result<HostBuffer<T>, DeviceError> {
        HostBuffer::allocate(&self.backend, kind, length)
    }

    /// A new stream, with nothing queued. The [default stream](Self::default_stream) waits for it, and it for the default stream.
    ///
    /// # Errors
    /// The driver refuses, for example after a kernel faulted.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(&self.backend)
    }

    /// A new stream, with nothing queued, that has no order with any other, not even with the [default stream](Self::default_stream).
    /// Uploads, downloads and the freeing of memory wait for it all the same.
    ///
    /// # Errors
    /// The driver refuses, for example after a kernel faulted.
    pub fn non_blocking_stream(&self) -> Result<Stream, DeviceError> {
        Stream::non_blocking(&self.backend)
    }

    /// The default stream of the GPU's primary context, which all threads and libraries of the process share; CUDA calls it the legacy
    /// default stream. What is queued here waits for all that was queued before on any stream that is not
    /// [non-blocking](Self::non_blocking_stream), and what is queued on those later waits for it. On the emulator it is a stream like any
    /// other.
    pub fn default_stream(&self) -> Stream {
        Stream::default(&self.backend)
    }

    /// The default stream of the thread that calls, which belongs to that thread alone: it has no order with other streams, except with the
    /// [default stream](Self::default_stream) that all share. On the emulator it is a stream like any other.
    pub fn thread_stream(&self) -> Stream {
        Stream::of_thread(&self.backend)
    }

    /// A new event, which is recorded nowhere yet.
    ///
    /// # Errors
    /// The driver refuses, for example after a kernel faulted.
    pub fn event(&self) -> Result<Event, DeviceError> {
        Event::new(&self.backend)
    }

    /// A new graph, without nodes.
    ///
    /// # Errors
    /// The driver refuses, for example after a kernel faulted.
    pub fn graph(&self) -> Result<Graph, DeviceError> {
        Graph::new(&self.backend)
    }

    /// What the L2 cache offers.
    ///
    /// # Errors
    /// The driver does not tell.
    pub fn l2_cache(&self) -> Result<L2Cache, DeviceError> {
        match &self.backend {
            Backend::Gpu(gpu) => gpu.l2_cache(),
            Backend::Emulator(_) => Ok(L2Cache::default()),
        }
    }

    /// Sets part of the L2 cache aside for [`Persisting`](crate::device::AccessProperty::Persisting) accesses.
    ///
    /// # Errors
    /// It is more than [`L2Cache::most_persisting_bytes`]. The emulator, which has no cache, sets nothing aside and has no errors.
    pub fn persist_l2(&self, bytes: usize) -> Result<PersistingL2, DeviceError> {
        match &self.backend {
            Backend::Gpu(gpu) => gpu.persist_l2(bytes).map(PersistingL2::of_gpu),
            Backend::Emulator(_) => Ok(PersistingL2::of_emulator()),
        }
    }
}

impl<T> Buffer<T> {
    /// Whether this device has allocated it.
    pub fn is_of(&self, device: &Device) -> bool {
        self.memory.is_of(&device.backend)
    }
}

impl<T> HostBuffer<T> {
    /// Whether this device has allocated it.
    pub fn is_of(&self, device: &Device) -> bool {
        self.memory.is_of(&device.backend)
    }
}

impl Stream {
    /// [`DeviceError::OtherDevice`] if another device has made this stream.
    pub(crate) fn check_device(&self, device: &Device) -> Result<(), DeviceError> {
        match (&self.0, &device.backend) {
            (StreamOn::Gpu(stream), Backend::Gpu(gpu)) if gpu.has_made(stream) => Ok(()),
            (StreamOn::Emulator(stream), Backend::Emulator(emulator))
                if emulator.has_made(stream) =>
            {
                Ok(())
            }
            _ => Err(DeviceError::OtherDevice),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.describe())
    }
}
