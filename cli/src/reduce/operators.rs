//! Reductions by any operators, of all values and along an axis: on the cores of this computer in one pass, or on a device.

use super::arguments::Arguments;
use super::input::array::Array;
use super::input::{FileNumber, InputError, Source, is_table};
use crate::failure::Failure;
use crate::output::Output;
use crate::show;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Instant;
use warpfold::sum::Mode;
use warpfold::{Device, DeviceChoice, Group};
use warpfold_course::element::ElementType;
use warpfold_course::number;
use warpfold_dynamic::{
    Named, Number, Reduction, Results, TypeName, Value, reduce_on, reduce_on_group,
};

/// Values of a table that are read at once.
const TABLE_VALUES: usize = 1 << 20;
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
    axis: Option<i64>,
    device: String,
    /// The result, or those along the axis, where there is one operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Shown>,
    /// The same for each operator.
    results: BTreeMap<&'static str, &'a Shown>,
    elapsed_ms: f64,
}

/// Where to reduce.
enum On {
    Cores,
    Device(Device),
    Group(Group),
}

impl On {
    fn describe(&self) -> String {
        match self {
            Self::Cores => format!("cpu: {} threads", rayon::current_num_threads()),
            Self::Device(device) => device.describe(),
            Self::Group(group) => {
                let devices = group.devices();
                format!("{} devices: {} …", devices.len(), devices[0].describe())
            }
        }
    }

    /// The results along the middle axis of an array of this shape; without the others there is one.
    fn reduce(
        &self,
        element_type: TypeName,
        operators: &[Named],
        values: &[u8],
        shape: [usize; 3],
    ) -> Result<Vec<Box<dyn Results>>, Failure> {
        Ok(match self {
            Self::Cores => Reduction::new(element_type, operators).along(values, shape),
            Self::Device(device) => reduce_on(device, element_type, operators, values, shape)?,
            Self::Group(group) => {
                reduce_on_group(group, Mode::Deterministic, element_type, operators, values)?
            }
        })
    }
}

/// What was reduced, and what came of it.
struct Reduced {
    element_type: TypeName,
    n: u64,
    column: Option<String>,
    results: Vec<Box<dyn Results>>,
}

