//! What the kernels need and rust-cuda's `cuda_std` lacks or gets wrong. Both compilers produce the same PTX for these
//! items.

pub use cuda_std::kernel;

use cuda_std::gpu_only;

/// Threads in a warp, on every NVIDIA GPU so far.
pub const WARP_SIZE: u32 = 32;

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

/// Waits until every lane of the warp has come here. Afterwards all of them see what each wrote before.
///
/// Here so that calls need not repeat the mask, which is the whole warp in nearly every kernel.
///
/// # Safety
/// All 32 lanes of the warp call it, and none has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp() {
    // SAFETY: the mask names all 32 lanes, and the caller promises that all of them come here.
    unsafe { sync_lanes(u32::MAX) }
}

/// Like [`sync_warp`], for the lanes of the warp that `mask` names, one bit each.
///
/// # Safety
/// All lanes in `mask` call it with the same `mask`, the calling one is among them, and none has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_lanes(mask: u32) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        fn bar_warp_sync(mask: u32);
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { bar_warp_sync(mask) }
}

/// The `value` of the lane `delta` above this one, or this lane's own if there is no such lane.
///
/// Here and not from `cuda_std::warp`, because rust-cuda's returns a pair through a helper function and checks its
/// arguments on the device; this is the instruction `shfl.sync.down` alone.
///
/// # Safety
/// All 32 lanes of the warp call it with the same `delta`, and none has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn shuffle_down(value: i32, delta: u32) -> i32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
        fn shfl_down(mask: u32, value: i32, delta: u32, clamp: u32) -> i32;
    }
    // SAFETY: the mask names all 32 lanes, and the caller promises that all of them come here.
    unsafe { shfl_down(u32::MAX, value, delta, WARP_SIZE - 1) }
}

/// The `value` of the lane whose number is this lane's number exclusive-or `mask`. A power of two pairs the lanes, and both
/// lanes of a pair get each other's value.
///
/// Here for the same reason as [`shuffle_down`]; this is the instruction `shfl.sync.bfly` alone.
///
/// # Safety
/// All 32 lanes of the warp call it with the same `mask`, below 32, and none has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn shuffle_xor(value: i32, mask: u32) -> i32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
        fn shfl_bfly(mask: u32, value: i32, lane_mask: u32, clamp: u32) -> i32;
    }
    // SAFETY: the first mask names all 32 lanes, and the caller promises that all of them come here.
    unsafe { shfl_bfly(u32::MAX, value, mask, WARP_SIZE - 1) }
}

/// The sum of the warp's 32 values, in every lane, by one instruction; it exists from sm_80 on.
///
/// Here and not from `cuda_std::warp`, because rust-cuda's is inline assembly, which its compiler may copy into
/// divergent branches. The intrinsic has two names: libNVVM, which compiles for rust-cuda, does not know LLVM's.
///
/// # Safety
/// All 32 lanes of the warp call it, and none has exited.
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_80",
    target_feature = "compute_80"
))]
#[gpu_only]
#[inline(always)]
pub unsafe fn redux_add(value: i32) -> i32 {
    #[cfg(target_feature = "sm_80")]
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.redux.sync.add"]
        fn redux_sync_add(value: i32, mask: u32) -> i32;
    }
    #[cfg(target_feature = "compute_80")]
    #[inline(always)]
    unsafe fn redux_sync_add(value: i32, mask: u32) -> i32 {
        unsafe extern "C" {
            #[link_name = "llvm.nvvm.redux.sync"]
            fn redux_sync(operation: u32, value: i32, mask: u32) -> i32;
        }
        // SAFETY: the caller's promise is the instruction's; operation 0 is the addition.
        unsafe { redux_sync(0, value, mask) }
    }
    // SAFETY: the mask names all 32 lanes, and the caller promises that all of them come here.
    unsafe { redux_sync_add(value, u32::MAX) }
}

/// The value of a word that other blocks are changing by atomic operations. This load orders nothing by itself.
///
/// Here and not `AtomicU32::load`, which rust-cuda compiles to a slow read-modify-write.
///
/// # Safety
/// `word` points to global memory, and while others use it, they change it only by atomic operations.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_relaxed(word: *const u32) -> u32 {
    let value: u32;
    // SAFETY: one load of a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "ld.relaxed.gpu.b32 {value}, [{word}];",
            word = in(reg64) word,
            value = out(reg32) value,
            options(nostack, preserves_flags),
        );
    }
    value
}

/// Adds 1 to a word in global memory and returns its value from before. Calls on the same word are ordered: a thread sees
/// everything that was visible to the threads of all earlier calls.
///
/// Here and not `AtomicU32::fetch_add` with `Ordering::AcqRel` nor a relaxed one between two `device_fence`s: rust-cuda has
/// no other order than the relaxed one, and those fences order more than is needed and take longer.
///
/// # Safety
/// `counter` points to global memory, and while others use it, they change it only by atomic operations.
#[gpu_only]
#[inline(always)]
pub unsafe fn draw_ticket(counter: *mut u32) -> u32 {
    let before: u32;
    // SAFETY: one addition to a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "atom.acq_rel.gpu.global.add.u32 {before}, [{counter}], 1;",
            counter = in(reg64) counter,
            before = out(reg32) before,
            options(nostack, preserves_flags),
        );
    }
    before
}

/// Adds to a word in global memory. It returns nothing, so no thread waits for an answer.
///
/// Here and not from `core`, which has no atomic floats, nor from rust-cuda's `cuda_std`, whose atomic floats are functions
/// of a library that rustc's own backend cannot link.
///
/// # Safety
/// `word` points to global memory, and while others use it, they change it only by atomic operations.
#[gpu_only]
#[inline(always)]
pub unsafe fn add_f64(word: *mut f64, value: f64) {
    // SAFETY: one addition to a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "red.relaxed.gpu.global.add.f64 [{word}], {value};",
            word = in(reg64) word,
            value = in(reg64) value.to_bits(),
            options(nostack, preserves_flags),
        );
    }
}

