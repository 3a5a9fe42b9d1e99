#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

#[cfg(target_arch = "nvptx64")]
mod kernels;
#[cfg(not(target_arch = "nvptx64"))]
mod texts;

#[cfg(not(target_arch = "nvptx64"))]
pub use texts::{SM, Text, accumulators, elements, text};
