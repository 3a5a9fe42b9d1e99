//! How blocks and their threads lie over a matrix: how many there are of each, and what a thread loads at once.

use crate::lanes::WARP_SIZE;
use crate::operator::Operator;
use crate::vector::Loaded;

/// Rows that a thread loads from before it uses the first vector; of those that are left, half as many. A matrix of as many rows or fewer is taken
/// side by side.
pub const LOADS: usize = 4;
/// As many where no other block has a part of the strip and its states are light: see [`are_light`]. And always where there are short states:
/// for these are most of the instructions, so that it matters less who else has rows of the strip. Of those that are left a thread then takes one
/// by one.
pub(super) const MANY_LOADS: usize = 8;
/// States of other blocks that a thread loads before it uses the first, of up to 8 bytes, and of more.
pub(super) const SMALL_STATES: usize = 16;
pub(super) const LARGE_STATES: usize = 8;
/// Bytes of vectors.
pub(super) const BYTES: usize = 16;
/// The most values that a vector has.
pub(super) const MOST_LANES: usize = 16;
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
/// take most of those. Short states take few while rows are loaded. What follows, with 16 states, has 128.
pub const fn resident<T: Loaded, O: Operator<T>>() -> u32 {
    let has_shorts = O::VALUES_OF_SHORT > 0;
    let threads = if T::LANES * size_of::<O::State>() <= 64 || (has_shorts && T::LANES < 16) {
        768
    } else if has_shorts {
        512
    } else {
        256
    };
    threads / most_threads::<T, O>()
}

/// Whether the values of [`MANY_LOADS`] vectors and the states fit into the registers of a thread, of which it has 80. They do if the states are
/// small, or are replaced by a better value and not computed: on an H200 argmax of 4096 rows of 65536 `f32` took 252 µs instead of 261. Variances
/// are not light: by eight rows at once they took up to 17 % longer, of 16 rows.
pub(super) const fn are_light<T: Loaded, O: Operator<T>>() -> bool {
    let bytes = T::LANES * size_of::<O::State>();
    bytes <= 2 * BYTES || (O::PICKS_VALUES && bytes <= 4 * BYTES)
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
    /// The layout for a matrix of vectors of `lanes` values, by blocks of `block` threads, which is at least 32: strips of about `width` threads,
    /// a power of two, and about as many blocks in all as `blocks` if the strips are fewer.
    ///
    /// A strip is no wider than the matrix needs, but has at least 32 threads, and so many that each row of threads has a row of values. No more
    /// blocks share a strip than leave each thread [`LOADS`] vectors. Where rows lie side by side, as many as fit are taken as one. Otherwise a
    /// strip of [`LOADS`] rows or fewer is as wide as a block.
    pub fn new(
        lanes: usize,
        (rows, columns, stride): (usize, usize, usize),
        block: u32,
        width: u32,
        blocks: usize,
    ) -> Self {
        let fold = Self::fold(lanes, columns, stride, block);
        let vectors = columns.div_ceil(lanes);
        let width = if fold > 1 {
            (fold * columns / lanes) as u32
        } else if rows <= LOADS {
            block
        } else {
            let needed = u32::next_power_of_two(vectors.min(block as usize) as u32);
            let of_few_rows = u32::next_power_of_two((block as usize / rows) as u32);
            width.min(needed).max(32).max(of_few_rows).min(block)
        };
        let layout = Self {
            width,
            fold: fold as u32,
            slices: 1,
        };
        let lines = rows.div_ceil(fold).div_ceil((block / width) as usize);
        let strips = layout.strips(lanes, columns).max(1);
        let slices = (blocks + strips / 2) / strips;
        Self {
            slices: slices.clamp(1, lines.div_ceil(LOADS).max(1)) as u32,
            ..layout
        }
    }

    /// How many rows are taken as one.
    fn fold(lanes: usize, columns: usize, stride: usize, block: u32) -> usize {
        if stride != columns || columns == 0 {
            return 1;
        }
        // As many rows as make whole vectors.
        let mut unit = lanes;
        while unit > 1 && (unit / 2 * columns).is_multiple_of(lanes) {
            unit /= 2;
        }
        let fold = block as usize * lanes / columns / unit * unit;
        // Whole vectors of single rows are as good, and leave no threads over.
        if fold > 1 && (unit > 1 || columns < 32 * lanes) {
            fold
        } else {
            1
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

    /// Whether there are so few rows, at most [`LOADS`], that they are taken side by side.
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
            && rows <= LOADS
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

/// Vectors of each row that a thread loads before it uses the first, where it has so few rows whole. With four of two rows, argmax of `f32` took
/// nearly twice as long on an H200. Vectors of 16 small values are loaded one at a time: the code for each is long. Of one row this only
/// says how large the grid is.
pub(super) const fn vectors_of_few(lanes: usize, rows: usize) -> usize {
    match (lanes, rows) {
        (16.., _) => 1,
        (_, 1) => LOADS,
        _ => 2,
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    /// The layout for columns of `f32` that lie side by side, by blocks of 256 threads.
    fn layout(rows: usize, columns: usize, width: u32, blocks: usize) -> (u32, u32, u32) {
        let layout = Layout::new(4, (rows, columns, columns), 256, width, blocks);
        (layout.width, layout.fold, layout.slices)
    }

    #[test]
    fn strips_and_blocks_are_those_that_are_wanted() {
        assert_eq!(layout(1 << 12, 1 << 16, 128, 384), (128, 1, 3));
        assert_eq!(layout(1 << 14, 1 << 14, 32, 384), (32, 1, 3));
        assert_eq!(layout(1 << 18, 1 << 10, 32, 384), (32, 1, 48));
        assert_eq!(layout(1 << 8, 1 << 20, 256, 1), (256, 1, 1));
    }

    #[test]
    fn no_thread_is_without_work() {
        // Not wider than the matrix, and wider where there are few rows.
        assert_eq!(layout(1 << 16, 1 << 8, 256, 1), (64, 1, 1));
        assert_eq!(layout(5, 1 << 20, 32, 1), (64, 1, 1));
        // 256 rows by 8 rows of threads are 32 vectors for each, which eight blocks share by four.
        assert_eq!(layout(1 << 8, 1 << 7, 32, 1000), (32, 1, 8));
        assert_eq!(layout(64, 16, 32, 1000), (256, 64, 1));
        assert_eq!(layout(0, 16, 32, 1000), (256, 64, 1));
    }

    #[test]
    fn rows_side_by_side_are_taken_as_one() {
        assert_eq!(layout(1 << 20, 1, 32, 128), (256, 1024, 128));
        assert_eq!(layout(1 << 20, 3, 32, 128), (255, 340, 128));
        assert_eq!(layout(1 << 20, 128, 32, 128), (32, 1, 128));
        assert_eq!(layout(1 << 20, 129, 32, 128), (129, 4, 128));
        let apart = Layout::new(4, (1 << 20, 3, 4), 256, 32, 128);
        assert_eq!((apart.width, apart.fold), (32, 1));
    }

    #[test]
    fn few_rows_have_strips_as_wide_as_a_block() {
        for rows in 1..=LOADS {
            assert_eq!(layout(rows, 1 << 20, 32, 10_000), (256, 1, 1));
            let layout = Layout::new(4, (rows, 1 << 20, 1 << 20), 256, 32, 1);
            let blocks = layout.grid(4, rows, 1 << 20, 1 << 20, 256);
            assert_eq!(blocks, if rows == 1 { 256 } else { 512 });
        }
    }
}
