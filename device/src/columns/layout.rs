//! How blocks and their threads lie over a matrix: how many there are of each, and what a thread loads at once.

use crate::lanes::WARP_SIZE;
use crate::operator::Operator;
use crate::vector::Loaded;

/// Rows that a thread loads from before it uses the first vector; twice as many where one block has all rows of a strip and states are small.
pub(super) const LOADS: usize = 4;
/// The most blocks of a grid that shares strips, in numbers of those that run at once.
const MOST_ROUNDS: usize = 4;
/// States of other blocks that a thread loads before it uses the first, of up to 8 bytes, and of more.
pub(super) const SMALL_STATES: usize = 16;
pub(super) const LARGE_STATES: usize = 8;
/// Bytes of vectors.
pub(super) const BYTES: usize = 16;
/// Bytes of shared memory for the states of a block.
const STAGE_BYTES: usize = 32 << 10;

/// The most threads of a block, a multiple of 32: as many as have room for their states in 32 KiB of shared memory, up to 256.
pub const fn most_threads<T: Loaded, O: Operator<T>>() -> u32 {
    let bytes = T::LANES * size_of::<O::State>();
    let threads = match STAGE_BYTES.checked_div(bytes) {
        Some(threads) => threads,
        None => 256,
    };
    if threads >= 256 {
        256
    } else {
        threads as u32 / 32 * 32
    }
}

/// Blocks that are to fit on a multiprocessor, which leaves a thread 80 registers; 255 where its states alone would
/// take most of those.
///
/// As many blocks, on each multiprocessor, are a good grid.
pub const fn resident<T: Loaded, O: Operator<T>>() -> u32 {
    if T::LANES * size_of::<O::State>() <= 64 {
        768 / most_threads::<T, O>()
    } else {
        256 / most_threads::<T, O>()
    }
}

/// Whether the states of a thread take no more room than a vector. It then loads from twice as many rows at once, where one block has all of a strip.
pub const fn are_small<T: Loaded, O: Operator<T>>() -> bool {
    T::LANES * size_of::<O::State>() <= BYTES
}

/// The states that a block of [`most_threads`] has room for.
pub const fn stage_length<T: Loaded, O: Operator<T>>() -> usize {
    most_threads::<T, O>() as usize * T::LANES
}

/// How the blocks and their threads lie over a matrix.
///
/// A block has `width` threads side by side, and as many such rows of threads as fit into it. They cover a strip of columns, one vector
/// wide for each thread; `slices` blocks share the rows of a strip, and the last of them to come finishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many threads of a block are side by side.
    pub width: u32,
    /// How many rows are taken as one: 1, or more where rows lie side by side.
    pub fold: u32,
    /// How many blocks share a strip.
    pub slices: u32,
}

impl Layout {
    /// The layout for a matrix of vectors of `lanes` values: blocks of `block` threads, at least 32, and about as many of them as
    /// `blocks` if the strips are fewer. States are small or not: see [`are_small`].
    pub fn new(
        lanes: usize,
        rows: usize,
        columns: usize,
        stride: usize,
        block: u32,
        blocks: u32,
        are_small: bool,
    ) -> Self {
        let (block, most) = (block as usize, block as usize * lanes);
        // As many rows as make whole vectors.
        let mut unit = lanes;
        while unit > 1 && (unit / 2 * columns).is_multiple_of(lanes) {
            unit /= 2;
        }
        let folded = if stride == columns && columns > 0 {
            most / columns / unit * unit
        } else {
            0
        };
        // Whole vectors of single rows are as good, and leave no threads over.
        let fold = if folded > 1 && (unit > 1 || columns < 32 * lanes) {
            folded
        } else {
            1
        };
        let vectors = columns.div_ceil(lanes);
        let blocks = blocks.max(1) as usize;
        let shared = |strips: usize, width: usize| Shared {
            strips,
            lines: rows.div_ceil(fold).div_ceil(block / width),
            states: if fold > 1 { columns } else { width * lanes },
            are_small,
            block,
            blocks,
        };
        let (width, slices) = if fold > 1 {
            let width = fold * columns / lanes;
            (width, shared(1, width).slices().0)
        } else {
            let mut width = block.min(32);
            // Few rows need no more rows of threads.
            while 2 * width <= block && block / width > rows {
                width *= 2;
            }
            let mut best = (width, 1);
            let mut least = f64::INFINITY;
            loop {
                let (slices, time) = shared(vectors.div_ceil(width), width).slices();
                if time < least {
                    (best, least) = ((width, slices), time);
                }
                if 2 * width > block || width >= vectors {
                    break best;
                }
                width *= 2;
            }
        };
        Self {
            width: width as u32,
            fold: fold as u32,
            slices: slices as u32,
        }
    }

