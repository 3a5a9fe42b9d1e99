//! Reductions along an axis of an array, by any operators: on the cores of this computer in one pass, or on a device.

use super::arguments::Arguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::show;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Instant;
use warpfold::DeviceChoice;
use warpfold_course::number;
use warpfold_dynamic::{Number, Reduction, Results, Value, reduce_on};
use warpfold_input::array::Array;
use warpfold_input::is_table;

/// Results that an array without values may have along an axis.
const MOST_OF_NOTHING: usize = 1 << 24;
/// Results of an axis that are printed; JSON has all.
const PRINTED: usize = 8;

/// What the command writes as JSON.
#[derive(Serialize)]
struct Report<'a> {
    file: String,
    /// The column's cell in the header of a table, where it has one.
    column: Option<String>,
    element_type: &'static str,
    n: u64,
    bytes: u64,
    axis: i64,
    device: String,
    /// The result, or those along the axis, where there is one operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Shown>,
    /// The same for each operator.
    results: BTreeMap<&'static str, &'a Shown>,
    elapsed_ms: f64,
}

/// Runs the command, on the cores where no device is chosen.
pub(super) fn run(
    arguments: &Arguments,
    axis: i64,
    choice: Option<DeviceChoice>,
    output: &Output,
) -> Result<(), Failure> {
    let path = arguments.file();
    if arguments.delimiter.is_some() || is_table(path) {
        return Err(Failure::Input(format!(
            "{} is a table, of which one column is reduced; --axis is for .npy files",
            path.display()
        )));
    }
    let device = choice.map(|choice| arguments.kernels.on(choice));
    let device = device.transpose()?;
    let start = Instant::now();
    let column = arguments.column.as_deref();
    let array = Array::open(path, arguments.element_type, column).map_err(Failure::input)?;
    let n: usize = array.shape.iter().product();
    let (shape, places) = split_at_axis(arguments, &array, axis)?;
    refuse_nothing(arguments, path, shape[1])?;
    let (element_type, operators) = (array.element_type, &arguments.operators);
    let results = match &device {
        None => Reduction::new(element_type, operators).along(array.values(), shape),
        Some(device) => reduce_on(device, element_type, operators, array.values(), shape)?,
    };
    let shown = results.into_iter();
    let shown: Vec<Shown> = shown
        .map(|results| Shown {
            results,
            places: places.clone(),
        })
        .collect();
    let names = operators.iter().map(|operator| operator.name());
    let report = Report {
        file: path.display().to_string(),
        column: array.name,
        element_type: element_type.name(),
        n: n as u64,
        bytes: (n * element_type.bytes()) as u64,
        axis,
        device: device.map_or_else(
            || format!("cpu: {} threads", rayon::current_num_threads()),
            |device| device.describe(),
        ),
        result: if let [result] = &shown[..] {
            Some(result)
        } else {
            None
        },
        results: names.zip(&shown).collect(),
        elapsed_ms: start.elapsed().as_secs_f64() * 1e3,
    };
    output.print(&report.device)?;
    output.print(format!(
        "{}{}: {} × {} ({})\n",
        report.file,
        report
            .column
            .as_ref()
            .map_or_else(String::new, |column| format!(", column '{column}'")),
        show::count(report.n),
        report.element_type,
        show::bytes(report.bytes)
    ))?;
    for (operator, results) in operators.iter().zip(&shown) {
        output.print(format!("{operator} = {results}"))?;
    }
    output.print(format!(
        "{} · {} GB/s with reading",
        show::milliseconds(report.elapsed_ms),
        show::significant(report.bytes as f64 / (report.elapsed_ms * 1e6))
    ))?;
    output.write_json(&report)
}

