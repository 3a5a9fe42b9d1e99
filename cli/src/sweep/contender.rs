//! The contenders: what is measured.

use crate::device::Machines;
use crate::failure::Failure;
use crate::figures::LessonFigures;
use crate::lookup;
use crate::names::Kind;
use crate::reduce::reducer::kernel_for;
use crate::workload::MeasuringArguments;
use warpfold_course::element::ElementType;
use warpfold_course::lesson::LessonError;
use warpfold_course::operator::Operator;
use warpfold_course::operator::built_for;
use warpfold_course::reducible::Plain;
use warpfold_course::wide::with_reduction;
use warpfold_kernels::catalogue::{self, Lesson, Part, lessons_of};

/// What stands for [`Contender::Library`] among the ids, and in tables.
const LIBRARY_ID: &str = "sum";
const LIBRARY_NAME: &str = "warpfold::sum";

/// A kernel of a lesson, or what the library chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Contender {
    /// A lesson, in blocks of the size that is asked for.
    Lesson(&'static Lesson),
    /// [`warpfold::sum()`], which chooses kernel and block size by the number of elements.
    Library,
}

/// The contenders, and what they are measured on.
#[derive(Debug)]
pub struct Field {
    /// How all of them combine values.
    pub operator: Operator,
    /// The same, for random values.
    pub of_kernels: catalogue::Operator,
    /// The type of the values.
    pub element_type: catalogue::ElementType,
    /// The contenders, each once.
    pub contenders: Vec<Contender>,
}

impl Field {
    /// The contenders that are asked for. Without any: the ladder or, for another operator or type, the lessons about operators and
    /// types; after them, for a sum, the library.
    ///
    /// # Errors
    /// There is no such lesson; it is built for something else; or there is none for the operator and the type.
    pub fn new(
        ids: &[String],
        operator: Option<Operator>,
        element_type: Option<ElementType>,
    ) -> Result<Self, Failure> {
        let mut contenders = Vec::new();
        for id in ids {
            let contender = Contender::find(id)?;
            if !contenders.contains(&contender) {
                contenders.push(contender);
            }
        }
        let sum_of_i32 = (Operator::Sum, ElementType::I32);
        let first = contenders.iter().find_map(Contender::built_for);
        let of_first = first.unwrap_or(sum_of_i32);
        let asked = (
            operator.unwrap_or(of_first.0),
            element_type.unwrap_or(of_first.1),
        );
        if contenders.is_empty() {
            let part = if asked == sum_of_i32 {
                Part::Ladder
            } else {
                Part::Operators
            };
            let all = lessons_of(part).iter().map(Contender::Lesson);
            contenders.extend(all.filter(|lesson| lesson.built_for() == Some(asked)));
            if asked.0 == Operator::Sum {
                contenders.push(Contender::Library);
            }
        }
        if let Some(other) = contenders.iter().find(|contender| !contender.takes(asked)) {
            return Err(Failure::Input(other.refusal(asked)));
        }
        // Of each operator and type that kernels are built for there is a lesson.
        let lesson = kernel_for(asked.0, asked.1).map_err(Failure::input)?;
        let reduction = lesson
            .reduction()
            .filter(|reduction| built_for(reduction) == asked)
            .ok_or_else(|| {
                Failure::Input(format!(
                    "no kernel makes a {} by itself; sweep another --op",
                    asked.0
                ))
            })?;
        Ok(Self {
            operator: asked.0,
            of_kernels: reduction.operator,
            element_type: reduction.element_type,
            contenders,
        })
    }
}

impl Contender {
    fn find(id: &str) -> Result<Self, Failure> {
        if [LIBRARY_ID, LIBRARY_NAME].contains(&id) {
            return Ok(Self::Library);
        }
        let lesson = catalogue::find(id)
            .ok_or_else(|| lookup::no_such(id, &[Kind::Lesson], &[LIBRARY_ID]))?;
        if lesson.reduction().is_none() {
            return Err(LessonError::NoReduction { lesson: lesson.id }.into());
        }
        Ok(Self::Lesson(lesson))
    }

    /// What a lesson is built for; `None` for the library, which takes any type.
    fn built_for(&self) -> Option<(Operator, ElementType)> {
        match self {
            Self::Lesson(lesson) => lesson.reduction().map(built_for),
            Self::Library => None,
        }
    }

    fn takes(&self, asked: (Operator, ElementType)) -> bool {
        match self.built_for() {
            Some(built_for) => built_for == asked,
            None => asked.0 == Operator::Sum,
        }
    }

    fn refusal(&self, (operator, element_type): (Operator, ElementType)) -> String {
        let what = match self.built_for() {
            Some((operator, element_type)) => format!("the {operator} of {element_type} values"),
            None => "sums".to_owned(),
        };
        format!(
            "`{}` is built for {what}, not for the {operator} of {element_type} values, which is what is swept; sweep it by itself",
            self.id()
        )
    }

    /// Its name in tables and files.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Lesson(lesson) => lesson.id,
            Self::Library => LIBRARY_NAME,
        }
    }

    /// The lesson, if it is one.
    pub fn lesson(&self) -> Option<&'static Lesson> {
        match self {
            Self::Lesson(lesson) => Some(lesson),
            Self::Library => None,
        }
    }

    /// Reduces the values and verifies the result; a GPU times what is right.
    ///
    /// # Errors
    /// As [`Machines::reduce`].
    pub fn run<T: Plain + Sync>(
        &self,
        machines: &Machines,
        measuring: &MeasuringArguments,
        values: &[T],
    ) -> Result<LessonFigures, LessonError> {
        let bytes = size_of_val(values) as u64;
        let timing = measuring.timing();
        let lesson = match self {
            Self::Lesson(lesson) => lesson,
            Self::Library => {
                let run = machines.sum(values, timing)?;
                return Ok(LessonFigures::of_kernel(LIBRARY_NAME, &run, bytes));
            }
        };
        let reduction = lesson
            .reduction()
            .ok_or(LessonError::NoReduction { lesson: lesson.id })?;
        // The values are of the type that the lesson takes, whatever that of its result.
        with_reduction!(reduction, U => {
            let values: &[U] = bytemuck::cast_slice(values);
            let variant = lesson.usual(measuring.block);
            let run = machines.reduce::<U>(lesson, variant, values, timing)?;
            Ok(LessonFigures::new(lesson, &run, bytes))
        })
    }
}
