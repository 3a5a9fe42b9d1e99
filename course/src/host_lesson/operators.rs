//! **Operators**: every operator over every type, by one generic body.
//!
//! Before: the ladder adds up `i32` values; whoever needs the greatest `f64` would have to write it anew.
//!
//! Idea: the body is generic over the operator and the type, and the compiler makes a kernel of each pair. A reduction waits for its
//! memory whatever it does with the values, so that each pair runs at the speed of its bytes. A mean is a sum that the host divides.

use super::stopwatch::gigabytes_per_second;
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::case::Measured;
use crate::lesson::{self, LessonError};
use crate::operator::Operator;
use crate::reducible::{Plain, with_reducible};
use warpfold::device::Timing;
use warpfold_kernels::catalogue::{ElementType, Lesson, Reduction};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "operators",
    alias: None,
    title: "every operator and every type by one body",
    change: "what a reduction does with its values costs nothing beside reading them: only the bytes of the type count",
    needs: &["shuffle_sum_i32"],
    file: "course/src/host_lesson/operators.rs",
    usual_n: |_| 1 << 26,
    see: "What to see: the operators of one type take the same time, and types of 8 bytes twice that of types of 4, at the same bytes a \
          second.",
    not_shown: "Not shown here: the times, which only a GPU has; the results are those of its kernels.",
    has_picture: false,
    needs_group: false,
    run,
};

/// Threads of a block.
const BLOCK: u32 = 512;

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let mut report = Report::new(&[
        ("element_type", "type"),
        ("operator", "operator"),
        ("kernel", "kernel"),
        ("elapsed_ms", "ms"),
        ("gigabytes_per_second", "GB/s"),
        ("right", "result"),
    ]);
    report.fact(format!(
        "block {BLOCK} · each type has random values of its own"
    ));
    // The types of one size together: they take the same time.
    let mut element_types = ElementType::ALL.to_vec();
    element_types.sort_by_key(|element_type| element_type.bytes());
    for element_type in element_types {
        for &operator in Operator::ALL {
            let Some((lesson, reduction)) = operator
                .kernel_for(element_type.into())
                .and_then(|lesson| Some((lesson, lesson.reduction()?)))
            else {
                continue;
            };
            with_reducible!(element_type, T => {
                row::<T>(setting, operator, lesson, reduction, &mut report)?
            });
        }
    }
    Ok(report)
}

fn row<T: Plain>(
    setting: &Setting<'_>,
    operator: Operator,
    lesson: &Lesson,
    reduction: &Reduction,
    report: &mut Report,
) -> Result<(), HostLessonError> {
    let n = setting.elements();
    let values =
        T::random(reduction.operator, n, setting.seed).map_err(LessonError::host_memory(n))?;
    let timing = Timing {
        repeat: setting.repeat,
        cold: false,
    };
    let run = lesson::run(
        setting.device,
        lesson,
        lesson.usual(BLOCK),
        &values,
        Some(timing),
    )?;
    let elapsed_ms = match &run.measured {
        Measured::Times(times) => Some(times.median_ms()),
        Measured::Nothing | Measured::Counters { .. } => None,
    };
    report.row([
        crate::element::ElementType::from(reduction.element_type)
            .name()
            .into(),
        operator.name().into(),
        lesson.id.into(),
        Cell::Milliseconds(elapsed_ms),
        Cell::Number(gigabytes_per_second(size_of_val(&values[..]), elapsed_ms)),
        Cell::Right(Some(run.is_right())),
    ]);
    Ok(())
}
