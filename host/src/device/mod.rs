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
//! use warpfold::{machine::Machine, ptx::PtxSet, sum::{Mode, Summer}};
//!
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let values = stream.clone_htod(&vec![0.5_f32; 1 << 20])?;
//!
//! let machine = Machine::new(Device::open(&DeviceChoice::Gpu(0))?, PtxSet::embedded());
//! let mut summer = Summer::new(&machine)?;
//! // Waits.
//! assert_eq!(summer.sum(&values, Mode::Fast)?, 524288.0);
//! // Only queues, after what is on the stream.
//! let queue = StreamRef::try_from((machine.device(), &*stream))?;
//! summer.queue(&queue, &values.slice(1..), Mode::Fast)?;
//! assert_eq!(summer.result()?, 524287.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//!
//! A [`Device`] and everything made from it belong to one thread: to use a GPU from several threads, open it in each.
//! Buffers, modules and kernels keep what they need alive, so they may outlive the `Device` value that made them.

mod argument;
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
pub use gpu::{Gpu, GpuInformation};
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
pub use warpfold_emulator::{Counters, Observer};

use kernel::LoadedModule;
use std::fmt;

/// Something that runs kernels.
pub enum Device {
    /// An NVIDIA GPU, through its driver.
    Gpu(Gpu),
    /// The PTX emulator, on this machine's processor.
    Emulator(Emulator),
}

impl Device {
    /// Opens the device that was asked for. Waits until the driver has started, which takes a good part of a second.
    ///
    /// # Errors
    /// Where a GPU was asked for and there is none, or none that the product's PTX supports: what the driver answered, and what to do.
    /// `auto` falls back to the emulator and keeps the reason for [`Self::describe`].
    pub fn open(choice: &DeviceChoice) -> Result<Self, DeviceError> {
        match choice {
            DeviceChoice::Emulator => Ok(Self::Emulator(Emulator::new(None))),
            DeviceChoice::Gpu(index) => Gpu::open(*index).map(Self::Gpu),
            DeviceChoice::Auto => Ok(match Gpu::open_first() {
                Ok(gpu) => Self::Gpu(gpu),
                Err(reason) => Self::Emulator(Emulator::new(Some(reason.summary()))),
            }),
        }
    }

    /// One line on what this is: `GPU 0: NVIDIA H200, sm_90, 132 SMs, 139.8 GiB, 4.8 TB/s` or `emulator: 2 cores, no GPU found (…)`.
    pub fn describe(&self) -> String {
        match self {
            Self::Gpu(gpu) => gpu.information().to_string(),
            Self::Emulator(emulator) => emulator.to_string(),
        }
    }

    /// Whether kernels run on hardware, so that their times mean something.
    pub fn is_gpu(&self) -> bool {
        matches!(self, Self::Gpu(_))
    }

    /// The compute capability: 90 for sm_90. The emulator counts as the newest architecture that it stands in for.
    pub fn sm(&self) -> u32 {
        match self {
            Self::Gpu(gpu) => gpu.information().sm,
            Self::Emulator(_) => Emulator::SM,
        }
    }

    /// How many multiprocessors it has: blocks run on each of them at once.
    pub fn multiprocessors(&self) -> u32 {
        match self {
            Self::Gpu(gpu) => gpu.information().multiprocessors,
            Self::Emulator(emulator) => emulator.multiprocessors(),
        }
    }

    /// Whether both are one device, opened once.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Gpu(one), Self::Gpu(other)) => one.is_same(other),
            (Self::Emulator(one), Self::Emulator(other)) => one.is_same(other),
            _ => false,
        }
    }

    /// Loads PTX text. Waits for the driver's compiler, which keeps what it has compiled on disk.
    ///
    /// # Errors
    /// PTX that the device refuses, with the driver's compiler log or the emulator's line number.
    pub fn load(&self, ptx: &str) -> Result<Module, DeviceError> {
        match self {
            Self::Gpu(gpu) => gpu.load(ptx).map(LoadedModule::Gpu),
            Self::Emulator(emulator) => emulator
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
        match self {
            Self::Gpu(gpu) => gpu.l2_cache(),
            Self::Emulator(_) => Ok(L2Cache::default()),
        }
    }

    /// Sets part of the L2 cache aside for [`AccessProperty::Persisting`] accesses.
    ///
    /// # Errors
    /// It is more than [`L2Cache::most_persisting_bytes`]. The emulator, which has no cache, sets nothing aside and has no errors.
    pub fn persist_l2(&self, bytes: usize) -> Result<PersistingL2, DeviceError> {
        match self {
            Self::Gpu(gpu) => gpu.persist_l2(bytes).map(PersistingL2::of_gpu),
            Self::Emulator(_) => Ok(PersistingL2::of_emulator()),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.describe())
    }
}
