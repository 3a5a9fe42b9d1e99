//! Where kernels run: an NVIDIA GPU or the emulator, behind one interface.
//!
//! ```no_run
//! use warpfold::device::{Device, DeviceChoice, DeviceError, Shape};
//!
//! # fn main() -> Result<(), DeviceError> {
//! # let ptx = "";
//! let device = Device::open(&DeviceChoice::Auto)?;
//! let data = device.upload(&[1_i32, 2, 3, 4])?;
//! let partials = device.allocate::<i32>(1)?;
//! let kernel = device.load(ptx)?.kernel("neighbored")?;
//! let arguments = [data.argument(), partials.argument(), 4_u64.into()];
//! // SAFETY: `neighbored` takes (data, partials, n), stays within n elements of `data` and writes one partial per block.
//! unsafe { kernel.launch(&Shape::linear(1, 64), &arguments)? };
//! assert_eq!(partials.read()?, [10]);
//! # Ok(())
//! # }
//! ```
//!
//! # What waits
//!
//! Each function says whether it waits for the device or only queues work for it. What says neither does neither: it asks or tells the
//! driver something, and returns. On a GPU
//! - uploads, downloads and [`Kernel::launch`] wait until they are done, after everything that is queued on any stream;
//! - what takes a [`Stream`] is queued there; so is [`Buffer::copy_from`], on a stream of the device's own;
//! - dropping a [`Buffer`], a [`HostBuffer`], an [`ExecutableGraph`] or a [`PersistingL2`] waits until the device is idle; other drops do
//!   not wait.
//!
//! The emulator does everything at once.
//!
//! # Other libraries
//!
//! A GPU is opened in its primary context, in which the CUDA runtime, PyTorch, `cudarc` and `cust` work as well: their memory and streams
//! are good here ([`Slice::from_raw`], [`Stream::from_raw`]), and those made here are good there ([`Buffer::address`], [`Stream::raw`],
//! [`Device::raw_context`]). With the feature `cudarc` a [`Slice`] is made from a `&CudaSlice` or `&CudaView`, and a [`StreamRef`] from a
//! `&CudaStream`; with the feature `cust` from its `DeviceBuffer` and `Stream`:
//!
#![cfg_attr(feature = "cudarc", doc = "```no_run")]
#![cfg_attr(not(feature = "cudarc"), doc = "```ignore")]
//! use cudarc::driver::CudaContext;
//! use warpfold::device::{Device, DeviceChoice, StreamRef};
//! use warpfold::sum::{Mode, Sum};
//!
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let values = stream.clone_htod(&vec![0.5_f32; 1 << 20])?;
//!
//! let device = Device::open(&DeviceChoice::Gpu(0))?;
//! let mut sum = Sum::new(&device)?;
//! // Waits.
//! assert_eq!(sum.of(&values, Mode::Fast)?, 524288.0);
//! // Only queues, after what is on the stream.
//! let queue = StreamRef::try_from((&device, &*stream))?;
//! sum.queue(&queue, &values.slice(1..), Mode::Fast)?;
//! assert_eq!(sum.result()?, 524287.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//!
//! A [`Device`] and everything made from it belong to one thread: to use a GPU from several threads, open it in each.
//! Buffers, modules and kernels keep what they need alive, so they may outlive the `Device` value that made them.

mod argument;
mod attached;
mod buffer;
mod choice;
mod emulator;
mod error;
#[cfg(feature = "cudarc")]
mod for_cudarc;
#[cfg(feature = "cust")]
mod for_cust;
mod foreign;
mod gpu;
mod graph;
mod host_buffer;
mod kernel;
mod l2_cache;
mod list;
mod ptx;
mod shape;
mod slice;
mod stream;
#[cfg(test)]
mod tests;
mod timing;