/// Runs the command, on the cores where no device is chosen.
pub(super) fn run(
    arguments: &Arguments,
    choice: Option<DeviceChoice>,
    output: &Output,
) -> Result<(), Failure> {
    let open = |choice| arguments.kernels.on(choice);
    let on = match (arguments.group(), choice) {
        (Some(_), _) if arguments.axis.is_some() => {
            return Err(Failure::Input(
                "several devices make one result; leave --axis out, or name one device".to_owned(),
            ));
        }
        (Some(choices), _) => {
            let devices: Result<Vec<Device>, Failure> = choices.into_iter().map(open).collect();
            On::Group(
                Group::new(devices?).map_err(|_| {
                    Failure::Input("there is no GPU; name another --device".to_owned())
                })?,
            )
        }
        (None, Some(choice)) => On::Device(open(choice)?),
        (None, None) => On::Cores,
    };
    let start = Instant::now();
    let reduced = if arguments.delimiter.is_some() || is_table(arguments.file()) {
        of_table(arguments, &on)?
    } else {
        of_array(arguments, &on)?
    };
    let are_many = arguments.axis.is_some();
    let shown = reduced.results.into_iter();
    let shown: Vec<Shown> = shown.map(|results| Shown { results, are_many }).collect();
    let names = arguments.operators.iter().map(|operator| operator.name());
    let report = Report {
        file: arguments.file().display().to_string(),
        column: reduced.column,
        element_type: reduced.element_type.name(),
        n: reduced.n,
        bytes: reduced.n * reduced.element_type.bytes() as u64,
        axis: arguments.axis,
        device: on.describe(),
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
    for (operator, results) in arguments.operators.iter().zip(&shown) {
        output.print(format!("{operator} = {results}"))?;
    }
    output.print(format!(
        "{} · {} GB/s with reading",
        show::milliseconds(report.elapsed_ms),
        show::significant(report.bytes as f64 / (report.elapsed_ms * 1e6))
    ))?;
    output.write_json(&report)
}

fn of_table(arguments: &Arguments, on: &On) -> Result<Reduced, Failure> {
    let path = arguments.file();
    if arguments.axis.is_some() {
        return Err(Failure::Input(format!(
            "{} is a table, of which one column is reduced; --axis is for .npy files",
            path.display()
        )));
    }
    let element_type = arguments.type_of_tables();
    let operators = &arguments.operators;
    let mut reduction = Reduction::new(element_type, operators);
    let mut for_device: Vec<u64> = Vec::new();
    let mut bytes = 0;
    let column = read_table(arguments, path, |values| {
        match on {
            On::Cores => reduction.take(values),
            On::Device(_) | On::Group(_) => {
                for_device.resize((bytes + values.len()).div_ceil(size_of::<u64>()), 0);
                bytemuck::cast_slice_mut(&mut for_device)[bytes..][..values.len()]
                    .copy_from_slice(values);
            }
        }
        bytes += values.len();
    })?;
    let n = bytes / element_type.bytes();
    refuse_nothing(arguments, path, n)?;
    let results = match on {
        On::Cores => reduction.finish(),
        On::Device(_) | On::Group(_) => {
            let values = &bytemuck::cast_slice(&for_device)[..bytes];
            on.reduce(element_type, operators, values, [1, n, 1])?
        }
    };
    Ok(Reduced {
        element_type,
        n: n as u64,
        column,
        results,
    })
}

/// Hands over the values of a table's column, piece by piece. The column's cell in the header, if it has one.
pub(super) fn read_table(
    arguments: &Arguments,
    path: &Path,
    mut take: impl FnMut(&[u8]),
) -> Result<Option<String>, Failure> {
    fn column<T: FileNumber>(
        arguments: &Arguments,
        path: &Path,
        element_type: ElementType,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<String>, InputError> {
        let (name, delimiter) = (arguments.column.as_deref(), arguments.delimiter);
        let mut source = Source::open_table(path, element_type, name, delimiter)?;
        loop {
            let values = source.read::<T>(TABLE_VALUES)?;
            if values.is_empty() {
                return Ok(source.header().map(str::to_owned));
            }
            take(bytemuck::cast_slice(&values));
        }
    }
    let asked = arguments.type_of_tables().name();
    macro_rules! by_type {
        ($($variant:ident $number:ident $kind:ident $bits:tt;)*) => {
            match asked {
                $(stringify!($number) => column::<$number>(arguments, path, ElementType::$variant, &mut take),)*
                asked => Err(InputError::TypeOfTable {
                    path: path.to_owned(),
                    asked: asked.to_owned(),
                }),
            }
        };
    }
    warpfold_kernels::for_each_element!(by_type).map_err(Failure::input)
}

fn of_array(arguments: &Arguments, on: &On) -> Result<Reduced, Failure> {
    let array = Array::open(
        arguments.file(),
        arguments.element_type,
        arguments.column.as_deref(),
    )
    .map_err(Failure::input)?;
    let n = array.shape.iter().product();
    let shape = match arguments.axis {
        None => {
            refuse_other_order(arguments, arguments.file(), &array)?;
            [1, n, 1]
        }
        Some(axis) => split_at_axis(arguments, &array, axis)?,
    };
    refuse_nothing(arguments, arguments.file(), shape[1])?;
    let (element_type, operators) = (array.element_type, &arguments.operators);
    let results = on.reduce(element_type, operators, array.values(), shape)?;
    Ok(Reduced {
        element_type,
        n: n as u64,
        column: array.name,
        results,
    })
}

/// How many places there are on the axes before this one, on this one, and on those after it.
fn split_at_axis(arguments: &Arguments, array: &Array, axis: i64) -> Result<[usize; 3], Failure> {
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
    if array.is_fortran && dimensions > 2 {
        return Err(Failure::Input(format!(
            "{} is in Fortran's order, in which only matrices are reduced along an axis; save numpy.ascontiguousarray of it",
            arguments.file().display()
        )));
    }
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
            Ok([outer, array.shape[axis], inner])
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
    array: &Array,
) -> Result<(), Failure> {
    let by_index = arguments
        .operators
        .iter()
        .find(|operator| operator.name().contains("arg"));
    match by_index {
        Some(operator) if array.is_fortran && array.shape.len() > 1 => {
            Err(Failure::Input(format!(
                "{} is in Fortran's order, in which the {operator} is found along an --axis only; save numpy.ascontiguousarray of it",
                path.display()
            )))
        }
        _ => Ok(()),
    }
}

/// The result of an operator, or those along an axis, as text and as JSON.
pub(super) struct Shown {
    results: Box<dyn Results>,
    are_many: bool,
}

impl Shown {
    /// Results that are one for each operator.
    pub(super) fn one(results: Box<dyn Results>) -> Self {
        Self {
            results,
            are_many: false,
        }
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.are_many {
            let places = 0..self.results.count();
            serializer.collect_seq(places.map(|place| ShownValue(self.results.value(place))))
        } else {
            ShownValue(self.results.value(0)).serialize(serializer)
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.results.count();
        if !self.are_many {
            return write!(formatter, "{}", self.results.value(0));
        }
        let first = (0..count.min(PRINTED)).map(|place| self.results.value(place).to_string());
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
