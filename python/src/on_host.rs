//! Reductions of arrays in the host's memory, on the processor's cores.

use crate::failed::Failed;
use crate::operation::{Kind, Operation, element, kind, writer};
use crate::view::{Axis, Rows, View, ascending, count, merged, zeroed};
use bytemuck::Pod;
use rayon::prelude::*;
use std::borrow::Cow;
use std::slice;
use warpfold::cpu::{self, Order, Parallel};
use warpfold::operator::{self, Extremes, HasSpread};
use warpfold::{Bf16, F16, Matrix};
use warpfold_device::element::Element;
use warpfold_device::half::Bool;
use warpfold_device::number::Number as Arithmetic;
use warpfold_dynamic::{Number, Reduction, Results, TypeName, Value};

/// What is to be computed of an array.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The operation.
    pub operation: Operation,
    /// The type of its results.
    pub result: TypeName,
    /// Whether its order follows from the numbers of values alone.
    pub is_deterministic: bool,
}

impl Work {
    /// Whether the order in which values are combined cannot be seen in the result.
    pub fn is_free(&self) -> bool {
        !self.is_deterministic && !self.operation.is_index()
    }

    /// Whether it takes none of the functions that share the work among threads, where there is little of it and of results, too.
    pub fn is_simple(&self, values: TypeName, split: &Split) -> bool {
        /// No more columns than one thread has at once.
        const FEW_RESULTS: usize = 1 << 10;
        self.typed(values).is_none()
            && count(&split.kept) <= FEW_RESULTS
            && merged(split.kept.iter().copied()).len() <= 1
    }

    /// Results of a place: two of the least and the greatest value together.
    pub fn results_of_place(&self) -> usize {
        match self.operation {
            Operation::MinMax => 2,
            _ => 1,
        }
    }

    /// The type that values are converted to before, where the library's reductions by name would compute otherwise: in another order, with
    /// another divisor, or in a narrower type.
    fn typed(&self, values: TypeName) -> Option<TypeName> {
        let is_float = kind(values) == Kind::Float;
        let gives_float = kind(self.result) == Kind::Float;
        let is_odd = matches!(self.operation, Operation::Variance { ddof } | Operation::StdDev { ddof } if ddof > 1);
        let is_sum = matches!(self.operation, Operation::Sum | Operation::Product);
        let real = match values.name() {
            "f16" | "bf16" | "f32" => element("f32"),
            _ => element("f64"),
        };
        if self.operation == Operation::Product && !gives_float && values.bytes() < 8 {
            return Some(match kind(values) {
                Kind::Unsigned => element("u64"),
                _ => element("i64"),
            });
        }
        let may_be_wider = is_sum
            || matches!(
                self.operation,
                Operation::Mean | Operation::Variance { .. } | Operation::StdDev { .. }
            );
        if may_be_wider && self.result.name() == "f64" && real.name() == "f32" {
            return Some(self.result);
        }
        let is_wider = is_sum && gives_float && !is_float;
        let is_ordered = self.is_deterministic && gives_float;
        let is_spread = matches!(
            self.operation,
            Operation::Variance { .. } | Operation::StdDev { .. }
        );
        // The library makes these of exact sums, which are not those of floats.
        let typed = if is_spread && values.bytes() == 1 {
            values
        } else {
            real
        };
        (is_odd || is_wider || is_ordered).then_some(typed)
    }
}

/// The axes of an array, those that stay and those that are reduced.
#[derive(Clone, Debug)]
pub struct Split {
    /// Those that results have.
    pub kept: Vec<Axis>,
    /// Those that they have not, in their order.
    pub reduced: Vec<Axis>,
}

/// How many elements are copied side by side at once.
const COPIED: usize = 1 << 16;

