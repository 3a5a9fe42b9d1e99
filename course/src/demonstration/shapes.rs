//! The demonstrations of the part `Shapes`.

use super::launch::{extent, first_difference, row_of_threads};
use crate::case::{Case, CaseArgument, Outputs};
use crate::lesson::{self, LessonError};
use crate::prepared::{PreparedLesson, Verdict};
use crate::random;
use std::collections::TryReserveError;
use warpfold::device::{DeviceError, Shape};
use warpfold_kernels::catalogue::{Lesson, Shapes, Variant, Worker};
use warpfold_kernels::shapes::s01_argmax::EACH as ELEMENTS_OF_TILE;
use warpfold_kernels::shapes::s05_columns::STRIP;
use warpfold_kernels::shapes::s06_segments::STEPS;
use warpfold_kernels::shapes::s07_keys::EACH as ELEMENTS_OF_KEYS;

/// The value of an element that no kernel has written.
const UNWRITTEN: i32 = i32::MIN;

/// Lanes of a warp.
const LANES: usize = 32;

/// Blocks that are enough for any GPU where each can take more rows: then the last of them has few partials to add.
const MOST_BLOCKS: usize = 2048;

/// The most elements of a segment that is not the giant.
const MOST_OF_TINY: u64 = 7;

/// Sets up a demonstration.
pub(super) fn prepare(
    which: Shapes,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    seed: u64,
) -> Result<PreparedLesson, LessonError> {
    let host_memory = || LessonError::host_memory(n);
    let parameter = variant.parameter.unwrap_or_default();
    let i32_values = || random::i32_values(n, seed).map_err(host_memory());
    let launch = Launch {
        lesson,
        variant,
        entry: lesson::entry(lesson, variant)?,
        n,
    };
    match which {
        Shapes::ArgMax => {
            let values = values_with_ties(n, seed, parameter as usize).map_err(host_memory())?;
            launch.argmax(values)
        }
        Shapes::SumOfSquares => {
            let values = Fractions::random(n, seed, parameter).map_err(host_memory())?;
            launch.sum_of_squares(values)
        }
        Shapes::Welford => {
            let values = Fractions::random(n, seed, parameter).map_err(host_memory())?;
            launch.welford(values)
        }
        Shapes::Rows(worker) => launch.rows(worker, i32_values()?, parameter as usize),
        Shapes::Columns(worker) => launch.columns(worker, i32_values()?, parameter as usize),
        Shapes::Segments(worker) => {
            let offsets = offsets(n, seed, parameter);
            launch.segments(worker, i32_values()?, offsets)
        }
        Shapes::Keys => {
            let keys = keys(n, seed, parameter).map_err(host_memory())?;
            launch.keys(keys, i32_values()?)
        }
    }
}

/// How many bytes a demonstration over a matrix or segments has to read and to write, so that its bandwidth at one value of its parameter
/// compares with that at another; `None` of the others.
pub(super) fn useful_bytes(which: Shapes, variant: Variant, n: usize) -> Option<u64> {
    let parameter = variant.parameter? as usize;
    let words = match which {
        Shapes::Rows(_) => n + n.div_ceil(parameter),
        Shapes::Columns(_) => n + parameter,
        _ => return None,
    };
    Some(size_of::<i32>() as u64 * words as u64)
}

/// `n` multiples of a 64th, many of them equal, and zeros of either sign; `nans` of them are NaN.
fn values_with_ties(n: usize, seed: u64, nans: usize) -> Result<Vec<f32>, TryReserveError> {
    let mut values = random::f32_values(n, seed)?;
    for value in &mut values {
        *value = (*value * 64.0).trunc() / 64.0;
    }
    for nan in 1..=nans {
        if let Some(value) = values.get_mut(nan * n / (nans + 1)) {
            *value = f32::NAN;
        }
    }
    Ok(values)
}

/// Whether one value is the greater for a maximum as NumPy has it: a NaN is greater than any number.
fn is_greater(one: f32, other: f32) -> bool {
    one > other || (one.is_nan() && !other.is_nan())
}

