//! How blocks and their threads lie over a matrix: how many there are of each, and what a thread loads at once.

use crate::lanes::WARP_SIZE;
use crate::operator::Operator;
use crate::vector::Loaded;

/// Rows that a thread loads from before it uses the first vector; of those that are left, all. A matrix of as many rows or fewer is taken side by
/// side.
pub const LOADS: usize = 4;
/// As many where states are light: see [`are_light`]. And always where there are short states.
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

/// Bytes that a thread keeps for each column: of a state, or of a short one.
const fn bytes_kept<T, O: Operator<T>>() -> usize {
    if O::VALUES_OF_SHORT > 0 {
        let holds_words = size_of::<O::State>() > 0 && align_of::<O::State>() >= align_of::<u32>();
        assert!(holds_words, "short states lie where states do");
        size_of::<u32>()
    } else {
        size_of::<O::State>()
    }
}

/// The most threads of a block, a multiple of 32: as many as have room for what they keep in 32 KiB of shared memory, up to 256.
pub const fn most_threads<T: Loaded, O: Operator<T>>() -> u32 {
    let bytes = T::LANES * bytes_kept::<T, O>();
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

/// Blocks that are to fit on a multiprocessor. They leave a thread 80 registers, or 128 where a vector has 16 values, since what becomes of eight
/// vectors at once takes more, or where states are large. Without a bound a compiler takes some more than 128, and half as many blocks fit: on an
/// H200 that cost `minmax` of 2^30 `i8` nearly a third of its speed.
pub const fn resident<T: Loaded, O: Operator<T>>() -> u32 {
    let threads = match T::LANES * bytes_kept::<T, O>() {
        0..=96 if T::LANES < MOST_LANES => 768,
        _ => 512,
    };
    threads / most_threads::<T, O>()
}

/// How large the blocks are that reduce columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The threads of one, at most [`most_threads`].
    pub threads: u32,
    /// Its most rows: as many as values fit into a [short state](Operator::VALUES_OF_SHORT), at least the values of two vectors for each thread; without
    /// short states, [`usize::MAX`].
    pub rows: usize,
    /// How many fit on a multiprocessor.
    pub resident: u32,
}

impl Limits {
    /// That of an operator over a type.
    pub const fn of<T: Loaded, O: Operator<T>>() -> Self {
        Self {
            threads: most_threads::<T, O>(),
            rows: match O::VALUES_OF_SHORT {
                0 => usize::MAX,
                values => {
                    let at_once = most_threads::<T, O>() as usize * T::LANES;
                    let values = values as usize;
                    assert!(values >= 2 * at_once, "a short state has too little room");
                    values
                }
            },
            resident: resident::<T, O>(),
        }
    }
}

/// Whether the values of [`MANY_LOADS`] vectors and the states fit into the registers of a thread, of which it has 80. They do if the states are
/// small, or are replaced by a better value and not computed: on an H200 argmax of 4096 rows of 65536 `f32` took 252 µs instead of 261. Variances
/// are not light: by eight rows at once they took up to 17 % longer, of 16 rows. Blocks that share strips are slower with as many, on an H200 by
/// 0.7 % for 4096 rows of 65536 `f32`; but not of values of a byte, whose threads have more registers and fewer of them run at once: sums of as
/// many `i8` took 77 µs instead of 80.
pub(super) const fn are_light<T: Loaded, O: Operator<T>>(is_alone: bool) -> bool {
    let bytes = T::LANES * size_of::<O::State>();
    let is_of_bytes = T::LANES == MOST_LANES && bytes <= 4 * BYTES;
    is_of_bytes || is_alone && (bytes <= 2 * BYTES || (O::PICKS_VALUES && bytes <= 4 * BYTES))
}

