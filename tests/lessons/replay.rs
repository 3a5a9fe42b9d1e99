//! The trees of the generic bodies on the CPU, one combination after the other in the kernels' order: what a kernel leaves must
//! be the same to the last bit, also where floats round.

use warpfold_course::reducible::{Plain, Reducible};
use warpfold_course::wide::Narrow;
use warpfold_kernels::catalogue::{self, Lesson};
use warpfold_kernels::operators::o01_operators::{Max, Min, Operator, Product, Sum};
use warpfold_kernels::operators::o05_vectorized::Vectorized;

/// The launch to be replayed.
pub struct Launch<'a> {
    /// The lesson.
    pub lesson: &'a Lesson,
    /// Threads of a block.
    pub block: usize,
    /// Blocks of the grid.
    pub blocks: usize,
}

/// What a launch of a generic body leaves of these values; `None` for any other lesson.
pub fn replay<T>(launch: &Launch<'_>, values: &[T]) -> Option<T>
where
    T: Plain + Vectorized,
    Sum: Operator<T>,
    Product: Operator<T>,
    Min: Operator<T>,
    Max: Operator<T>,
{
    match launch.lesson.reduction()?.operator {
        catalogue::Operator::Sum => launch.replay::<Sum, T>(values),
        catalogue::Operator::Product => launch.replay::<Product, T>(values),
        catalogue::Operator::Min => launch.replay::<Min, T>(values),
        catalogue::Operator::Max => launch.replay::<Max, T>(values),
    }
}

/// The same of a kernel that widens each value before it adds.
pub fn replay_wide<T>(launch: &Launch<'_>, values: &[T]) -> Option<T::Wide>
where
    T: Narrow + Vectorized,
    Sum: Operator<T::Wide>,
{
    let values: Vec<T::Wide> = values.iter().map(|&value| T::Wide::from(value)).collect();
    let partials = launch.single_pass::<Sum, T::Wide>(&values, T::LANES);
    Some(T::Wide::finish(catalogue::Operator::Sum, &partials))
}

impl Launch<'_> {
    fn replay<O: Operator<T>, T: Plain + Vectorized>(&self, values: &[T]) -> Option<T> {
        let tiles = |length: usize, reduce: &dyn Fn(&[T]) -> T| {
            values.chunks(length).map(reduce).collect::<Vec<T>>()
        };
        let eight = |tile: &[T]| self.eight_a_thread::<O, T>(tile);
        let partials = match self
            .lesson
            .file
            .trim_start_matches("kernels/src/operators/")
        {
            "o02_interleaved.rs" => {
                tiles(self.block, &|tile| interleaved::<O, T>(tile, self.block))
            }
            "o03_complete_unroll_shared.rs" => {
                tiles(8 * self.block, &|tile| tree::<O, T>(&eight(tile)))
            }
            "o04_shuffle.rs" => tiles(8 * self.block, &|tile| of_warps::<O, T>(&eight(tile))),
            "o05_vectorized.rs" => self.grid_stride::<O, T>(values, T::LANES),
            "o06_single_pass.rs" => self.single_pass::<O, T>(values, T::LANES),
            _ => return None,
        };
        let operator = self.lesson.reduction()?.operator;
        Some(T::finish(operator, &partials))
    }

    /// What each thread makes of its eight elements, a block apart.
    fn eight_a_thread<O: Operator<T>, T: Copy>(&self, tile: &[T]) -> Vec<T> {
        let of_thread = |thread: usize| {
            let mine = tile.iter().skip(thread).step_by(self.block);
            if tile.len() < 8 * self.block {
                return fold::<O, T>(mine);
            }
            let mine: Vec<T> = mine.copied().collect();
            let half = |four: &[T]| four[1..].iter().fold(four[0], |a, &b| O::combine(a, b));
            O::combine(half(&mine[..4]), half(&mine[4..]))
        };
        (0..self.block).map(of_thread).collect()
    }

    /// What the last block makes of the others' results.
    fn single_pass<O: Operator<T>, T: Plain>(&self, values: &[T], lanes: u32) -> Vec<T> {
        let partials = self.grid_stride::<O, T>(values, lanes);
        let threads: Vec<T> = (0..self.block)
            .map(|thread| fold::<O, T>(partials.iter().skip(thread).step_by(self.block)))
            .collect();
        // The sum of nothing takes no launch.
        vec![of_warps::<O, T>(&threads); usize::from(!values.is_empty())]
    }

    /// What each block makes of its tiles, a grid apart, where a vector has this many values.
    fn grid_stride<O: Operator<T>, T: Plain>(&self, values: &[T], lanes: u32) -> Vec<T> {
        let lanes = lanes as usize;
        let length = 4 * lanes * self.block;
        let vector = |values: &[T]| pairs::<O, T>(values);
        let of_tile = |tile: &[T], thread: usize| {
            let rows = tile.chunks(lanes).skip(thread).step_by(self.block);
            if tile.len() == length {
                return pairs::<O, T>(&rows.map(vector).collect::<Vec<T>>());
            }
            let vectors = tile.len() / lanes;
            let mut result = fold::<O, T>(
                &rows
                    .filter(|row| row.len() == lanes)
                    .map(vector)
                    .collect::<Vec<T>>(),
            );
            if let Some(&rest) = tile.get(lanes * vectors + thread) {
                result = O::combine(result, rest);
            }
            result
        };
        let of_block = |block: usize| {
            let tiles: Vec<&[T]> = values
                .chunks(length)
                .skip(block)
                .step_by(self.blocks)
                .collect();
            let of_thread = |thread| {
                fold::<O, T>(
                    &tiles
                        .iter()
                        .map(|tile| of_tile(tile, thread))
                        .collect::<Vec<T>>(),
                )
            };
            of_warps::<O, T>(&(0..self.block).map(of_thread).collect::<Vec<T>>())
        };
        (0..self.blocks).map(of_block).collect()
    }
}

/// From left to right, behind the identity.
fn fold<'a, O: Operator<T>, T: Copy + 'a>(values: impl IntoIterator<Item = &'a T>) -> T {
    values
        .into_iter()
        .fold(O::IDENTITY, |result, &value| O::combine(result, value))
}

/// Two or four values: neighbours first.
fn pairs<O: Operator<T>, T: Copy>(values: &[T]) -> T {
    match *values {
        [a, b] => O::combine(a, b),
        [a, b, c, d] => O::combine(O::combine(a, b), O::combine(c, d)),
        _ => unreachable!("{} values are no vector and no tile's rows", values.len()),
    }
}

/// A power of two of values: the upper half onto the lower.
fn tree<O: Operator<T>, T: Copy>(values: &[T]) -> T {
    let mut values = values.to_vec();
    while values.len() > 1 {
        let half = values.len() / 2;
        for low in 0..half {
            values[low] = O::combine(values[low], values[low + half]);
        }
        values.truncate(half);
    }
    values[0]
}

/// The same of a block that n may cut short, without the missing ones.
fn interleaved<O: Operator<T>, T: Copy>(tile: &[T], block: usize) -> T {
    let mut values = tile.to_vec();
    let mut stride = block / 2;
    while stride > 0 {
        for low in 0..stride {
            if low + stride < values.len() {
                values[low] = O::combine(values[low], values[low + stride]);
            }
        }
        stride /= 2;
    }
    values[0]
}

/// Each warp's 32 values, then one value of each of 32 warps; a missing one is the identity.
fn of_warps<O: Operator<T>, T: Copy>(threads: &[T]) -> T {
    let mut warps: Vec<T> = threads.chunks(32).map(tree::<O, T>).collect();
    warps.resize(32, O::IDENTITY);
    tree::<O, T>(&warps)
}