/// The greatest value and its first place.
fn greatest(values: impl IntoIterator<Item = (f32, u64)>) -> Option<(f32, u64)> {
    values.into_iter().reduce(|best, next| {
        if is_greater(next.0, best.0) {
            next
        } else {
            best
        }
    })
}

/// Values whose moments are known exactly: a whole number and some 1024ths.
struct Fractions {
    offset: u64,
    /// Each less the offset, times 1024: below 1024.
    fractions: Vec<u16>,
}

/// One over the unit of [`Fractions`].
const UNITS: f64 = 1024.0;

impl Fractions {
    fn random(n: usize, seed: u64, offset: u32) -> Result<Self, TryReserveError> {
        let values = random::i32_values(n, seed)?;
        Ok(Self {
            offset: offset.into(),
            fractions: values.iter().map(|value| (value & 1023) as u16).collect(),
        })
    }

    fn values(&self) -> Vec<f64> {
        let value = |&fraction: &u16| self.offset as f64 + f64::from(fraction) / UNITS;
        self.fractions.iter().map(value).collect()
    }

    /// The sum of some of them and that of their squares, each rounded once.
    fn sums(&self, fractions: &[u16]) -> (f64, f64) {
        let units = |&fraction: &u16| u128::from(self.offset * 1024 + u64::from(fraction));
        let sum: u128 = fractions.iter().map(units).sum();
        let squares: u128 = fractions.iter().map(|one| units(one).pow(2)).sum();
        (sum as f64 / UNITS, squares as f64 / UNITS / UNITS)
    }

    /// Their number, the mean, and the squares of the distances from it, each rounded a few times.
    fn moments(&self, fractions: &[u16]) -> Moments {
        let count = fractions.len() as u64;
        let sum: u64 = fractions.iter().map(|&one| u64::from(one)).sum();
        let squares: u64 = fractions.iter().map(|&one| u64::from(one).pow(2)).sum();
        // Σ x² − (Σ x)² ∕ n, without the offset and in whole numbers.
        let scaled = u128::from(count) * u128::from(squares) - u128::from(sum).pow(2);
        Moments {
            count,
            mean: self.offset as f64 + sum as f64 / count as f64 / UNITS,
            squares: scaled as f64 / count as f64 / UNITS / UNITS,
        }
    }

    /// How far a mean of rounded steps may be off: some units in the last place of the greatest value.
    fn tolerance(&self) -> f64 {
        const STEPS: f64 = 16.0;
        STEPS * (self.offset as f64 + 1.0) * f64::EPSILON
    }
}

/// What is known of some values.
#[derive(Clone, Copy, Debug)]
struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Chan's rule.
    fn merge(self, other: Self) -> Self {
        let count = self.count + other.count;
        let distance = other.mean - self.mean;
        let share = distance * (other.count as f64 / count as f64);
        Self {
            count,
            mean: self.mean + share,
            squares: self.squares + other.squares + distance * share * self.count as f64,
        }
    }

    fn variance(self) -> f64 {
        self.squares / self.count as f64
    }
}

/// A sentence about the first of some floats that is further from what it should be than it may, if any is.
fn first_too_far(
    name: &str,
    found: &[f64],
    expected: impl IntoIterator<Item = (f64, f64)>,
) -> Option<String> {
    let mut elements = found.iter().enumerate().zip(expected);
    elements.find_map(|((index, found), (expected, tolerance))| {
        // Put so that a NaN is too far.
        let is_near = (found - expected).abs() <= tolerance;
        (!is_near).then(|| {
            format!("leaves {found} in element {index} of `{name}`, which should be {expected} to within {tolerance:.1e}")
        })
    })
}

/// Where segments begin, and where the last one ends: tiny ones, some of them empty, and in their middle one with this percentage of all `n`
/// elements.
fn offsets(n: usize, seed: u64, giant_percent: u32) -> Vec<u64> {
    let n = n as u64;
    let giant = n * u64::from(giant_percent) / 100;
    let mut random = Mixer(seed);
    let mut offsets = vec![0];
    let mut place = 0;
    while place < n {
        let is_middle = giant > 0 && place >= (n - giant) / 2 && place < (n - giant) / 2 + giant;
        let length = if is_middle {
            giant
        } else {
            random.below(MOST_OF_TINY + 1)
        };
        place = (place + length).min(n);
        offsets.push(place);
    }
    offsets
}

