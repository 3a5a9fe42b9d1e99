//! The parts of the course and the PTX texts that their kernels are compiled into.

/// A part of the course; lessons are grouped by it and read in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The reduction ladder: the sum of `i32` values, one idea a step.
    Ladder,
    /// The same sum by other means than the ladder's.
    Roads,
    /// Kernels that launch kernels.
    Nested,
    /// Threads of one warp that take different branches.
    Divergence,
    /// How the addresses of a warp decide what an access costs.
    Memory,
    /// What threads of a warp, a block and a grid can do together.
    Cooperation,
    /// The sums of all elements up to each.
    Scans,
    /// Reductions to something else than one sum, and of many rows, columns and segments at once.
    Shapes,
    /// Counting the colours of a real image.
    Histogram,
    /// Steps of the ladder for other operators and types, through generic bodies.
    Operators,
}

impl Part {
    /// All parts in reading order.
    pub const ALL: [Self; 10] = [
        Self::Ladder,
        Self::Roads,
        Self::Nested,
        Self::Divergence,
        Self::Memory,
        Self::Cooperation,
        Self::Scans,
        Self::Shapes,
        Self::Histogram,
        Self::Operators,
    ];

    /// Its heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Ladder => "The ladder",
            Self::Roads => "Other roads to the same sum",
            Self::Nested => "Nested reduction",
            Self::Divergence => "Divergence",
            Self::Memory => "Memory access",
            Self::Cooperation => "Cooperation",
            Self::Scans => "Scans",
            Self::Shapes => "Every shape",
            Self::Histogram => "A histogram",
            Self::Operators => "Operators and types",
        }
    }

    /// What the heading of each of its pages begins with, before the number.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Ladder => "Step",
            Self::Roads => "Other roads",
            Self::Nested => "Nested",
            Self::Divergence => "Divergence",
            Self::Memory => "Memory access",
            Self::Cooperation => "Cooperation",
            Self::Scans => "Scans",
            Self::Shapes => "Shapes",
            Self::Histogram => "Histogram",
            Self::Operators => "Operators and types",
        }
    }

    /// Its folder in `kernels/src`. The names of its pages begin with the folder's first letter.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Ladder => "ladder",
            Self::Roads => "roads",
            Self::Nested => "nested",
            Self::Divergence => "divergence",
            Self::Memory => "memory",
            Self::Cooperation => "cooperation",
            Self::Scans => "scans",
            Self::Shapes => "shapes",
            Self::Histogram => "histogram",
            Self::Operators => "operators",
        }
    }

    /// What its reader learns, in one line.
    pub const fn learn(self) -> &'static str {
        match self {
            Self::Ladder => {
                "from the obvious tree to the speed of the memory: divergence, coalescing, unrolling, shared memory, shuffles"
            }
            Self::Roads => {
                "atomics, one-block trees, segments, coarsening, tiles of threads, a barrier for the whole grid"
            }
            Self::Nested => {
                "dynamic parallelism: what a launch from the device costs, and who waits for whom"
            }
            Self::Divergence => "what a branch costs a warp, and 64-bit sizes",
            Self::Memory => {
                "sectors, strides and bank conflicts: the same bytes at very different prices"
            }
            Self::Cooperation => {
                "barriers that count, votes, fences, locks, atomic operations, and the lanes that are here as a group"
            }
            Self::Scans => {
                "the sums of all that comes before: of a warp, of a block, and of any length in one pass over the memory"
            }
            Self::Shapes => {
                "places, means and variances instead of sums; rows, columns, segments and runs of a key, each at the speed of the memory"
            }
            Self::Histogram => "atomics that collide, and the private copy that keeps them apart",
            Self::Operators => {
                "one generic body for sums, products, minima and maxima of every type, at no cost"
            }
        }
    }

    /// The parts that it builds on.
    pub const fn needs(self) -> &'static [Self] {
        match self {
            Self::Ladder => &[],
            Self::Roads | Self::Nested | Self::Divergence | Self::Memory | Self::Operators => {
                &[Self::Ladder]
            }
            Self::Cooperation => &[Self::Ladder, Self::Roads],
            Self::Scans => &[Self::Roads, Self::Cooperation],
            Self::Shapes => &[Self::Memory, Self::Scans],
            Self::Histogram => &[Self::Memory, Self::Cooperation],
        }
    }

    /// The PTX text that its kernels are in, but for those of lessons that say otherwise.
    pub(crate) const fn module(self) -> PtxText {
        match self {
            Self::Nested => PtxText::Nested,
            Self::Operators => PtxText::Operators,
            Self::Ladder
            | Self::Roads
            | Self::Divergence
            | Self::Memory
            | Self::Cooperation
            | Self::Scans
            | Self::Shapes
            | Self::Histogram => PtxText::Kernels,
        }
    }
}

/// A PTX text of the course: kernels that are compiled and loaded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PtxText {
    /// All that needs nothing special.
    Kernels,
    /// What launches grids itself, which a GPU's driver has to link with the device runtime.
    Nested,
    /// The generic bodies, of which there is one entry for every operator and type.
    Operators,
    /// What takes a later version of PTX than the others, and so a newer driver.
    Recent,
}

impl PtxText {
    /// All texts.
    pub const ALL: [Self; 4] = [Self::Kernels, Self::Nested, Self::Operators, Self::Recent];

    /// Its name: of the feature of this crate that compiles it, and of its PTX files: `kernels.sm_80.ptx`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::Nested => "nested",
            Self::Operators => "operators",
            Self::Recent => "recent",
        }
    }

    /// The version of PTX, as in 63 for 6.3, that it is written in for this compute capability, where that is a later one than
    /// the other texts' for the same.
    pub const fn ptx_version(self, sm: u32) -> Option<u32> {
        match (self, sm) {
            // Adding f16, and swapping 16 bits.
            (Self::Recent, 70) => Some(63),
            // Swapping 128 bits.
            (Self::Recent, 90) => Some(83),
            _ => None,
        }
    }
}