/// States in shared memory: as many as have room for what a block of [`most_threads`] keeps, and for one of each thread.
pub const fn stage_length<T: Loaded, O: Operator<T>>() -> usize {
    let threads = most_threads::<T, O>() as usize;
    let bytes = threads * T::LANES * bytes_kept::<T, O>();
    match size_of::<O::State>() {
        0 => 0,
        state if bytes < threads * state => threads,
        state => bytes.div_ceil(state),
    }
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
    /// The layout for a matrix of vectors of `lanes` values, by blocks within these limits, of at least 32 threads: strips of about `width` threads,
    /// a power of two, and about as many blocks in all as `blocks` if the strips are fewer: rounded to the nearest, but up only as far as all of them
    /// run `at_once`.
    ///
    /// A strip is no wider than the matrix needs, but so wide that each row of threads has a row of values. No more blocks share a strip than
    /// leave each thread [`LOADS`] vectors, unless one would have too many rows. Where rows lie side by side, as many as fit are taken as one. Otherwise a
    /// strip of [`LOADS`] rows or fewer is as wide as a block.
    pub fn new(
        lanes: usize,
        (rows, columns, stride): (usize, usize, usize),
        Limits {
            threads: block,
            rows: most_rows,
            ..
        }: Limits,
        width: u32,
        (blocks, at_once): (usize, usize),
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
            width.min(needed).max(of_few_rows).min(block)
        };
        let layout = Self {
            width,
            fold: fold as u32,
            slices: 1,
        };
        let height = (block / width) as usize;
        let lines = rows.div_ceil(fold).div_ceil(height);
        let strips = layout.strips(lanes, columns).max(1);
        let slices = (blocks + strips / 2) / strips;
        let slices = slices.min(at_once.max(blocks) / strips);
        // Folded rows may begin in the middle of a line.
        let most_lines = (most_rows / (height * fold)).saturating_sub(1).max(1);
        let fewest = lines.div_ceil(most_lines).max(1);
        Self {
            slices: slices.clamp(fewest, lines.div_ceil(LOADS).max(fewest)) as u32,
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
        match (self.slices, self.fold) {
            (1, _) => 0,
            (slices, 1) => self.strips(lanes, columns) * slices as usize * self.span(lanes),
            (slices, _) => slices as usize * columns,
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

    const LIMITS: Limits = Limits {
        threads: 256,
        rows: usize::MAX,
        resident: 3,
    };

    /// The layout for columns of `f32` that lie side by side, by blocks of 256 threads.
    fn layout(rows: usize, columns: usize, width: u32, blocks: usize) -> (u32, u32, u32) {
        let layout = Layout::new(4, (rows, columns, columns), LIMITS, width, (blocks, blocks));
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
    fn blocks_are_as_many_as_run_at_once_or_many_more() {
        let slices = |rows, columns, blocks, at_once| {
            let matrix = (rows, columns, columns);
            Layout::new(8, matrix, LIMITS, 32, (blocks, at_once)).slices
        };
        // 256 strips, of which two blocks each would be 512.
        assert_eq!(slices(1 << 12, 1 << 16, 384, 396), 1);
        assert_eq!(slices(1 << 12, 1 << 16, 512, 396), 2);
        // 100 strips, 300 blocks; and 400 would not run at once.
        assert_eq!(slices(1 << 12, 25600, 350, 396), 3);
        assert_eq!(slices(1 << 12, 1 << 22, 350, 396), 1);
    }

    #[test]
    fn blocks_have_no_more_rows_than_there_is_room_for() {
        let most = (1 << 16) - 1;
        let limits = Limits {
            rows: most,
            ..LIMITS
        };
        for (rows, columns) in [(1 << 24, 64), (1 << 24, 1), (1 << 24, 3), (65_536, 1 << 20)] {
            let layout = Layout::new(8, (rows, columns, columns), limits, 32, (1, 1));
            let at_once = (256 / layout.width * layout.fold) as usize;
            // With a line that begins before the first row.
            let of_block = (rows.div_ceil(at_once * layout.slices as usize) + 1) * at_once;
            assert!(of_block <= most, "{rows} by {columns}: {layout:?}");
            let fewer = rows.div_ceil(at_once * (layout.slices as usize - 1)) * at_once;
            assert!(fewer + at_once > most, "{rows} by {columns}: {layout:?}");
        }
    }

    #[test]
    fn rows_side_by_side_are_taken_as_one() {
        assert_eq!(layout(1 << 20, 1, 32, 128), (256, 1024, 128));
        assert_eq!(layout(1 << 20, 3, 32, 128), (255, 340, 128));
        assert_eq!(layout(1 << 20, 128, 32, 128), (32, 1, 128));
        assert_eq!(layout(1 << 20, 129, 32, 128), (129, 4, 128));
        let apart = Layout::new(4, (1 << 20, 3, 4), LIMITS, 32, (128, 128));
        assert_eq!((apart.width, apart.fold), (1, 1));
    }

    #[test]
    fn few_rows_have_strips_as_wide_as_a_block() {
        for rows in 1..=LOADS {
            assert_eq!(layout(rows, 1 << 20, 32, 10_000), (256, 1, 1));
            let layout = Layout::new(4, (rows, 1 << 20, 1 << 20), LIMITS, 32, (1, 1));
            let blocks = layout.grid(4, rows, 1 << 20, 1 << 20, 256);
            assert_eq!(blocks, if rows == 1 { 256 } else { 512 });
        }
    }
}
