//! How blocks and their threads lie over a matrix: how many there are of each, and what a thread loads at once.

use crate::lanes::WARP_SIZE;
use crate::operator::Operator;
use crate::vector::Loaded;

/// Rows that a thread loads from before it uses the first vector.
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
    /// `blocks` if the strips are fewer.
    pub const fn new(
        lanes: usize,
        rows: usize,
        columns: usize,
        stride: usize,
        block: u32,
        blocks: u32,
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
        let width = if fold > 1 {
            fold * columns / lanes
        } else {
            let mut width = if block < 32 { block } else { 32 };
            // Few rows need no more rows of threads, and many columns no narrow strips.
            while 2 * width <= block
                && (block / width > rows || vectors / (2 * width) >= blocks as usize)
            {
                width *= 2;
            }
            width
        };
        let strips = if fold > 1 {
            1
        } else {
            columns.div_ceil(width * lanes)
        };
        let height = block / width;
        let shared = Shared {
            strips,
            lines: rows.div_ceil(fold).div_ceil(height),
            group: if fold > 1 { columns } else { width * lanes },
            block,
            blocks: if blocks == 0 { 1 } else { blocks as usize },
        };
        Self {
            width: width as u32,
            fold: fold as u32,
            slices: shared.slices() as u32,
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
    group: usize,
    /// Threads of a block.
    block: usize,
    /// The blocks that run at once.
    blocks: usize,
}

impl Shared {
    /// How many blocks share a strip: those with which a thread waits least for memory.
    const fn slices(self) -> usize {
        if self.strips == 0 {
            return 1;
        }
        // Each thread is to have vectors enough to load several at once, and most blocks are to run at once.
        let of_lines = self.lines.div_ceil(LOADS);
        let of_blocks = MOST_ROUNDS * self.blocks / self.strips;
        let most = if of_lines < of_blocks {
            of_lines
        } else {
            of_blocks
        };
        // As many as run at once; others have to be better by a tenth.
        let at_once = self.blocks / self.strips;
        let mut best = if at_once <= 1 || at_once > most {
            1
        } else {
            at_once
        };
        let mut least = 9 * self.waits(best);
        let mut count = 1;
        while count <= most {
            if 10 * self.waits(count) < least {
                (best, least) = (count, 10 * self.waits(count));
            }
            count += 1 + count / 32;
        }
        best
    }

    /// About how many times the last thread to end has waited for memory, where this many blocks share a strip.
    const fn waits(self, slices: usize) -> usize {
        let rounds = (slices * self.strips).div_ceil(self.blocks);
        let lines = self.lines.div_ceil(slices);
        // Where few blocks load, several vectors at once take as long as one.
        let of_several = if 3 * slices * self.strips < self.blocks {
            1
        } else {
            2
        };
        let of_values = rounds * (lines / LOADS * of_several + lines % LOADS);
        if slices == 1 {
            return of_values;
        }
        // The ticket, and the states.
        of_values + 2 + (slices * self.group).div_ceil(LARGE_STATES * self.block)
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
        Layout::new(4, rows, columns, columns, 256, 396)
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

    /// Many rows get as many blocks as run at once, and hardly any that wait for others to end.
    #[test]
    fn the_gpu_is_full_where_there_is_enough_to_do() {
        for bits in [12, 14, 16, 18, 20, 22, 24, 26] {
            let (rows, columns) = (1 << bits, 1 << (28 - bits));
            let layout = layout(rows, columns);
            let blocks = layout.grid(4, rows, columns, columns, 256);
            let rounds = blocks.div_ceil(396);
            assert!(
                10 * blocks >= 9 * rounds * 396,
                "{rows} × {columns}: {layout:?}, {blocks}"
            );
        }
    }
}
