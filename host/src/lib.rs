//! warpfold: parallel reduction as GPU kernels written in Rust, climbed step by step.
//!
//! This crate is the host's side: it opens a [`device`] (an NVIDIA GPU, or the emulator that runs the same PTX),
//! loads the kernels' [`ptx`] that it carries, runs a [`lesson`] and judges it by an [`oracle`] on the CPU.
//! The kernels themselves and their catalogue are in `warpfold-kernels`; the command line over all this is the binary
//! `warpfold`.
//!
//! ```
//! use warpfold::device::{Device, DeviceChoice};
//! use warpfold::{lesson, machine::Machine, ptx::PtxSet, random};
//! use warpfold_kernels::catalogue;
//!
//! let machine = Machine::new(Device::open(&DeviceChoice::Emulator)?, PtxSet::embedded());
//! let interleaved = catalogue::find("interleaved").ok_or("no such lesson")?;
//! let values = random::i32_values(10_000, 42)?;
//! let run = lesson::run(&machine, interleaved, interleaved.usual(256), &values, None)?;
//! assert_eq!(run.blocks, 40);
//! assert!(run.is_right());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod case;
pub mod check;
pub mod demonstration;
pub mod device;
pub mod element;
pub mod histogram;
pub mod host_lesson;
pub mod input;
pub mod lesson;
pub mod machine;
pub mod number;
pub mod operator;
pub mod oracle;
pub mod prepared;
pub mod ptx;
pub mod ptx_header;
pub mod random;
pub mod reducer;
pub mod reducible;
pub mod size;
pub mod sum;
pub mod trace;
