//! What is known not to survive rust-cuda, or not both compilers: the reasons and the ways out.

use std::fmt;

/// A kind of code that kernels keep away from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// rust-cuda's own block barrier.
    SyncThreads,
    /// A barrier, shuffle, vote, match or warp reduction in inline assembly.
    CollectiveInAssembly,
    /// A load or store of shared memory in inline assembly.
    SharedAccessInAssembly,
    /// An atomic of `core` on what `shared_array!` gave or `assume_shared` has seen.
    SharedAtomic,
    /// An intrinsic that libNVVM does not know.
    Intrinsic,
    /// `#[kernel]` on a generic function.
    GenericKernel,
    /// A kernel parameter that is neither a raw pointer nor a scalar.
    KernelParameter,
    /// A static in shared memory.
    SharedStatic,
    /// A bit count of what may be 64 bits wide.
    BitCount,
    /// An atomic load or store.
    AtomicLoadOrStore,
    /// A fence of `core`.
    Fence,
    /// Another name of `cuda_std` that rust-cuda lacks or gets wrong, with what is wrong with it.
    CudaStd(&'static str),
}

/// The names of `cuda_std`, besides `sync_threads`, that exist in rust-cuda and do something else there.
///
/// `activemask` is not among them: it is inline assembly as well, but what it promises is still true where it is copied.
pub const WRONG_IN_RUST_CUDA: [(&str, &str); 10] = [
    (
        "cuda_std::thread::grid_fence",
        "rust-cuda's orders memory for the block alone: use `device_fence`",
    ),
    (
        "cuda_std::thread::nanosleep",
        "rust-cuda's is inline assembly that no assembler takes, without a type and without its semicolon",
    ),
    ("cuda_std::thread::sync_threads_and", REDUCING_BARRIER),
    ("cuda_std::thread::sync_threads_count", REDUCING_BARRIER),
    ("cuda_std::thread::sync_threads_or", REDUCING_BARRIER),
    ("cuda_std::warp::warp_reduce", VOTE),
    (
        "cuda_std::warp::warp_shuffle_up",
        "rust-cuda's clamps at the upper end of the section, so that most lanes get their own value back: declare the \
         intrinsic `llvm.nvvm.shfl.sync.up.i32` in the prelude",
    ),
    ("cuda_std::warp::warp_vote_all", VOTE),
    ("cuda_std::warp::warp_vote_any", VOTE),
    ("cuda_std::warp::warp_vote_ballot", VOTE),
];

const REDUCING_BARRIER: &str = "the barriers of rust-cuda are not marked convergent, so that its compiler copies them into divergent branches and the \
                                kernel hangs: use the one of the kernels' prelude";

const VOTE: &str = "rust-cuda's is inline assembly, which is not convergent, so that its compiler may copy it into divergent \
                    branches: declare the `llvm.nvvm` intrinsic in the prelude";

impl Rule {
    /// Why, and what to write instead.
    pub fn reason(self) -> &'static str {
        match self {
            Self::SyncThreads => {
                "rust-cuda's is not marked convergent, so that its compiler copies it into divergent branches and the kernel \
                 hangs: use `sync_threads` of the kernels' prelude"
            }
            Self::CollectiveInAssembly => {
                "inline assembly is not convergent, so that rust-cuda's compiler copies it into divergent branches and the \
                 kernel hangs: declare the `llvm.nvvm` intrinsic in the prelude"
            }
            Self::SharedAccessInAssembly => {
                "a load or store of shared memory in inline assembly compiles and gives wrong sums: go through the pointer that \
                 `shared_array!` gives"
            }
            Self::SharedAtomic => {
                "rust-cuda tests before an atomic of `core` whether the pointer is global or shared, and libNVVM 12 takes that for \
                 false of what `assume_shared` has seen, so that a `trap` is left: use `add_to_shared` of the kernels' prelude, \
                 or another `red` or `atom` in inline assembly there"
            }
            Self::Intrinsic => {
                "tests/dialect/intrinsics.txt does not list it as one that libNVVM knows, and of another a function is left that \
                 nothing defines: declare it under `cfg(target_feature = \"sm_…\")`, and under `\"compute_…\"` a function of the \
                 same name that rust-cuda can compile"
            }
            Self::GenericKernel => {
                "nothing exports a generic function: write one concrete entry for each instance, over one \
                 `#[inline(always)]` body"
            }
            Self::KernelParameter => {
                "a kernel takes raw pointers and scalars only, because anything else is laid out differently by the two \
                 compilers (a slice is one structure of 16 bytes for rustc's own, two scalars for rust-cuda)"
            }
            Self::SharedStatic => {
                "rustc's own backend places no static in shared memory, and no static depends on a const generic: use \
                 `shared_array!` of the kernels' prelude"
            }
            Self::BitCount => {
                "rust-cuda miscompiles it for 64 bits, and the width is not to be seen here: write `u32::count_ones(x)`, with \
                 the type before the name"
            }
            Self::AtomicLoadOrStore => {
                "rust-cuda makes a slow read-modify-write of it: use `read_volatile` or `write_volatile`"
            }
            Self::Fence => {
                "rust-cuda cannot compile it: declare the intrinsic `llvm.nvvm.membar.gl` in the prelude"
            }
            Self::CudaStd(reason) => reason,
        }
    }
}

/// A place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The line, counted from 1.
    pub line: usize,
    /// What stands there.
    pub code: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, code, reason) = (self.line, &self.code, self.rule.reason());
        write!(formatter, "line {line}: `{code}`: {reason}")
    }
}