pub use argument::Argument;
pub use buffer::Buffer;
pub use bytemuck::Pod;
pub use choice::{DeviceChoice, DeviceChoiceError};
pub use emulator::Emulator;
pub use error::DeviceError;
pub use foreign::{IPC_HANDLE_BYTES, StreamRef};
use gpu::Gpu;
pub use gpu::GpuInformation;
pub use graph::{ExecutableGraph, Graph, Node};
pub use host_buffer::{HostBuffer, HostMemory};
pub use kernel::{Kernel, Module};
pub use l2_cache::{AccessPolicy, AccessProperty, L2Cache, PersistingL2};
pub use list::{DeviceList, list};
pub use ptx::newest_runnable;
pub use shape::Shape;
pub use slice::Slice;
pub use stream::{Event, Stream};
pub use timing::{Times, Timing};
pub use warpfold_emulator::{Compiled, Counters, Observer, Watch};

use attached::Attached;
use kernel::LoadedModule;
use std::any::Any;
use std::fmt;
use std::rc::Rc;

/// Something that runs kernels: an NVIDIA GPU, or the emulator.
pub struct Device {
    kind: Kind,
    attached: Attached,
}

enum Kind {
    /// Through its driver.
    Gpu(Gpu),
    /// On this machine's processor.
    Emulator(Emulator),
}

impl From<Kind> for Device {
    fn from(kind: Kind) -> Self {
        Self {
            kind,
            attached: Attached::default(),
        }
    }
}

/// An emulator that is set up otherwise than [`Device::open`] does it.
impl From<Emulator> for Device {
    fn from(emulator: Emulator) -> Self {
        Kind::Emulator(emulator).into()
    }
}

impl Device {
    /// Opens the device that was asked for. Waits until the driver has started, which takes a good part of a second.
    ///
    /// # Errors
    /// Where a GPU was asked for and there is none, or none that the product's PTX supports: what the driver answered, and what to do.
    /// `auto` falls back to the emulator and keeps the reason for [`Self::describe`].
    pub fn open(choice: &DeviceChoice) -> Result<Self, DeviceError> {
        Ok(match choice {
            DeviceChoice::Emulator => Emulator::new(None).into(),
            DeviceChoice::Gpu(index) => Kind::Gpu(Gpu::open(*index)?).into(),
            DeviceChoice::Auto => Self::best(),
        })
    }

    /// The first GPU, or, where there is none that the product's PTX supports, the emulator, which keeps the reason for
    /// [`Self::describe`]. Waits as [`Self::open`] does.
    pub fn best() -> Self {
        match Gpu::open_first() {
            Ok(gpu) => Kind::Gpu(gpu).into(),
            Err(reason) => Emulator::new(Some(reason.summary())).into(),
        }
    }

    /// What the driver tells about the GPU; `None` of the emulator.
    pub fn gpu_information(&self) -> Option<&GpuInformation> {
        match &self.kind {
            Kind::Gpu(gpu) => Some(gpu.information()),
            Kind::Emulator(_) => None,
        }
    }

    /// What other modules of this crate keep with the device: one value of each type, which begins as its default.
    pub(crate) fn attached<T: Any + Default>(&self) -> Rc<T> {
        self.attached.get()
    }

    /// Replaces what is attached.
    pub(crate) fn attach<T: Any>(&self, value: T) {
        self.attached.put(value);
    }

