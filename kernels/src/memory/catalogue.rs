//! How the addresses of a warp decide what an access costs.

use super::m06_residency;
use crate::ladder::catalogue::SUM;
use crate::lesson::{
    Demonstration, Entries, Geometry, Lesson, Memory, Parameter, Part, Reduction, Task, pages,
    per_block,
};

pages! { "memory":
    COPY_OFFSET_PAGE "1" "A misaligned copy" "m01_copy_offset";
    COPY_STRIDE_PAGE "2" "A copy with gaps" "m02_copy_stride";
    REVERSE_PAGE "3" "A block reversed" "m03_reverse";
    BANK_STRIDE_PAGE "4" "Bank conflicts" "m04_bank_stride";
    MATRIX_ADD_PAGE "5" "Two dimensions" "m05_matrix_add";
    RESIDENCY_PAGE "6" "Room for blocks" "m06_residency";
    READ_ONLY_PAGE "7" "Read-only loads" "m07_read_only";
    CONSTANT_PAGE "8" "Constant memory" "m08_constant";
}

const fn demonstration(memory: Memory) -> Task {
    Task::Demonstration(Demonstration::Memory(memory))
}

/// What the lessons of this part have in common; each row states the rest.
const MEMORY: Lesson = Lesson {
    id: "",
    part: Part::Memory,
    module: Part::Memory.module(),
    step: "",
    title: "",
    change: "",
    needs: &[],
    file: "",
    entries: Entries::AnyBlock(""),
    least_block: 1,
    parameter: None,
    task: demonstration(Memory::CopyOffset),
    cooperative: false,
    least_sm: 70,
    exhibit: None,
    emulator_only: false,
};

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "copy_offset",
        title: "a misaligned copy",
        change: "a warp whose words do not begin with a sector needs five sectors instead of four",
        needs: &["interleaved"],
        entries: Entries::AnyBlock("copy_offset"),
        parameter: Some(Parameter {
            name: "offset",
            meaning: "the index of the first element that is copied",
            values: &[
                0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
                23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
            ],
            usual: 1,
        }),
        task: demonstration(Memory::CopyOffset),
        ..MEMORY.on(&COPY_OFFSET_PAGE)
    },
    Lesson {
        id: "copy_stride",
        title: "a copy with gaps",
        change: "the further apart the words of a warp are, the less of each sector it uses",
        needs: &["copy_offset"],
        entries: Entries::AnyBlock("copy_stride"),
        parameter: Some(Parameter {
            name: "stride",
            meaning: "the distance in elements from one copied element to the next",
            values: STRIDES,
            usual: 2,
        }),
        task: demonstration(Memory::CopyStride),
        ..MEMORY.on(&COPY_STRIDE_PAGE)
    },
    Lesson {
        id: "reverse_static",
        title: "a block reversed",
        change: "threads exchange elements through shared memory, whose size the kernel declares",
        needs: &["complete_unroll_shared"],
        entries: per_block!("reverse_static"),
        task: demonstration(Memory::Reverse { dynamic: false }),
        ..MEMORY.on(&REVERSE_PAGE)
    },
    Lesson {
        id: "reverse_dynamic",
        title: "the same for any block size",
        change: "the launch says how much shared memory each block gets, so that one kernel serves every block size",
        needs: &["reverse_static"],
        entries: Entries::AnyBlock("reverse_dynamic"),
        task: demonstration(Memory::Reverse { dynamic: true }),
        ..MEMORY.on(&REVERSE_PAGE)
    },
    Lesson {
        id: "bank_stride",
        title: "bank conflicts",
        change: "lanes that want different words of one bank of shared memory are served one after the other",
        needs: &["reverse_static"],
        entries: Entries::AnyBlock("bank_stride"),
        parameter: Some(Parameter {
            name: "stride",
            meaning: "the distance in words between the elements of neighbouring lanes in shared memory",
            values: STRIDES,
            usual: 2,
        }),
        task: demonstration(Memory::BankStride),
        ..MEMORY.on(&BANK_STRIDE_PAGE)
    },
    Lesson {
        id: "matrix_add",
        title: "two dimensions",
        change: "a grid and its blocks have rows and columns, like a matrix",
        needs: &["copy_offset"],
        entries: Entries::AnyBlock("matrix_add"),
        task: demonstration(Memory::MatrixAdd),
        ..MEMORY.on(&MATRIX_ADD_PAGE)
    },
    Lesson {
        id: "shared_held",
        title: "shared memory that is held",
        change: "a block that holds more shared memory leaves less room for other blocks beside it",
        needs: &["reverse_static"],
        entries: Entries::PerParameter(&[
            (4, "shared_held_4"),
            (8, "shared_held_8"),
            (16, "shared_held_16"),
            (32, "shared_held_32"),
            (48, "shared_held_48"),
        ]),
        parameter: Some(Parameter {
            name: "kibibytes",
            meaning: "the shared memory that each block holds, in KiB",
            values: &[4, 8, 16, 32, 48],
            usual: 16,
        }),
        task: demonstration(Memory::Reverse { dynamic: false }),
        ..RESIDENCY
    },
    Lesson {
        id: "in_flight",
        title: "registers that are held",
        change: "a thread that loads 64 elements before it adds any needs a register for each, and fewer such threads fit",
        needs: &["shuffle", "shared_held"],
        entries: per_block!("in_flight"),
        task: IN_FLIGHT,
        ..RESIDENCY
    },
    Lesson {
        id: "in_flight_bounded",
        title: "launch bounds",
        change: "the kernel says how many of its blocks are to fit, and the assembler keeps to as many registers as that leaves",
        needs: &["in_flight"],
        entries: per_block!("in_flight_bounded"),
        task: IN_FLIGHT,
        ..RESIDENCY
    },
    Lesson {
        id: "read_only",
        title: "read-only loads",
        change: "a load of what nobody writes as long as the kernel runs may come from a cache that notices no stores",
        needs: &["copy_stride"],
        entries: Entries::AnyBlock("read_only"),
        task: demonstration(Memory::ReadOnly),
        ..MEMORY.on(&READ_ONLY_PAGE)
    },
    Lesson {
        id: "constant_uniform",
        title: "constant memory",
        change: "a word of constant memory that all lanes of a warp want at once costs one access",
        needs: &["read_only"],
        entries: Entries::AnyBlock("constant_uniform"),
        task: demonstration(Memory::Constant { uniform: true }),
        ..MEMORY.on(&CONSTANT_PAGE)
    },
    Lesson {
        id: "constant_scattered",
        title: "the same for different words",
        change: "lanes that want different words of constant memory are served one after the other",
        needs: &["constant_uniform", "bank_stride"],
        entries: Entries::AnyBlock("constant_scattered"),
        task: demonstration(Memory::Constant { uniform: false }),
        ..MEMORY.on(&CONSTANT_PAGE)
    },
];

/// The lessons of page 6: what blocks hold as long as they are resident.
const RESIDENCY: Lesson = MEMORY.on(&RESIDENCY_PAGE);

/// A sum for which each thread loads [`m06_residency::IN_FLIGHT`] elements at once.
const IN_FLIGHT: Task = Task::Reduction(Reduction {
    geometry: Geometry::Tiles {
        elements_per_thread: m06_residency::IN_FLIGHT,
    },
    ..SUM
});

/// 1 to 32.
const STRIDES: &[u32] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    27, 28, 29, 30, 31, 32,
];
