//! warpfold: parallel reduction as GPU kernels written in Rust, climbed step by step.
//!
//! This crate is the host's side: it opens a [`device`] (an NVIDIA GPU, or the emulator that runs the same PTX),
//! loads the kernels' [`ptx`] that it carries, runs a [`lesson`] and judges it by an [`oracle`] on the CPU.
//! The kernels themselves and their catalogue are in `warpfold-kernels`; the command line over all this is the binary
//! `warpfold`.
//!
//! ```
//! use warpfold::device::{Device, DeviceChoice};
//! use warpfold::{lesson, ptx::PtxSet, random};
//! use warpfold_kernels::catalogue;
//!
//! let device = Device::open(&DeviceChoice::Emulator)?;
//! let kernels = device.load(PtxSet::embedded().newest_for(&device)?)?;
//! let interleaved = catalogue::find("interleaved").ok_or("no such lesson")?;
//! let run = lesson::run(&device, &kernels, interleaved, 256, &random::i32_values(10_000, 42)?, None)?;
//! assert_eq!(run.blocks, 40);
//! assert!(run.is_right());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod check;
pub mod device;
pub mod element;
pub mod host_lesson;
pub mod input;
pub mod lesson;
pub mod number;
pub mod oracle;
pub mod partials;
pub mod ptx;
pub mod ptx_header;
pub mod random;
pub mod reducer;
pub mod reducible;
pub mod trace;
