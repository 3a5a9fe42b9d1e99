//! Every way to reduce rows, columns and pairs, timed on a GPU at every shape, beside a kernel that reads as much and writes as many bytes of results:
//! `cargo run --release --package warpfold-peers --bin time_reductions -- argmax f32`.
//!
//! Every kernel is verified first. Each line is a launch: the shape, the kernel and its grid, gigabytes read and written per second, and the
//! share of the ceiling. `chosen` marks the library's choice and `best` the fastest. The arguments are `OPERATOR TYPE [BYTES [MODE]]`: BYTES
//! are those of the input, 2^30 unless given, and `sum,max` are two OPERATORS. Without a mode it is rows, and the marked launches are shown.
//!
//! | mode | what is reduced |
//! |---|---|
//! | `every` | rows of the first 2^20 bytes, 2^22 and so on, and all launches are shown |
//! | `odd` | rows of 3/2 · 2^n bytes and a value, of the first 2^22 bytes, 2^25 and so on, and all launches are shown |
//! | `columns` | columns, of the first 2^22 bytes, 2^24 and so on, and all launches are shown |
//! | `segments` | segments of every spread of lengths; the ceiling reads their offsets too |
//! | `rows=10,257,…` | rows of so many values, and no launch but the chosen one |
//! | `columns=10,257,…` | so many columns, likewise |
//! | `single`, and any for `dot` | one row of every length: of those that fit into the cache, a launch's part of a graph of 20 |
//!
//! On the emulator nothing is timed. `cargo xtask tune` makes the library's table of what `every`, `odd`, `columns` and `single` print.

use bytemuck::Zeroable;
use std::collections::HashSet;
use std::error::Error;
use std::fmt::Debug;
use std::num::ParseIntError;
use std::ops::Range;
use warpfold::device::{Argument, Buffer, DeviceError, Kernel, Pod, Shape, Slice, Stream, Timing};
use warpfold::operator::*;
use warpfold::reduce::choice::{Choice, MULTIPROCESSORS, THREADS_OF_COLUMNS};
use warpfold::reduce::table::{Launch, Problem};
use warpfold::reduce::{BuiltIn, Reducible};
use warpfold::{Along, Bf16, Bool, Device, DotProduct, F16, Matrix, Reduction, Segments};
use warpfold_device::rows::PACKED_BYTES;

const CEILING: &str = include_str!("read_and_write.ptx");

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |place: usize| arguments.get(place).map(String::as_str);
    let (operator, element) = (word(0).unwrap_or("sum"), word(1).unwrap_or("f32"));
    let device = Device::best();
    println!("{}", device.describe());
    let usual = if device.is_gpu() { 1 << 30 } else { 1 << 14 };
    let bytes = word(2).map_or(Ok(usual), str::parse)?;
    let run = Run {
        device: &device,
        bytes,
        shows_all: matches!(word(3), Some("every" | "odd")),
        of_odd: word(3) == Some("odd"),
        of_columns: word(3) == Some("columns"),
        of_segments: word(3) == Some("segments"),
        of_single: word(3) == Some("single"),
        shapes: word(3).and_then(shapes).transpose()?,
    };
    let mut is_known = false;
    macro_rules! operators {
        ($value:ty; $($name:ident: $operator:ty = $make:expr;)*) => {
            $(if operator.split(',').any(|operator| operator == stringify!($name)) {
                is_known = true;
                run.of::<$value, $operator>($make)?;
            })*
        };
    }
    macro_rules! of_type {
        ($value:ty) => {{
            if operator == "dot" {
                return run.of_pairs::<$value>();
            }
            warpfold_device::for_each_operator!(operators, $value);
            warpfold_device::for_each_short_index!(operators, $value);
        }};
    }
    match element {
        "f32" => of_type!(f32),
        "f64" => of_type!(f64),
        "bf16" => of_type!(Bf16),
        "f16" => of_type!(F16),
        "i8" => of_type!(i8),
        "i32" => of_type!(i32),
        _ => {
            return Err(
                format!("this measures f32, f64, bf16, f16, i8 and i32, not `{element}`").into(),
            );
        }
    }
    if is_known {
        return Ok(());
    }
    Err(format!("there is no operator `{operator}`").into())
}

