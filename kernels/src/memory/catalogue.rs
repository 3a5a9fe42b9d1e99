//! How the addresses of a warp decide what an access costs.

use crate::lesson::{
    Demonstration, Entries, Lesson, Memory, Parameter, Part, Task, pages, per_block,
};

pages! { "memory":
    COPY_OFFSET_PAGE "1" "A misaligned copy" "m01_copy_offset";
    COPY_STRIDE_PAGE "2" "A copy with gaps" "m02_copy_stride";
    REVERSE_PAGE "3" "A block reversed" "m03_reverse";
    BANK_STRIDE_PAGE "4" "Bank conflicts" "m04_bank_stride";
    MATRIX_ADD_PAGE "5" "Two dimensions" "m05_matrix_add";
}

const fn demonstration(memory: Memory) -> Task {
    Task::Demonstration(Demonstration::Memory(memory))
}

/// What the lessons of this part have in common; each row states the rest.
const MEMORY: Lesson = Lesson {
    id: "",
    part: Part::Memory,
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
];

/// 1 to 32.
const STRIDES: &[u32] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    27, 28, 29, 30, 31, 32,
];
