//! Scans, dot products, reductions by key and the deterministic orders, timed on a GPU beside a kernel that reads as much and writes as
//! many bytes of results: `cargo run --release --package warpfold-peers --bin time_calls -- f32`.
//!
//! Each result is verified bit for bit against the same call on the cores, and a dot product against another run of its own. A time is the median of nine calls between two events,
//! of memory larger than the cache. `-- TYPE [BYTES]`: BYTES are those of the values, 2^30 unless given. On the emulator nothing is timed.

mod read_and_write;

use std::error::Error;
use std::fmt::Debug;
use warpfold::cpu::{self, Order};
use warpfold::device::{Buffer, Event, Pod, Slice, Stream, Timing};
use warpfold::operator::{Max, Mean, Operator, Sum};
use warpfold::reduce::{BuiltIn, Reducible};
use warpfold::scan::{ScanKind, Scannable};
use warpfold::sum::Mode;
use warpfold::{Device, DotProduct, Matrix, Reduction, Runs, Scan, Segments};

const REPEAT: usize = 9;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let device = Device::best();
    println!("{}", device.describe());
    let bytes = match arguments.get(1) {
        Some(bytes) => bytes.parse()?,
        None if device.is_gpu() => 1 << 30,
        None => 1 << 16,
    };
    match arguments.first().map_or("f32", String::as_str) {
        "f32" => run(&device, bytes, |x| x as f32 / 16.0),
        "f64" => run(&device, bytes, |x| f64::from(x) / 16.0),
        "i32" => run(&device, bytes, i32::from),
        "u8" => run(&device, bytes, |x| x as u8),
        other => Err(format!("this measures f32, f64, i32 and u8, not `{other}`").into()),
    }
}

fn run<T>(device: &Device, bytes: usize, made: impl Fn(i16) -> T) -> Outcome
where
    T: Reducible<Wide: Pod + PartialEq + Debug> + Sync,
    Sum: Scannable<T, Output: Pod + PartialEq + Debug> + cpu::Parallel<T>,
    Max: Scannable<T, Output: Pod + PartialEq + Debug> + cpu::Parallel<T>,
    Mean: BuiltIn<T, Output: Pod + PartialEq + Debug> + cpu::Parallel<T>,
{
    let n = bytes / size_of::<T>();
    let mut random = random();
    let values: Vec<T> = (0..n)
        .map(|_| made((random() % 255) as i16 - 127))
        .collect();
    let calls = Calls {
        device,
        stream: device.stream()?,
        input: device.upload(&values)?,
        values,
    };
    println!("{} of {}", n, T::NAME);
    println!("call ms GB/s share");
    calls.scans("sum", Sum)?;
    calls.scans("max", Max)?;
    calls.fixed("sum", Sum)?;
    calls.fixed("mean", Mean)?;
    calls.dot()?;
    for length in [4, 64, 1024] {
        calls.by_key(length)?;
    }
    Ok(())
}

struct Calls<'d, T> {
    device: &'d Device,
    stream: Stream,
    values: Vec<T>,
    input: Buffer<T>,
}