    /// Columns of a strip; of a folded matrix, those of all rows that are taken as one.
    pub const fn span(self, lanes: usize) -> usize {
        self.width as usize * lanes
    }

    /// The number of strips.
    pub const fn strips(self, lanes: usize, columns: usize) -> usize {
        if self.fold > 1 {
            1
        } else {
            columns.div_ceil(self.span(lanes))
        }
    }

    /// The number of blocks of `block` threads.
    pub const fn grid(
        self,
        lanes: usize,
        rows: usize,
        columns: usize,
        stride: usize,
        block: u32,
    ) -> usize {
        let strips = self.strips(lanes, columns) * self.slices as usize;
        if self.takes_few_rows(lanes, rows, stride, block) {
            strips.div_ceil(vectors_of_few(lanes, rows))
        } else {
            strips
        }
    }

    /// Whether there are so few rows, one to three, that they are taken side by side.
    #[inline(always)]
    pub(super) const fn takes_few_rows(
        self,
        lanes: usize,
        rows: usize,
        stride: usize,
        block: u32,
    ) -> bool {
        lanes > 1
            && rows > 0
            && rows < LOADS
            && self.width == block
            && block.is_multiple_of(WARP_SIZE)
            && self.fold == 1
            && (rows == 1 || stride.is_multiple_of(lanes))
    }

    /// How many states the blocks hand to each other, in global memory.
    pub const fn states(self, lanes: usize, columns: usize) -> usize {
        if self.slices > 1 {
            self.strips(lanes, columns) * self.slices as usize * self.span(lanes)
        } else {
            0
        }
    }
}

/// Strips that blocks share.
#[derive(Clone, Copy)]
struct Shared {
    strips: usize,
    /// Vectors that a thread loads where a strip has one block.
    lines: usize,
    /// The columns of a strip, each of which has a state in the end.
    states: usize,
    /// Whether they are small: see [`are_small`].
    are_small: bool,
    /// Threads of a block.
    block: usize,
    /// The blocks that run at once.
    blocks: usize,
}

impl Shared {
    /// How many blocks share a strip, those with which the last to end ends first, and when that is.
    fn slices(self) -> (usize, f64) {
        if self.strips == 0 {
            return (1, 0.0);
        }
        // Each thread is to have vectors enough to load several at once, and most blocks are to run at once.
        let of_lines = self.lines.div_ceil(LOADS);
        let of_blocks = MOST_ROUNDS * self.blocks / self.strips;
        let most = of_lines.min(of_blocks);
        let (mut best, mut least) = (1, self.time(1));
        let mut count = 2;
        while count <= most {
            let time = self.time(count);
            if time < least {
                (best, least) = (count, time);
            }
            count += 1 + count / 64;
        }
        (best, least)
    }

    /// When the last thread ends, where this many blocks share a strip. The unit is the time in which memory brings [`LOADS`] vectors to each
    /// thread of all blocks that run at once: 2.2 µs on an H100. The numbers were fitted to 4476 launches there, of sums, variances and
    /// argmax of 8 MiB to 1 GiB; those of more blocks than run at once to sums of 1 GiB on an H200 and an H100.
    fn time(self, slices: usize) -> f64 {
        /// Of a thread that waits for its vectors while memory has little to do.
        const WAIT: f64 = 0.38;
        /// What blocks that share a strip need to meet.
        const MEETING: f64 = 1.4;
        /// Of a thread that loads a state of each strip that it has a part of, [`LARGE_STATES`] at once.
        const STATES: f64 = 0.2;
        /// Of each vector that is loaded alone, since it is one of fewer than [`LOADS`] that are left.
        const ALONE: f64 = 0.05;
        /// The end, when fewer blocks run than could, as a share of the time that one block takes.
        const END: f64 = 0.055;
        /// Of a block that begins where another has ended: with small states, and with larger ones.
        const BEGIN: [f64; 2] = [0.18, 1.0];

        let lines = self.lines.div_ceil(slices);
        let (at_once, alone) = (lines / LOADS, lines % LOADS);
        let grid = self.strips * slices;
        let share = grid as f64 / self.blocks as f64;
        let of_memory = (self.lines * self.strips) as f64 / (LOADS as f64 * self.blocks as f64);
        let time = if grid <= self.blocks {
            // Memory that few blocks ask is not as fast.
            let few = (0.65 - share).max(0.0);
            let of_memory = of_memory * (1.0 + 0.055 * (1.0 - share) + few * few);
            let of_thread = (at_once + alone) as f64 * WAIT;
            of_memory.max(of_thread)
        } else {
            let rounds = grid.div_ceil(self.blocks) as f64;
            of_memory * (1.0 + END / share) + BEGIN[usize::from(!self.are_small)] * rounds
        };
        if slices == 1 {
            return time;
        }
        let states = (slices * self.states) as f64 / (LARGE_STATES * self.block) as f64;
        time + MEETING + STATES * states + ALONE * alone as f64
    }
}