/// How many places there are in memory on the axes before this one, on this one, and on those after it; and which results that gives.
fn split_at_axis(
    arguments: &Arguments,
    array: &Array,
    axis: i64,
) -> Result<([usize; 3], Places), Failure> {
    let dimensions = array.shape.len();
    let from_first = if axis < 0 {
        axis + dimensions as i64
    } else {
        axis
    };
    let Some(from_first) = usize::try_from(from_first)
        .ok()
        .filter(|&axis| axis < dimensions)
    else {
        return Err(Failure::Input(format!(
            "{} has {dimensions} dimensions and no axis {axis}",
            arguments.file().display()
        )));
    };
    let axis = if array.is_fortran {
        dimensions - 1 - from_first
    } else {
        from_first
    };
    let product = |extents: &[usize]| {
        let mut extents = extents.iter();
        extents.try_fold(1_usize, |product, &extent| product.checked_mul(extent))
    };
    let (outer, inner) = (
        product(&array.shape[..axis]),
        product(&array.shape[axis + 1..]),
    );
    // As many as there are values, unless there are none: an extent of 0 lets the others be anything.
    let results = outer
        .zip(inner)
        .and_then(|(outer, inner)| outer.checked_mul(inner));
    match (outer, inner, results) {
        (Some(outer), Some(inner), Some(results))
            if results <= MOST_OF_NOTHING.max(array.values().len()) =>
        {
            let places = if array.is_fortran {
                let mut others = array.shape.clone();
                others.remove(axis);
                others.reverse();
                Places::InFortransOrder(others)
            } else {
                Places::Many
            };
            Ok(([outer, array.shape[axis], inner], places))
        }
        _ => Err(Failure::Input(format!(
            "{} has no values, and too many places for a result along axis {from_first}",
            arguments.file().display()
        ))),
    }
}

/// Refuses what has no result where there are no values.
pub(super) fn refuse_nothing(arguments: &Arguments, path: &Path, n: usize) -> Result<(), Failure> {
    const OF_NOTHING: [&str; 8] = [
        "sum",
        "product",
        "norm1",
        "norm2",
        "norm_inf",
        "any",
        "all",
        "count_nonzero",
    ];
    let without = arguments
        .operators
        .iter()
        .find(|operator| !OF_NOTHING.contains(&operator.name()));
    match without {
        Some(operator) if n == 0 => Err(Failure::Input(format!(
            "{}: there are no values, and the {operator} of nothing is not defined; the sum would be 0",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses an index into an array whose values lie in another order than NumPy counts them.
pub(super) fn refuse_other_order(
    arguments: &Arguments,
    path: &Path,
    is_reordered: bool,
) -> Result<(), Failure> {
    let by_index = arguments
        .operators
        .iter()
        .find(|operator| operator.name().contains("arg"));
    match by_index {
        Some(operator) if is_reordered => Err(Failure::Input(format!(
            "{} is in Fortran's order, in which the {operator} is found along an --axis only; save numpy.ascontiguousarray of it",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// The result of an operator, or those along an axis, as text and as JSON.
pub(super) struct Shown {
    results: Box<dyn Results>,
    places: Places,
}

/// Which results there are.
#[derive(Clone)]
enum Places {
    /// One.
    One,
    /// One for each place on some axes, the last of which varies fastest.
    Many,
    /// One for each place on axes of these lengths, the first of which varies fastest: in Fortran's order, unlike what is shown.
    InFortransOrder(Vec<usize>),
}

impl Places {
    /// Which of the results comes in this place, where the last axis varies fastest.
    fn result(&self, mut place: usize) -> usize {
        let Self::InFortransOrder(lengths) = self else {
            return place;
        };
        let (mut result, mut stride) = (0, lengths.iter().product::<usize>());
        for length in lengths.iter().rev() {
            stride /= length;
            result += place % length * stride;
            place /= length;
        }
        result
    }
}

impl Shown {
    /// Results that are one for each operator.
    pub(super) fn one(results: Box<dyn Results>) -> Self {
        Self {
            results,
            places: Places::One,
        }
    }

    /// The result in this place.
    fn value(&self, place: usize) -> Value {
        self.results.value(self.places.result(place))
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.places {
            Places::One => ShownValue(self.value(0)).serialize(serializer),
            _ => {
                let places = 0..self.results.count();
                serializer.collect_seq(places.map(|place| ShownValue(self.value(place))))
            }
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.results.count();
        if let Places::One = self.places {
            return write!(formatter, "{}", self.value(0));
        }
        let first = (0..count.min(PRINTED)).map(|place| self.value(place).to_string());
        let first = first.collect::<Vec<_>>().join(", ");
        match count {
            0..=PRINTED => write!(formatter, "[{first}]"),
            _ => write!(formatter, "[{first}, …], {count} results; --json has all"),
        }
    }
}

/// A value as JSON.
struct ShownValue(Value);

impl Serialize for ShownValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::One(Number::Bool(truth)) => serializer.serialize_bool(truth),
            Value::One(Number::Integer(integer)) => serializer.serialize_i128(integer),
            Value::One(Number::F32(float)) => number::Number::F32(float).serialize(serializer),
            Value::One(Number::F64(float)) => number::Number::F64(float).serialize(serializer),
            Value::Extremes(min, max) => serializer.collect_map(
                [("min", min), ("max", max)].map(|(name, value)| (name, Self(Value::One(value)))),
            ),
        }
    }
}
