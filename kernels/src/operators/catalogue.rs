//! Steps of the ladder for every operator and type, through generic bodies.

use crate::ladder::catalogue::{LADDER, SUM};
use crate::lesson::{
    ElementType, Entries, Finish, Geometry, Lesson, Operator, Part, Reduction, Task, pages,
    per_block,
};
use crate::{for_each_element, for_each_operator, for_each_widening};

pages! { "operators":
    OPERATORS_PAGE "1" "What a tree needs to know" "o01_operators";
    INTERLEAVED_PAGE "2" "Step 3 for every operator and type" "o02_interleaved";
    COMPLETE_UNROLL_SHARED_PAGE "3" "Step 8 for every operator and type" "o03_complete_unroll_shared";
    SHUFFLE_PAGE "4" "Step 9 for every operator and type" "o04_shuffle";
    VECTORIZED_PAGE "5" "Step 10 for every operator and type" "o05_vectorized";
    SINGLE_PASS_PAGE "6" "Step 11 for every operator and type" "o06_single_pass";
    WIDE_SUM_PAGE "7" "A sum wider than its values" "o07_wide_sum";
}

/// What the instances of a step have in common. They are launched as the step itself is.
const fn step(lesson: Lesson, reduction: Reduction) -> Lesson {
    Lesson {
        part: Part::Operators,
        module: Part::Operators.module(),
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

const WIDE_SUM: Lesson = step(
    Lesson {
        change: "a type of its own for what is accumulated: a sum of 32-bit values in 64 bits neither wraps nor rounds early",
        needs: &["single_pass_sum_i32"],
        ..SINGLE_PASS.on(&WIDE_SUM_PAGE)
    },
    reduction(&SINGLE_PASS),
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
                geometry: $geometry(&$step, ElementType::$element_type),
                ..reduction(&$step).of_type(ElementType::$element_type)
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

const OF_STEPS: &[Lesson] = STEPS.as_flattened().as_flattened();

macro_rules! wide_sums {
    ($($element_type:ident $value:ident $wide_type:ident $wide:ident;)*) => {
        [$(Lesson {
            id: concat!("wide_sum_", stringify!($value)),
            title: concat!("the sum of ", stringify!($value), " in ", stringify!($wide)),
            entries: Entries::AnyBlock(concat!("wide_sum_", stringify!($value))),
            task: Task::Reduction(Reduction {
                element_type: ElementType::$element_type,
                geometry: vectors(ElementType::$element_type),
                ..reduction(&WIDE_SUM).of_type(ElementType::$wide_type)
            }),
            ..WIDE_SUM
        }),*]
    };
}

const WIDE_SUMS: &[Lesson] = &for_each_widening!(wide_sums);

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &{
    let mut all = [WIDE_SUM; OF_STEPS.len() + WIDE_SUMS.len()];
    let (of_steps, wide_sums) = all.split_at_mut(OF_STEPS.len());
    copy(OF_STEPS, of_steps);
    copy(WIDE_SUMS, wide_sums);
    all
};

const fn copy(from: &[Lesson], to: &mut [Lesson]) {
    let mut i = 0;
    while i < from.len() {
        to[i] = Lesson { ..from[i] };
        i += 1;
    }
}