/// Keys in runs, 1 to twice the average less 1 long, so that neighbouring runs differ; keys come again.
fn keys(n: usize, seed: u64, average: u32) -> Result<Vec<i32>, TryReserveError> {
    let mut keys = Vec::new();
    keys.try_reserve_exact(n)?;
    let mut random = Mixer(seed);
    let mut key = 0_i32;
    while keys.len() < n {
        let length = 1 + random.below(2 * u64::from(average) - 1) as usize;
        let end = n.min(keys.len() + length);
        keys.resize(end, key);
        key = (key + 1 + random.below(100) as i32) % 1000;
    }
    Ok(keys)
}

/// Numbers from a seed, by SplitMix64.
struct Mixer(u64);

impl Mixer {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }
}

fn sum(values: impl IntoIterator<Item = i32>) -> i32 {
    values.into_iter().fold(0_i32, i32::wrapping_add)
}

/// A launch over `n` elements.
struct Launch {
    lesson: &'static Lesson,
    variant: Variant,
    entry: &'static str,
    n: usize,
}

impl Launch {
    /// The launch in this shape; none where there are no elements.
    ///
    /// # Safety
    /// The arguments are those of the lesson's kernel, whose buffers are as large as the launch takes.
    unsafe fn prepared(
        self,
        shape: Shape,
        arguments: Vec<CaseArgument<'static>>,
        judge: impl Fn(&Outputs<'_>) -> Result<Verdict, DeviceError> + 'static,
    ) -> PreparedLesson {
        let case = Case {
            entry: self.entry,
            shape,
            arguments,
        };
        let case = (self.n > 0).then_some(case);
        // SAFETY: the caller's contract is the same.
        unsafe { PreparedLesson::of_case(self.lesson, case, judge) }
    }

    /// Enough blocks for this many threads.
    fn threads(&self, threads: usize) -> Result<Shape, LessonError> {
        row_of_threads(self.lesson, self.variant, threads, self.n)
    }

    /// The blocks of a launch whose threads take the elements of a tile.
    fn tiles(&self) -> Result<(Shape, usize), LessonError> {
        let shape = self.threads(self.n.div_ceil(ELEMENTS_OF_TILE as usize))?;
        Ok((shape, (ELEMENTS_OF_TILE * self.variant.block) as usize))
    }

    /// The greatest of each tile, and where it is.
    fn argmax(self, values: Vec<f32>) -> Result<PreparedLesson, LessonError> {
        let (shape, tile) = self.tiles()?;
        let blocks = shape.grid[0] as usize;
        let arguments = vec![
            CaseArgument::input(values.clone()),
            CaseArgument::output(blocks, UNWRITTEN as f32),
            CaseArgument::output(blocks, u64::MAX),
            CaseArgument::scalar(self.n),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let (found, places) = (outputs.read::<f32>(1)?, outputs.read::<u64>(2)?);
            let tiles = values.chunks(tile).enumerate();
            let tiles: Vec<(f32, u64)> = tiles
                .filter_map(|(block, values)| {
                    let places = (block * tile) as u64..;
                    greatest(values.iter().copied().zip(places))
                })
                .collect();
            // By their bits, for a NaN is not equal to itself; which zero it is, and which NaN, is not the kernel's choice.
            let bits = |value: f32| match value {
                _ if value.is_nan() => f32::NAN.to_bits(),
                0.0 => 0,
                _ => value.to_bits(),
            };
            let mistake = first_difference("places", &places, tiles.iter().map(|tile| tile.1));
            let found_bits: Vec<u32> = found.iter().map(|&value| bits(value)).collect();
            let expected_bits = tiles.iter().map(|tile| bits(tile.0));
            let of_values = || first_difference("greatest, as bits,", &found_bits, expected_bits);
            // The host is the last step of the tree.
            let of_all = greatest(found.iter().copied().zip(places.iter().copied()));
            let (value, place) = of_all.unwrap_or((f32::NEG_INFINITY, u64::MAX));
            Ok(Verdict {
                facts: vec![
                    ("greatest", value.to_string()),
                    ("its first place", place.to_string()),
                ],
                mistake: mistake.or_else(of_values),
            })
        };
        // SAFETY: the kernel takes n values, a value and a place for each block, and n, with a thread for eight values.
        Ok(unsafe { self.prepared(shape, arguments, judge) })
    }

    /// The arguments of the kernels of page 2.
    fn arguments_of_moments(
        &self,
        values: &Fractions,
        blocks: usize,
    ) -> Vec<CaseArgument<'static>> {
        vec![
            CaseArgument::input(values.values()),
            CaseArgument::output(blocks, f64::NAN),
            CaseArgument::output(blocks, f64::NAN),
            CaseArgument::scalar(self.n),
        ]
    }

