//! Reductions to something else than one sum, and of many rows, columns and segments at once.

use crate::lesson::{
    Demonstration, Entries, Lesson, Parameter, Part, Shapes, Task, Worker, pages, per_block,
};

pages! { "shapes":
    ARGMAX_PAGE "1" "Where the greatest is" "s01_argmax";
    WELFORD_PAGE "2" "A variance that is right" "s02_welford";
    ROWS_BY_WARPS_PAGE "3" "A warp for each row" "s03_rows_by_warps";
    ROWS_BY_THREADS_PAGE "4" "A thread for each row" "s04_rows_by_threads";
    COLUMNS_PAGE "5" "Columns" "s05_columns";
    SEGMENTS_PAGE "6" "Segments of any length" "s06_segments";
    KEYS_PAGE "7" "Runs of a key" "s07_keys";
}

const fn shapes(shapes: Shapes) -> Task {
    Task::Demonstration(Demonstration::Shapes(shapes))
}

/// What the lessons of this part have in common; each row states the rest.
const SHAPES: Lesson = Lesson {
    id: "",
    part: Part::Shapes,
    module: Part::Shapes.module(),
    step: "",
    title: "",
    change: "",
    needs: &[],
    file: "",
    entries: Entries::AnyBlock(""),
    least_block: 32,
    parameter: None,
    task: shapes(Shapes::ArgMax),
    cooperative: false,
    least_sm: 70,
    exhibit: None,
    emulator_only: false,
};

/// The lessons of page 2, over elements that are far from 0.
const OFFSET: Lesson = Lesson {
    parameter: Some(Parameter {
        name: "offset",
        meaning: "what is added to every element",
        values: &[0, 100_000_000],
        usual: 100_000_000,
    }),
    ..SHAPES.on(&WELFORD_PAGE)
};

/// The columns of a matrix.
const fn columns(values: &'static [u32], usual: u32) -> Option<Parameter> {
    Some(Parameter {
        name: "columns",
        meaning: "elements of a row",
        values,
        usual,
    })
}

/// The lessons of page 4, over short rows of whole vectors.
const SHORT_ROWS: Lesson = Lesson {
    parameter: columns(&[4, 8, 16, 32, 64], 16),
    task: shapes(Shapes::Rows(Worker::Thread)),
    ..SHAPES.on(&ROWS_BY_THREADS_PAGE)
};

/// The lessons of page 5.
const COLUMNS: Lesson = Lesson {
    parameter: columns(&[16, 100, 1024], 1024),
    ..SHAPES.on(&COLUMNS_PAGE)
};

/// The lessons of page 6.
const SEGMENTS: Lesson = Lesson {
    parameter: Some(Parameter {
        name: "giant",
        meaning: "percent of the elements that are in one segment",
        values: &[0, 50],
        usual: 50,
    }),
    ..SHAPES.on(&SEGMENTS_PAGE)
};

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "argmax",
        title: "where the greatest is",
        change: "pairs of a value and its place go through the tree, and what counts as the greater pair is decided once",
        needs: &["shuffle"],
        entries: Entries::AnyBlock("argmax"),
        parameter: Some(Parameter {
            name: "nans",
            meaning: "elements that are NaN",
            values: &[0, 2],
            usual: 0,
        }),
        task: shapes(Shapes::ArgMax),
        ..SHAPES.on(&ARGMAX_PAGE)
    },
    Lesson {
        id: "sum_of_squares",
        title: "a variance by two sums",
        change: "the sum and the sum of the squares give a mean and a variance, whose digits are lost far from 0",
        needs: &["argmax"],
        entries: Entries::AnyBlock("sum_of_squares"),
        task: shapes(Shapes::SumOfSquares),
        ..OFFSET
    },
    Lesson {
        id: "welford",
        title: "a variance that is right",
        change: "count, mean and squares of the distances go through the tree, and nothing large is subtracted",
        needs: &["sum_of_squares"],
        entries: Entries::AnyBlock("welford"),
        task: shapes(Shapes::Welford),
        ..OFFSET
    },
    Lesson {
        id: "rows_by_warps",
        title: "a warp for each row",
        change: "many results at once: each warp adds up a row and needs no other, which is good for long rows",
        needs: &["shuffle", "copy_offset"],
        entries: Entries::AnyBlock("rows_by_warps"),
        parameter: columns(&[4, 16, 64, 100, 1024], 1024),
        task: shapes(Shapes::Rows(Worker::Warp)),
        ..SHAPES.on(&ROWS_BY_WARPS_PAGE)
    },
    Lesson {
        id: "rows_by_threads",
        title: "a thread for each row",
        change: "no lane idles on short rows, but the lanes of a warp load from places that are a row apart",
        needs: &["rows_by_warps", "vectorized"],
        entries: Entries::AnyBlock("rows_by_threads"),
        ..SHORT_ROWS
    },
    Lesson {
        id: "rows_transposed",
        title: "the same through shared memory",
        change: "a warp loads neighbouring vectors and transposes them in shared memory, so that each thread gets its own row",
        needs: &["rows_by_threads", "bank_stride"],
        entries: per_block!("rows_transposed"),
        ..SHORT_ROWS
    },
    Lesson {
        id: "columns_by_warps",
        title: "a warp for each column",
        change: "what is right for rows is wrong for columns: each lane has a sector of its own",
        needs: &["rows_by_warps", "copy_stride"],
        entries: Entries::AnyBlock("columns_by_warps"),
        task: shapes(Shapes::Columns(Worker::Warp)),
        ..COLUMNS
    },
    Lesson {
        id: "columns_by_threads",
        title: "a thread for each column",
        change: "neighbouring lanes have neighbouring columns, blocks share the rows, and the last block of a strip adds their sums",
        needs: &["columns_by_warps", "single_pass"],
        entries: Entries::AnyBlock("columns_by_threads"),
        task: shapes(Shapes::Columns(Worker::Thread)),
        ..COLUMNS
    },
    Lesson {
        id: "segments_by_warps",
        title: "a warp for each segment",
        change: "rows of any length: tiny ones leave lanes idle, and one that is huge is added up by one warp",
        needs: &["rows_by_warps"],
        entries: Entries::AnyBlock("segments_by_warps"),
        task: shapes(Shapes::Segments(Worker::Warp)),
        ..SEGMENTS
    },
    Lesson {
        id: "merge_path",
        title: "segments by search",
        change: "elements and ends of segments are one path, of which every thread gets equally many steps, found by a search",
        needs: &[
            "segments_by_warps",
            "block_scan",
            "ballot",
            "rows_transposed",
        ],
        entries: per_block!("merge_path"),
        task: shapes(Shapes::Segments(Worker::Thread)),
        ..SEGMENTS
    },
    Lesson {
        id: "by_key",
        title: "runs of a key",
        change: "segments that nobody has listed: a look-back counts where runs begin while their elements are added up",
        needs: &["merge_path", "look_back"],
        entries: Entries::AnyBlock("by_key"),
        parameter: Some(Parameter {
            name: "run",
            meaning: "elements of a run on average",
            values: &[1, 8, 1000],
            usual: 8,
        }),
        task: shapes(Shapes::Keys),
        ..SHAPES.on(&KEYS_PAGE)
    },
];