/// Reduces an array, and writes the results side by side in the order of the kept axes.
///
/// There is one result at least, and a value for it.
///
/// # Errors
/// There is no memory for a copy of the elements, where one is needed.
///
/// # Safety
/// The memory has the elements of the view, and nothing writes them meanwhile.
pub unsafe fn reduce(
    view: &View,
    split: &Split,
    work: &Work,
    results: &mut [u8],
) -> Result<(), Failed> {
    let (mut reduced, mut address) = (split.reduced.clone(), view.address);
    if work.is_free() {
        let first;
        (reduced, first) = ascending(reduced);
        address = address.wrapping_add_signed(first as i64 * view.element.bytes() as i64);
    }
    let kept = merged(split.kept.iter().copied());
    let reduced = merged(reduced);
    let length = count(&reduced);
    if let Some(shape) = side_by_side(&kept, &reduced) {
        let bytes = shape.iter().product::<usize>() * view.element.bytes();
        // SAFETY: the elements lie side by side from the address on, which is one for them, and the caller promises the rest.
        let values = unsafe { slice::from_raw_parts(address as usize as *const u8, bytes) };
        return reduce_bytes(values, view.element, shape, work, results);
    }
    let rows = Rows::new(&kept, &reduced);
    let bytes = view.element.bytes();
    let made = work.results_of_place() * work.result.bytes();
    if length > COPIED && work.typed(view.element).is_none() {
        let (named, _) = work.operation.for_length(length).named();
        let one_row = |(row, results): (usize, &mut [u8])| {
            let mut reduction = Reduction::new(view.element, &[named]);
            reduction.take_brought(length, |range, memory| {
                // SAFETY: they are elements of the view.
                unsafe { rows.bring(address, bytes, row, range, memory) };
            });
            place(&*reduction.finish()[0], work, results);
        };
        results
            .par_chunks_exact_mut(made)
            .enumerate()
            .for_each(one_row);
        return Ok(());
    }
    let at_once = (COPIED / length).max(1);
    let some_rows = |(index, results): (usize, &mut [u8])| {
        let first = index * at_once;
        let last = rows.count().min(first + at_once);
        // SAFETY: they are rows of the view.
        let values = unsafe { rows.gather(address, bytes, first..last) }?;
        let values = &bytemuck::cast_slice(&values)[..(last - first) * length * bytes];
        reduce_bytes(
            values,
            view.element,
            [last - first, length, 1],
            work,
            results,
        )
    };
    if length > COPIED {
        // One copy at a time, which all cores make.
        results
            .chunks_mut(at_once * made)
            .enumerate()
            .try_for_each(some_rows)
    } else {
        results
            .par_chunks_mut(at_once * made)
            .enumerate()
            .try_for_each(some_rows)
    }
}

/// The array of three axes, of which the middle one is reduced, as which these lie side by side in memory.
fn side_by_side(kept: &[Axis], reduced: &[Axis]) -> Option<[usize; 3]> {
    let is = |axis: &Axis, stride: usize| axis.stride == stride as isize;
    match (kept, reduced) {
        ([], []) => Some([1, 1, 1]),
        ([], [along]) if is(along, 1) => Some([1, along.length, 1]),
        ([rows], []) if is(rows, 1) => Some([rows.length, 1, 1]),
        ([rows], [along]) if is(along, 1) && is(rows, along.length) => {
            Some([rows.length, along.length, 1])
        }
        ([columns], [along]) if is(columns, 1) && is(along, columns.length) => {
            Some([1, along.length, columns.length])
        }
        ([matrices, columns], [along])
            if is(columns, 1)
                && is(along, columns.length)
                && is(matrices, columns.length * along.length) =>
        {
            Some([matrices.length, along.length, columns.length])
        }
        _ => None,
    }
}

