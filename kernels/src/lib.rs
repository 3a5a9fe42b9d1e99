//! The course: parallel reduction as GPU kernels, one idea per file, each step measured against the one before.
//!
//! # How to read it
//! Begin with [`l01_neighbored`] and go on in the order of the file names. Each file opens with the defect of the step
//! before it and makes one change; its documentation has the same seven headings everywhere:
//!
//! | heading | what stands there |
//! |---|---|
//! | before | what is wrong with the step before |
//! | idea | the one change |
//! | picture | which thread adds what |
//! | cost | what one block does, counted |
//! | observe | what to look for in the kernel's PTX (`warpfold ptx ID`) and in a run (`warpfold run ID`) |
//! | break it | an experiment that shows why a line stands there |
//! | source | where the algorithm comes from |
//!
//! Code that one step has taught, a later step calls; a step never calls what it has not been taught. What the kernels
//! need of the device besides plain Rust stands in [`prelude`], each item with its reason.
//!
//! # What the kernels have in common
//! Every kernel of the ladder is `unsafe fn(input: *mut i32, partials: *mut i32, n: usize)`; where it only reads its
//! input, that is a `*const i32`. It adds up `n` values and leaves one partial sum per block in `partials`, in block
//! order, for the host to add up. In the text, B is the number of threads in a block, `tid` a thread's index in it.
//!
//! - A block owns a *tile*: k·B consecutive elements, where k is how many elements a thread takes.
//! - A launch has ⌈n ∕ (k·B)⌉ blocks, so that each has at least one element; the sum of nothing takes no launch.
//!   From step 10 on it has no more of them than the GPU runs at once, and a block goes on from tile to tile.
//! - B is a power of two from 64 to 1024.
//! - Any n will do. Where n cuts the last tile short, a missing element counts as 0: it is never read or written, and the
//!   threads that would own it still come to every barrier.
//! - Sums wrap around, like every `i32` sum that is to be the same in any order.
//!
//! # After the ladder
//! The files with an r take *other roads to the same sum*. Where one is handed a `total`, its blocks add to that atomically,
//! and it has to be 0 before; kernels of one block take up to 2·B elements, and the host refuses more. From step 11 on
//! there are kernels that leave the whole sum in one launch: they take a `total` and a word that is 0 before and after.
//!
//! The files with an o are about *operators and types*: a step of the ladder as one body that is generic over what it
//! puts together and how. Their kernels take pointers to that type, and are otherwise launched as the ladder's are.
//!
//! The files with an h count an image: where a value goes is known only once it has been read, so that threads collide.
//!
//! The files with an n launch grids from the device ([`device_runtime`]); theirs is a module of its own, because a GPU's driver has
//! to link it with a library.
//!
//! The catalogue (`catalogue`, on the host) lists all this as data.

#![no_std]
#![allow(
    clippy::manual_is_multiple_of,
    reason = "the remainder is what the lessons speak of, and what the hardware is asked for"
)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_ptx, asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

// Text for hosts: on the device it would only bring in functions that compare strings.
#[cfg(not(target_arch = "nvptx64"))]
pub mod catalogue;
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_90",
    target_feature = "compute_90"
))]
pub mod mbarrier;
pub mod prelude;

#[cfg(feature = "kernels")]
pub mod l01_neighbored;
#[cfg(feature = "kernels")]
pub mod l02_neighbored_less;
#[cfg(feature = "kernels")]
pub mod l03_interleaved;
#[cfg(feature = "kernels")]
pub mod l04_unroll;
#[cfg(feature = "kernels")]
pub mod l05_unroll_warps8;
#[cfg(feature = "kernels")]
pub mod l05b_unroll_warps8_sync;
#[cfg(feature = "kernels")]
pub mod l06_complete_unroll_warps8;
#[cfg(feature = "kernels")]
pub mod l07_complete_unroll;
#[cfg(feature = "kernels")]
pub mod l08_complete_unroll_shared;
#[cfg(feature = "kernels")]
pub mod l09_shuffle;
#[cfg(feature = "kernels")]
pub mod l10_vectorized;
#[cfg(feature = "kernels")]
pub mod l11_single_pass;
#[cfg(feature = "kernels")]
pub mod l12_addend;
#[cfg(feature = "kernels")]
pub mod l12_flagship;
// Where the instructions are: from sm_90 on, which rust-cuda calls compute_90.
#[cfg(feature = "kernels")]
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_90",
    target_feature = "compute_90"
))]
pub mod l12b_bulk;
#[cfg(feature = "kernels")]
pub mod l12c_deterministic;

