//! The same on a GPU or the emulator, by the library's kernels.

use crate::names::{Named, TypeName};
use crate::results::{Results, Value};
use bytemuck::Pod;
use warpfold::device::Slice;
use warpfold::group::UntypedGroup;
use warpfold::ranks::{RankError, Ranks, UntypedRanks};
use warpfold::reduce::{BuiltIn, Form, Text, Untyped};
use warpfold::sum::Mode;
use warpfold::{Along, Batch, Device, Error, Group, Matrix};
use warpfold_device::half::{Bf16, Bool, F16};
use warpfold_device::operator::*;
use warpfold_device::{for_each_element, for_each_operator};

/// An operator over a type.
pub(crate) struct Pair {
    /// The operator in the kernels' names, and the argument that they take besides.
    pub(crate) kernels: (&'static str, Option<u64>),
    /// Where they are.
    pub(crate) text: &'static Text,
    pub(crate) form: Form,
    /// Results from their bytes.
    pub(crate) results: fn(&[u8]) -> Box<dyn Results>,
}

fn results<R: Pod + Into<Value> + Send + Sync>(bytes: &[u8]) -> Box<dyn Results> {
    let results = bytes.chunks_exact(size_of::<R>());
    let results: Vec<R> = results.map(bytemuck::pod_read_unaligned).collect();
    Box::new(results)
}

macro_rules! pairs_of {
    ($function:ident, $value:ty; $($name:ident: $operator:ty = $make:expr;)*) => {
        fn $function(operator: Named) -> Pair {
            match operator.name() {
                $(stringify!($name) => Pair {
                    kernels: BuiltIn::<$value>::kernels(&{ $make }),
                    text: <$operator as BuiltIn<$value>>::KERNELS,
                    form: const { Form::of::<$value, $operator>() },
                    results: results::<<$operator as Operator<$value>>::Output>,
                },)*
                _ => unreachable!("a name is one of the list"),
            }
        }
    };
}

macro_rules! pairs {
    ($($name:ident: $value:ty;)*) => {
        impl Pair {
            pub(crate) fn of(element: TypeName, operator: Named) -> Self {
                match element.name() {
                    $(stringify!($name) => {
                        for_each_operator!(pairs_of, of_type, $value);
                        of_type(operator)
                    })*
                    _ => unreachable!("a name is one of the list"),
                }
            }
        }
    };
}

for_each_element!(pairs);

/// The library's kernels of an operator over a type, for those who launch them on memory of their own, and their form. An operator that takes
/// a divisor less than the number of values takes this instead of the one in its name.
///
/// # Errors
/// The device fails.
pub fn kernels(
    device: &Device,
    element: TypeName,
    operator: Named,
    ddof: Option<u64>,
) -> Result<(Untyped, Form), Error> {
    let Pair {
        kernels: (name, parameter),
        text,
        form,
        ..
    } = Pair::of(element, operator);
    let parameter = parameter.map(|named| ddof.unwrap_or(named));
    // SAFETY: the form is that of the pair.
    let untyped = unsafe { Untyped::of_library(device, name, text, parameter, form) };
    Ok((untyped?, form))
}

/// Reduces values by each operator in turn, along the middle axis of an array of this shape, whose bytes are on the host; waits for the
/// results. Sums of integers wrap around.
///
/// # Errors
/// The device has no room for the values, or it fails.
pub fn reduce_on(
    device: &Device,
    element: TypeName,
    operators: &[Named],
    values: &[u8],
    shape: [usize; 3],
) -> Result<Vec<Box<dyn Results>>, Error> {
    let [outer, length, inner] = shape;
    let values = device.upload(values)?;
    let reduce = |&operator: &Named| {
        let Pair {
            kernels: (name, parameter),
            text,
            form,
            results,
        } = Pair::of(element, operator);
        // SAFETY: the form is that of the pair.
        let untyped = unsafe { Untyped::of_library(device, name, text, parameter, form) };
        let mut untyped = untyped?;
        let reduced = device.allocate::<u8>(outer * inner * form.result_bytes)?;
        // The rows of a matrix, or the columns of several.
        let (along, batch) = match inner {
            1 => (Along::Rows, Matrix::contiguous(outer, length).into()),
            _ => {
                let batch = Batch {
                    matrix: Matrix::contiguous(length, inner),
                    matrices: outer,
                    distance: length * inner,
                };
                (Along::Columns, batch)
            }
        };
        let (values, made) = (Slice::from(&values), Slice::from(&reduced));
        // SAFETY: a device allocates at addresses for any type; the results are this call's own.
        unsafe { untyped.reduce(device, values, along, batch, made)? };
        Ok(results(&reduced.read()?))
    };
    operators.iter().map(reduce).collect()
}

/// The reduction of all values, whose bytes are on the host, by each operator in turn, on several devices together; waits for the results.
/// In the deterministic mode their bits are the same for any number of devices. Sums of integers wrap around.
///
/// # Errors
/// A device has no room for its part, or fails.
pub fn reduce_on_group(
    group: &Group,
    mode: Mode,
    element: TypeName,
    operators: &[Named],
    values: &[u8],
) -> Result<Vec<Box<dyn Results>>, Error> {
    let parts = group.upload_in(values, element.bytes())?;
    let parts: Vec<Slice<'_, u8>> = parts.iter().map(Slice::from).collect();
    let reduce = |&operator: &Named| {
        let Pair {
            kernels: (name, parameter),
            text,
            form,
            results,
        } = Pair::of(element, operator);
        // SAFETY: the form is that of the pair.
        let untyped = unsafe { UntypedGroup::of_library(group, name, text, parameter, form) };
        let reduced = group.devices()[0].allocate::<u8>(form.result_bytes)?;
        // SAFETY: a device allocates at addresses for any type, and the result is this call's own.
        unsafe { untyped?.reduce(group, mode, &parts, Slice::from(&reduced))? };
        Ok(results(&reduced.read()?))
    };
    operators.iter().map(reduce).collect()
}

/// The reduction of the values of all ranks, whose bytes these are of this one and lie on the host, by each operator in turn, and how many there
/// are on all ranks; waits for the results. Sums of integers wrap around.
///
/// # Errors
/// As [`RankReduction::of`](warpfold::ranks::RankReduction::of).
pub fn reduce_on_ranks(
    ranks: &Ranks<'_>,
    element: TypeName,
    operators: &[Named],
    mode: Mode,
    values: &[u8],
) -> Result<(Vec<Box<dyn Results>>, u64), RankError> {
    let device = ranks.device();
    let stream = device.stream()?;
    let values = device.upload(values)?;
    let mut n = 0;
    let reduce = |&operator: &Named| {
        let Pair {
            kernels: (name, parameter),
            text,
            form,
            results,
        } = Pair::of(element, operator);
        // SAFETY: the form is that of the pair.
        let untyped = unsafe { UntypedRanks::of_library(ranks, name, text, text, parameter, form) };
        let mut untyped = untyped?.with_mode(mode);
        let mut reduced = device.allocate::<u8>(form.result_bytes)?;
        n = untyped.prepare(&stream, values.len() / form.value_bytes)?;
        // SAFETY: a device allocates at addresses for any type, and the result is this call's own.
        unsafe { untyped.queue(&stream, Slice::from(&values), &mut reduced)? };
        ranks.wait(&stream)?;
        Ok(results(&reduced.read()?))
    };
    let results: Result<Vec<_>, RankError> = operators.iter().map(reduce).collect();
    Ok((results?, n))
}
