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
//! | `every=10,257,…` | rows of so many values, and all launches are shown |
//! | `columns=10,257,…` | so many columns, and no launch but the chosen one |
//! | `single`, and any for `dot` | one row of every length: of those that fit into the cache, a launch's part of a graph of 20 |
//!
//! On the emulator nothing is timed. `cargo xtask tune` makes the library's table of what `every`, `odd`, `columns` and `single` print.

mod choices;
mod expected;
mod mode;
#[path = "../read_and_write.rs"]
mod read_and_write;
mod segments;
mod single;
mod values;

use bytemuck::Zeroable;
use choices::{choices, choices_of_columns, choices_of_one, launches};
use expected::{Expected, combined, state_of};
use mode::{Mode, Shown};
use segments::{SPREADS, offsets};
use single::{Pairs, Single, SingleRow};
use std::collections::HashSet;
use std::error::Error;
use values::{Made, Outcome, values};
use warpfold::device::{Argument, Buffer, DeviceError, Kernel, Pod, Shape, Slice, Stream, Timing};
use warpfold::operator::*;
use warpfold::reduce::BuiltIn;
use warpfold::reduce::table::Launch;
use warpfold::{Along, Bf16, Device, DotProduct, F16, Matrix, Reduction, Segments};

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
        mode: word(3).map_or(Ok(Mode::Marked), str::parse)?,
    };
    let mut unknown: Vec<&str> = operator.split(',').collect();
    macro_rules! operators {
        ($value:ty; $($name:ident: $operator:ty = $make:expr;)*) => {
            $(if unknown.contains(&stringify!($name)) {
                unknown.retain(|name| *name != stringify!($name));
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
    match unknown.first() {
        None => Ok(()),
        Some(name) => Err(format!("there is no operator `{name}`").into()),
    }
}

struct Run<'d> {
    device: &'d Device,
    bytes: usize,
    mode: Mode,
}

/// A launch, the choice that it comes from, and its milliseconds.
type Timed = (Option<String>, Launch, f64);

/// How often a launch is timed.
const MANY: usize = 15;
/// How often one that is [`FAR`] from the fastest is.
const FEW: usize = 5;
/// How many times as long as the fastest before it such a launch takes.
const FAR: f64 = 1.5;

/// Bytes that stay in the cache from launch to launch.
const IN_CACHE: usize = 1 << 25;

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
        if self.mode == Mode::Segments {
            println!("segments mean spread ms GB/s share");
            for (spread, mean) in SPREADS {
                self.in_segments(&mut reduction, &values, &input, spread, mean)?;
            }
            return Ok(());
        }
        println!("rows columns choice blocks block ms GB/s share");
        if let Mode::Only(along, shapes, _) = &self.mode {
            for &columns in shapes {
                let n = n / columns * columns.get();
                if n == 0 {
                    return Err(format!(
                        "the input has no {columns} values: give fewer columns, or more bytes"
                    )
                    .into());
                }
                let input = input.slice(..n);
                self.at(&mut reduction, &values[..n], input, columns.get(), *along)?;
            }
            return Ok(());
        }
        if self.mode == Mode::Columns {
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
                    columns /= 2;
                }
            }
            return Ok(());
        }
        if self.mode == Mode::Single {
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
        if self.mode == Mode::Odd {
            let smaller = (22..usize::BITS).step_by(3).map(|bits| 1 << bits);
            let smaller = smaller.take_while(|&all_bytes| all_bytes < self.bytes);
            for all_bytes in smaller.chain([self.bytes]) {
                for row_bytes in (1..13).map(|bits| 3 << bits >> 1) {
                    let columns = (row_bytes / size_of::<T>()) | 1;
                    let n = all_bytes / size_of::<T>() / columns * columns;
                    if columns > 1 && n > 0 {
                        let input = input.slice(..n);
                        self.at(&mut reduction, &values[..n], input, columns, Along::Rows)?;
                    }
                }
            }
            return Ok(());
        }
        let smaller = (20..usize::BITS).step_by(2).map(|bits| 1 << bits);
        let smaller =
            smaller.take_while(|&all_bytes| self.mode == Mode::Every && all_bytes < self.bytes);
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
                columns /= if self.mode == Mode::Every || columns <= 1024 {
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
        if let Mode::Only(_, _, Shown::Chosen) = self.mode {
            launches.clear();
        }
        if !launches.iter().any(|(_, launch)| *launch == chosen) {
            launches.push((None, chosen));
        }
        let bytes = input.len() * size_of::<T>() + count * size_of::<O::Output>();
        let ceiling = self.ceiling(input, &results)?;
        let mut timed = Vec::new();
        let mut fastest = f64::INFINITY;
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
            let ms = self.median(kernel, &shape, &arguments, fastest)?;
            fastest = fastest.min(ms);
            timed.push((choice, launch, ms));
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
            if self.mode.shows_all() || !marks.is_empty() {
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
                self.median(kernel, &shape, &arguments, f64::INFINITY)?
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
        let ms = self.median(kernel, &shape, &arguments, f64::INFINITY)?;
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
        let mut best = f64::INFINITY;
        for block in [128, 256, 512] {
            let (kernel, shape, arguments) =
                read_and_write::launched(self.device, input, results.slice(..), block)?;
            best = best.min(self.median(&kernel, &shape, &arguments, best)?);
        }
        Ok(best)
    }

    /// The median of some launches that find nothing in the cache, of fewer if they are far from the fastest time; NaN on the emulator.
    fn median(
        &self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
        fastest: f64,
    ) -> Result<f64, Box<dyn Error>> {
        if !self.device.is_gpu() {
            return Ok(f64::NAN);
        }
        let of = |repeat| {
            let timing = Timing { repeat, cold: true };
            // SAFETY: the same launch has been made before.
            let timed = unsafe { kernel.time(shape, arguments, &timing, || Ok(())) };
            timed.map(|timed| timed.median_ms())
        };
        let of_few = of(FEW)?;
        if of_few > FAR * fastest {
            return Ok(of_few);
        }
        Ok(of(MANY)?)
    }
}