fn reduce_bytes(
    values: &[u8],
    element: TypeName,
    shape: [usize; 3],
    work: &Work,
    results: &mut [u8],
) -> Result<(), Failed> {
    let operation = work.operation.for_length(shape[1]);
    let by_name = |values: &[u8], element: TypeName, results: &mut [u8]| {
        let (named, _) = operation.named();
        let reduced = Reduction::new(element, &[named]).along(values, shape);
        place(&*reduced[0], work, results);
    };
    let Some(wide) = work.typed(element) else {
        by_name(values, element, results);
        return Ok(());
    };
    let work = Work { operation, ..*work };
    match (wide.name(), element.name()) {
        ("bool", _) => spread::<Bool>(bytemuck::cast_slice(values), shape, &work, results),
        ("i8", _) => spread::<i8>(bytemuck::cast_slice(values), shape, &work, results),
        ("u8", _) => spread::<u8>(values, shape, &work, results),
        ("i64", _) => {
            let values = converted::<i64>(values, element)?;
            by_name(bytemuck::cast_slice(&values), wide, results);
        }
        ("u64", _) => {
            let values = converted::<u64>(values, element)?;
            by_name(bytemuck::cast_slice(&values), wide, results);
        }
        ("f64", "f64") => typed::<f64>(bytemuck::cast_slice(values), shape, &work, results),
        ("f64", _) => typed::<f64>(&converted::<f64>(values, element)?, shape, &work, results),
        (_, "f32") => typed::<f32>(bytemuck::cast_slice(values), shape, &work, results),
        _ => typed::<f32>(&converted::<f32>(values, element)?, shape, &work, results),
    }
    Ok(())
}

/// Writes results in their type.
fn place(reduced: &dyn Results, work: &Work, results: &mut [u8]) {
    let (bytes, write) = (work.result.bytes(), writer(work.result));
    let one = |(index, results): (usize, &mut [u8])| match reduced.value(index) {
        Value::One(number) => write(number, results),
        Value::Extremes(min, max) => {
            let (least, greatest) = results.split_at_mut(bytes);
            write(min, least);
            write(max, greatest);
        }
    };
    let each = results
        .par_chunks_exact_mut(bytes * work.results_of_place())
        .enumerate()
        .with_min_len(1 << 12);
    each.for_each(one);
}

/// The values as floats of 32 or 64 bits, or as integers of 64 bits.
///
/// # Errors
/// There is no memory for them.
fn converted<A: From64 + Pod + Send>(values: &[u8], element: TypeName) -> Result<Vec<A>, Failed> {
    let mut converted = zeroed(values.len() / element.bytes())?;
    convert_into(values, element, &mut converted);
    Ok(converted)
}

/// The same into other memory, for as many.
fn convert_into<A: From64 + Pod + Send>(values: &[u8], element: TypeName, converted: &mut [A]) {
    /// Values that a thread converts before it looks whether another is idle.
    const PIECE: usize = 1 << 15;
    macro_rules! convert {
        ($($name:literal: $value:ty, |$it:ident| $wide:expr;)*) => {
            match element.name() {
                $($name => {
                    let values: &[$value] = bytemuck::cast_slice(values);
                    let pieces = converted.par_chunks_mut(PIECE).zip(values.par_chunks(PIECE));
                    pieces.for_each(|(converted, values)| {
                        for (converted, &$it) in converted.iter_mut().zip(values) {
                            *converted = A::from64($wide);
                        }
                    });
                })*
                _ => unreachable!("a name is one of the list"),
            }
        };
    }
    convert! {
        "bool": u8, |it| Wide::Unsigned((it != 0).into());
        "i8": i8, |it| Wide::Signed(it.into());
        "u8": u8, |it| Wide::Unsigned(it.into());
        "i16": i16, |it| Wide::Signed(it.into());
        "u16": u16, |it| Wide::Unsigned(it.into());
        "i32": i32, |it| Wide::Signed(it.into());
        "u32": u32, |it| Wide::Unsigned(it.into());
        "i64": i64, |it| Wide::Signed(it);
        "u64": u64, |it| Wide::Unsigned(it);
        "f16": F16, |it| Wide::Single(it.into());
        "bf16": Bf16, |it| Wide::Single(it.into());
        "f32": f32, |it| Wide::Single(it);
        "f64": f64, |it| Wide::Double(it);
    }
}