/// Vectors of each row that a thread loads before it uses the first, where it has so few rows whole. Vectors of 16 small values are loaded
/// one at a time: the code for each is long. Of one row this only says how large the grid is.
pub(super) const fn vectors_of_few(lanes: usize, rows: usize) -> usize {
    if lanes > 8 { 1 } else { LOADS / rows }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    /// The layout for columns of `f32` on a GPU that runs 396 blocks of 256 threads at once.
    fn layout(rows: usize, columns: usize) -> Layout {
        Layout::new(4, rows, columns, columns, 256, 396, true)
    }

    /// A block that begins takes longer if its states are large, so that fewer do.
    #[test]
    fn blocks_with_large_states_are_fewer() {
        for (rows, columns, width) in [(8, 20, 256), (9, 19, 128), (10, 18, 256)] {
            let (rows, columns) = (1 << rows, 1 << columns);
            let large = Layout::new(4, rows, columns, columns, 256, 396, false);
            assert_eq!(
                (large.width, large.slices),
                (width, 1),
                "{rows} × {columns}"
            );
            assert!(layout(rows, columns).width < width, "{rows} × {columns}");
        }
    }

    /// Few columns are shared by blocks as soon as each thread has a few vectors, and by no more than have some.
    #[test]
    fn few_columns_are_shared_however_few_rows_there_are() {
        for (rows, columns) in [
            (4096, 256),
            (1 << 14, 64),
            (1 << 16, 16),
            (1 << 18, 4),
            (1 << 20, 1),
        ] {
            let layout = layout(rows, columns);
            let blocks = layout.grid(4, rows, columns, columns, 256);
            assert!(
                (32..=256).contains(&blocks),
                "{rows} × {columns}: {layout:?}"
            );
        }
        assert_eq!(layout(64, 16).slices, 1);
        assert_eq!(layout(0, 16).slices, 1);
    }

    /// Of each shape, rows and columns as powers of two, a launch on an H100 that took at most 1.4 % longer for sums than the fastest that was
    /// measured: its width and its slices.
    #[test]
    fn what_was_measured_as_fast_is_chosen() {
        for (rows, columns, width, slices) in [
            (4, 24, 256, 1),
            (6, 22, 256, 1),
            (8, 20, 128, 1),
            (9, 19, 64, 1),
            (10, 18, 32, 1),
            (11, 17, 256, 3),
            (12, 16, 128, 3),
            (13, 15, 64, 3),
            (14, 14, 32, 3),
            (15, 13, 32, 6),
            (6, 18, 256, 1),
            (8, 16, 64, 1),
            (4, 17, 128, 1),
            (8, 13, 32, 4),
            (12, 9, 32, 32),
        ] {
            let layout = layout(1 << rows, 1 << columns);
            let expected = Layout {
                width,
                fold: 1,
                slices,
            };
            assert_eq!(layout, expected, "2^{rows} × 2^{columns}");
        }
    }

    /// Many rows get about as many blocks as run at once, and none that wait for others to end.
    #[test]
    fn the_gpu_is_full_where_there_is_enough_to_do() {
        for bits in [14, 16, 18, 20, 22, 24, 26] {
            let (rows, columns) = (1 << bits, 1 << (28 - bits));
            let layout = layout(rows, columns);
            let blocks = layout.grid(4, rows, columns, columns, 256);
            assert!(
                (330..=396).contains(&blocks),
                "{rows} × {columns}: {layout:?}, {blocks}"
            );
        }
    }
}
