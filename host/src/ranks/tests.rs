//! Ranks as processes: this test executable again and again, on the loopback, with emulated devices.

mod failures;
mod gpus;
mod processes;

use super::{Options, Place, RankError, RankReduction, Ranks};
use crate::device::{Device, DeviceChoice, DeviceError};
use crate::operator::*;
use crate::reduce::{BuiltIn, Reducible};
use crate::sum::Mode;
use crate::{Matrix, Reduction};
use processes::{Process, launchers, run};
use std::fmt::Debug;
use std::io::Write;
use std::ops::Range;
use std::sync::LazyLock;
use warpfold_device::fixed::CHUNK;
use warpfold_device::half::{Bf16, Bool, F16};

/// What reduces the values of a test: one device, or ranks.
trait Reducer {
    /// Which of `n` values, or rows, are here.
    fn range(&self, n: usize) -> Range<usize>;
    fn of<T: Reducible, O: BuiltIn<T>>(&self, operator: O, mode: Mode, values: &[T]) -> O::Output;
    fn columns<T: Reducible, O: BuiltIn<T>>(
        &self,
        operator: O,
        columns: usize,
        values: &[T],
    ) -> Vec<O::Output>;
}

struct Alone(Device);

impl Reducer for Alone {
    fn range(&self, n: usize) -> Range<usize> {
        0..n
    }
    fn of<T: Reducible, O: BuiltIn<T>>(&self, operator: O, mode: Mode, values: &[T]) -> O::Output {
        let reduction = Reduction::new(&self.0, operator).expect("it is prepared");
        let values = self.0.upload(values).expect("they fit");
        reduction.with_mode(mode).of(&values).expect("it runs")
    }
    fn columns<T: Reducible, O: BuiltIn<T>>(
        &self,
        operator: O,
        columns: usize,
        values: &[T],
    ) -> Vec<O::Output> {
        let mut reduction = Reduction::new(&self.0, operator).expect("it is prepared");
        let matrix = Matrix::contiguous(values.len() / columns, columns);
        let values = self.0.upload(values).expect("they fit");
        reduction.columns(&values, matrix).expect("it runs")
    }
}

struct Together<'r, 'd> {
    ranks: &'r Ranks<'d>,
    /// How much each rank has, as shares; none for whole chunks each.
    shares: Vec<usize>,
}

impl Reducer for Together<'_, '_> {
    fn range(&self, n: usize) -> Range<usize> {
        let rank = self.ranks.rank() as usize;
        if self.shares.is_empty() {
            let part = self.ranks.part(n as u64);
            return part.start as usize..part.end as usize;
        }
        let all: usize = self.shares.iter().sum();
        let before = |rank: usize| n * self.shares[..rank].iter().sum::<usize>() / all;
        before(rank)..before(rank + 1)
    }
    fn of<T: Reducible, O: BuiltIn<T>>(&self, operator: O, mode: Mode, values: &[T]) -> O::Output {
        let values = self.ranks.device().upload(values).expect("they fit");
        let reduction = RankReduction::new(self.ranks, operator).expect("it is prepared");
        let mut reduction = reduction.with_mode(mode);
        let result = reduction
            .of(&values)
            .unwrap_or_else(|error| processes::stop(&error));
        // Once more on a stream of the caller's, to the same result.
        let stream = self.ranks.device().stream().expect("there is one");
        let mut again = self.ranks.device().allocate(1).expect("there is room");
        reduction
            .queue(&stream, &values, &mut again)
            .expect("it was prepared for as many");
        self.ranks.wait(&stream).expect("all are there");
        assert_eq!(
            format!("{:?}", again.read().expect("it is there")[0]),
            format!("{result:?}")
        );
        result
    }
    fn columns<T: Reducible, O: BuiltIn<T>>(
        &self,
        operator: O,
        columns: usize,
        values: &[T],
    ) -> Vec<O::Output> {
        let mut reduction = RankReduction::new(self.ranks, operator).expect("it is prepared");
        let matrix = Matrix::contiguous(values.len() / columns, columns);
        let values = self.ranks.device().upload(values).expect("they fit");
        let all = reduction.columns(&values, matrix).expect("it runs");
        let own = reduction.scatter_columns(&values, matrix).expect("it runs");
        let expected = &all[reduction.columns_of_rank(columns)];
        assert_eq!(format!("{own:?}"), format!("{expected:?}"));
        all
    }
}

