//! Where a thread is in its block and its grid, and the barriers of a block.
//!
//! All of it is for launches of one dimension, but for [`block_idx_y`].

use cuda_std::gpu_only;

/// The index of this thread in its block: 0 to [`block_dim_x`] − 1.
///
/// Here and not from `cuda_std::thread`, like the next three, because rust-cuda has not settled whether an index is a `u32`
/// or a `usize`. The kernels count in 32 bits, as the hardware does.
#[gpu_only]
#[inline(always)]
pub fn thread_idx_x() -> u32 {
    // SAFETY: reading a special register has no precondition.
    unsafe { core::arch::nvptx::_thread_idx_x() }
}

/// The index of this block in the grid.
#[gpu_only]
#[inline(always)]
pub fn block_idx_x() -> u32 {
    // SAFETY: reading a special register has no precondition.
    unsafe { core::arch::nvptx::_block_idx_x() }
}

/// Which row of blocks this block is in, of a grid of two dimensions.
#[gpu_only]
#[inline(always)]
pub fn block_idx_y() -> u32 {
    // SAFETY: reading a special register has no precondition.
    unsafe { core::arch::nvptx::_block_idx_y() }
}

/// The same as [`block_idx_x`], read where the call stands: nothing that is computed from it is computed before or kept.
#[gpu_only]
#[inline(always)]
pub(crate) fn block_idx_x_from_here_on() -> u32 {
    let index: u32;
    // SAFETY: reading a special register has no precondition. It is not pure, so that it stays in its place.
    unsafe {
        core::arch::asm!(
            "mov.u32 {index}, %ctaid.x;",
            index = out(reg32) index,
            options(nomem, nostack, preserves_flags),
        );
    }
    index
}

/// The number of threads in a block.
#[gpu_only]
#[inline(always)]
pub fn block_dim_x() -> u32 {
    // SAFETY: reading a special register has no precondition.
    unsafe { core::arch::nvptx::_block_dim_x() }
}

/// The number of blocks in the grid.
#[gpu_only]
#[inline(always)]
pub fn grid_dim_x() -> u32 {
    // SAFETY: reading a special register has no precondition.
    unsafe { core::arch::nvptx::_grid_dim_x() }
}

/// The index of this thread in a grid of one dimension, which may have more than 2³² threads.
///
/// Here and not from `cuda_std::thread`, whose `index_1d` wraps at 2³².
#[inline(always)]
pub fn global_index() -> usize {
    block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize
}

/// Waits until every thread of the block has come here. Afterwards all of them see what each wrote before.
///
/// Here and not from `cuda_std::thread`, because rust-cuda's is not marked convergent: its compiler copies the call into
/// the branches around it, so that one half of a block waits at one copy and the other half at another, forever.
#[gpu_only]
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: a barrier touches no memory of its own; a barrier that a thread misses hangs, which is not unsound.
    unsafe { core::arch::nvptx::_syncthreads() }
}

/// Waits as [`sync_threads`] does, and returns in every thread for how many threads of the block `predicate` holds.
///
/// This and the next two are here for the same reason as [`sync_threads`].
#[gpu_only]
#[inline(always)]
pub fn sync_threads_count(predicate: bool) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier0.popc"]
        fn barrier_count(predicate: u32) -> u32;
    }
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_count(predicate.into()) }
}

/// Waits as [`sync_threads`] does, and returns in every thread whether `predicate` holds for all threads of the block.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_and(predicate: bool) -> bool {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier0.and"]
        fn barrier_and(predicate: u32) -> u32;
    }
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_and(predicate.into()) != 0 }
}

/// Waits as [`sync_threads`] does, and returns in every thread whether `predicate` holds for any thread of the block.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_or(predicate: bool) -> bool {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier0.or"]
        fn barrier_or(predicate: u32) -> u32;
    }
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_or(predicate.into()) != 0 }
}

/// Orders this thread's memory accesses before the call ahead of those after it, for the threads of its block alone.
///
/// Here because rust-cuda has it under the name `grid_fence`, which promises the whole grid.
#[gpu_only]
#[inline(always)]
pub fn block_fence() {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.membar.cta"]
        fn membar_cta();
    }
    // SAFETY: a fence has no precondition.
    unsafe { membar_cta() }
}

/// `launch_bounds!(threads)` or `launch_bounds!(threads, blocks)`: a block of the kernel in which it stands has at most
/// `threads` threads, and `blocks` blocks are to fit on a multiprocessor. The assembler gives each thread no more registers
/// than that allows. Both are constants.
///
/// Here because neither compiler has an attribute for it. The comment passes through both, and what builds the PTX makes directives
/// of it in the kernel's header (`.maxntid`, `.minnctapersm`).
#[macro_export]
macro_rules! launch_bounds {
    ($threads:expr) => {
        $crate::launch_bounds!(@ "// launch_bounds: .maxntid {threads}", threads = $threads)
    };
    ($threads:expr, $blocks:expr) => {
        $crate::launch_bounds!(
            @ "// launch_bounds: .maxntid {threads} .minnctapersm {blocks}",
            threads = $threads, blocks = $blocks
        )
    };
    (@ $comment:literal, $($name:ident = $value:expr),*) => {{
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: a comment does nothing.
        unsafe {
            ::core::arch::asm!(
                $comment,
                $($name = const $value,)*
                options(nomem, nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            $(let _: u32 = $value;)*
        }
    }};
}

pub use launch_bounds;

/// Where a kernel waits for the launches before it, if it is launched so that it may begin before they end ("programmatic dependent launch").
/// Before, no thread touches memory that others use; every thread comes here, and what it computes before costs no time.
///
/// In the text it is a comment. Whoever launches the kernel so puts the instruction `griddepcontrol.wait` in its place, which exists from sm_90 on.
#[inline(always)]
pub fn wait_for_earlier_launches() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: nothing happens. The compiler does not know that, and moves no access to memory over it.
    unsafe {
        core::arch::asm!("//griddepcontrol.wait;", options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(
        expected = "`warpfold_device::thread::thread_idx_x` runs only in a kernel on the device"
    )]
    fn a_device_function_called_on_the_host_says_where_it_belongs() {
        super::thread_idx_x();
    }
}
