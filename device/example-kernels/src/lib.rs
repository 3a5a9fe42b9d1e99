#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

#[cfg(any(not(target_arch = "nvptx64"), feature = "every", feature = "rest"))]
pub mod every;
#[cfg(any(not(target_arch = "nvptx64"), feature = "parts"))]
pub mod extent;
#[cfg(any(not(target_arch = "nvptx64"), feature = "parts"))]
pub mod parts;
#[cfg(any(not(target_arch = "nvptx64"), feature = "shapes"))]
pub mod shapes;
