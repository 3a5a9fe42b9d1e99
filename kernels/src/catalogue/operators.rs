//! Steps of the ladder for every operator and type, through generic bodies.

use super::ladder::{LADDER, SUM};
use super::{ElementType, Entries, Finish, Geometry, Lesson, Operator, Part, Reduction, Task};

/// What the instances of a step have in common. They are launched as the step itself is.
const fn step(lesson: Lesson, reduction: Reduction) -> Lesson {
    Lesson {
        part: Part::Operators,
        task: Task::Reduction(reduction),
        ..lesson
    }
}

const INTERLEAVED: Lesson = step(
    Lesson {
        step: "1",
        change: "step 3 with its operator and its type taken out: what a tree needs to know of them is how to put two values together",
        needs: &["interleaved"],
        file: "kernels/src/o02_interleaved.rs",
        ..LADDER
    },
    Reduction {
        geometry: Geometry::Tiles {
            elements_per_thread: 1,
        },
        in_place: true,
        ..SUM
    },
);

const COMPLETE_UNROLL_SHARED: Lesson = step(
    Lesson {
        step: "2",
        change: "step 8 with its operator and its type taken out: a missing element is the identity",
        needs: &["complete_unroll_shared"],
        file: "kernels/src/o03_complete_unroll_shared.rs",
        ..LADDER
    },
    SUM,
);

const SHUFFLE: Lesson = step(
    Lesson {
        step: "3",
        change: "step 9 for every operator and type, with one entry for all block sizes; 8 bytes are shuffled by halves",
        needs: &["shuffle"],
        file: "kernels/src/o04_shuffle.rs",
        ..LADDER
    },
    SUM,
);

/// Of 16 bytes a load, four loads at a time.
const fn vectors(element_type: ElementType) -> Geometry {
    Geometry::Resident {
        elements_per_thread: 4 * 16 / element_type.bytes(),
        threads_per_multiprocessor: 2048,
    }
}

const VECTORIZED: Lesson = step(
    Lesson {
        step: "4",
        change: "step 10 for every operator and type: 16 bytes are four values or two",
        needs: &["vectorized"],
        file: "kernels/src/o05_vectorized.rs",
        ..LADDER
    },
    SUM,
);

const SINGLE_PASS: Lesson = step(
    Lesson {
        step: "5",
        change: "step 11 for every operator and type: one launch, and floats the same to the last bit in every run",
        needs: &["single_pass"],
        file: "kernels/src/o06_single_pass.rs",
        ..LADDER
    },
    Reduction {
        finish: Finish::OneLaunch,
        ..SUM
    },
);

/// One entry, named like the lesson.
macro_rules! any_block {
    ($($name:expr),*) => {
        Entries::AnyBlock(concat!($($name),*))
    };
}

/// One entry for each block size, named like the lesson and by it.
macro_rules! per_block {
    ($($name:expr),*) => {
        Entries::PerBlock(&[
            (64, concat!($($name,)* "_64")),
            (128, concat!($($name,)* "_128")),
            (256, concat!($($name,)* "_256")),
            (512, concat!($($name,)* "_512")),
            (1024, concat!($($name,)* "_1024")),
        ])
    };
}

/// A step for one operator and all types; the last argument says how the geometry depends on the type.
macro_rules! of_operator {
    ($step:ident, $name:literal, $entries:ident, $geometry:expr, $operator:ident $operator_name:literal) => {
        of_operator! { $step, $name, $entries, $geometry, $operator $operator_name:
            I32 "i32", U32 "u32", I64 "i64", U64 "u64", F32 "f32", F64 "f64" }
    };
    ($step:ident, $name:literal, $entries:ident, $geometry:expr, $operator:ident $operator_name:literal: $($element_type:ident $type_name:literal),*) => {
        [$(Lesson {
            id: concat!($name, "_", $operator_name, "_", $type_name),
            title: concat!($name, " for the ", $operator_name, " of ", $type_name),
            entries: $entries!($name, "_", $operator_name, "_", $type_name),
            task: Task::Reduction(Reduction {
                operator: Operator::$operator,
                element_type: ElementType::$element_type,
                geometry: $geometry(&$step, ElementType::$element_type),
                ..reduction(&$step)
            }),
            ..$step
        }),*]
    };
}

/// A step for all operators and types.
macro_rules! of_step {
    ($step:ident, $name:literal, $entries:ident, $geometry:expr) => {
        [
            of_operator!($step, $name, $entries, $geometry, Sum "sum"),
            of_operator!($step, $name, $entries, $geometry, Product "product"),
            of_operator!($step, $name, $entries, $geometry, Min "min"),
            of_operator!($step, $name, $entries, $geometry, Max "max"),
        ]
    };
}

const fn reduction(step: &Lesson) -> Reduction {
    match step.task {
        Task::Reduction(reduction) => reduction,
        Task::Demonstration(_) => panic!("every step of this part reduces"),
    }
}

const fn as_the_step(step: &Lesson, _: ElementType) -> Geometry {
    reduction(step).geometry
}

const fn by_vectors(_: &Lesson, element_type: ElementType) -> Geometry {
    vectors(element_type)
}

/// By step, operator and type.
const STEPS: &[[[Lesson; 6]; 4]] = &[
    of_step!(INTERLEAVED, "interleaved", any_block, as_the_step),
    of_step!(
        COMPLETE_UNROLL_SHARED,
        "complete_unroll_shared",
        per_block,
        as_the_step
    ),
    of_step!(SHUFFLE, "shuffle", any_block, as_the_step),
    of_step!(VECTORIZED, "vectorized", any_block, by_vectors),
    of_step!(SINGLE_PASS, "single_pass", any_block, by_vectors),
];

/// In reading order.
pub(super) const LESSONS: &[Lesson] = STEPS.as_flattened().as_flattened();
