//! Our library's call for a problem, and what the CPU says of it.

use super::contender::{Queue, Queued};
use super::problem::{Element, Operator, Problem, ProblemShape};
use super::results::{Expected, ResultType, Results, ValueOf, verified};
use super::values::{Inputs, Values};
use crate::error::PeersError;
use crate::record::{Finds, Maker};
use std::ops::Range;
use warpfold::cpu::{self, Order, ShapeError};
use warpfold::device::{Buffer, Device, Pod, Stream};
use warpfold::operator::{ArgMax, LogSumExp, Max, Mean, Sum, Variance};
use warpfold::reduce::{BuiltIn, Reducible};
use warpfold::scan::{ScanKind, Scannable};
use warpfold::{Along, Bf16, DotProduct, Matrix, Reduction, Runs, Scan, Segments};

/// What some problems have beside the values.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Where segments begin, and the last ends: on the host and on the GPU.
    pub offsets: Option<(&'a [u32], &'a Buffer<u32>)>,
    /// The key of each value.
    pub keys: Option<&'a Buffer<u32>>,
}

/// A problem with its solution.
pub struct Solved<'a> {
    /// Our call.
    pub ours: Queued<'a>,
    /// What it should leave.
    pub expected: Expected<'a>,
    /// Bytes that it reads.
    pub bytes_read: usize,
    /// Bytes that it writes.
    pub bytes_written: usize,
}

/// A type of results.
trait Outcome: Pod {
    const TYPE: ResultType;
    fn number(self) -> f64;
}

macro_rules! outcomes {
    ($($result:ty = $variant:ident, |$it:ident| $number:expr;)*) => {$(
        impl Outcome for $result {
            const TYPE: ResultType = ResultType::$variant;
            fn number(self) -> f64 {
                let $it = self;
                $number
            }
        }
    )*};
}

outcomes! {
    f32 = F32, |it| it.into();
    f64 = F64, |it| it;
    Bf16 = Bf16, |it| it.into();
    i8 = I8, |it| it.into();
    i32 = I32, |it| it.into();
    u32 = U32, |it| it.into();
    u64 = U64, |it| it as f64;
}

/// Our call for this problem. Nothing is launched yet.
///
/// # Errors
/// The device has no room, or refuses a kernel.
pub fn solve<'a>(
    device: &'a Device,
    inputs: &'a Inputs,
    beside: Beside<'a>,
    problem: &Problem,
) -> Result<Solved<'a>, PeersError> {
    let f32 = &inputs.f32;
    let unknown = || PeersError::Contender {
        name: "warpfold".to_owned(),
        n: 0,
        message: format!("it does not know {problem}"),
    };
    macro_rules! reductions {
        ($values:expr, $shape:expr; $($name:ident => $operator:expr,)*) => {
            match problem.operator {
                $(Operator::$name => reduction(device, $values, $operator, beside, $shape),)*
                _ => Err(unknown()),
            }
        };
    }
    macro_rules! of_small_type {
        ($values:expr) => {
            reductions! { $values, problem.shape;
                Sum => Sum,
                Max => Max,
                ArgMax => ArgMax::FIRST,
                ArgMaxU32 => ArgMax::FIRST.with_index::<u32>(),
                Mean => Mean,
            }
        };
    }
    match (problem.element, problem.shape) {
        (Element::Bf16, _) => of_small_type!(inputs.bf16.as_ref().ok_or_else(unknown)?),
        (Element::I8, _) => of_small_type!(inputs.i8.as_ref().ok_or_else(unknown)?),
        (Element::F32, ProblemShape::Scan(matrix)) => match problem.operator {
            Operator::Sum => scan(device, f32, Sum, problem.operator, matrix),
            Operator::Max => scan(device, f32, Max, problem.operator, matrix),
            _ => Err(unknown()),
        },
        (Element::F32, ProblemShape::Keys(_)) => keys(device, f32, beside),
        (Element::F32, ProblemShape::Matrix(matrix, _)) if problem.operator == Operator::Dot => {
            dot(device, f32, matrix.columns)
        }
        (Element::F32, shape) => reductions! { f32, shape;
            Sum => Sum,
            Max => Max,
            ArgMax => ArgMax::FIRST,
            ArgMaxU32 => ArgMax::FIRST.with_index::<u32>(),
            Mean => Mean,
            Variance => Variance { ddof: 0 },
            LogSumExp => LogSumExp,
        },
    }
}