    /// Two sums of each tile, and the variance that they give.
    fn sum_of_squares(self, values: Fractions) -> Result<PreparedLesson, LessonError> {
        let (shape, tile) = self.tiles()?;
        let arguments = self.arguments_of_moments(&values, shape.grid[0] as usize);
        let n = self.n as f64;
        let judge = move |outputs: &Outputs<'_>| {
            let (sums, squares) = (outputs.read::<f64>(1)?, outputs.read::<f64>(2)?);
            // Every element is added once, and all of them are positive.
            let within = |(sum, length): (f64, usize)| (sum, sum * f64::EPSILON * length as f64);
            let tiles = || values.fractions.chunks(tile);
            let expected = || tiles().map(|tile| (values.sums(tile), tile.len()));
            let of_sums = expected().map(|((sum, _), length)| within((sum, length)));
            let of_squares = expected().map(|((_, squares), length)| within((squares, length)));
            let mistake = first_too_far("sums", &sums, of_sums)
                .or_else(|| first_too_far("squares", &squares, of_squares));
            let (sum, squares): (f64, f64) = (sums.iter().sum(), squares.iter().sum());
            let (mean, mean_square) = (sum / n, squares / n);
            Ok(Verdict {
                facts: facts_of_moments(mean, mean_square - mean * mean, &values),
                mistake,
            })
        };
        // SAFETY: the kernel takes n values, two sums for each block, and n, with a thread for eight values.
        Ok(unsafe { self.prepared(shape, arguments, judge) })
    }

    /// The moments of each tile.
    fn welford(self, values: Fractions) -> Result<PreparedLesson, LessonError> {
        let (shape, tile) = self.tiles()?;
        let arguments = self.arguments_of_moments(&values, shape.grid[0] as usize);
        let judge = move |outputs: &Outputs<'_>| {
            let (means, squares) = (outputs.read::<f64>(1)?, outputs.read::<f64>(2)?);
            let tolerance = values.tolerance();
            let tiles = || {
                values
                    .fractions
                    .chunks(tile)
                    .map(|tile| values.moments(tile))
            };
            let of_means = tiles().map(|tile| (tile.mean, tolerance));
            // Each distance is off by as much as the mean, and no longer than 1.
            let within =
                |moments: Moments| (moments.squares, 2.0 * tolerance * moments.count as f64);
            let mistake = first_too_far("means", &means, of_means)
                .or_else(|| first_too_far("squares", &squares, tiles().map(within)));
            // The host is the last step of the tree.
            let found = means.iter().zip(&squares).zip(tiles());
            let found = found.map(|((&mean, &squares), tile)| Moments {
                count: tile.count,
                mean,
                squares,
            });
            let all = found.reduce(Moments::merge);
            let exact = values.moments(&values.fractions);
            let of_all = || {
                let variance = all.map_or(f64::NAN, Moments::variance);
                first_too_far(
                    "variance",
                    &[variance],
                    [(exact.variance(), 2.0 * tolerance)],
                )
            };
            let mistake = mistake.or_else(of_all);
            let all = all.unwrap_or(exact);
            Ok(Verdict {
                facts: facts_of_moments(all.mean, all.variance(), &values),
                mistake,
            })
        };
        // SAFETY: the kernel takes n values, a mean and a sum for each block, and n, with a thread for eight values.
        Ok(unsafe { self.prepared(shape, arguments, judge) })
    }

    /// The sum of each row.
    fn rows(
        self,
        worker: Worker,
        values: Vec<i32>,
        columns: usize,
    ) -> Result<PreparedLesson, LessonError> {
        let rows = self.n.div_ceil(columns);
        let shape = self.threads(match worker {
            Worker::Warp => rows.saturating_mul(LANES),
            Worker::Thread => rows,
        })?;
        let arguments = vec![
            CaseArgument::input(values.clone()),
            CaseArgument::output(rows, UNWRITTEN),
            CaseArgument::scalar(columns),
            CaseArgument::scalar(self.n),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let expected = values.chunks(columns).map(|row| sum(row.iter().copied()));
            Ok(Verdict {
                facts: vec![("rows", rows.to_string())],
                mistake: first_difference("sums", &outputs.read::<i32>(1)?, expected),
            })
        };
        // SAFETY: these kernels take n values, a sum for each row, the number of columns, which is a multiple of 4 where it has to be, and n,
        // with a warp or a thread for each row in whole blocks; buffers begin at multiples of 16 bytes.
        Ok(unsafe { self.prepared(shape, arguments, judge) })
    }

    /// The sum of each column.
    fn columns(
        self,
        worker: Worker,
        values: Vec<i32>,
        columns: usize,
    ) -> Result<PreparedLesson, LessonError> {
        let (lesson, n) = (self.lesson, self.n);
        let mut arguments = vec![
            CaseArgument::input(values.clone()),
            CaseArgument::output(columns, UNWRITTEN),
            CaseArgument::scalar(columns),
            CaseArgument::scalar(n),
        ];
        let strips = columns.div_ceil(STRIP as usize);
        let mut facts = vec![("columns", columns.to_string())];
        let shape = match worker {
            Worker::Warp => self.threads(columns * LANES)?,
            Worker::Thread => {
                let rows = n.div_ceil(columns).max(1);
                let slices = rows
                    .div_ceil(self.variant.block as usize)
                    .min(MOST_BLOCKS.div_ceil(strips));
                let slice_rows = rows.div_ceil(slices);
                // Rounding up may leave none for the last slices.
                let slices = rows.div_ceil(slice_rows);
                let blocks = extent(lesson, self.variant, strips * slices, 1, n)?;
                arguments.extend([
                    CaseArgument::scalar(slice_rows),
                    CaseArgument::output(strips * slices * STRIP as usize, UNWRITTEN),
                    CaseArgument::rewritten(vec![0_u32; strips]),
                ]);
                facts.push(("rows of a slice", slice_rows.to_string()));
                facts.push(("slices", slices.to_string()));
                Shape::linear(blocks, self.variant.block)
            }
        };
        let judge = move |outputs: &Outputs<'_>| {
            let of_column = |column| sum(values.iter().copied().skip(column).step_by(columns));
            let found = outputs.read::<i32>(1)?;
            let mut mistake = first_difference("sums", &found, (0..columns).map(of_column));
            if worker == Worker::Thread {
                let tickets = outputs.read::<u32>(6)?;
                let zeros = vec![0_u32; strips];
                mistake = mistake.or_else(|| first_difference("tickets", &tickets, zeros));
            }
            Ok(Verdict {
                facts: facts.clone(),
                mistake,
            })
        };
        // SAFETY: these kernels take n values, a sum for each column, the number of columns and n, with a warp for each column; the one for
        // threads also how many rows a slice has, 32 partials for each block, a ticket for each strip that is 0, and a block for each slice of
        // each strip.
        Ok(unsafe { self.prepared(shape, arguments, judge) })
    }

    /// The sum of each segment.
    fn segments(
        self,
        worker: Worker,
        values: Vec<i32>,
        offsets: Vec<u64>,
    ) -> Result<PreparedLesson, LessonError> {
        let count = offsets.len() - 1;
        let bounds = || {
            offsets
                .windows(2)
                .map(|pair| (pair[0] as usize, pair[1] as usize))
        };
        let longest = bounds().map(|(start, end)| end - start).max().unwrap_or(0);
        let expected: Vec<i32> = bounds()
            .map(|(start, end)| sum(values[start..end].iter().copied()))
            .collect();
        let empty = bounds().filter(|(start, end)| start == end).count();
        let steps = (STEPS as usize * LANES).min(self.n + count);
        let (shape, sums, most) = match worker {
            Worker::Warp => (
                self.threads(count.saturating_mul(LANES))?,
                CaseArgument::output(count, UNWRITTEN),
                ("most elements of a warp", longest),
            ),
            Worker::Thread => (
                self.threads((self.n + count).div_ceil(STEPS as usize))?,
                CaseArgument::rewritten(vec![0_i32; count]),
                ("most steps of a warp", steps),
            ),
        };
        let arguments = vec![
            CaseArgument::input(values),
            CaseArgument::input(offsets),
            sums,
            CaseArgument::scalar(count),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let found = outputs.read::<i32>(2)?;
            Ok(Verdict {
                facts: vec![
                    ("segments", count.to_string()),
                    ("empty ones", empty.to_string()),
                    ("elements of the longest", longest.to_string()),
                    (most.0, most.1.to_string()),
                ],
                mistake: first_difference("sums", &found, expected.iter().copied()),
            })
        };
        // SAFETY: these kernels take values, one offset more than there are segments, a sum for each, which is 0 before where parts are added,
        // and their number, with a warp for each segment or a thread for each seven steps in whole blocks.
        Ok(unsafe { self.prepared(shape, arguments, judge) })
    }

    /// The key and the sum of each run, by one launch, the first on its words.
    fn keys(self, keys: Vec<i32>, values: Vec<i32>) -> Result<PreparedLesson, LessonError> {
        const LAUNCH: u32 = 1;
        let n = self.n;
        let shape = self.threads(n.div_ceil(ELEMENTS_OF_KEYS as usize))?;
        let tiles = shape.grid[0] as usize;
        let mut expected: Vec<(i32, i32)> = Vec::new();
        for (index, (&key, &value)) in keys.iter().zip(&values).enumerate() {
            match expected.last_mut() {
                Some((_, sum)) if keys[index - 1] == key => *sum = sum.wrapping_add(value),
                _ => expected.push((key, value)),
            }
        }
        let runs = expected.len();
        let arguments = vec![
            CaseArgument::input(keys),
            CaseArgument::input(values),
            CaseArgument::scalar(n),
            CaseArgument::output(runs, UNWRITTEN),
            CaseArgument::rewritten(vec![0_i32; runs]),
            CaseArgument::output(1, u32::MAX),
            CaseArgument::rewritten(vec![0_u64; tiles]),
            CaseArgument::rewritten(vec![0_u32]),
            CaseArgument::scalar(LAUNCH),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let (found_keys, sums) = (outputs.read::<i32>(3)?, outputs.read::<i32>(4)?);
            let (found_runs, ticket) = (outputs.read::<u32>(5)?, outputs.read::<u32>(7)?);
            let mistake = first_difference("runs", &found_runs, [runs as u32])
                .or_else(|| first_difference("keys", &found_keys, expected.iter().map(|run| run.0)))
                .or_else(|| first_difference("sums", &sums, expected.iter().map(|run| run.1)))
                .or_else(|| first_difference("ticket", &ticket, [0]));
            Ok(Verdict {
                facts: vec![("runs", runs.to_string()), ("tiles", tiles.to_string())],
                mistake,
            })
        };
        // SAFETY: the kernel takes n keys and n values, a key and a sum for each run, which is 0, the number of runs, a word for each block
        // and a ticket, which are 0, and the number of the launch; the grid has a thread for each four values in whole blocks, and buffers
        // begin at multiples of 16 bytes.
        Ok(unsafe { self.prepared(shape, arguments, judge) })
    }
}

/// What page 2 shows.
fn facts_of_moments(mean: f64, variance: f64, values: &Fractions) -> Vec<(&'static str, String)> {
    let exact = values.moments(&values.fractions);
    vec![
        ("mean", format!("{mean:.4}")),
        ("variance", format!("{variance:.6}")),
        ("exact variance", format!("{:.6}", exact.variance())),
    ]
}
