//! Kernels that launch kernels. They are a PTX module of their own, because a GPU's driver has to link it with a library.

#![cfg(any(not(target_arch = "nvptx64"), feature = "nested"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod device_runtime;
pub mod n01_nested_sync;
pub mod n02_nested_nosync;
pub mod n03_nested_fixed;
pub mod n04_recursive_hello;