fn bits(place: usize) -> u32 {
    (place as u32 ^ 0x5bd1).wrapping_mul(2_654_435_761) >> 7
}

fn fractions(range: Range<usize>) -> Vec<f32> {
    range.map(|place| bits(place) as f32 / 1e6 - 7.0).collect()
}

fn integers<T>(range: Range<usize>, of: impl Fn(u32) -> T) -> Vec<T> {
    range.map(|place| of(bits(place))).collect()
}

/// The results of many operators over many types: those whose bits do not depend on who reduces how many of the values.
fn results(reducer: &impl Reducer, n: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |name: &str, result: &dyn Debug| lines.push(format!("{name} = {result:?}"));
    let range = reducer.range(n);
    macro_rules! each {
        ($values:expr, $mode:ident: $($operator:expr),*) => {{
            let values = $values;
            $(
                let operator = $operator;
                let result = reducer.of(operator, Mode::$mode, &values);
                let name = format!("{operator:?} {}", std::any::type_name_of_val(&values));
                line(&name, &result);
            )*
        }};
    }
    let of = || range.clone();
    each!(integers(of(), |bits| bits as i32), Fast: Sum, Product, Min, Max, MinMax, ArgMin::LAST, CountNonzero, Any, All);
    each!(integers(of(), |bits| bits as i32), Deterministic: Sum, Max);
    each!(integers(of(), |bits| bits as i32), Fast: As::<i64, _>::new(Sum), As::<i64, _>::new(Product));
    each!(integers(of(), |bits| bits as u8), Fast: Sum, Min, Max, ArgMax::FIRST);
    each!(integers(of(), |bits| bits as i16), Fast: Sum, Product, Min, Max);
    each!(integers(of(), |bits| Bool((bits % 1000 != 0) as u8)), Fast: Sum, Min, Max, Any, All, CountNonzero);
    each!(integers(of(), |bits| u64::from(bits) << 30), Fast: Sum, Product, Min, Max, ArgMin::FIRST);
    each!(integers(of(), |bits| F16::from_f32((bits % 8) as f32)), Fast: Sum, Max, ArgMax::LAST);
    // Sums of floats that are the same in any order.
    each!(integers(of(), |bits| (bits % 64) as f32), Fast: Sum, Norm1, As::<f64, _>::new(Sum));
    each!(fractions(of()), Fast: Min, Max, MinMax, ArgMax::FIRST, ArgMin::LAST, NormInf);
    let with_nan: Vec<f32> = of()
        .map(|place| if place + 3 == n { f32::NAN } else { -0.0 })
        .collect();
    each!(with_nan, Fast: Min, Max, Sum, ArgMin::FIRST);
    let zeros: Vec<f64> = of()
        .map(|place| if place == n / 2 { 0.0 } else { -0.0 })
        .collect();
    each!(zeros, Fast: Min, Max, Sum);
    each!(fractions(of()), Deterministic: Sum, Product, Mean, Variance { ddof: 1 }, StdDev { ddof: 0 }, Norm2, LogSumExp);
    each!(fractions(of()), Deterministic: As::<f64, _>::new(Sum), As::<f64, _>::new(Mean));
    each!(integers(of(), |bits| Bf16::from_f32(bits as f32)), Deterministic: Sum, Mean);
    each!(integers(of(), f64::from), Deterministic: Norm1, Variance { ddof: 0 });
    // As many rows as there are values of 5 columns.
    let rows = reducer.range(n / 5);
    let of = || rows.start * 5..rows.end * 5;
    line(
        "columns of i32",
        &reducer.columns(Sum, 5, &integers(of(), |bits| bits as i32)),
    );
    line(
        "columns of f32",
        &reducer.columns(Sum, 5, &integers(of(), |bits| (bits % 64) as f32)),
    );
    line("columns' max", &reducer.columns(Max, 5, &fractions(of())));
    line(
        "columns' min of i16",
        &reducer.columns(Min, 5, &integers(of(), |bits| bits as i16)),
    );
    line(
        "columns' any",
        &reducer.columns(Any, 5, &integers(of(), |bits| bits as u8 & 1)),
    );
    lines
}