/// Tells the compiler that `pointer` points into shared memory, so that it emits `ld.shared` and `st.shared` where it would
/// otherwise have to leave the choice of memory to the hardware.
///
/// # Safety
/// `pointer` points into shared memory.
#[gpu_only]
#[inline(always)]
pub unsafe fn assume_shared<T>(pointer: *mut T) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.isspacep.shared"]
        fn is_shared(pointer: *const u8) -> bool;
    }
    // SAFETY: the intrinsic takes any address; the caller promises that its answer is yes.
    unsafe { core::hint::assert_unchecked(is_shared(pointer.cast())) }
}

/// Adds to a word in shared memory to which other threads of the block may be adding, too. The addition orders nothing by
/// itself.
///
/// Here and not from `core`: before each core atomic rust-cuda tests whether the pointer is global or shared, and after
/// [`assume_shared`] libNVVM 12 takes that test for false, so that only a `trap` is left. The address is converted to a
/// shared one first, because a GPU has slower instructions for generic addresses.
///
/// # Safety
/// `word` points into shared memory, and while others use it, they change it only by atomic operations.
#[gpu_only]
#[inline(always)]
pub unsafe fn add_to_shared(word: *mut u32, value: u32) {
    // SAFETY: one addition to a word that is valid by the caller's promise.
    unsafe {
        core::arch::asm!(
            "cvta.to.shared.u64 {address}, {word};",
            "red.relaxed.cta.shared.add.u32 [{address}], {value};",
            word = in(reg64) word,
            value = in(reg32) value,
            address = out(reg64) _,
            options(nostack, preserves_flags),
        );
    }
}

/// `shared_array!(name: [T; length])`: a pointer to `length` uninitialised values in the block's shared memory,
/// where `length` may depend on a const generic. `name` is the array's name in the PTX, once per kernel.
///
/// Here because a `static` can't depend on a const generic. With either compiler, the only way is to write the three
/// instructions: the declaration, its offset in shared memory, and the conversion of that to a pointer.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! shared_array {
    ($name:ident: [$type:ty; $length:expr]) => {{
        let pointer: *mut $type;
        // SAFETY: declaring an array and taking its address touches no memory, and the address is a shared one.
        unsafe {
            ::core::arch::asm!(
                concat!(".shared .align 16 .b8 ", stringify!($name), "[{bytes}];"),
                concat!("mov.u64 {offset}, ", stringify!($name), ";"),
                "cvta.shared.u64 {pointer}, {offset};",
                bytes = const $length as usize * size_of::<$type>(),
                offset = out(reg64) _,
                pointer = out(reg64) pointer,
                options(pure, nomem, nostack, preserves_flags),
            );
            $crate::prelude::assume_shared(pointer);
        }
        pointer
    }};
}

/// On the host, where there is no shared memory, it checks its arguments when it is compiled, and panics when it runs.
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! shared_array {
    ($name:ident: [$type:ty; $length:expr]) => {
        $crate::prelude::shared_array_on_the_host::<$type>(stringify!($name), $length as usize)
    };
}

/// What [`shared_array!`] becomes on the host.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub fn shared_array_on_the_host<T>(name: &str, length: usize) -> *mut T {
    panic!(
        "the shared array `{name}` of {length} values exists only in a kernel on the device, and this is the host"
    )
}

pub use shared_array;

/// The index of this thread in a grid of one dimension, which may have more than 2³² threads.
///
/// Here and not from `cuda_std::thread`, whose `index_1d` wraps at 2³².
#[inline(always)]
pub fn global_index() -> usize {
    block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize
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

/// Whether `predicate` holds in every lane of `mask`.
///
/// This and the next two are here because rust-cuda's are inline assembly, which its compiler may copy into branches.
///
/// # Safety
/// The calling lane is in `mask`, and all lanes of `mask` make the call with the same mask; none has exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn vote_all(mask: u32, predicate: bool) -> bool {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.vote.all.sync"]
        fn vote_all(mask: u32, predicate: bool) -> bool;
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { vote_all(mask, predicate) }
}

/// Whether `predicate` holds in any lane of `mask`.
///
/// # Safety
/// As for [`vote_all`].
#[gpu_only]
#[inline(always)]
pub unsafe fn vote_any(mask: u32, predicate: bool) -> bool {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.vote.any.sync"]
        fn vote_any(mask: u32, predicate: bool) -> bool;
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { vote_any(mask, predicate) }
}

/// The lanes of `mask` in which `predicate` holds, one bit each.
///
/// # Safety
/// As for [`vote_all`].
#[gpu_only]
#[inline(always)]
pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.vote.ballot.sync"]
        fn vote_ballot(mask: u32, predicate: bool) -> u32;
    }
    // SAFETY: the caller's promise is the instruction's.
    unsafe { vote_ballot(mask, predicate) }
}

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(
        expected = "`warpfold_kernels::prelude::thread_idx_x` runs only in a kernel on the device"
    )]
    fn a_device_function_called_on_the_host_says_where_it_belongs() {
        super::thread_idx_x();
    }

    #[test]
    #[should_panic(
        expected = "the shared array `sums` of 64 values exists only in a kernel on the device"
    )]
    fn a_shared_array_on_the_host_says_where_it_belongs() {
        let _: *mut i32 = super::shared_array!(sums: [i32; 64]);
    }
}
