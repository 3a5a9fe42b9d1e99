//! What tables of measurements say of rows and columns.

/// How the rows or the columns of a matrix are shared out. The numbers of blocks are for a GPU with [`MULTIPROCESSORS`]; others have as many
/// in proportion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By warps, through shared memory.
    Packed {
        /// Threads of a block.
        block: u32,
        /// The most blocks.
        blocks: u32,
    },
    /// Each by this many lanes of a warp.
    Lanes {
        /// The lanes.
        lanes: u32,
        /// The most blocks.
        blocks: u32,
    },
    /// Each by a block.
    Whole {
        /// Threads of a block.
        block: u32,
    },
    /// Each by several blocks, with this many in all.
    Shared {
        /// Threads of a block.
        block: u32,
        /// The blocks in all.
        blocks: u32,
    },
    /// Columns, in strips of blocks.
    Columns {
        /// About how many threads of a block are side by side: see [`Layout::new`](warpfold_device::columns::Layout::new).
        width: u32,
        /// About how many blocks there are in all, of [`THREADS_OF_COLUMNS`]; smaller ones are more.
        blocks: u32,
    },
}

/// A choice counts the blocks for a GPU with this many multiprocessors.
pub const MULTIPROCESSORS: u32 = 132;

/// A choice counts the blocks for columns as if each had this many threads.
pub const THREADS_OF_COLUMNS: u32 = 256;

/// What was measured of matrices of 2^m bytes, by m: for rows of 2^n bytes at least, by n, the fastest way.
pub type Shapes = &'static [(u32, &'static [(u32, Choice)])];

/// The properties of a GPU that a launch depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// The most that its memory transfers, where that is known.
    pub bytes_per_second: Option<f64>,
}

/// What was measured on a GPU.
pub struct Tuned {
    /// The GPU.
    pub gpu: Gpu,
    /// A table for each kind of work and each size of a value.
    pub measured: &'static [Measured],
}

/// What an operator does with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It takes it into one accumulator of 32 or 64 bits, no larger than two values of 32 bits.
    Little,
    /// It keeps it, and where it is, or drops it.
    Place,
    /// It has more to keep.
    Much,
    /// It takes pairs of values of two arrays into one accumulator: measured as a single row of as many bytes.
    Pairs,
}

impl Work {
    /// What stands for it on a GPU where it has not been measured by itself.
    fn most_alike(self) -> Option<Self> {
        match self {
            Self::Place => Some(Self::Much),
            Self::Pairs => Some(Self::Little),
            Self::Little | Self::Much => None,
        }
    }
}

/// What was measured of an operator that does this much work, over values of this many bytes.
pub struct Measured {
    pub work: Work,
    pub value_bytes: usize,
    /// Of rows; of pairs there are none.
    pub rows: Shapes,
    /// Of rows side by side whose bytes are no power of two, by those of 3/2 · 2^n bytes and a value, where they have been measured.
    pub odd_rows: Shapes,
    /// Of columns, where they have been measured.
    pub columns: Shapes,
    /// For a single row of 2^n bytes at least: threads of a block, and blocks.
    pub single: &'static [(u32, u32, u32)],
}

/// The last line of a table that is for at most this many bytes.
pub fn line_of<L: Copy>(table: &[L], bytes: usize, exponent: impl Fn(&L) -> u32) -> L {
    let of_bytes = bytes.max(1).ilog2();
    let after = table.partition_point(|line| exponent(line) <= of_bytes);
    table[after.saturating_sub(1)]
}

impl Gpu {
    /// How far apart the speeds of two GPUs' memories are, for each multiprocessor, in powers of two; 0 where one is not known.
    fn distance(self, other: Self) -> f64 {
        let per_second = |gpu: Self| Some(gpu.bytes_per_second? / f64::from(gpu.multiprocessors));
        match (per_second(self), per_second(other)) {
            (Some(own), Some(others)) => (own / others).log2().abs(),
            _ => 0.0,
        }
    }
}

/// What was measured of this much work, over values of about this many bytes, on each GPU.
fn measured(
    tuned: &'static [Tuned],
    work: Work,
    value_bytes: usize,
) -> impl Iterator<Item = (Gpu, &'static Measured)> {
    tuned.iter().filter_map(move |tuned| {
        let nearest_of = |work| {
            let of_work = (tuned.measured.iter()).filter(|measured| measured.work == work);
            of_work.min_by_key(|measured| measured.value_bytes.abs_diff(value_bytes))
        };
        let nearest = nearest_of(work).or_else(|| nearest_of(work.most_alike()?))?;
        Some((tuned.gpu, nearest))
    })
}

/// The item with the least distance.
fn nearest<T>(items: impl Iterator<Item = (f64, T)>) -> T {
    let nearest = items.min_by(|left, right| left.0.total_cmp(&right.0));
    nearest.expect("each work has been measured").1
}

