//! Wrong kernels, one mistake each: what `warpfold check` is for, and what tests it.
//!
//! Every file says what is wrong, what the finding says, and what the repair is. `diagnoses/` has each finding in full,
//! word for word as `warpfold check ID` prints it. Most of these kernels give the right result on most GPUs most of the
//! time, which is why the mistakes are worth knowing.
//!
//! | files | mistake | tool |
//! |---|---|---|
//! | `e01` to `e09` | accesses that nothing orders | racecheck |
//! | `e10` to `e15` | barriers and shuffles that the wrong threads reach | synccheck |
//! | `e16` to `e20` | addresses that do not belong to the kernel | memcheck |
//! | `e21`, `e22` | memory that nothing has written | initcheck |
//! | `e23` | a result that depends on who comes first | schedules |
//! | `e24`, `e25` | fences that are missing, or that reach too few | racecheck |
//! | `e26` | a promise to the cache that is not kept | racecheck |
//!
//! The catalogue (`catalogue`, on the host) lists them with the launch that shows the mistake.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

// Text for hosts, as in the crate of the kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod catalogue;

pub mod e01_missing_barrier;
pub mod e02_buffer_reused_too_soon;
pub mod e03_volatile_last_warp;
pub mod e04_warp_barrier_too_narrow;
pub mod e05_lost_update;
pub mod e06_all_lanes_one_word;
pub mod e07_neighbour_block;
pub mod e08_ticket_without_fence;
pub mod e09_cleared_too_late;
pub mod e10_barrier_in_a_branch;
pub mod e11_return_before_barrier;
pub mod e12_two_barriers;
pub mod e13_lane_not_in_mask;
pub mod e14_shuffle_from_absent_lane;
pub mod e15_full_mask_in_a_branch;
pub mod e16_off_by_one;
pub mod e17_misaligned_vector;
pub mod e18_shared_overrun;
pub mod e19_null_output;
pub mod e20_raw_shared_offset;
pub mod e21_uninitialised_shared;
pub mod e22_uninitialised_output;
pub mod e23_first_come;
pub mod e24_peterson_without_fences;
pub mod e25_fence_too_narrow;
pub mod e26_read_only_but_written;