/// One result of each way in which ranks combine theirs: number by number, result by result, chunk by chunk, and column by column. They show
/// that ranks meet; [`results`] has all operators and types.
fn few_results(reducer: &impl Reducer, n: usize) -> Vec<String> {
    let (mine, rows) = (reducer.range(n), reducer.range(n / 5));
    let whole = integers(mine.clone(), |bits| bits as i32);
    let fractions = fractions(mine);
    let matrix = integers(rows.start * 5..rows.end * 5, |bits| bits as i32);
    vec![
        format!("sum = {:?}", reducer.of(Sum, Mode::Fast, &whole)),
        format!(
            "argmax = {:?}",
            reducer.of(ArgMax::FIRST, Mode::Fast, &fractions)
        ),
        format!(
            "mean = {:?}",
            reducer.of(Mean, Mode::Deterministic, &fractions)
        ),
        format!("columns = {:?}", reducer.columns(Sum, 5, &matrix)),
    ]
}

fn alone() -> Alone {
    Alone(Device::open(&DeviceChoice::Emulator).expect("there is always an emulator"))
}

/// What a process does that another test has started as a rank.
fn task(name: &str, ranks: &Ranks<'_>) -> Result<(), RankError> {
    let (name, shares) = name.split_once(':').unwrap_or((name, ""));
    let shares = shares
        .split(',')
        .filter_map(|share| share.parse().ok())
        .collect();
    match name {
        "results" => {
            let reducer = Together { ranks, shares };
            for n in SIZES {
                results(&reducer, n).iter().for_each(print_line);
            }
        }
        "few" => {
            let reducer = Together { ranks, shares };
            few_results(&reducer, SIZES[1]).iter().for_each(print_line);
        }
        "random" => random(&Together { ranks, shares })
            .iter()
            .for_each(print_line),
        other => failures::task(other, ranks)?,
    }
    Ok(())
}

/// Prints a line at once, after an end of the line before: another rank may have left that unfinished where all print to one place.
fn print_line(line: &String) {
    let printed = std::io::stdout().write_all(format!("\n{line}\n").as_bytes());
    printed.expect("somebody reads it");
}

const SIZES: [usize; 3] = [10, 3 * CHUNK + 77, 0];

/// Deterministic results of 200 random arrays.
fn random(reducer: &impl Reducer) -> Vec<String> {
    let case = |case: usize| {
        let n = bits(case) as usize
            % (if case.is_multiple_of(20) {
                40_000
            } else {
                9000
            });
        let values = fractions(reducer.range(n).start + case..reducer.range(n).end + case);
        let sum = reducer.of(Sum, Mode::Deterministic, &values);
        let variance = reducer.of(Variance { ddof: 0 }, Mode::Deterministic, &values);
        format!("{n}: {:x} {:x}", sum.to_bits(), variance.to_bits())
    };
    (0..200).map(case).collect()
}

/// Compares what each rank printed with what one device gives.
fn agree(processes: Vec<Process>, expected: &[String]) {
    for (rank, process) in processes.into_iter().enumerate() {
        let end = process.end();
        assert_eq!(end.status, Some(0), "rank {rank}: {}", end.text);
        for line in expected {
            let is_there = end.text.lines().any(|other| other == line);
            assert!(is_there, "rank {rank} has no line {line}\n{}", end.text);
        }
    }
}

/// What one device gives, for all tests once.
fn expected() -> &'static [String] {
    static EXPECTED: LazyLock<Vec<String>> = LazyLock::new(|| {
        let alone = alone();
        SIZES.into_iter().flat_map(|n| results(&alone, n)).collect()
    });
    &EXPECTED
}

#[test]
fn two_ranks_give_what_one_device_gives() {
    agree(run("results", 2, launchers()[0]), expected());
}

#[test]
fn ranks_of_unequal_sizes_and_empty_ones_give_the_same() {
    agree(run("results:1,0,5", 3, launchers()[0]), expected());
}

#[test]
fn each_launcher_s_ranks_meet() {
    let expected = few_results(&alone(), SIZES[1]);
    for (size, launcher) in [2, 4, 3].into_iter().zip(launchers()) {
        agree(run("few", size, launcher), &expected);
    }
    agree(run("few:0,7,2,0", 4, launchers()[0]), &expected);
}