/// What `rows=10,257` and `columns=10,257` stand for.
fn shapes(mode: &str) -> Option<Result<(Along, Vec<usize>), ParseIntError>> {
    let (along, numbers) = match mode.split_once('=')? {
        ("rows", numbers) => (Along::Rows, numbers),
        ("columns", numbers) => (Along::Columns, numbers),
        _ => return None,
    };
    let numbers: Result<_, _> = numbers.split(',').map(str::parse).collect();
    Some(numbers.map(|numbers| (along, numbers)))
}

struct Run<'d> {
    /// The only shapes, by their numbers of columns, of which only the chosen launch is timed.
    shapes: Option<(Along, Vec<usize>)>,
    device: &'d Device,
    bytes: usize,
    shows_all: bool,
    of_odd: bool,
    of_columns: bool,
    of_segments: bool,
    of_single: bool,
}

/// A value of the input: small whole numbers, which most operators lose nothing of.
trait Made: Reducible + Send + Sync {
    fn made(number: u64) -> Self;
}

/// A result as a number to compare.
trait Outcome {
    fn number(&self) -> f64;
}

macro_rules! numbers {
    ($($value:ty: |$it:ident| $number:expr $(, |$small:ident| $made:expr)?;)*) => {$(
        $(impl Made for $value {
            fn made(number: u64) -> Self {
                let $small = (number % 13) as i8 - 5;
                $made
            }
        })?
        impl Outcome for $value {
            fn number(&self) -> f64 {
                let $it = *self;
                $number
            }
        }
    )*};
}

numbers! {
    f32: |it| it.into(), |small| small.into();
    f64: |it| it, |small| small.into();
    Bf16: |it| it.into(), |small| Self::from_f32(small.into());
    F16: |it| it.into(), |small| Self::from_f32(small.into());
    i8: |it| it.into(), |small| small;
    i32: |it| it.into(), |small| small.into();
    u32: |it| it.into();
    u64: |it| it as f64;
    Bool: |it| u32::from(it).into();
}

impl<T: Outcome> Outcome for Extremes<T> {
    fn number(&self) -> f64 {
        self.min.number() + 1000.0 * self.max.number()
    }
}

/// The values of the input.
fn values<T: Made>(n: usize) -> Vec<T> {
    let mut state = 1_u64;
    (0..n)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            T::made(state >> 33)
        })
        .collect()
}

/// One row, or the pairs of two, reduced by any launch.
trait Single {
    fn problem(&self) -> Problem;
    fn launch(&mut self, stream: Option<&Stream>, launch: Launch) -> Result<(), warpfold::Error>;
    fn verify(&self, launch: Launch) -> Result<(), Box<dyn Error>>;
    /// The kernel of a launch that has been made before, its shape and its arguments.
    fn arguments(&self, launch: Launch) -> (&Kernel, Shape, Vec<Argument>);
}

struct SingleRow<'a, 'd, T: Pod, O: Operator<T, Output: Pod>> {
    reduction: &'a mut Reduction<'d, T, O>,
    input: Slice<'a, T>,
    result: Buffer<O::Output>,
    expected: Expected<O::Output>,
}

impl<T: Made, O: BuiltIn<T, Output: Outcome>> Single for SingleRow<'_, '_, T, O> {
    fn problem(&self) -> Problem {
        let matrix = Matrix::contiguous(1, self.input.len());
        self.reduction.problem(Along::Rows, matrix)
    }
    fn launch(&mut self, stream: Option<&Stream>, launch: Launch) -> Result<(), warpfold::Error> {
        let matrix = Matrix::contiguous(1, self.input.len());
        // SAFETY: a launch for this row.
        unsafe {
            self.reduction
                .launch_by(stream, self.input, matrix, &mut self.result, launch)
        }
    }
    fn verify(&self, launch: Launch) -> Result<(), Box<dyn Error>> {
        self.expected.verify(&self.result.read()?, launch)
    }
    fn arguments(&self, launch: Launch) -> (&Kernel, Shape, Vec<Argument>) {
        let matrix = Matrix::contiguous(1, self.input.len());
        self.reduction
            .arguments(self.input, matrix, &self.result, launch)
    }
}

