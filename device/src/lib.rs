#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod block;
pub mod columns;
pub mod element;
mod entries;
pub mod fixed;
pub mod grid;
pub mod group;
pub mod half;
pub mod lanes;
mod lists;
pub mod look_back;
pub mod math;
pub mod meeting;
pub mod memory;
pub mod number;
mod opaque;
pub mod operator;
pub mod reduce;
pub mod redux;
pub mod rows;
pub mod runs;
pub mod scan;
pub mod segments;
pub mod shuffle;
pub mod slots;
pub mod thread;
mod tile;
mod unroll;
pub mod vector;
pub mod warp;
pub mod words;

#[doc(hidden)]
pub use pastey;