#[cfg(feature = "kernels")]
pub mod r01_naive_atomic;
#[cfg(feature = "kernels")]
pub mod r02_warp_aggregated_atomic;
#[cfg(feature = "kernels")]
pub mod r03_block_aggregated_atomic;
#[cfg(feature = "kernels")]
pub mod r04_blocked;
#[cfg(feature = "kernels")]
pub mod r05_strided;
#[cfg(feature = "kernels")]
pub mod r06_shared_dynamic;
#[cfg(feature = "kernels")]
pub mod r07_segmented_shared;
#[cfg(feature = "kernels")]
pub mod r08_segmented_blocked;
#[cfg(feature = "kernels")]
pub mod r09_segmented_strided;
#[cfg(feature = "kernels")]
pub mod r10_coarse;
#[cfg(feature = "kernels")]
pub mod r11_tile_partition;
#[cfg(feature = "kernels")]
pub mod r12_warp_shuffle;
#[cfg(feature = "kernels")]
pub mod r13_grid_sync;
// Where the instruction is: from sm_80 on, which rust-cuda calls compute_80.
#[cfg(feature = "kernels")]
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_80",
    target_feature = "compute_80"
))]
pub mod r14_redux;

#[cfg(feature = "kernels")]
pub mod d03_block_reduce;

#[cfg(feature = "kernels")]
pub mod d01_even_odd;
#[cfg(feature = "kernels")]
pub mod d02_odd_even_add;

#[cfg(feature = "kernels")]
pub mod m01_copy_offset;
#[cfg(feature = "kernels")]
pub mod m02_copy_stride;
#[cfg(feature = "kernels")]
pub mod m03_reverse;
#[cfg(feature = "kernels")]
pub mod m04_bank_stride;
#[cfg(feature = "kernels")]
pub mod m05_matrix_add;

#[cfg(feature = "kernels")]
pub mod c01_reducing_barriers;
#[cfg(feature = "kernels")]
pub mod c02_votes;
#[cfg(feature = "kernels")]
pub mod c03_matches;
// For sm_70 the compilers write PTX 6.0, which does not know the instruction yet; rust-cuda says compute_80 for sm_80.
#[cfg(feature = "kernels")]
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_80",
    target_feature = "compute_80"
))]
pub mod c04_active_mask;
#[cfg(feature = "kernels")]
pub mod c05_fence_publish;
#[cfg(feature = "kernels")]
pub mod c06_critical_section;
#[cfg(feature = "kernels")]
pub mod c07_atomics;

#[cfg(feature = "kernels")]
pub mod h01_histogram_global;
#[cfg(feature = "kernels")]
pub mod h02_histogram_shared;

#[cfg(feature = "nested")]
pub mod device_runtime;
#[cfg(feature = "nested")]
pub mod n01_nested_sync;
#[cfg(feature = "nested")]
pub mod n02_nested_nosync;
#[cfg(feature = "nested")]
pub mod n03_nested_fixed;
#[cfg(feature = "nested")]
pub mod n04_recursive_hello;

#[cfg(feature = "operators")]
pub mod o01_operators;
#[cfg(feature = "operators")]
pub mod o02_interleaved;
#[cfg(feature = "operators")]
pub mod o03_complete_unroll_shared;
#[cfg(feature = "operators")]
pub mod o04_shuffle;
#[cfg(feature = "operators")]
pub mod o05_vectorized;
#[cfg(feature = "operators")]
pub mod o06_single_pass;