struct Pairs<'a, 'd, T: Reducible> {
    product: &'a mut DotProduct<'d, T>,
    pair: (Slice<'a, T>, Slice<'a, T>),
    result: Buffer<T::Wide>,
    expected: Expected<T::Wide>,
}

impl<T: Made<Wide: Outcome>> Single for Pairs<'_, '_, T> {
    fn problem(&self) -> Problem {
        self.product.problem(self.pair.0.len())
    }
    fn launch(&mut self, stream: Option<&Stream>, launch: Launch) -> Result<(), warpfold::Error> {
        // SAFETY: a launch for pairs.
        unsafe {
            self.product
                .launch_by(stream, self.pair, &mut self.result, launch)
        }
    }
    fn verify(&self, launch: Launch) -> Result<(), Box<dyn Error>> {
        self.expected.verify(&self.result.read()?, launch)
    }
    fn arguments(&self, launch: Launch) -> (&Kernel, Shape, Vec<Argument>) {
        let (kernel, arguments) = self.product.arguments(self.pair, &self.result, launch);
        let shape = Shape::linear(launch.blocks, launch.block);
        (kernel, shape, arguments)
    }
}

impl Run<'_> {
    fn of<T: Made, O: BuiltIn<T, Output: Outcome, State: Send> + Send + Sync>(
        &self,
        operator: O,
    ) -> Result<(), Box<dyn Error>> {
        let n = self.bytes / size_of::<T>();
        let values = values::<T>(n);
        let input = self.device.upload(&values)?;
        let mut reduction = Reduction::new(self.device, operator)?;
        let work = reduction
            .problem(Along::Rows, Matrix::contiguous(1, n))
            .work;
        let (name, bytes) = (operator.kernels().0, size_of::<T>());
        println!("{name} of {}: {work:?} work for {bytes} bytes", T::NAME);
        if self.of_segments {
            println!("segments mean spread ms GB/s share");
            for (spread, mean) in SPREADS {
                self.in_segments(&mut reduction, &values, &input, spread, mean)?;
            }
            return Ok(());
        }
        println!("rows columns choice blocks block ms GB/s share");
        if let Some((along, shapes)) = &self.shapes {
            for &columns in shapes {
                let n = n / columns * columns;
                let input = input.slice(..n);
                self.at(&mut reduction, &values[..n], input, columns, *along)?;
            }
            return Ok(());
        }
        if self.of_columns {
            let smaller = (22..usize::BITS).step_by(2).map(|bits| 1 << bits);
            let smaller = smaller.take_while(|&all_bytes| all_bytes < self.bytes);
            for all_bytes in smaller.chain([self.bytes]) {
                let n = all_bytes / size_of::<T>();
                // Of four rows, which would come first, there is one layout.
                let mut columns = n / 16;
                while columns > 0 {
                    self.at(
                        &mut reduction,
                        &values[..n],
                        input.slice(..n),
                        columns,
                        Along::Columns,
                    )?;
                    columns /= 4;
                }
            }
            return Ok(());
        }
        if self.of_single {
            let mut columns = n;
            while columns * size_of::<T>() >= 1 << 10 {
                let expected = Expected::of_some(operator, &values[..columns], columns);
                self.single(&mut SingleRow {
                    reduction: &mut reduction,
                    input: input.slice(..columns),
                    result: self.device.allocate(1)?,
                    expected,
                })?;
                columns /= 2;
            }
            return Ok(());
        }
        if self.of_odd {
            let smaller = (22..usize::BITS).step_by(3).map(|bits| 1 << bits);
            let smaller = smaller.take_while(|&all_bytes| all_bytes < self.bytes);
            for all_bytes in smaller.chain([self.bytes]) {
                for row_bytes in (1..13).map(|bits| 3 << bits >> 1) {
                    let columns = (row_bytes / size_of::<T>()) | 1;
                    let n = all_bytes / size_of::<T>() / columns * columns;
                    if columns > 1 {
                        let input = input.slice(..n);
                        self.at(&mut reduction, &values[..n], input, columns, Along::Rows)?;
                    }
                }
            }
            return Ok(());
        }
        let smaller = (20..usize::BITS).step_by(2).map(|bits| 1 << bits);
        let smaller = smaller.take_while(|&all_bytes| self.shows_all && all_bytes < self.bytes);
        for all_bytes in smaller.chain([self.bytes]) {
            let n = all_bytes / size_of::<T>();
            let mut columns = n;
            while columns * size_of::<T>() >= 4 {
                self.at(
                    &mut reduction,
                    &values[..n],
                    input.slice(..n),
                    columns,
                    Along::Rows,
                )?;
                columns /= if self.shows_all || columns <= 1024 {
                    2
                } else {
                    4
                };
            }
        }
        Ok(())
    }

    /// Rows of so many columns, or these columns: verifies and times each launch that is worth a try, and the one that is chosen.
    fn at<T: Made, O: BuiltIn<T, Output: Outcome, State: Send> + Send + Sync>(
        &self,
        reduction: &mut Reduction<'_, T, O>,
        values: &[T],
        input: Slice<'_, T>,
        columns: usize,
        along: Along,
    ) -> Result<(), Box<dyn Error>> {
        let matrix = Matrix::contiguous(values.len() / columns, columns);
        let problem = reduction.problem(along, matrix);
        let operator = reduction.operator();
        let (count, mut launches, expected) = match along {
            Along::Rows => (
                matrix.rows,
                launches(&problem, choices(&problem)),
                Expected::of_some(operator, values, columns),
            ),
            Along::Columns => (
                columns,
                launches(&problem, choices_of_columns(&problem)),
                Expected::of_columns(operator, values, matrix),
            ),
        };
        let mut results = self.device.allocate(count)?;
        let chosen = problem.choose();
        if self.shapes.is_some() {
            launches.clear();
        }
        if !launches.iter().any(|(_, launch)| *launch == chosen) {
            launches.push((None, chosen));
        }
        let bytes = input.len() * size_of::<T>() + count * size_of::<O::Output>();
        let ceiling = self.ceiling(input, &results)?;
        let mut timed = Vec::new();
        let mut verified = HashSet::new();
        for (choice, launch) in launches {
            // Millions of results take long to copy: of those each kernel is verified once.
            let is_verified =
                count <= 1 << 20 || verified.insert(std::mem::discriminant(&launch.way));
            if is_verified {
                // What was there before is no result.
                results.write(&vec![O::Output::zeroed(); count])?;
            }
            // SAFETY: a launch for this matrix.
            let launched =
                unsafe { reduction.launch_by(None, input, matrix, &mut results, launch) };
            match launched {
                // A block of this many threads may need more registers than there are.
                Err(warpfold::Error::Device(DeviceError::InvalidLaunch { .. })) => continue,
                launched => launched?,
            }
            if is_verified {
                expected.verify(&results.read()?, launch)?;
            }
            let (kernel, shape, arguments) = reduction.arguments(input, matrix, &results, launch);
            timed.push((choice, launch, self.median(kernel, &shape, &arguments)?));
        }
        self.show(matrix, bytes, ceiling, chosen, &timed);
        Ok(())
    }

    /// A line for the ceiling, and one for each launch that is shown.
    fn show(&self, matrix: Matrix, bytes: usize, ceiling: f64, chosen: Launch, timed: &[Timed]) {
        let best = timed
            .iter()
            .min_by(|left, right| left.2.total_cmp(&right.2));
        let best = best.map(|(_, launch, _)| *launch);
        let show = |launch: &str, ms: f64, marks: &str| {
            println!(
                "{} {} {launch} {ms:.5} {:.0} {:.3}{marks}",
                matrix.rows,
                matrix.columns,
                bytes as f64 / ms / 1e6,
                ceiling / ms
            );
        };
        show("ceiling - -", ceiling, "");
        for (choice, launch, ms) in timed {
            let marks = [
                (*launch == chosen, " chosen"),
                (Some(*launch) == best, " best"),
            ];
            let marks: String = marks
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, mark)| *mark)
                .collect();
            if self.shows_all || self.of_columns || self.of_single || !marks.is_empty() {
                let choice = choice.as_deref().unwrap_or("-");
                let choice = choice.replace(' ', "");
                show(
                    &format!("{choice} {} {}", launch.blocks, launch.block),
                    *ms,
                    &marks,
                );
            }
        }
    }

    /// The pairs of two arrays, which have these many bytes together, and of shorter ones.
    fn of_pairs<T: Made<Wide: Outcome + Send>>(&self) -> Result<(), Box<dyn Error>> {
        let n = self.bytes / 2 / size_of::<T>();
        let values = values::<T>(n + 1);
        let [left, right] = [&values[1..], &values[..n]].map(|values| self.device.upload(values));
        let (left, right) = (left?, right?);
        let mut product = DotProduct::new(self.device)?;
        let work = product.problem(n).work;
        println!(
            "dot of {}: {work:?} work for {} bytes",
            T::NAME,
            size_of::<T>()
        );
        println!("rows columns choice blocks block ms GB/s share");
        let mut columns = n;
        while 2 * columns * size_of::<T>() >= 1 << 10 {
            let lift = |place: usize| Dot.lift((values[place + 1], values[place]), 0);
            let expected = combined(Dot, &lift, 0..columns);
            self.single(&mut Pairs {
                product: &mut product,
                pair: (left.slice(..columns), right.slice(..columns)),
                result: self.device.allocate(1)?,
                expected: Expected(vec![(0, expected)]),
            })?;
            columns /= 2;
        }
        Ok(())
    }

    /// Every launch for one row.
    fn single(&self, of: &mut impl Single) -> Result<(), Box<dyn Error>> {
        let problem = of.problem();
        let bytes = problem.matrix.columns * problem.value_bytes;
        let chosen = problem.choose();
        let mut timed = Vec::new();
        for (choice, launch) in launches(&problem, choices_of_one(bytes)) {
            match of.launch(None, launch) {
                Err(warpfold::Error::Device(DeviceError::InvalidLaunch { .. })) => continue,
                launched => launched?,
            }
            of.verify(launch)?;
            let ms = if bytes <= IN_CACHE {
                self.in_graph(|stream| of.launch(Some(stream), launch))?
            } else {
                let (kernel, shape, arguments) = of.arguments(launch);
                self.median(kernel, &shape, &arguments)?
            };
            timed.push((choice, launch, ms));
        }
        self.show(problem.matrix, bytes, f64::NAN, chosen, &timed);
        Ok(())
    }

    /// The milliseconds of a launch that is queued 20 times in a graph, whose input is in the cache; NaN on the emulator.
    fn in_graph(
        &self,
        mut queue: impl FnMut(&Stream) -> Result<(), warpfold::Error>,
    ) -> Result<f64, Box<dyn Error>> {
        const LAUNCHES: usize = 20;
        if !self.device.is_gpu() {
            return Ok(f64::NAN);
        }
        let stream = self.device.stream()?;
        let mut outcome = Ok(());
        let graph = stream.capture(|recorder| {
            for _ in 0..LAUNCHES {
                if outcome.is_ok() {
                    outcome = queue(recorder);
                }
            }
            Ok(())
        })?;
        outcome?;
        let graph = graph.instantiate()?;
        let (start, end) = (self.device.event()?, self.device.event()?);
        let mut elapsed_ms = Vec::new();
        for _ in 0..9 {
            stream.record(&start)?;
            // SAFETY: what was captured could be launched, and its memory is kept.
            unsafe { graph.launch(&stream) }?;
            stream.record(&end)?;
            end.synchronize()?;
            elapsed_ms.push(end.elapsed_ms_since(&start)? / LAUNCHES as f64);
        }
        elapsed_ms.sort_by(f64::total_cmp);
        Ok(elapsed_ms[elapsed_ms.len() / 2])
    }

    /// Segments of this spread and mean length.
    fn in_segments<T: Made, O: BuiltIn<T, Output: Outcome, State: Send> + Send + Sync>(
        &self,
        reduction: &mut Reduction<'_, T, O>,
        values: &[T],
        input: &Buffer<T>,
        spread: &str,
        mean: usize,
    ) -> Result<(), Box<dyn Error>> {
        let offsets = offsets(spread, mean, values.len());
        let count = offsets.len() - 1;
        let segments = Segments::new(self.device, &offsets)?;
        reduction.prepare_segments(&segments)?;
        let results = reduction.segments(input, &segments)?;
        let sampled = (0..count).step_by((count >> 12).max(1)).map(|segment| {
            let range = offsets[segment] as usize..offsets[segment + 1] as usize;
            let length = range.len() as u64;
            let state = state_of(reduction.operator(), &values[range], 0);
            (segment, reduction.operator().finish(state, length))
        });
        Expected(sampled.collect()).verify(&results, spread)?;

        let results = self.device.upload(&results)?;
        let read = self
            .device
            .allocate::<u64>((input.bytes() + size_of_val(&offsets[..])) / 8)?;
        let bytes = read.bytes() + results.bytes();
        let ceiling = self.ceiling(read.slice(..), &results)?;
        let (kernel, shape, arguments) =
            reduction.arguments_of_segments(input.slice(..), &segments, &results);
        let ms = self.median(kernel, &shape, &arguments)?;
        println!(
            "{count} {mean} {spread} {ms:.4} {:.0} {:.3}",
            bytes as f64 / ms / 1e6,
            ceiling / ms
        );
        Ok(())
    }

    /// The time of a kernel that reads the input and writes the bytes of the results, with the best of some sizes of blocks.
    fn ceiling<T: Pod, R: Pod>(
        &self,
        input: Slice<'_, T>,
        results: &Buffer<R>,
    ) -> Result<f64, Box<dyn Error>> {
        let kernel = self.device.load(CEILING)?.kernel("read_and_write")?;
        let (vectors, words) = (input.len() * size_of::<T>() / 16, results.bytes() / 4);
        let mut best = f64::INFINITY;
        for block in [128, 256, 512] {
            let blocks = vectors.div_ceil(4 * block as usize);
            let shape = Shape::linear(blocks.try_into()?, block);
            let arguments = [
                input.argument(),
                results.argument(),
                vectors.into(),
                words.into(),
            ];
            // SAFETY: it reads as many vectors as the input has, and writes as many words as the results have.
            unsafe { kernel.launch(&shape, &arguments) }?;
            best = best.min(self.median(&kernel, &shape, &arguments)?);
        }
        Ok(best)
    }

    /// The median of some launches that find nothing in the cache; NaN on the emulator.
    fn median(
        &self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<f64, Box<dyn Error>> {
        if !self.device.is_gpu() {
            return Ok(f64::NAN);
        }
        let timing = Timing {
            repeat: 21,
            cold: true,
        };
        // SAFETY: the same launch has been made before.
        Ok(unsafe { kernel.time(shape, arguments, &timing, || Ok(())) }?.median_ms())
    }
}

