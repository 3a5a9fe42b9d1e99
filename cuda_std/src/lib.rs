#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub mod shared;
pub mod thread;
pub mod warp;

pub use cuda_std_macros::{address_space, gpu_only, kernel};

/// What nearly every kernel crate uses.
pub mod prelude {
    pub use crate::kernel;
    pub use crate::thread;
}

/// A panic in a kernel stops the kernel: the host's next call to the driver returns an error.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the instruction `trap` takes nothing and does not return.
    unsafe { core::arch::nvptx::trap() }
}
