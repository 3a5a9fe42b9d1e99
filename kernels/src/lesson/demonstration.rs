//! What lessons show that are no reductions, part by part.

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooperation {
    /// Each element with an answer about its block or its warp.
    Question(Question),
    /// What lanes find when they ask who is here.
    ActiveMask,
    /// Values published from block to block with fences.
    FencePublish,
    /// Values handed on from thread to thread to block, with fences of each scope.
    FenceScopes,
    /// A lock around two words.
    CriticalSection,
    /// The same lock by loads and stores, for two threads.
    Peterson,
    /// Every atomic operation in every scope.
    Atomics,
    /// Sums of floats, and a maximum by compare-and-swap.
    AtomicsOnFloats,
    /// Sums of halves.
    NarrowAtomics(Half),
    /// The greatest value and its first place, in one compare-and-swap.
    WideSwap,
    /// The positive elements and their sum, by the lanes that come together.
    CoalescedGroup,
}

/// A format of floats in 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// 5 bits of exponent, 11 of precision.
    F16,
    /// 8 bits of exponent, as `f32` has, and 8 of precision.
    Bf16,
}

/// A question that each thread gets an answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How many elements of the block are positive.
    BlockCount,
    /// Whether all elements of the block are positive.
    BlockAll,
    /// Whether any element of the block is positive.
    BlockAny,
    /// Whether all elements of the warp are positive.
    WarpAll,
    /// Whether any element of the warp is positive.
    WarpAny,
    /// Which elements of the warp are positive.
    WarpBallot,
    /// Which elements of the warp are equal to the thread's.
    WarpEqual,
    /// The mask of the warp, if all its elements are equal.
    WarpAllEqual,
}

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// 2 at even indices and 1 at odd ones, by the parity of the thread or of the warp.
    EvenOdd,
    /// 2 added at even indices, 1 at odd ones.
    OddEvenAdd,
}

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histogram {
    /// Three histograms of an image, by a kernel that takes `(image, width, height, pitch, bins)`.
    Image,
}

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// A copy of the elements from an offset on.
    CopyOffset,
    /// A copy of every `stride`-th element.
    CopyStride,
    /// Each block reversed through a shared array.
    Reverse {
        /// Whether the launch sets its length, 4 bytes per thread, and not the kernel.
        dynamic: bool,
    },
    /// Each block reversed through shared memory that is accessed with a stride.
    BankStride,
    /// The sum of two matrices.
    MatrixAdd,
    /// Values from a table, at random places.
    ReadOnly,
    /// Elements weighted by a table in constant memory.
    Constant {
        /// Whether all lanes of a warp want the same weight at a time.
        uniform: bool,
    },
}

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nested {
    /// The tree of grids of a kernel that launches itself.
    Tree,
}

/// What a lesson of this part shows: the sums up to each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// Of each section of a warp, whose width is the lesson's parameter.
    Warp,
    /// Of each block.
    Block,
    /// Of all.
    Array,
}

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shapes {
    /// The greatest element of each block and its first place; the lesson's parameter is how many elements are NaN.
    ArgMax,
    /// The sum of each block and that of the squares; the parameter is an offset of all elements.
    SumOfSquares,
    /// The mean of each block and the squares of the distances from it; the parameter is an offset of all elements.
    Welford,
    /// The sum of each row of a matrix; the parameter is how many columns it has.
    Rows(Worker),
    /// The sum of each column of a matrix, by warps that go down a column or by threads that each have one; the parameter is how many
    /// columns it has.
    Columns(Worker),
    /// The sum of each segment, by a warp each or by equal parts of a path for the threads; the parameter is the share of the longest
    /// segment in percent.
    Segments(Worker),
    /// The sum of each run of equal keys; the parameter is how long a run is on average.
    Keys,
}

/// Who makes a result, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worker {
    /// A warp.
    Warp,
    /// A thread.
    Thread,
}