/// The spreads of lengths that are measured, with their means.
const SPREADS: [(&str, usize); 17] = [
    ("uniform", 1),
    ("uniform", 4),
    ("uniform", 8),
    ("uniform", 16),
    ("uniform", 32),
    ("uniform", 64),
    ("uniform", 128),
    ("uniform", 512),
    ("uniform", 4096),
    ("uniform", 65536),
    ("uniform", 1 << 22),
    ("equal", 4),
    ("equal", 32),
    ("equal", 64),
    ("equal", 256),
    ("zipf", 32),
    ("giant", 4),
];

/// Where segments of about this mean length begin in `n` values: of lengths from 0 to twice the mean, all alike, by Zipf's law, or one
/// giant with half of the values among equal ones.
fn offsets(spread: &str, mean: usize, n: usize) -> Vec<u32> {
    let mut offsets = vec![0_u32];
    let mut place = 0;
    let mut state = 7_u64;
    while place < n {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let random = (state >> 33) as usize;
        let length = match spread {
            "uniform" => random % (2 * mean + 1),
            // 1 / u for equally likely u: half of the segments are of 1 or 2 values, and a few have most.
            "zipf" => ((1_u64 << 31) / (random as u64 + 1)).min(1 << 24) as usize,
            "giant" if place >= n / 4 && place < n / 2 => n / 2,
            _ => mean,
        };
        place = (place + length).min(n);
        offsets.push(place as u32);
    }
    offsets
}