/// The fastest ways for matrices of this many bytes, by the length of a row, in these tables. They were measured with about as many bytes for
/// each multiprocessor, on a GPU whose memory is about as fast.
pub fn of_shape(
    tuned: &'static [Tuned],
    (work, value_bytes): (Work, usize),
    shapes: impl Fn(&Measured) -> Shapes,
    all_bytes: usize,
    gpu: Gpu,
) -> &'static [(u32, Choice)] {
    let bits = |bytes: f64, gpu: Gpu| bytes.log2() - f64::from(gpu.multiprocessors).log2();
    let wanted = bits(all_bytes.max(1) as f64, gpu);
    nearest(
        measured(tuned, work, value_bytes).flat_map(|(on, measured)| {
            let tables = shapes(measured).iter();
            tables.map(move |&(of, table)| {
                let distance = (bits(f64::from(of).exp2(), on) - wanted).abs();
                (distance + gpu.distance(on), table)
            })
        }),
    )
}

/// For a single row of this many bytes: threads of a block, and blocks. They were measured on the GPU whose memory is closest in speed.
pub fn of_single(
    tuned: &'static [Tuned],
    (work, value_bytes): (Work, usize),
    bytes: usize,
    gpu: Gpu,
) -> (u32, u32) {
    let all = measured(tuned, work, value_bytes);
    let measured = nearest(all.map(|(on, measured)| (gpu.distance(on), measured)));
    let (_, block, blocks) = line_of(measured.single, bytes, |line| line.0);
    (block, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn gpu(multiprocessors: u32, bytes_per_second: f64) -> Gpu {
        Gpu {
            multiprocessors,
            bytes_per_second: Some(bytes_per_second),
        }
    }

    const fn whole(block: u32) -> &'static [(u32, Choice)] {
        match block {
            128 => &[(2, Choice::Whole { block: 128 })],
            256 => &[(2, Choice::Whole { block: 256 })],
            _ => &[(2, Choice::Whole { block: 512 })],
        }
    }

    /// A GPU that was measured with two numbers of bytes, and one with faster memory and the larger of them alone.
    const TUNED: &[Tuned] = &[
        Tuned {
            gpu: gpu(100, 3e12),
            measured: &[Measured {
                work: Work::Little,
                value_bytes: 4,
                rows: &[(20, whole(128)), (30, whole(256))],
                odd_rows: &[],
                columns: &[],
                single: &[(2, 128, 1), (20, 128, 100)],
            }],
        },
        Tuned {
            gpu: gpu(100, 6e12),
            measured: &[Measured {
                work: Work::Little,
                value_bytes: 4,
                rows: &[(30, whole(512))],
                odd_rows: &[],
                columns: &[(30, whole(512))],
                single: &[(2, 512, 1)],
            }],
        },
    ];
    const SUM: (Work, usize) = (Work::Little, 4);

    #[test]
    fn a_gpu_gets_what_was_measured_of_as_many_bytes_on_one_like_it() {
        let of = |all_bytes, gpu| of_shape(TUNED, SUM, |of| of.rows, all_bytes, gpu);
        assert_eq!(of(1 << 30, gpu(100, 3e12)), whole(256));
        assert_eq!(of(1 << 30, gpu(100, 5.9e12)), whole(512));
        // The GPU like it was measured with many bytes alone. The other one was measured with as few.
        assert_eq!(of(1 << 20, gpu(100, 6e12)), whole(128));
        assert_eq!(of(1 << 24, gpu(100, 3e12)), whole(128));
        assert_eq!(of(1 << 26, gpu(100, 3e12)), whole(256));
        // Half as many multiprocessors have as much to do with half the bytes, and their memory is as fast for each.
        assert_eq!(of(1 << 29, gpu(50, 3e12)), whole(512));
        assert_eq!(of(0, gpu(50, 3e12)), whole(128));
        let unknown = Gpu {
            multiprocessors: 100,
            bytes_per_second: None,
        };
        assert_eq!(of(1 << 30, unknown), whole(256));
        // Columns were not measured on the GPU that is like it.
        let of_columns = of_shape(TUNED, SUM, |of| of.columns, 1 << 20, gpu(100, 3e12));
        assert_eq!(of_columns, whole(512));
    }

    #[test]
    fn a_single_row_is_shared_as_on_the_gpu_that_is_most_alike() {
        let of = |bytes, gpu| of_single(TUNED, SUM, bytes, gpu);
        assert_eq!(of(1 << 19, gpu(10, 3e11)), (128, 1));
        assert_eq!(of(1 << 20, gpu(10, 3e11)), (128, 100));
        assert_eq!(of(1 << 25, gpu(10, 7e11)), (512, 1));
        assert_eq!(of(1 << 20, gpu(10, 7e11)), (512, 1));
        // Pairs have not been measured by themselves.
        assert_eq!(
            of_single(TUNED, (Work::Pairs, 4), 1 << 20, gpu(10, 3e11)),
            (128, 100)
        );
    }
}
