//! What is measured: the operators, types and shapes of each group.

use super::spread::Spread;
use crate::shapes_record::{Group, Point};
use std::fmt;
use std::ops::Range;
use warpfold::{Along, Matrix};

/// An operator and what it reduces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// What it is compared with.
    pub group: Group,
    /// What is done.
    pub operator: Operator,
    /// To values of this type.
    pub element: Element,
    /// Of this shape.
    pub shape: ProblemShape,
}

/// What becomes one result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProblemShape {
    /// Each row or each column; an array is a row.
    Matrix(Matrix, Along),
    /// Each segment, of this mean length.
    Segments(Spread, usize),
    /// Each value with those before it in its row.
    Scan(Matrix),
    /// Each run of equal keys, of this mean length.
    Keys(usize),
}

macro_rules! names {
    ($(#[$about:meta])* $kind:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $($variant,)*
        }

        impl $kind {
            /// Its name in the record, and in what other programs are asked.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

names! {
    /// What is done.
    Operator {
        Sum = "sum",
        Max = "max",
        ArgMax = "argmax",
        ArgMaxU32 = "argmax, u32",
        Mean = "mean",
        Variance = "variance",
        LogSumExp = "log-sum-exp",
        Dot = "dot",
    }
}

names! {
    /// The types that are measured.
    Element {
        F32 = "f32",
        Bf16 = "bf16",
        I8 = "i8",
    }
}

impl Operator {
    /// What others are asked for.
    pub fn asked(self) -> &'static str {
        match self {
            Self::ArgMaxU32 => Self::ArgMax.name(),
            other => other.name(),
        }
    }

    /// The bytes of a result that a contender must write to take part, where they differ.
    pub fn result_bytes(self) -> Option<usize> {
        match self {
            Self::ArgMax => Some(8),
            Self::ArgMaxU32 => Some(4),
            _ => None,
        }
    }
}

use Operator::{ArgMax, ArgMaxU32, Dot, LogSumExp, Max, Mean, Sum, Variance};

/// Numbers of rows, as powers of two.
const ROWS: Range<u32> = 0..27;
/// Lengths of rows of small types and of scans, as a power of two; and how many rows, or columns, their columns have.
const ROW: u32 = 12;
/// Lengths of rows that are no powers of two.
const ODD_ROWS: [usize; 6] = [3, 10, 100, 257, 768, 1001];
/// Odd numbers of columns.
const ODD_COLUMNS: [usize; 3] = [(1 << 16) + 1, (1 << 12) + 1, (1 << 8) + 1];
/// Lengths of small arrays, as powers of two.
const ARRAYS: [u32; 4] = [12, 17, 20, 24];
/// Mean lengths of segments and of runs.
const LENGTHS: [usize; 3] = [4, 32, 1024];

/// All problems of these groups, with 2^`bits` values in each but those of small arrays, and about as many in odd rows and columns.
pub fn all(groups: &[Group], bits: u32) -> Vec<Problem> {
    groups
        .iter()
        .flat_map(|&group| of_group(group, bits))
        .collect()
}

fn of_group(group: Group, bits: u32) -> Vec<Problem> {
    let matrix = |rows: u32| Matrix::contiguous(1 << rows, 1 << (bits - rows));
    let of_rows = bits.checked_sub(ROW);
    let mut problems = Vec::new();
    let mut add = |operators: &[Operator], element, shape| {
        problems.extend(operators.iter().map(|&operator| Problem {
            group,
            operator,
            element,
            shape,
        }));
    };
    match group {
        Group::Rows | Group::Columns => {
            let along = match group {
                Group::Rows => Along::Rows,
                _ => Along::Columns,
            };
            for rows in ROWS.filter(|&rows| rows <= bits) {
                let shape = ProblemShape::Matrix(matrix(rows), along);
                let operators = [Sum, Max, ArgMax, ArgMaxU32, Mean, Variance, LogSumExp];
                add(&operators, Element::F32, shape);
            }
        }
        Group::OddRows => {
            for columns in ODD_ROWS.into_iter().filter(|&columns| columns >> bits == 0) {
                let matrix = Matrix::contiguous((1 << bits) / columns, columns);
                let shape = ProblemShape::Matrix(matrix, Along::Rows);
                let operators = [Sum, ArgMax, ArgMaxU32, Variance, LogSumExp];
                add(&operators, Element::F32, shape);
            }
        }
        Group::OddColumns => {
            for columns in ODD_COLUMNS
                .into_iter()
                .filter(|&columns| columns >> bits == 0)
            {
                let matrix = Matrix::contiguous((1 << bits) / columns, columns);
                let shape = ProblemShape::Matrix(matrix, Along::Columns);
                let operators = [Sum, Max, ArgMax, ArgMaxU32, Mean, Variance];
                add(&operators, Element::F32, shape);
            }
        }
        Group::Types => {
            for element in [Element::Bf16, Element::I8] {
                for rows in [Some(0), of_rows].into_iter().flatten() {
                    let shape = ProblemShape::Matrix(matrix(rows), Along::Rows);
                    add(&[Sum, Max, ArgMax, ArgMaxU32, Mean], element, shape);
                }
            }
        }
        Group::TypeColumns => {
            for element in [Element::Bf16, Element::I8] {
                for rows in [Some(ROW), of_rows].into_iter().flatten() {
                    if rows <= bits {
                        let shape = ProblemShape::Matrix(matrix(rows), Along::Columns);
                        add(&[Sum, Max, ArgMax, ArgMaxU32, Mean], element, shape);
                    }
                }
            }
        }
        Group::Segments => {
            for spread in Spread::ALL {
                for length in LENGTHS {
                    let shape = ProblemShape::Segments(spread, length);
                    add(&[Sum, Max, ArgMax], Element::F32, shape);
                }
            }
        }
        Group::Graphs => {
            // A dot product takes two arrays from the values.
            for n in ARRAYS.into_iter().filter(|&n| n < bits) {
                let shape = ProblemShape::Matrix(Matrix::contiguous(1, 1 << n), Along::Rows);
                add(&[ArgMax, ArgMaxU32, Variance, Dot], Element::F32, shape);
            }
        }
        Group::Scans => {
            for rows in [Some(0), of_rows].into_iter().flatten() {
                add(&[Sum, Max], Element::F32, ProblemShape::Scan(matrix(rows)));
            }
        }
        Group::Keys => {
            for length in LENGTHS {
                add(&[Sum], Element::F32, ProblemShape::Keys(length));
            }
        }
    }
    problems
}

impl Problem {
    /// Whether a point on record is of this problem.
    pub fn is_at(&self, point: &Point) -> bool {
        let has_shape = match self.shape {
            ProblemShape::Matrix(Matrix { rows, columns, .. }, _)
            | ProblemShape::Scan(Matrix { rows, columns, .. }) => {
                (point.rows, point.columns) == (rows, columns)
            }
            ProblemShape::Segments(spread, mean) => {
                (point.spread.as_deref(), point.columns) == (Some(spread.name()), mean)
            }
            ProblemShape::Keys(mean) => point.columns == mean,
        };
        has_shape
            && point.group == self.group
            && point.operator == self.operator.name()
            && point.element_type == self.element.name()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operator, element) = (self.operator.name(), self.element.name());
        match self.shape {
            ProblemShape::Matrix(Matrix { rows: 1, .. }, Along::Rows) => {
                write!(formatter, "{operator} of {element}, ")?;
            }
            ProblemShape::Matrix(_, Along::Rows) => {
                write!(formatter, "{operator} of rows of {element}, ")?
            }
            ProblemShape::Matrix(_, Along::Columns) => {
                write!(formatter, "{operator} of columns of {element}, ")?;
            }
            ProblemShape::Segments(spread, length) => {
                let spread = spread.name();
                return write!(
                    formatter,
                    "{operator} of segments of {element}, {spread}, {length}"
                );
            }
            ProblemShape::Scan(_) => write!(formatter, "scan by {operator} of {element}, ")?,
            ProblemShape::Keys(length) => {
                return write!(
                    formatter,
                    "{operator} by key of {element}, runs of {length}"
                );
            }
        }
        let (ProblemShape::Matrix(matrix, _) | ProblemShape::Scan(matrix)) = self.shape else {
            return Ok(());
        };
        write!(formatter, "{} × {}", matrix.rows, matrix.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_shape_of_the_matrices_has_all_values() {
        let problems = all(Group::value_variants(), 28);
        let of = |group| {
            problems
                .iter()
                .filter(move |problem| problem.group == group)
        };
        assert_eq!(of(Group::Rows).count(), 27 * 7);
        assert_eq!(of(Group::Columns).count(), 27 * 7);
        assert_eq!(of(Group::OddRows).count(), 6 * 5);
        assert_eq!(of(Group::OddColumns).count(), 3 * 6);
        assert_eq!(of(Group::Types).count(), 2 * 2 * 5);
        assert_eq!(of(Group::TypeColumns).count(), 2 * 2 * 5);
        assert_eq!(of(Group::Segments).count(), 3 * 3 * 3);
        assert_eq!(of(Group::Graphs).count(), 4 * 4);
        for problem in of(Group::Rows).chain(of(Group::Columns)) {
            let ProblemShape::Matrix(matrix, _) = problem.shape else {
                panic!("{problem} is no matrix");
            };
            assert_eq!(matrix.rows * matrix.columns, 1 << 28);
        }
    }
}