/// A launch, the choice that it comes from, and its milliseconds.
type Timed = (Option<String>, Launch, f64);

/// Bytes that stay in the cache from launch to launch.
const IN_CACHE: usize = 1 << 25;

/// The launches of choices, each once.
fn launches(
    problem: &Problem,
    choices: impl IntoIterator<Item = Choice>,
) -> Vec<(Option<String>, Launch)> {
    let mut launches: Vec<(Option<String>, Launch)> = Vec::new();
    for choice in choices {
        let launch = choice.launch(problem);
        if !launches.iter().any(|(_, known)| *known == launch) {
            launches.push((Some(format!("{choice:?}")), launch));
        }
    }
    launches
}

/// What is worth a try at a shape.
fn choices(problem: &Problem) -> Vec<Choice> {
    let Matrix { rows, columns, .. } = problem.matrix;
    let bytes = columns * problem.value_bytes;
    let mut choices = Vec::new();
    if bytes >= 1024 && rows >= 8 {
        choices.extend([64, 128, 256, 512, 1024].map(|block| Choice::Whole { block }));
    }
    if bytes >= 1 << 14 {
        for block in [128, 256, 512, 1024] {
            for of_each in [1, 2, 4, 6, 8, 16, 32] {
                let blocks = of_each * MULTIPROCESSORS;
                if rows < 2 * blocks as usize {
                    choices.push(Choice::Shared { block, blocks });
                }
            }
        }
    }
    for blocks in [8, 16, 32]
        .map(|of_each| of_each * MULTIPROCESSORS)
        .into_iter()
        .chain([u32::MAX])
    {
        for lanes in [1, 2, 4, 8, 16, 32] {
            let vectors = bytes.div_ceil(16);
            if lanes <= vectors.max(1) && vectors <= 16 * lanes
                || lanes == 32 && (512..=65536).contains(&bytes)
            {
                choices.push(Choice::Lanes {
                    lanes: lanes as u32,
                    blocks,
                });
            }
        }
        if bytes <= PACKED_BYTES {
            choices.extend([128, 256].map(|block| Choice::Packed { block, blocks }));
        }
    }
    choices
}

