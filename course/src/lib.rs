//! The course in parallel reduction: it runs a [`lesson`] on a device, judges it by an [`oracle`] on the CPU and draws its
//! [`trace`].
//!
//! The kernels themselves and their catalogue are in `warpfold-kernels`, devices and launches in `warpfold`; the command line
//! over all this is `warpfold-cli`.
//!
//! ```
//! use warpfold::device::{Device, DeviceChoice};
//! use warpfold::{machine::Machine, ptx::PtxSet};
//! use warpfold_course::{lesson, random};
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
pub mod element;
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
pub mod trace;
