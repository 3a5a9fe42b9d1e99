//! The course: parallel reduction as GPU kernels, one idea per file, each step measured against the one before.
//!
//! # How to read it
//! Begin with [`ladder::l01_neighbored`] and go on in the order of the file names. Each file opens with the defect of the step
//! before it and makes one change. All files have the same seven headings:
//!
//! | heading | what it says |
//! |---|---|
//! | before | what is wrong with the step before |
//! | idea | the one change |
//! | picture | which thread adds what |
//! | cost | what one block does, counted |
//! | observe | what to look for in the kernel's PTX (`warpfold ptx ID`) and in a run (`warpfold run ID`) |
//! | break it | an experiment that shows why a line is needed |
//! | source | where the algorithm comes from |
//!
//! Once a step has taught some code, later steps call it; no step calls code that has not been taught yet. What the kernels
//! need from the device besides plain Rust is in [`prelude`], each item with its reason.
//!
//! # What the kernels have in common
//! Every kernel of the ladder is `unsafe fn(input: *mut i32, partials: *mut i32, n: usize)`; where it only reads its
//! input, that is a `*const i32`. It adds up `n` values and writes one partial sum per block to `partials`, in block
//! order, for the host to add up. In the text, B is the number of threads in a block, and `tid` a thread's index in its block.
//!
//! - A block owns a *tile*: k·B consecutive elements, where k is the number of elements that a thread takes.
//! - A launch has ⌈n ∕ (k·B)⌉ blocks, so that each has at least one element; an empty input takes no launch.
//!   From step 10 on a launch has no more blocks than the GPU runs at once, and a block goes on from tile to tile.
//! - B is a power of two from 64 to 1024.
//! - Any n will do. Where n cuts the last tile short, a missing element counts as 0: it is never read or written, and the
//!   threads that would own it still reach every barrier.
//! - Sums wrap around. Only so is an `i32` sum the same in any order.
//!
//! # After the ladder
//! Each further part is a folder, and its file names begin with the folder's first letter.
//!
//! - [`roads`]: other ways to the same sum. A kernel that takes a `total` has its blocks add to it atomically, and the total has to be 0
//!   before. Kernels of one block take up to 2·B elements, and the host refuses more. A kernel that makes the whole sum in one
//!   launch, as step 11 does, takes a `total` and a counter that is 0 before and after.
//! - [`nested`]: kernels that launch grids from the device ([`nested::device_runtime`]). They are a PTX module of their own, because a
//!   GPU's driver has to link it with a library.
//! - [`divergence`], [`memory`] and [`cooperation`]: one property of the hardware in each file, in kernels that are mostly no reductions.
//! - [`scans`]: the sums of all elements up to each, of warps, of blocks and of any length in one pass.
//! - [`shapes`]: reductions to a place or to a mean and a variance, and of rows, columns, segments and runs of a key, all at once.
//! - [`histogram`]: counting the colours of an image. Where a value goes is known only once it has been read, so threads collide.
//! - [`operators`]: steps of the ladder as bodies that are generic over the operator and the element type. Their kernels take pointers to
//!   that type; otherwise they are launched as the ladder's are.
//!
//! The catalogue (`catalogue`, on the host) describes all lessons as data.
//!
//! # Features
//! `kernels`, `nested`, `operators` and `recent`, all on by default: which kernels a device build compiles, one PTX module for each. A
//! host has all of them, whatever is on.

#![no_std]
#![allow(
    clippy::manual_is_multiple_of,
    reason = "the lessons speak of the remainder, and the hardware computes it"
)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

// Text for hosts: on the device it would only bring in functions that compare strings.
#[cfg(not(target_arch = "nvptx64"))]
pub mod catalogue;
#[cfg(not(target_arch = "nvptx64"))]
mod lesson;
pub mod lists;
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_90",
    target_feature = "compute_90"
))]
pub mod mbarrier;
pub mod prelude;

pub mod cooperation;
pub mod divergence;
pub mod histogram;
pub mod ladder;
pub mod memory;
pub mod nested;
pub mod operators;
pub mod roads;
pub mod scans;
pub mod shapes;
