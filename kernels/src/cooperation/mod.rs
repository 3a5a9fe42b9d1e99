//! What threads of a warp, a block and a grid can do together.

#![cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

pub mod c01_reducing_barriers;
pub mod c02_votes;
pub mod c03_matches;
// For sm_70 the compilers write PTX 6.0, which does not know the instruction yet; rust-cuda says compute_80 for sm_80.
#[cfg(any(
    not(target_arch = "nvptx64"),
    target_feature = "sm_80",
    target_feature = "compute_80"
))]
pub mod c04_active_mask;
pub mod c05_fence_publish;
pub mod c06_critical_section;
pub mod c07_atomics;