    /// One line on what this is: `GPU 0: NVIDIA H200, sm_90, 132 SMs, 139.8 GiB, 4.8 TB/s` or `emulator: 2 cores, no GPU found (…)`.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Gpu(gpu) => gpu.information().to_string(),
            Kind::Emulator(emulator) => emulator.to_string(),
        }
    }

    /// Whether kernels run on hardware, so that their times mean something.
    pub fn is_gpu(&self) -> bool {
        matches!(self.kind, Kind::Gpu(_))
    }

    /// The compute capability: 90 for sm_90. The emulator counts as the newest architecture that it stands in for.
    pub fn sm(&self) -> u32 {
        match &self.kind {
            Kind::Gpu(gpu) => gpu.information().sm,
            Kind::Emulator(_) => Emulator::SM,
        }
    }

    /// How many multiprocessors it has: blocks run on each of them at once.
    pub fn multiprocessors(&self) -> u32 {
        match &self.kind {
            Kind::Gpu(gpu) => gpu.information().multiprocessors,
            Kind::Emulator(emulator) => emulator.multiprocessors(),
        }
    }

    /// Whether both are one device, opened once.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Gpu(one), Kind::Gpu(other)) => one.is_same(other),
            (Kind::Emulator(one), Kind::Emulator(other)) => one.is_same(other),
            _ => false,
        }
    }

    /// Loads PTX text. Waits for the driver's compiler, which keeps what it has compiled on disk.
    ///
    /// # Errors
    /// PTX that the device refuses, with the driver's compiler log or the emulator's line number.
    pub fn load(&self, ptx: &str) -> Result<Module, DeviceError> {
        match &self.kind {
            Kind::Gpu(gpu) => gpu.load(ptx).map(LoadedModule::Gpu),
            Kind::Emulator(emulator) => emulator
                .load(ptx)
                .map(|module| LoadedModule::Emulator(Box::new(module))),
        }
        .map(Module)
    }

    /// Allocates `length` elements (0 is allowed) with unspecified contents. Queues nothing; the driver may wait for the device.
    ///
    /// # Errors
    /// The device has not that much memory left.
    pub fn allocate<T: Pod>(&self, length: usize) -> Result<Buffer<T>, DeviceError> {
        Buffer::allocate(self, length)
    }

    /// Allocates a buffer and fills it from `elements`. Waits, as [`Buffer::write`] does.
    ///
    /// # Errors
    /// The device has not that much memory left, or the copy fails.
    pub fn upload<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>, DeviceError> {
        let mut buffer = self.allocate(elements.len())?;
        buffer.write(elements)?;
        Ok(buffer)
    }

    /// Allocates `length` elements (0 is allowed) with unspecified contents in memory of the host that this device knows. Queues nothing;
    /// the driver may wait for the device.
    ///
    /// # Errors
    /// The host has not that much memory left of this kind.
    pub fn allocate_on_host<T: Pod>(
        &self,
        kind: HostMemory,
        length: usize,
    ) -> Result<HostBuffer<T>, DeviceError> {
        HostBuffer::allocate(self, kind, length)
    }

    /// A new stream, with nothing queued.
    ///
    /// # Errors
    /// The driver refuses, for example after a kernel faulted.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(self)
    }

    /// A new event, which is recorded nowhere yet.
    ///
    /// # Errors
    /// The driver refuses, for example after a kernel faulted.
    pub fn event(&self) -> Result<Event, DeviceError> {
        Event::new(self)
    }

    /// A new graph, without nodes.
    ///
    /// # Errors
    /// The driver refuses, for example after a kernel faulted.
    pub fn graph(&self) -> Result<Graph, DeviceError> {
        Graph::new(self)
    }

    /// What the L2 cache offers.
    ///
    /// # Errors
    /// The driver does not tell.
    pub fn l2_cache(&self) -> Result<L2Cache, DeviceError> {
        match &self.kind {
            Kind::Gpu(gpu) => gpu.l2_cache(),
            Kind::Emulator(_) => Ok(L2Cache::default()),
        }
    }

    /// Sets part of the L2 cache aside for [`AccessProperty::Persisting`] accesses.
    ///
    /// # Errors
    /// It is more than [`L2Cache::most_persisting_bytes`]. The emulator, which has no cache, sets nothing aside and has no errors.
    pub fn persist_l2(&self, bytes: usize) -> Result<PersistingL2, DeviceError> {
        match &self.kind {
            Kind::Gpu(gpu) => gpu.persist_l2(bytes).map(PersistingL2::of_gpu),
            Kind::Emulator(_) => Ok(PersistingL2::of_emulator()),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.describe())
    }
}
