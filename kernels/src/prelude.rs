//! What the kernels need and rust-cuda's `cuda_std` lacks or gets wrong. It comes from [`warpfold_device`], where each item
//! states its reason. Both compilers produce the same PTX for these items.

pub use cuda_std::kernel;
pub use warpfold_device::lanes::{WARP_SIZE, ballot, sync_lanes, sync_warp, vote_all, vote_any};
pub use warpfold_device::memory::{
    add_f64, add_to_shared, assume_shared, draw_ticket, load_read_only, load_relaxed,
    load_relaxed_u64, store_relaxed, store_relaxed_u64,
};
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_80",
    target_feature = "compute_80"
))]
pub use warpfold_device::redux::redux_add;
pub use warpfold_device::shuffle::{Lanes, shuffle_down, shuffle_xor};
pub use warpfold_device::thread::{
    block_dim_x, block_fence, block_idx_x, global_index, grid_dim_x, sync_threads,
    sync_threads_and, sync_threads_count, sync_threads_or, thread_idx_x,
};
pub use warpfold_device::{launch_bounds, shared_array};
