//! Steps of the ladder for every operator and type, through generic bodies.

use crate::ladder::catalogue::{LADDER, SUM};
use crate::lesson::{
    ElementType, Entries, Finish, Geometry, Lesson, Operator, Part, Reduction, Task, pages,
    per_block,
};
use crate::{for_each_element, for_each_operator};

pages! { "operators":
    OPERATORS_PAGE "1" "What a tree needs to know" "o01_operators";
    INTERLEAVED_PAGE "2" "Step 3 for every operator and type" "o02_interleaved";
    COMPLETE_UNROLL_SHARED_PAGE "3" "Step 8 for every operator and type" "o03_complete_unroll_shared";
    SHUFFLE_PAGE "4" "Step 9 for every operator and type" "o04_shuffle";
    VECTORIZED_PAGE "5" "Step 10 for every operator and type" "o05_vectorized";
    SINGLE_PASS_PAGE "6" "Step 11 for every operator and type" "o06_single_pass";
}

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
        change: "step 3 with its operator and its type taken out: a tree needs to know how to combine two values",
        needs: &["interleaved"],
        ..LADDER.on(&INTERLEAVED_PAGE)
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
        change: "step 8 with its operator and its type taken out: a missing element is the identity",
        needs: &["complete_unroll_shared"],
        ..LADDER.on(&COMPLETE_UNROLL_SHARED_PAGE)
    },
    SUM,
);

const SHUFFLE: Lesson = step(
    Lesson {
        change: "step 9 for every operator and type, with one entry for all block sizes; 8 bytes are shuffled by halves",
        needs: &["shuffle"],
        least_block: 32,
        ..LADDER.on(&SHUFFLE_PAGE)
    },
    SUM,
);

/// Loads of 16 bytes, four at a time.
const fn vectors(element_type: ElementType) -> Geometry {
    Geometry::Resident {
        elements_per_thread: 4 * 16 / element_type.bytes(),
        threads_per_multiprocessor: 2048,
    }
}

const VECTORIZED: Lesson = step(
    Lesson {
        change: "step 10 for every operator and type: 16 bytes are four values or two",
        needs: &["vectorized"],
        least_block: 32,
        ..LADDER.on(&VECTORIZED_PAGE)
    },
    SUM,
);

const SINGLE_PASS: Lesson = step(
    Lesson {
        change: "step 11 for every operator and type: one launch, and floats the same to the last bit in every run",
        needs: &["single_pass"],
        least_block: 32,
        ..LADDER.on(&SINGLE_PASS_PAGE)
    },
    Reduction {
        finish: Finish::OneLaunch,
        ..SUM
    },
);

/// One entry, named like the lesson.
macro_rules! any_block {
    ($name:expr) => {
        Entries::AnyBlock($name)
    };
}

/// A step for all operators and types; the last argument says how the geometry depends on the type.
macro_rules! of_step {
    ($step:ident, $name:literal, $entries:ident, $geometry:expr) => {
        for_each_operator!(of_operators, ($step, $name, $entries, $geometry))
    };
}

macro_rules! of_operators {
    ($step:tt $($operator:ident $operator_name:ident;)*) => {
        [$(for_each_element!(of_elements, $step $operator $operator_name)),*]
    };
}

/// A step for one operator and all types.
macro_rules! of_elements {
    (
        ($step:ident, $name:literal, $entries:ident, $geometry:expr) $operator:ident $operator_name:ident
        $($element_type:ident $value:ident $kind:ident $bits:tt;)*
    ) => {
        [$(Lesson {
            id: concat!($name, "_", stringify!($operator_name), "_", stringify!($value)),
            title: concat!($name, " for the ", stringify!($operator_name), " of ", stringify!($value)),
            entries: $entries!(concat!($name, "_", stringify!($operator_name), "_", stringify!($value))),
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
const STEPS: &[[[Lesson; ElementType::ALL.len()]; Operator::ALL.len()]] = &[
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

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = STEPS.as_flattened().as_flattened();
