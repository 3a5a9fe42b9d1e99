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
//! - [`Device`]: a GPU or the emulator; its memory, streams, events and graphs, and launches of your own kernels, in [`device`].
//! - [`sum()`] waits for its result; [`sum::Sum`] also queues it on a stream and leaves it on the device.
//! - [`Reduction`]: any [`operator`] over arrays, rows, columns and [`Segments`], and by key with [`Runs`] or [`QueuedRuns`]. For one array
//!   there is a function for each operator, such as [`mean()`]; [`dot()`] takes two.
//! - [`Group`]: several devices that reduce an array together, to the same bits whatever their number.
//! - [`ranks`]: several processes, on one machine or many, that do so.
//! - [`Scan`]: running sums, products, minima and maxima, of the same shapes.
//! - [`ptx`]: the kernels, which are written in Rust and kept as PTX.
//!
//! A program that uses this crate builds without a CUDA toolkit, environment variables or a driver. The driver's library is looked for
//! when the first device is opened: `libcuda.so.1` on Linux, `nvcuda.dll` on Windows. Elsewhere there is only the emulator.
//!
//! # Features
//! - `cudarc`: takes memory and streams of the crate `cudarc` as they are.
//! - `cust`: takes memory and streams of the crate `cust` as they are; `cust` needs a CUDA toolkit to build.
//! - `serde`: the descriptions of devices can be serialised.

mod chunks;
pub mod cpu;
pub mod device;
mod dot;
mod family;
mod functions;
pub mod group;
mod kernels;
mod matrix;
mod offsets;
#[doc(hidden)]
pub mod pieces;
pub mod ptx;
pub mod ranks;
pub mod reduce;
pub mod scan;
pub mod sum;
mod values;

pub use device::{Buffer, Device, DeviceChoice, DeviceError, Slice, SliceMut, Stream};
#[doc(hidden)]
pub use dot::queue_dot;
pub use dot::{DotProduct, dot};
pub use functions::{
    all, any, argmax, argmin, count_nonzero, log_sum_exp, max, mean, min, minmax, norm_inf, norm1,
    norm2, product, reduce, standard_deviation, variance,
};
pub use group::{Group, GroupReduction};
pub use kernels::Error;
pub use matrix::{Along, Batch, Matrix};
pub use offsets::{Offset, OffsetsError};
pub use reduce::{Key, QueuedRuns, Reduction, Runs, Segments};
pub use scan::{Scan, exclusive_scan, inclusive_scan};
pub use sum::sum;
pub use values::Values;
pub use warpfold_device::half::{Bf16, Bool, F16};

/// What a [`Reduction`] does with its values.
pub mod operator {
    #[doc(inline)]
    pub use warpfold_device::operator::*;
}

/// The snippet of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
