//! Launching grids from a kernel: what CUDA C++ writes as `kernel<<<blocks, threads, 0, stream>>>(…)`.
//!
//! Neither `cuda_std` has this. A compiler of CUDA C++ turns those brackets into two calls of the *device runtime*, a library that the
//! driver links to the module: one that returns a buffer for the parameters, and one that launches what the buffer was made for.
//! They are declared here under the names that CUDA 12 and later give them; the values of the streams and of the errors are those of
//! `cuda_device_runtime_api.h` and `driver_types.h`.

use cuda_std::gpu_only;

/// When a launched grid begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// At any time after those that the same block has launched this way before are complete: `<<<blocks, threads>>>`.
    OfBlock = 0,
    /// After the whole grid that launches it, and all that this grid has launched, are complete: `cudaStreamTailLaunch`.
    Tail = 3,
    /// At any time: `cudaStreamFireAndForget`.
    FireAndForget = 4,
}

/// Launches `blocks` blocks of `threads` threads of a kernel, and returns 0, or the `cudaError` that the runtime answers instead.
///
/// What this thread has written before, and what other threads have that it has met at a barrier since, the new grid sees.
///
/// # Safety
/// - `kernel` is a kernel whose parameters, one behind the other at their natural alignment, are the fields of `P`, a `repr(C)` struct.
/// - What the kernel asks of a launch holds at any time at which `stream` lets the grid run.
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
    // `cudaErrorUnknown`, where the runtime neither launches nor says why.
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
    // SAFETY: the runtime checks what it is given; the buffer, where there is one, has room for the parameters of the kernel, which
    // are the fields of `P` by the caller's promise, and is aligned for any of them.
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

/// Waits until all grids that the block has launched, tail launches aside, are complete; what they wrote, this thread sees afterwards.
///
/// No GPU has this any more: CUDA 12 has removed it, and the modules that call it do not load. The emulator has it.
#[gpu_only]
#[inline(always)]
pub fn wait_for_launched() {
    unsafe extern "C" {
        fn cudaDeviceSynchronize() -> u32;
    }
    // SAFETY: waiting touches no memory. It cannot fail: only launches do, and they say so themselves.
    unsafe { cudaDeviceSynchronize() };
}

/// Leaves an error where the host finds it; of several, the greatest. 0, which is none, leaves everything as it is.
///
/// A launch can fail for lack of room, which only the device knows. A kernel that did not look would leave a wrong result and no trace.
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
