//! Steps of the ladder for other operators and types, through generic bodies.

use super::ladder::{LADDER, SUM};
use super::{ElementType, Entries, Lesson, Part, Reduction, Task};

const fn sum_of(element_type: ElementType) -> Task {
    Task::Reduction(Reduction {
        element_type,
        ..SUM
    })
}

/// What the instances of step 9's generic body have in common.
const GENERIC_SHUFFLE: Lesson = Lesson {
    part: Part::Operators,
    step: "1",
    needs: &["shuffle"],
    file: "kernels/src/o01_shuffle.rs",
    ..LADDER
};

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "shuffle_sum_i32",
        title: "step 9, generic, for the sum of i32",
        change: "step 9 with its operator and its type taken out, which costs nothing: its instructions are those of step 9",
        task: sum_of(ElementType::I32),
        entries: Entries::PerBlock(&[
            (64, "shuffle_sum_i32_64"),
            (128, "shuffle_sum_i32_128"),
            (256, "shuffle_sum_i32_256"),
            (512, "shuffle_sum_i32_512"),
            (1024, "shuffle_sum_i32_1024"),
        ]),
        ..GENERIC_SHUFFLE
    },
    Lesson {
        id: "shuffle_sum_f32",
        title: "the same body for the sum of f32",
        change: "the same body for floats, whose sum depends on the grouping: a tree rounds less than a loop",
        task: sum_of(ElementType::F32),
        entries: Entries::PerBlock(&[
            (64, "shuffle_sum_f32_64"),
            (128, "shuffle_sum_f32_128"),
            (256, "shuffle_sum_f32_256"),
            (512, "shuffle_sum_f32_512"),
            (1024, "shuffle_sum_f32_1024"),
        ]),
        ..GENERIC_SHUFFLE
    },
];