#[test]
fn two_processes_give_the_bits_of_one_device_200_times() {
    let expected = random(&alone());
    agree(run("random", 2, launchers()[1]), &expected);
    // Chunks that ranks begin and others complete.
    agree(run("random:3,0,5", 3, launchers()[1]), &expected);
}

#[test]
fn open_mpi_s_own_ranks_meet() {
    let Some(processes) = processes::by_mpirun("results", 2, false) else {
        println!("skipped: there is no mpirun on PATH (apt-get install openmpi-bin)");
        return;
    };
    agree_in_one(processes, 2);
}

/// Compares what all ranks printed through one process with what one device gives.
fn agree_in_one(processes: Process, size: usize) {
    let end = processes.end();
    assert_eq!(end.status, Some(0), "{}", end.text);
    for line in expected() {
        let count = end.text.lines().filter(|other| **other == *line).count();
        assert!(count >= size, "{line} is there {count} times\n{}", end.text);
    }
}

#[test]
fn one_rank_needs_no_other() {
    let Alone(device) = alone();
    let place = Place::new(0, 1).expect("there is such a rank");
    let ranks = Ranks::join(&device, &place, Options::default()).expect("it waits for nobody");
    assert_eq!(
        (ranks.rank(), ranks.size(), ranks.describe().as_str()),
        (0, 1, "sockets")
    );
    let reducer = Together {
        ranks: &ranks,
        shares: Vec::new(),
    };
    assert_eq!(results(&reducer, 5000), results(&alone(), 5000));
}

#[test]
fn what_was_not_prepared_or_cannot_be_is_refused() {
    let Alone(device) = alone();
    let place = Place::new(0, 1).expect("there is such a rank");
    let ranks = Ranks::join(&device, &place, Options::default()).expect("it waits for nobody");
    let stream = device.stream().expect("there is one");
    let values = device.upload(&[1.5_f32; 6]).expect("it fits");
    let mut result = device.allocate(1).expect("it fits");
    let mut sum = RankReduction::new(&ranks, Sum).expect("it is prepared");
    let sentence = |error: Result<(), RankError>| error.expect_err("it is refused").to_string();
    assert_eq!(
        sentence(sum.queue(&stream, &values, &mut result)),
        "'sum of f32' was queued before the ranks had told each other how many values they have: let all ranks call `prepare` before"
    );
    sum.prepare(5).expect("it is prepared");
    assert_eq!(
        sentence(sum.queue(&stream, &values, &mut result)),
        "rank 0 has 6 values for 'sum of f32', which was prepared for 5: call `prepare` again on all ranks when one has more or fewer values"
    );
    sum.prepare(6).expect("it is prepared");
    let mut two = device.allocate(2).expect("it fits");
    assert!(sum.queue(&stream, &values, &mut two).is_err());
    let other = alone();
    let elsewhere = other.0.upload(&[1.5_f32; 6]).expect("it fits");
    assert_eq!(
        sum.queue(&stream, &elsewhere, &mut result),
        Err(DeviceError::OtherDevice.into())
    );
    // Sockets are no part of a graph.
    let captured = stream.capture(|stream| {
        let queued = sum.queue(stream, &values, &mut result);
        assert_eq!(queued, Err(RankError::Captured));
        Ok(())
    });
    assert!(captured.is_ok());
    let matrix = Matrix::contiguous(2, 3);
    let mut variance: RankReduction<'_, '_, f32, _> =
        RankReduction::new(&ranks, Variance { ddof: 0 }).expect("it is prepared");
    assert_eq!(
        sentence(variance.prepare_columns(matrix)),
        "the ranks' results of 'columns' variance of f32' are not combined column by column: sum, product, min, max, any, all and count_nonzero are"
    );
    let mut sum = sum.with_mode(Mode::Deterministic);
    assert_eq!(
        sentence(sum.prepare_columns(matrix)),
        "the ranks' results of 'columns' sum of f32' are not combined column by column in an order that is always the same: leave the deterministic mode"
    );
    assert!(matches!(
        sum.columns(&values, Matrix::contiguous(7, 1)),
        Err(RankError::Reduction(crate::Error::Outside { .. }))
    ));
}

/// Not a test: what a process does that another test starts as a rank.
#[test]
#[ignore = "a rank of other tests"]
fn as_a_rank() {
    processes::be_a_rank(task);
}