impl<T: Reducible + Sync> Calls<'_, T> {
    fn scans<O>(&self, name: &str, operator: O) -> Outcome
    where
        O: Scannable<T, Output: Pod + PartialEq + Debug> + cpu::Parallel<T>,
    {
        let n = self.values.len();
        let mut scan = Scan::inclusive(self.device, operator)?;
        let mut results = self.device.allocate::<O::Output>(n)?;
        let bytes = self.input.bytes() + results.bytes();
        for columns in [n, 4096, 64] {
            let matrix = Matrix::contiguous(n / columns, columns);
            let expected = cpu::scan_rows(operator, ScanKind::Inclusive, &self.values, matrix)?;
            let ms = self.time(|| {
                scan.queue_rows(&self.stream, &self.input, matrix, &mut results)?;
                Ok(())
            })?;
            assert!(
                are_same(&results.read()?, &expected),
                "scan of rows of {columns}"
            );
            self.show(
                &format!("scan {name} {}x{columns}", n / columns),
                bytes,
                &results,
                ms,
            )?;
        }
        let offsets = self.offsets(32);
        let segments = Segments::new(self.device, &offsets)?;
        let expected = cpu::scan_segments(operator, ScanKind::Inclusive, &self.values, &offsets)?;
        scan.prepare_segments(&segments)?;
        let ms = self.time(|| {
            scan.queue_segments(&self.stream, &self.input, &segments, &mut results)?;
            Ok(())
        })?;
        assert!(are_same(&results.read()?, &expected), "scan of segments");
        self.show(&format!("scan {name} segments-of-32"), bytes, &results, ms)
    }

    /// Reductions in their deterministic order.
    fn fixed<O>(&self, name: &str, operator: O) -> Outcome
    where
        O: BuiltIn<T, Output: Pod + PartialEq + Debug> + cpu::Parallel<T>,
    {
        let n = self.values.len();
        let mut reduction = Reduction::new(self.device, operator)?.with_mode(Mode::Deterministic);
        let order = Order::Deterministic;
        for columns in [n, 1 << 14, 256, 16] {
            let matrix = Matrix::contiguous(n / columns, columns);
            let mut results = self.device.allocate::<O::Output>(matrix.rows)?;
            let ms = self.time(|| {
                reduction.queue_rows(&self.stream, &self.input, matrix, &mut results)?;
                Ok(())
            })?;
            let expected = cpu::rows(operator, &self.values, matrix, order)?;
            assert!(are_same(&results.read()?, &expected), "rows of {columns}");
            let bytes = self.input.bytes() + results.bytes();
            let call = format!("fixed {name} rows {}x{columns}", matrix.rows);
            self.show(&call, bytes, &results, ms)?;
        }
        for columns in [1 << 14, 256, 16] {
            let matrix = Matrix::contiguous(n / columns, columns);
            let mut results = self.device.allocate::<O::Output>(columns)?;
            let ms = self.time(|| {
                reduction.queue_columns(&self.stream, &self.input, matrix, &mut results)?;
                Ok(())
            })?;
            let expected = cpu::columns(operator, &self.values, matrix, order)?;
            assert!(
                are_same(&results.read()?, &expected),
                "columns of {}",
                matrix.rows
            );
            let bytes = self.input.bytes() + results.bytes();
            let call = format!("fixed {name} columns {}x{columns}", matrix.rows);
            self.show(&call, bytes, &results, ms)?;
        }
        for mean in [4, 32, 1024] {
            let offsets = self.offsets(mean);
            let segments = Segments::new(self.device, &offsets)?;
            let mut results = self.device.allocate::<O::Output>(segments.len())?;
            reduction.prepare_segments(&segments)?;
            let ms = self.time(|| {
                reduction.queue_segments(&self.stream, &self.input, &segments, &mut results)?;
                Ok(())
            })?;
            let expected = cpu::segments(operator, &self.values, &offsets, order)?;
            assert!(are_same(&results.read()?, &expected), "segments of {mean}");
            let bytes = self.input.bytes() + size_of_val(&offsets[..]) + results.bytes();
            self.show(
                &format!("fixed {name} segments-of-{mean}"),
                bytes,
                &results,
                ms,
            )?;
        }
        Ok(())
    }

    fn dot(&self) -> Outcome
    where
        T::Wide: Pod + PartialEq + Debug,
    {
        let half = self.values.len() / 2;
        let mut result = self.device.allocate::<T::Wide>(1)?;
        for mode in [Mode::Fast, Mode::Deterministic] {
            let mut dot = DotProduct::new(self.device)?.with_mode(mode);
            let ms = self.time(|| {
                let (left, right) = (self.input.slice(..half), self.input.slice(half..2 * half));
                dot.queue(&self.stream, left, right, &mut result)?;
                Ok(())
            })?;
            if mode == Mode::Deterministic {
                let found = result.read()?;
                assert!(
                    found == [dot.of(self.input.slice(..half), self.input.slice(half..2 * half))?]
                );
            }
            self.show(&format!("dot {mode:?}"), self.input.bytes(), &result, ms)?;
        }
        Ok(())
    }

    /// The whole call: runs are found, their number is read, sums are made.
    fn by_key(&self, mean: usize) -> Outcome
    where
        Sum: BuiltIn<T, Output: Pod + PartialEq + Debug> + cpu::Parallel<T>,
    {
        let offsets = self.offsets(mean);
        let mut keys = vec![0_u32; self.values.len()];
        for (run, place) in offsets.windows(2).enumerate() {
            keys[place[0] as usize..place[1] as usize].fill(run as u32);
        }
        let keys_on_device = self.device.upload(&keys)?;
        let mut sums = Reduction::new(self.device, Sum)?;
        let runs = Runs::of(self.device, &keys_on_device)?;
        let mut results = self
            .device
            .allocate::<<Sum as Operator<T>>::Output>(runs.len())?;
        let ms = self.time(|| {
            let runs = Runs::of(self.device, &keys_on_device)?;
            sums.queue_segments(&self.stream, &self.input, &runs.segments(), &mut results)?;
            Ok(())
        })?;
        let (expected_keys, expected) = cpu::by_key(Sum, &keys, &self.values, Order::Fast)?;
        assert!(runs.keys()? == expected_keys, "keys");
        assert!(are_same(&results.read()?, &expected), "sums by key");
        let bytes = self.input.bytes() + keys_on_device.bytes() + results.bytes() + 4 * runs.len();
        self.show(&format!("by-key sum runs-of-{mean}"), bytes, &results, ms)
    }

    /// Where segments begin whose lengths are from 0 to twice the mean, all alike.
    fn offsets(&self, mean: usize) -> Vec<u32> {
        let mut random = random();
        let (mut offsets, mut place) = (vec![0], 0);
        while place < self.values.len() {
            place = (place + random() as usize % (2 * mean + 1)).min(self.values.len());
            offsets.push(place as u32);
        }
        offsets
    }

    /// The median of some calls, after one that allocates; NaN on the emulator.
    fn time(&self, mut call: impl FnMut() -> Outcome) -> Outcome<f64> {
        call()?;
        self.stream.synchronize()?;
        if !self.device.is_gpu() {
            return Ok(f64::NAN);
        }
        let (start, end): (Event, Event) = (self.device.event()?, self.device.event()?);
        let mut times = Vec::new();
        for _ in 0..REPEAT {
            self.stream.record(&start)?;
            call()?;
            self.stream.record(&end)?;
            end.synchronize()?;
            times.push(end.elapsed_ms_since(&start)?);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[REPEAT / 2])
    }

    /// A line, with the share of a kernel that reads and writes as many bytes.
    fn show<R: Pod>(&self, call: &str, bytes: usize, results: &Buffer<R>, ms: f64) -> Outcome {
        let read = self.device.allocate::<u64>((bytes - results.bytes()) / 8)?;
        let ceiling = self.ceiling(read.slice(..), results.slice(..))?;
        println!(
            "{call} {ms:.4} {:.0} {:.3}",
            bytes as f64 / ms / 1e6,
            ceiling / ms
        );
        Ok(())
    }

    fn ceiling<R: Pod>(&self, input: Slice<'_, u64>, results: Slice<'_, R>) -> Outcome<f64> {
        let (kernel, shape, arguments) =
            read_and_write::launched(self.device, input, results, 256)?;
        if !self.device.is_gpu() {
            return Ok(f64::NAN);
        }
        let timing = Timing {
            repeat: REPEAT,
            cold: true,
        };
        // SAFETY: the same launch has been made before.
        Ok(unsafe { kernel.time(&shape, &arguments, &timing, || Ok(())) }?.median_ms())
    }
}

/// Whether results are equal; a mean of nothing is NaN.
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn are_same<R: PartialEq>(left: &[R], right: &[R]) -> bool {
    let is_same = |(left, right): (&R, &R)| left == right || left != left && right != right;
    left.len() == right.len() && left.iter().zip(right).all(is_same)
}

/// The same random numbers in every run, of 31 bits.
fn random() -> impl FnMut() -> u32 {
    let mut state = 7_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u32
    }
}
