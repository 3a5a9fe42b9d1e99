//! The course in parallel reduction: it runs a [`lesson`] on a device, judges the result by an [`oracle`] on the CPU and draws its
//! [`trace`].
//!
//! The kernels and their catalogue are in `warpfold-kernels`, devices and launches in `warpfold`, and the command line in
//! `warpfold-cli`.
//!
//! ```
//! use warpfold::{Device, DeviceChoice};
//! use warpfold_course::{lesson, random};
//! use warpfold_kernels::catalogue;
//!
//! let device = Device::open(&DeviceChoice::Emulator)?;
//! let interleaved = catalogue::find("interleaved").ok_or("no such lesson")?;
//! let values = random::i32_values(10_000, 42)?;
//! let run = lesson::run(&device, interleaved, interleaved.usual(256), &values, None)?;
//! assert_eq!(run.blocks, 40);
//! assert!(run.is_right());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod case;
pub mod check;
pub mod data;
pub mod demonstration;
pub mod element;
mod glibc;
pub mod histogram;
pub mod host_lesson;
pub mod lesson;
pub mod number;
pub mod operator;
pub mod oracle;
mod prepare;
pub mod prepared;
pub mod random;
pub mod reducible;
pub mod size;
pub mod spread;
pub mod trace;
pub mod wide;