/// A number of any type.
#[derive(Clone, Copy)]
enum Wide {
    Signed(i64),
    Unsigned(u64),
    Single(f32),
    Double(f64),
}

/// A type that others are converted to.
trait From64 {
    fn from64(number: Wide) -> Self;
}

macro_rules! from64 {
    ($($type:ty)*) => {$(
        impl From64 for $type {
            #[inline(always)]
            fn from64(number: Wide) -> Self {
                match number {
                    Wide::Signed(number) => number as Self,
                    Wide::Unsigned(number) => number as Self,
                    Wide::Single(number) => number as Self,
                    Wide::Double(number) => number as Self,
                }
            }
        }
    )*};
}

from64! { i32 u32 f32 i64 u64 f64 }

/// The reduction of floats, in the order and with the divisor that are asked for.
fn typed<R>(values: &[R], shape: [usize; 3], work: &Work, results: &mut [u8])
where
    R: HasSpread + Element<Wide = R, Real = R> + Pod + Send + Sync + Into<Number> + Into<Value>,
{
    let write = writer(work.result);
    macro_rules! with {
        ($operator:expr) => {
            each(values, shape, work, $operator, results, |result, bytes| {
                write(result.into(), bytes)
            })
        };
    }
    match work.operation {
        Operation::Sum => with!(operator::Sum),
        Operation::Product => with!(operator::Product),
        Operation::Min => with!(operator::Min),
        Operation::Max => with!(operator::Max),
        Operation::Mean => with!(operator::Mean),
        Operation::Variance { ddof } => with!(operator::Variance { ddof }),
        Operation::StdDev { ddof } => with!(operator::StdDev { ddof }),
        Operation::Norm1 => with!(operator::Norm1),
        Operation::Norm2 => with!(operator::Norm2),
        Operation::NormInf => with!(operator::NormInf),
        Operation::LogSumExp => with!(operator::LogSumExp),
        Operation::MinMax => each(
            values,
            shape,
            work,
            operator::MinMax,
            results,
            |Extremes { min, max }, bytes| {
                let (least, greatest) = bytes.split_at_mut(work.result.bytes());
                write(min.into(), least);
                write(max.into(), greatest);
            },
        ),
        Operation::ArgMin
        | Operation::ArgMax
        | Operation::Any
        | Operation::All
        | Operation::CountNonzero => unreachable!("their results are no floats"),
    }
}

/// The variance or standard deviation of values as they are, with the divisor that is asked for.
fn spread<T>(values: &[T], shape: [usize; 3], work: &Work, results: &mut [u8])
where
    T: HasSpread + Element<Real = f64> + Send + Sync,
{
    let write = writer(work.result);
    let write = |result: f64, bytes: &mut [u8]| write(result.into(), bytes);
    match work.operation {
        Operation::Variance { ddof } => {
            let operator = operator::Variance { ddof };
            each(values, shape, work, operator, results, write);
        }
        Operation::StdDev { ddof } => {
            let operator = operator::StdDev { ddof };
            each(values, shape, work, operator, results, write);
        }
        _ => unreachable!("others convert their values"),
    }
}

fn each<R: Copy + Sync, O: Parallel<R>>(
    values: &[R],
    [outer, length, inner]: [usize; 3],
    work: &Work,
    operator: O,
    results: &mut [u8],
    write: impl Fn(O::Output, &mut [u8]) + Sync,
) {
    let order = match work.is_deterministic {
        true => Order::Deterministic,
        false => Order::Fast,
    };
    let made = work.results_of_place() * work.result.bytes();
    let place = |reduced: Result<Vec<O::Output>, cpu::ShapeError>, results: &mut [u8]| {
        let reduced = reduced.expect("the rows are all of the values");
        for (result, bytes) in reduced.into_iter().zip(results.chunks_exact_mut(made)) {
            write(result, bytes);
        }
    };
    if inner == 1 {
        let matrix = Matrix::contiguous(outer, length);
        place(cpu::rows(operator, values, matrix, order), results);
        return;
    }
    let matrix = Matrix::contiguous(length, inner);
    let matrices = values.chunks(length * inner);
    for (values, results) in matrices.zip(results.chunks_mut(inner * made)) {
        place(cpu::columns(operator, values, matrix, order), results);
    }
}

