//! The CUDA driver, found at run time: its functions with Rust's types, and one sentence where something is missing.
//!
//! Nothing of CUDA is needed to build this crate or a program that uses it. The driver's own library (`libcuda.so.1`, on Windows
//! `nvcuda.dll`) is looked for when the first function of [`sys`] is called. Where there is no driver, and where the driver lacks a
//! function, that call fails with a [`Failure`]; one executable runs on machines with and without an NVIDIA driver.
//!
//! # Why bindings of our own
//!
//! A library cannot have [`cudarc`](https://docs.rs/cudarc) 0.19 as a private dependency, because cargo builds one copy of it with the
//! features that all its users ask for:
//! - with `dynamic-loading` of the one and `dynamic-linking` of the other its build script panics; with `fallback-dynamic-loading` of the
//!   one, `dynamic-linking` of the other takes away `is_culib_present` and needs a driver to link and to start;
//! - with two CUDA versions (`cuda-12090` and `cuda-13000`) every type is defined twice, and it does not compile; without a version of
//!   our own, functions and types would be those of whatever version somebody else has chosen.
//!
//! It also panics at the first call of a function that the driver lacks, and takes the driver's answers as Rust enums: a code that only newer
//! drivers know is then undefined behaviour. [`sys`] has only the functions that are called here.
//!
//! # For `cust`
//!
//! With the feature `cust` this crate also defines symbols of the driver's names: a program that uses
//! [`cust`](https://docs.rs/cust) then needs no toolkit to build and no driver to start. Three things make it work:
//! 1. the environment variable `CUDA_LIBRARY_PATH`, which the build script of `cust_raw` reads, names this crate's folder `link`
//!    (here `.cargo/config.toml` sets it), whose `lib64/libcuda.so` is a linker script that adds nothing;
//! 2. the executable names this crate somewhere, for instance by calling [`available`], which makes the linker take its symbols;
//! 3. a function that such a program calls and that is missing in [`sys`] is an undefined symbol when it is linked: add it there.
//!
//! The feature is for executables of this repository. Beside anything else that links against `libcuda` its symbols would be in the way.

mod availability;
mod failure;
mod library;
mod library_not_found;
pub mod sys;
mod version;

pub use availability::{Unavailable, available};
pub use failure::Failure;
pub use library_not_found::LibraryNotFound;
pub use version::{OLDEST_VERSION, Version};

/// The snippet of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
