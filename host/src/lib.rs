//! Reductions at the speed of the memory, on NVIDIA GPUs or, without one, on an emulator that runs the same kernels.
//!
//! ```
//! use warpfold::{Device, sum};
//!
//! let device = Device::best(); // the first GPU, else the emulator
//! let values: Vec<f32> = (1..=1000).map(|value| value as f32).collect();
//! println!("{} on {}", sum(&device, &values)?, device.describe());
//!
//! let on_device = device.upload(&values)?; // once, for several sums
//! assert_eq!(sum(&device, &on_device)?, 500_500.0);
//! assert_eq!(sum(&device, on_device.slice(990..))?, 9_955.0);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! - [`Device`]: a GPU or the emulator; its memory, streams, events and graphs, and launches of one's own kernels, in [`device`].
//! - [`sum()`] waits for its result; [`sum::Sum`] also queues it on a stream and leaves it on the device.
//! - [`ptx`]: the kernels, which are written in Rust and kept as PTX.
//!
//! A program that uses this crate builds without a CUDA toolkit, environment variables or a driver. The driver's library is looked for
//! when the first device is opened: `libcuda.so.1` on Linux, `nvcuda.dll` on Windows. Elsewhere there is only the emulator.
//!
//! # Features
//! - `cudarc`: takes memory and streams of the crate `cudarc` as they are.
//! - `cust`: takes memory and streams of the crate `cust` as they are; `cust` needs a CUDA toolkit to build.
//! - `serde`: the descriptions of devices can be serialised.

pub mod device;
mod kernels;
pub mod ptx;
pub mod sum;
mod values;

pub use device::{Buffer, Device, DeviceChoice, DeviceError, Slice, Stream};
pub use kernels::Error;
pub use sum::sum;
pub use values::Values;

/// The snippet of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