/// What is worth a try for columns: strips of any width, and any number of blocks for each, up to four times as many in all as run at once.
fn choices_of_columns(problem: &Problem) -> Vec<Choice> {
    let Matrix { columns, .. } = problem.matrix;
    let (lanes, block) = (problem.lanes, problem.limits.threads);
    let most_blocks = (4 * problem.limits.resident * MULTIPROCESSORS) as usize;
    let vectors = columns.div_ceil(lanes);
    let mut choices = Vec::new();
    for width in [8, 16, 32, 64, 128, 256] {
        if width > block || width > 8 && width as usize >= 2 * vectors {
            continue;
        }
        let strips = vectors.div_ceil(width as usize);
        let (mut slices, mut step) = (1_usize, 1);
        while slices == 1 || strips * slices <= most_blocks {
            let blocks =
                (strips * slices).saturating_mul(block as usize) / THREADS_OF_COLUMNS as usize;
            if let Ok(blocks) = u32::try_from(blocks.max(1)) {
                choices.push(Choice::Columns { width, blocks });
            }
            // 1, 2, 3, 4, 6, 8, 12, 16, 24 …
            slices += step;
            if slices.is_power_of_two() && slices > 2 {
                step = slices / 2;
            }
        }
    }
    choices
}

/// What is worth a try for one row of this many bytes.
fn choices_of_one(bytes: usize) -> Vec<Choice> {
    let mut choices = Vec::new();
    for block in [128, 192, 256, 288, 352, 384, 512, 1024] {
        for blocks in [
            1, 2, 4, 8, 16, 32, 64, 66, 128, 132, 256, 264, 512, 528, 792, 1056, 2112,
        ] {
            let threads = (blocks * block) as usize;
            if (16..=1 << 14).contains(&(bytes / threads)) || blocks == 1 && bytes <= 1 << 16 {
                choices.push(Choice::Shared { block, blocks });
            }
        }
    }
    choices
}

