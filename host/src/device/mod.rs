//! Where kernels run: an NVIDIA GPU or the emulator, with one interface for both.
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
//! The documentation of a function says if it waits for the device, or if it only queues work for it. Any other function asks
//! the driver something, or tells it something, and returns. On a GPU
//! - uploads, downloads and [`Kernel::launch`] wait until they are done, after everything that is queued on any stream;
//! - work that is given a [`Stream`] is queued there; [`Buffer::copy_from`] is queued on a stream of the device's own;
//! - dropping a [`Buffer`], a [`HostBuffer`], an [`ExecutableGraph`], a [`PersistingL2`] or the last kernel of a [`Module`] waits until the
//!   device is idle; other drops do not wait.
//!
//! The emulator does everything at once.
//!
//! # Other libraries
//!
//! A GPU is opened in its primary context, which the CUDA runtime, PyTorch, `cudarc` and `cust` also use. Their memory and streams can be
//! used here ([`Slice::from_raw`], [`SliceMut::from_raw`], [`Stream::from_raw`]), and those made here can be used there ([`Buffer::address`], [`Stream::raw`],
//! [`Device::raw_context`]). With the feature `cudarc` a [`Slice`] is made from a `&CudaSlice` or `&CudaView`, a [`SliceMut`] for results from
//! a `&mut CudaSlice` or `&mut CudaViewMut`, and a [`StreamRef`] from a `&CudaStream`; with the feature `cust` from its `DeviceBuffer` and
//! `Stream`:
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
//!
//! ```compile_fail
//! let device = warpfold::Device::best();
//! std::thread::spawn(move || device.describe());
//! ```
//! ```compile_fail
//! let device = warpfold::Device::best();
//! let buffer = device.upload(&[1])?;
//! std::thread::scope(|scope| scope.spawn(|| buffer.slice(..).len()).join());
//! # Ok::<(), warpfold::DeviceError>(())
//! ```

mod argument;
mod attached;
mod backend;
mod buffer;
mod choice;
#[cfg(feature = "cudarc")]
mod cudarc_memory;
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
mod host_memory;
mod kernel;
mod l2_cache;
mod link;
mod list;
mod newer;
mod opened;
mod overlap;
mod page_lock;
pub mod peer;
mod persisting_l2;
mod ptx;
mod shape;
mod slice;
mod slice_mut;
mod stream;
mod stream_order;
#[cfg(test)]
mod tests;
mod timing;

pub use argument::Argument;
pub use buffer::Buffer;
pub use bytemuck::Pod;
pub use choice::{DeviceChoice, DeviceChoiceError};
pub use emulator::Emulator;
pub use error::DeviceError;
pub use foreign::{StreamRef, keep_current_context};
pub use gpu::{GpuInformation, IPC_HANDLE_BYTES};
pub use graph::{ExecutableGraph, Graph, Node};
pub use host_buffer::HostBuffer;
pub use host_memory::HostMemory;
pub use kernel::{Kernel, Module};
pub use l2_cache::{AccessPolicy, AccessProperty, L2Cache};
pub use link::PeerLink;
pub use list::{DeviceList, list};
pub use opened::Device;
pub use page_lock::PageLock;
pub use persisting_l2::PersistingL2;
pub(crate) use ptx::LoadOptions;
pub use ptx::newest_runnable;
pub use shape::Shape;
pub use slice::Slice;
pub use slice_mut::SliceMut;
pub use stream::{Event, Stream};
pub(crate) use stream_order::StreamOrder;
pub use timing::{Times, Timing};
pub use warpfold_emulator::{Counters, Observer, Order, PeerTraffic, Wants, Watch};