/// Scans rows of an array, and writes the results side by side, row by row. Integers are added modulo 2⁶⁴.
///
/// # Errors
/// As [`reduce`].
///
/// # Safety
/// As for [`reduce`].
pub unsafe fn scan(
    view: &View,
    split: &Split,
    work: &Work,
    results: &mut [u8],
) -> Result<(), Failed> {
    let rows = Rows::new(&split.kept, &split.reduced);
    let (count, length, bytes) = (rows.count(), rows.length(), view.element.bytes());
    let copy;
    let values: &[u8] = match side_by_side(&merged(rows.axes()), &[]) {
        // SAFETY: the elements lie side by side from the address on, which is one for them, and the caller promises the rest.
        Some(_) => unsafe {
            slice::from_raw_parts(view.address as usize as *const u8, count * length * bytes)
        },
        None => {
            // SAFETY: the caller's promise.
            copy = unsafe { rows.gather(view.address, bytes, 0..count) }?;
            &bytemuck::cast_slice(&copy)[..count * length * bytes]
        }
    };
    macro_rules! with {
        ($type:ty) => {{
            let own = size_of::<$type>() == work.result.bytes();
            // Also integers with a sign and those without are the same bytes.
            match bytemuck::try_cast_slice_mut(&mut *results) {
                Ok(results) if own => {
                    convert_into::<$type>(values, view.element, results);
                    run::<$type>(results, length, work.operation);
                }
                _ => {
                    let mut numbers = converted::<$type>(values, view.element)?;
                    run::<$type>(&mut numbers, length, work.operation);
                    let write = writer(work.result);
                    let results = results.par_chunks_exact_mut(work.result.bytes());
                    let numbers = numbers.into_par_iter().with_min_len(1 << 14);
                    let write = |(bytes, number): (&mut [u8], $type)| write(number.into(), bytes);
                    results.zip(numbers).for_each(write);
                }
            }
        }};
    }
    match (kind(work.result), kind(view.element)) {
        (Kind::Float, _) if work.result.name() == "f64" => with!(f64),
        (Kind::Float, _) => with!(f32),
        (_, Kind::Unsigned) => with!(u64),
        _ => with!(i64),
    }
    Ok(())
}

/// Replaces each number of a row by the sum or product of those up to it. The order follows from the length of the row alone.
fn run<A>(numbers: &mut [A], length: usize, operation: Operation)
where
    A: Arithmetic + Send + Sync,
{
    match operation {
        Operation::Product => run_by(numbers, length, A::ONE, A::times),
        _ => run_by(numbers, length, A::ADDITIVE_IDENTITY, A::plus),
    }
}

fn run_by<A: Copy + Send + Sync>(
    numbers: &mut [A],
    length: usize,
    nothing: A,
    combine: impl Fn(A, A) -> A + Copy + Sync,
) {
    /// Numbers that one thread goes through.
    const CHUNK: usize = 1 << 16;
    let up_to = |numbers: &mut [A], before: A| {
        let mut state = before;
        for number in numbers {
            state = combine(state, *number);
            *number = state;
        }
    };
    if length <= CHUNK {
        let rows = numbers
            .par_chunks_mut(length)
            .with_min_len((CHUNK / length).max(1));
        rows.for_each(|row| up_to(row, nothing));
        return;
    }
    for row in numbers.chunks_mut(length) {
        /// Sums side by side, which do not wait for one another.
        const LANES: usize = 32;
        let total = |chunk: &[A]| {
            let mut lanes = [nothing; LANES];
            for numbers in chunk.chunks(LANES) {
                for (lane, &number) in lanes.iter_mut().zip(numbers) {
                    *lane = combine(*lane, number);
                }
            }
            lanes.into_iter().fold(nothing, combine)
        };
        let mut before: Vec<A> = row.par_chunks(CHUNK).map(total).collect();
        let mut state = nothing;
        for total in &mut before {
            (*total, state) = (state, combine(state, *total));
        }
        let chunks = row.par_chunks_mut(CHUNK).zip(before);
        chunks.for_each(|(chunk, before)| up_to(chunk, before));
    }
}