/// The host's results of some rows, by their numbers.
struct Expected<R>(Vec<(usize, R)>);

impl<R: Pod + Outcome + Debug> Expected<R> {
    fn of_some<T: Made, O: BuiltIn<T, Output = R, State: Send> + Send + Sync>(
        operator: O,
        values: &[T],
        columns: usize,
    ) -> Self {
        let rows = values.len() / columns;
        let sampled = (1 << 18) / columns;
        let step = (rows / sampled.max(1)).max(1);
        let last = rows - 1;
        let of_row = |row: usize| {
            let row_values = &values[row * columns..][..columns];
            let state = state_of(operator, row_values, 0);
            (row, operator.finish(state, columns as u64))
        };
        Self((0..last).step_by(step).chain([last]).map(of_row).collect())
    }

    /// Those of some columns.
    fn of_columns<T: Made, O: BuiltIn<T, Output = R, State: Send> + Send + Sync>(
        operator: O,
        values: &[T],
        matrix: Matrix,
    ) -> Self {
        let sampled = ((1 << 18) / matrix.rows).max(1);
        let step = (matrix.columns / sampled).max(1);
        let last = matrix.columns - 1;
        let of_column = |column: usize| {
            let lift = |row: usize| operator.lift(values[row * matrix.stride + column], row as u64);
            let state = combined(operator, &lift, 0..matrix.rows);
            (column, operator.finish(state, matrix.rows as u64))
        };
        Self(
            (0..last)
                .step_by(step)
                .chain([last])
                .map(of_column)
                .collect(),
        )
    }

