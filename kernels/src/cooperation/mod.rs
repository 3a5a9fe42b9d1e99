//! What threads of a warp, a block and a grid can do together.

#![cfg(any(not(target_arch = "nvptx64"), feature = "kernels", feature = "recent"))]

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod catalogue;

#[cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]
pub mod c01_reducing_barriers;
#[cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]
pub mod c02_votes;
#[cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]
pub mod c03_matches;
// For sm_70 the compilers write PTX 6.0, which does not know the instruction yet; rust-cuda says compute_80 for sm_80.
#[cfg(any(
    not(target_arch = "nvptx64"),
    all(
        feature = "kernels",
        any(target_feature = "sm_80", target_feature = "compute_80")
    )
))]
pub mod c04_active_mask;
#[cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]
pub mod c05_fence_publish;
#[cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]
pub mod c05b_fence_scopes;
#[cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]
pub mod c06_critical_section;
#[cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]
pub mod c06b_peterson;
#[cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]
pub mod c07_atomics;
#[cfg(any(not(target_arch = "nvptx64"), feature = "kernels"))]
pub mod c08_atomics_on_floats;
// What takes a later version of PTX is in a module of its own.
#[cfg(any(not(target_arch = "nvptx64"), feature = "recent"))]
pub mod c09_narrow_atomics;
#[cfg(any(
    not(target_arch = "nvptx64"),
    all(
        feature = "recent",
        any(target_feature = "sm_90", target_feature = "compute_90")
    )
))]
pub mod c10_wide_swap;
// As the fourth.
#[cfg(any(
    not(target_arch = "nvptx64"),
    all(
        feature = "kernels",
        any(target_feature = "sm_80", target_feature = "compute_80")
    )
))]
pub mod c11_coalesced_group;