/// The dot product of two arrays of one type and as many elements, each an axis.
///
/// # Errors
/// As [`reduce`].
///
/// # Safety
/// As for [`reduce`], for both.
pub unsafe fn dot(
    left: &View,
    right: &View,
    is_deterministic: bool,
    result: &mut [u8],
) -> Result<(), Failed> {
    let write = writer(left.element);
    macro_rules! with {
        ($($name:ident: $value:ty;)*) => {
            match left.element.name() {
                $(stringify!($name) => {
                    // SAFETY: the caller's promise; the elements are of this type.
                    let sum: Number = unsafe { dot_of::<$value>(left, right, is_deterministic) }?.into();
                    match (left.element.name(), sum) {
                        ("bool", Number::Integer(sum)) => write(Number::Bool(sum != 0), result),
                        _ => write(sum, result),
                    }
                })*
                _ => unreachable!("a name is one of the list"),
            }
        };
    }
    warpfold_device::for_each_element!(with);
    Ok(())
}

/// # Safety
/// As for [`dot`]; the elements are of this type.
unsafe fn dot_of<T>(left: &View, right: &View, is_deterministic: bool) -> Result<T::Wide, Failed>
where
    T: Element<Wide: Send + Sync> + Pod + Send + Sync,
{
    /// Products that are added while they are in the nearest cache.
    const BLOCK: usize = 1 << 12;
    let n = left.count();
    let part = |view: &View, first: usize, count: usize| -> Result<Cow<'_, [T]>, Failed> {
        let stride = view.axes.first().map_or(1, |axis| axis.stride);
        let address = view
            .address
            .wrapping_add_signed((first as isize * stride) as i64 * size_of::<T>() as i64);
        if stride == 1 || count == 1 {
            // SAFETY: they are elements of the view, side by side, and the caller promises the rest.
            return Ok(Cow::Borrowed(unsafe {
                slice::from_raw_parts(address as usize as *const T, count)
            }));
        }
        let axis = Axis {
            length: count,
            stride,
        };
        let mut values = zeroed::<T>(count)?;
        let copied = bytemuck::cast_slice_mut(&mut values);
        // SAFETY: they are elements of the view, and the caller promises the rest.
        unsafe { Rows::new(&[], &[axis]).gather_into(address, size_of::<T>(), 0..1, copied) };
        Ok(Cow::Owned(values))
    };
    let dot = |first: usize, count: usize, order: Order| {
        let (left, right) = (part(left, first, count)?, part(right, first, count)?);
        Ok(cpu::dot(&left, &right, order).expect("both have as many"))
    };
    let is_side_by_side = |view: &View| view.axes.first().is_none_or(|axis| axis.stride == 1);
    if is_deterministic {
        return dot(0, n, Order::Deterministic);
    }
    if is_side_by_side(left) && is_side_by_side(right) {
        return dot(0, n, Order::Fast);
    }
    // What is gathered stays in the nearest cache.
    let blocks = (0..n.div_ceil(BLOCK)).into_par_iter().with_min_len(8);
    let sum_of_block = |block: usize| dot(block * BLOCK, BLOCK.min(n - block * BLOCK), Order::Fast);
    // In their order, so that the result does not depend on the number of cores.
    let sums: Vec<T::Wide> = blocks.map(sum_of_block).collect::<Result<_, Failed>>()?;
    Ok(sums
        .into_iter()
        .fold(T::Wide::ADDITIVE_IDENTITY, T::Wide::plus))
}