    fn verify(&self, results: &[R], by: impl Debug) -> Result<(), Box<dyn Error>> {
        for (row, expected) in &self.0 {
            let (found, wanted) = (results[*row].number(), expected.number());
            let is_near = (found - wanted).abs() <= 1e-3 * wanted.abs().max(1.0);
            if !is_near && found.to_bits() != wanted.to_bits() {
                let found = results[*row];
                return Err(format!("row {row} by {by:?}: {found:?}, not {expected:?}").into());
            }
        }
        Ok(())
    }
}

/// The state of values, halves first, so that little is rounded.
fn state_of<T: Made, O: BuiltIn<T, State: Send> + Send + Sync>(
    operator: O,
    values: &[T],
    index: u64,
) -> O::State {
    let lift = |place: usize| operator.lift(values[place], index + place as u64);
    combined(operator, &lift, 0..values.len())
}

fn combined<S: Send>(
    operator: impl Combine<S> + Send + Sync,
    lift: &(impl Fn(usize) -> S + Sync),
    places: Range<usize>,
) -> S {
    if places.len() > 1024 {
        let middle = places.start + places.len() / 2;
        let (left, right) = rayon::join(
            || combined(operator, lift, places.start..middle),
            || combined(operator, lift, middle..places.end),
        );
        return operator.combine(left, right);
    }
    places.map(lift).fold(operator.identity(), |left, right| {
        operator.combine(left, right)
    })
}
