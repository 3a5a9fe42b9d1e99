//! Launching grids from a kernel: what CUDA C++ writes as `kernel<<<blocks, threads, 0, stream>>>(…)`.
//!
//! Neither `cuda_std` has this. A CUDA C++ compiler turns those brackets into two calls of the *device runtime*, a library
//! that the driver links to the module. The first returns a buffer for the parameters, the second launches the kernel that
//! the buffer is for. They are declared here under the names that CUDA 12 and later give them; the values of the streams
//! and of the errors are those of
//! `cuda_device_runtime_api.h` and `driver_types.h`.

use cuda_std::gpu_only;

/// When a launched grid begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Once all grids that the same block has launched this way before are complete: `<<<blocks, threads>>>`.
    OfBlock = 0,
    /// Once the whole grid that launches it, and everything that this grid has launched, is complete:
    /// `cudaStreamTailLaunch`.
    Tail = 3,
    /// At any time: `cudaStreamFireAndForget`.
    FireAndForget = 4,
}

/// Launches `blocks` blocks of `threads` threads of a kernel. Returns 0, or the runtime's `cudaError`.
///
/// The new grid sees what this thread wrote before, and what other threads wrote before a barrier that this thread has
/// passed with them.
///
/// # Safety
/// - `kernel` is a kernel whose parameters, one after another at their natural alignment, are the fields of `P`, a
///   `repr(C)` struct.
/// - The kernel's own safety conditions hold at any time at which `stream` lets the grid run.
#[gpu_only]
#[inline(always)]
pub unsafe fn launch<P: Copy>(
    kernel: *const (),
    blocks: u32,
    threads: u32,
    stream: Stream,
    parameters: P,
) -> u32 {
    // `dim3` of CUDA C++.
    #[repr(C)]
    struct Extents {
        x: u32,
        y: u32,
        z: u32,
    }
    // `cudaErrorUnknown`, for a runtime that neither launches nor says why.
    const UNKNOWN: u32 = 999;
    unsafe extern "C" {
        fn __cudaCDP2GetParameterBufferV2(
            kernel: *const (),
            grid: Extents,
            block: Extents,
            shared_bytes: u32,
        ) -> *mut u8;
        fn __cudaCDP2LaunchDeviceV2(buffer: *mut u8, stream: usize) -> u32;
        fn __cudaCDP2GetLastError() -> u32;
    }
    let row = |x| Extents { x, y: 1, z: 1 };
    // SAFETY: the runtime checks its arguments; the buffer, if there is one, has room for the parameters of the kernel,
    // which are the fields of `P` by the caller's promise, and is aligned for any of them.
    unsafe {
        let buffer = __cudaCDP2GetParameterBufferV2(kernel, row(blocks), row(threads), 0);
        if buffer.is_null() {
            let error = __cudaCDP2GetLastError();
            return if error == 0 { UNKNOWN } else { error };
        }
        buffer.cast::<P>().write(parameters);
        __cudaCDP2LaunchDeviceV2(buffer, stream as usize)
    }
}

/// Waits until all grids that the block has launched, except tail launches, are complete. Afterwards this thread sees what
/// they wrote.
///
/// The device runtime of CUDA 12 and later does not offer it: a GPU does not load a module that calls it. The emulator offers it.
#[gpu_only]
#[inline(always)]
pub fn wait_for_launched() {
    unsafe extern "C" {
        fn cudaDeviceSynchronize() -> u32;
    }
    // SAFETY: waiting touches no memory. It cannot fail: only launches can, and they report it themselves.
    unsafe { cudaDeviceSynchronize() };
}

/// Stores an error where the host finds it. Of several errors the greatest remains; 0, which is no error, changes nothing.
///
/// A launch can fail for lack of room, which only the device notices. A kernel that did not check would leave a wrong
/// result and no trace of why.
///
/// # Safety
/// `status` points to a word that is accessed atomically only while grids run.
#[gpu_only]
#[inline(always)]
pub unsafe fn report(error: u32, status: *mut u32) {
    use core::sync::atomic::{AtomicU32, Ordering};
    if error != 0 {
        // SAFETY: by the caller's promise.
        unsafe { AtomicU32::from_ptr(status) }.fetch_max(error, Ordering::Relaxed);
    }
}
