//! Lessons that are no reductions: the input of each, and the judge of its results.

use crate::lesson::LessonError;
use crate::prepared::PreparedLesson;
use warpfold_kernels::catalogue::{Demonstration, Lesson, Memory, Task, Variant};

mod atomics;
mod cooperation;
mod divergence;
mod histogram;
mod launch;
mod memory;
mod nested;
mod questions;
mod scans;
mod shapes;

/// Sets up a demonstration over `n` elements, random ones from this seed where it takes any.
pub(crate) fn prepare(
    demonstration: Demonstration,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    seed: u64,
) -> Result<PreparedLesson, LessonError> {
    match demonstration {
        Demonstration::Nested(which) => nested::prepare(which, lesson, variant, n, seed),
        Demonstration::Divergence(which) => divergence::prepare(which, lesson, variant, n, seed),
        Demonstration::Memory(which) => memory::prepare(which, lesson, variant, n, seed),
        Demonstration::Cooperation(which) => cooperation::prepare(which, lesson, variant, n, seed),
        Demonstration::Histogram(which) => histogram::prepare(which, lesson, variant, n, seed),
        Demonstration::Scan(which) => scans::prepare(which, lesson, variant, n, seed),
        Demonstration::Shapes(which) => shapes::prepare(which, lesson, variant, n, seed),
    }
}

/// Whether a lesson is about how its parameter changes the time of the same work: [`useful_bytes`] says how much work that is.
pub fn is_swept(lesson: &Lesson) -> bool {
    useful_bytes(lesson, lesson.usual(lesson.least_block), 1).is_some()
}

/// The bytes that a lesson [has to](is_swept) read and write over `n` elements, without those that the hardware moves besides; `None` of
/// other lessons.
pub fn useful_bytes(lesson: &Lesson, variant: Variant, n: usize) -> Option<u64> {
    match lesson.task {
        Task::Demonstration(Demonstration::Memory(which)) => {
            memory::useful_bytes(which, variant, n)
        }
        Task::Demonstration(Demonstration::Shapes(which)) => {
            shapes::useful_bytes(which, variant, n)
        }
        _ => None,
    }
}

/// Whether it is about the banks of shared memory, and not about the sectors of global memory.
pub fn is_about_banks(lesson: &Lesson) -> bool {
    let banks = Demonstration::Memory(Memory::BankStride);
    lesson.task == Task::Demonstration(banks)
}
