//! Finds the CUDA driver at run time, so that [`cust`](https://docs.rs/cust) needs no toolkit to build and no driver to start.
//!
//! `cust` and `cust_raw` link against `libcuda`. This crate defines the `cu…` functions that a program with kernels, buffers, streams,
//! events and graphs calls; each passes its arguments on to its namesake in the driver's own library, which is looked for when the first one
//! is called. Where there is no driver they answer `CUDA_ERROR_NO_DEVICE`, and where the driver lacks a function,
//! `CUDA_ERROR_NOT_FOUND`. One executable then runs on machines with and without an NVIDIA driver.
//!
//! Three things make it work:
//! 1. the environment variable `CUDA_LIBRARY_PATH`, which the build script of `cust_raw` reads, names this crate's folder `link`
//!    (here `.cargo/config.toml` sets it), whose `lib64/libcuda.so` is a linker script that adds nothing;
//! 2. the executable names this crate somewhere, for instance by calling [`available`], so that its functions are linked;
//! 3. a function that a program calls and that is missing in `forward.rs` is an undefined symbol when it is linked: add it there.
//!
//! [`last_failure`] tells which call failed and what the driver said, which the error type of `cust` does not.

mod availability;
mod failure;
mod forward;
mod library;

pub use availability::{OLDEST_VERSION, Unavailable, Version, available};
pub use failure::{Failure, check, last_failure};
pub use library::LibraryNotFound;