/// A reduction of rows, columns or segments.
fn reduction<'a, T, O>(
    device: &'a Device,
    values: &'a Values<T>,
    operator: O,
    beside: Beside<'a>,
    shape: ProblemShape,
) -> Result<Solved<'a>, PeersError>
where
    T: Reducible + Outcome + Sync,
    O: BuiltIn<T, Output: Outcome> + cpu::Parallel<T> + 'a,
{
    let host = &values.host[..];
    let mut reduction = Reduction::new(device, operator)?;
    match shape {
        ProblemShape::Matrix(matrix, along) => {
            let (Matrix { rows, columns, .. }, n) = (matrix, matrix.rows * matrix.columns);
            let count = match along {
                Along::Rows => rows,
                Along::Columns => columns,
            };
            let of_range = |range: Range<usize>| match along {
                Along::Rows => {
                    let part = &host[range.start * columns..range.end * columns];
                    let matrix = Matrix::contiguous(range.len(), columns);
                    cpu::rows(operator, part, matrix, Order::Fast)
                }
                Along::Columns => {
                    let matrix = Matrix {
                        columns: range.len(),
                        ..matrix
                    };
                    cpu::columns(operator, &host[range.start..n], matrix, Order::Fast)
                }
            };
            let value = move |result: usize, index: usize| match along {
                Along::Rows if index < columns => host.get(result * columns + index),
                Along::Columns if index < rows => host.get(index * columns + result),
                _ => None,
            };
            let value = move |result, index| value(result, index).map(|value| value.number());
            let expected = expected(operator_of(operator)?, count, of_range, Box::new(value))?;
            reduction.prepare(along, matrix)?;
            let mut results = device.allocate(count)?;
            let place = place(&results);
            let input = values.device.slice(..n);
            let queue: Queue<'a> = match along {
                Along::Rows => Box::new(move |stream| {
                    Ok(reduction.queue_rows(stream, input, matrix, &mut results)?)
                }),
                Along::Columns => Box::new(move |stream| {
                    Ok(reduction.queue_columns(stream, input, matrix, &mut results)?)
                }),
            };
            let name = name(along);
            Ok(solved(name, queue, place, expected, n * size_of::<T>()))
        }
        ProblemShape::Segments(..) => {
            let (offsets, on_device) = beside.offsets.ok_or_else(unfit)?;
            // SAFETY: they ascend, as `Spread::offsets` makes them, and end where the values end.
            let segments = unsafe { Segments::on_device(on_device, host.len()) }?;
            let of_range = |range: Range<usize>| {
                cpu::segments(
                    operator,
                    host,
                    &offsets[range.start..=range.end],
                    Order::Fast,
                )
            };
            let value = move |result: usize, index: usize| {
                let segment = offsets[result] as usize..offsets[result + 1] as usize;
                host[segment].get(index).map(|value| value.number())
            };
            let count = segments.len();
            let expected = expected(operator_of(operator)?, count, of_range, Box::new(value))?;
            reduction.prepare_segments(&segments)?;
            let mut results = device.allocate(count)?;
            let place = place(&results);
            let queue: Queue<'a> = Box::new(move |stream| {
                Ok(reduction.queue_segments(stream, &values.device, &segments, &mut results)?)
            });
            let name = "warpfold::Reduction, segments".to_owned();
            let bytes = values.device.bytes() + on_device.bytes();
            Ok(solved(name, queue, place, expected, bytes))
        }
        ProblemShape::Scan(_) | ProblemShape::Keys(_) => Err(unfit()),
    }
}

/// The operator by its kernels' name.
fn operator_of<T: Reducible, O: BuiltIn<T>>(operator: O) -> Result<Operator, PeersError> {
    Ok(match operator.kernels().0 {
        "sum" => Operator::Sum,
        "max" => Operator::Max,
        "argmax" => Operator::ArgMax,
        "argmax_u32" => Operator::ArgMaxU32,
        "mean" => Operator::Mean,
        "variance" => Operator::Variance,
        "logsumexp" => Operator::LogSumExp,
        _ => return Err(unfit()),
    })
}

fn name(along: Along) -> String {
    match along {
        Along::Rows => "warpfold::Reduction, rows".to_owned(),
        Along::Columns => "warpfold::Reduction, columns".to_owned(),
    }
}

fn scan<'a, O>(
    device: &'a Device,
    values: &'a Values<f32>,
    operator: O,
    by: Operator,
    matrix: Matrix,
) -> Result<Solved<'a>, PeersError>
where
    O: Scannable<f32, Output = f32> + cpu::Parallel<f32> + 'a,
{
    let Matrix { rows, columns, .. } = matrix;
    let n = rows * columns;
    let input = values.device.slice(..n);
    let all = cpu::scan_rows(operator, ScanKind::Inclusive, &values.host[..n], matrix)
        .map_err(refused)?;
    let of_range = |range: Range<usize>| Ok(all[range].to_vec());
    let expected = expected(by, n, of_range, Box::new(|_, _| None))?;
    let mut scan = Scan::inclusive(device, operator)?;
    scan.prepare(n)?;
    let mut results = device.allocate(n)?;
    let place = place(&results);
    let queue: Queue<'a> =
        Box::new(move |stream| Ok(scan.queue_rows(stream, input, matrix, &mut results)?));
    let name = "warpfold::Scan".to_owned();
    Ok(solved(name, queue, place, expected, n * size_of::<f32>()))
}

