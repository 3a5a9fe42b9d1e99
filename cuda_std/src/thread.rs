//! The position of a thread in its block and grid, the barriers of a block, and the memory fences.
//!
//! A launch starts a *grid* of *blocks* of *threads*, each in up to three dimensions. The threads of a block share
//! memory and can wait for one another; blocks run in any order and cannot.

use crate::gpu_only;

/// Functions that read one special register each, by the intrinsic in their braces.
macro_rules! special_registers {
    ($($(#[$doc:meta])* pub fn $name:ident() -> u32 { $intrinsic:ident })*) => {$(
        $(#[$doc])*
        #[gpu_only]
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reading a special register has no precondition.
            unsafe { core::arch::nvptx::$intrinsic() }
        }
    )*};
}

special_registers! {
    /// The index of the thread in its block, x dimension; below [`block_dim_x`].
    pub fn thread_idx_x() -> u32 { _thread_idx_x }
    /// The index of the thread in its block, y dimension; below [`block_dim_y`].
    pub fn thread_idx_y() -> u32 { _thread_idx_y }
    /// The index of the thread in its block, z dimension; below [`block_dim_z`].
    pub fn thread_idx_z() -> u32 { _thread_idx_z }
    /// The index of the block in the grid, x dimension; below [`grid_dim_x`].
    pub fn block_idx_x() -> u32 { _block_idx_x }
    /// The index of the block in the grid, y dimension; below [`grid_dim_y`].
    pub fn block_idx_y() -> u32 { _block_idx_y }
    /// The index of the block in the grid, z dimension; below [`grid_dim_z`].
    pub fn block_idx_z() -> u32 { _block_idx_z }
    /// Threads in a block, x dimension.
    pub fn block_dim_x() -> u32 { _block_dim_x }
    /// Threads in a block, y dimension.
    pub fn block_dim_y() -> u32 { _block_dim_y }
    /// Threads in a block, z dimension.
    pub fn block_dim_z() -> u32 { _block_dim_z }
    /// Blocks in the grid, x dimension.
    pub fn grid_dim_x() -> u32 { _grid_dim_x }
    /// Blocks in the grid, y dimension.
    pub fn grid_dim_y() -> u32 { _grid_dim_y }
    /// Blocks in the grid, z dimension.
    pub fn grid_dim_z() -> u32 { _grid_dim_z }
}

/// The index of the thread among all threads of the launch, unique in any launch of up to three dimensions; it
/// wraps above `u32::MAX`.
#[inline(always)]
pub fn index() -> u32 {
    let block = block_idx_x() + grid_dim_x() * (block_idx_y() + grid_dim_y() * block_idx_z());
    let thread = thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z());
    block * (block_dim_x() * block_dim_y() * block_dim_z()) + thread
}

/// The index of the thread among all threads of a launch in one dimension; it wraps above `u32::MAX`.
#[inline(always)]
pub fn index_1d() -> u32 {
    thread_idx_x() + block_idx_x() * block_dim_x()
}

/// Whether this is the one thread whose indices are all 0.
#[inline(always)]
pub fn first() -> bool {
    let block = block_idx_x() | block_idx_y() | block_idx_z();
    let thread = thread_idx_x() | thread_idx_y() | thread_idx_z();
    block | thread == 0
}

/// Threads in a warp: 32 on every NVIDIA GPU so far.
#[gpu_only]
#[inline(always)]
pub fn warp_size() -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.read.ptx.sreg.warpsize"]
        fn warpsize() -> u32;
    }
    // SAFETY: reading a special register has no precondition.
    unsafe { warpsize() }
}

/// Waits until every thread of the block has come here. Afterwards all of them see what each wrote before.
///
/// Every thread of the block must reach the same call: a barrier that some threads skip can hang the kernel.
#[gpu_only]
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: a barrier touches no memory of its own; a barrier that a thread misses hangs, which is not unsound.
    unsafe { core::arch::nvptx::_syncthreads() }
}

/// Like [`sync_threads`], and returns in every thread for how many threads `predicate` is not zero.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier0.popc"]
        fn barrier_count(predicate: u32) -> u32;
    }
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_count(predicate) }
}

/// Like [`sync_threads`], and returns in every thread a non-zero value if `predicate` is not zero for all threads.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier0.and"]
        fn barrier_and(predicate: u32) -> u32;
    }
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_and(predicate) }
}

/// Like [`sync_threads`], and returns in every thread a non-zero value if `predicate` is not zero for any thread.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier0.or"]
        fn barrier_or(predicate: u32) -> u32;
    }
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_or(predicate) }
}

/// Orders this thread's memory accesses before the call ahead of those after it, for all threads of the grid. No thread
/// waits for another: it is a fence, not a barrier.
#[gpu_only]
#[inline(always)]
pub fn grid_fence() {
    // The whole grid, as the name says; rust-cuda's function of this name orders for the block alone.
    device_fence();
}

/// Like [`grid_fence`], for every thread on the device.
#[gpu_only]
#[inline(always)]
pub fn device_fence() {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.membar.gl"]
        fn membar_gl();
    }
    // SAFETY: a fence has no precondition.
    unsafe { membar_gl() }
}

/// Like [`grid_fence`], for every thread on the device, the host and the other devices.
#[gpu_only]
#[inline(always)]
pub fn system_fence() {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.membar.sys"]
        fn membar_sys();
    }
    // SAFETY: a fence has no precondition.
    unsafe { membar_sys() }
}

/// Suspends the thread for about `nanos` nanoseconds (up to a millisecond), as in a lock that backs off; needs PTX 6.3.
#[gpu_only]
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.nanosleep"]
        fn nanosleep(nanos: u32);
    }
    // SAFETY: sleeping has no precondition.
    unsafe { nanosleep(nanos) }
}