/// The whole call, with memory allocated before: runs are found, their number is read, sums are made.
fn keys<'a>(
    device: &'a Device,
    values: &'a Values<f32>,
    beside: Beside<'a>,
) -> Result<Solved<'a>, PeersError> {
    let (Some((offsets, _)), Some(keys)) = (beside.offsets, beside.keys) else {
        return Err(unfit());
    };
    let count = offsets.len() - 1;
    let of_range = |range: Range<usize>| {
        cpu::segments(
            Sum,
            &values.host,
            &offsets[range.start..=range.end],
            Order::Fast,
        )
    };
    let expected = expected(Operator::Sum, count, of_range, Box::new(|_, _| None))?;
    let mut sums = Reduction::new(device, Sum)?;
    let mut results = device.allocate(count)?;
    let place = place(&results);
    let mut runs = Runs::with_room(device, count)?;
    let queue: Queue<'a> = Box::new(move |stream: &Stream| {
        runs.find(device, keys)?;
        let segments = runs.segments();
        Ok(sums.queue_segments(stream, &values.device, &segments, &mut results)?)
    });
    let name = "warpfold::Runs and Reduction".to_owned();
    let solved = solved(
        name,
        queue,
        place,
        expected,
        values.device.bytes() + keys.bytes(),
    );
    Ok(Solved {
        // The key of each run, too.
        bytes_written: solved.bytes_written + count * size_of::<u32>(),
        ..solved
    })
}

fn dot<'a>(
    device: &'a Device,
    values: &'a Values<f32>,
    n: usize,
) -> Result<Solved<'a>, PeersError> {
    let (left, right) = (&values.host[..n], &values.host[n..2 * n]);
    let products = left.iter().zip(right);
    let sum: f64 = products
        .map(|(&left, &right)| f64::from(left) * f64::from(right))
        .sum();
    let expected = Expected {
        operator: Operator::Dot,
        count: 1,
        ranges: verified(1),
        numbers: vec![sum],
        value: Box::new(|_, _| None),
    };
    let mut dot = DotProduct::new(device)?;
    dot.prepare(n)?;
    let mut result = device.allocate(1)?;
    let place = place(&result);
    let (left, right) = (values.device.slice(..n), values.device.slice(n..2 * n));
    let queue: Queue<'a> =
        Box::new(move |stream| Ok(dot.queue(stream, left, right, &mut result)?));
    let name = "warpfold::DotProduct".to_owned();
    Ok(solved(
        name,
        queue,
        place,
        expected,
        2 * n * size_of::<f32>(),
    ))
}

fn place<R: Outcome>(results: &Buffer<R>) -> Results {
    Results {
        address: results.address(),
        count: results.len(),
        of: R::TYPE,
    }
}

/// What the CPU says of some of this many results.
fn expected<'a, R: Outcome>(
    operator: Operator,
    count: usize,
    of_range: impl Fn(Range<usize>) -> Result<Vec<R>, ShapeError>,
    value: Box<ValueOf<'a>>,
) -> Result<Expected<'a>, PeersError> {
    let ranges = verified(count);
    let mut numbers = Vec::new();
    for range in &ranges {
        let found = of_range(range.clone()).map_err(refused)?;
        numbers.extend(found.into_iter().map(Outcome::number));
    }
    Ok(Expected {
        operator,
        count,
        ranges,
        numbers,
        value,
    })
}

fn solved<'a>(
    name: String,
    queue: Queue<'a>,
    results: Results,
    expected: Expected<'a>,
    bytes_read: usize,
) -> Solved<'a> {
    Solved {
        ours: Queued {
            maker: Maker::Warpfold,
            name,
            queue,
            results: Some(results),
            launches: 1,
            finds: Finds::Cold,
        },
        bytes_written: results.count * results.of.bytes(),
        expected,
        bytes_read,
    }
}

fn refused(error: ShapeError) -> PeersError {
    PeersError::Contender {
        name: "the CPU".to_owned(),
        n: 0,
        message: error.to_string(),
    }
}

fn unfit() -> PeersError {
    PeersError::Contender {
        name: "warpfold".to_owned(),
        n: 0,
        message: "the problem lacks its offsets or keys, or is none of this kind".to_owned(),
    }
}
