//! Counting the colours of an image.

use crate::ladder::catalogue::LADDER;
use crate::lesson::{Demonstration, Entries, Histogram, Lesson, Parameter, Part, Task, pages};

pages! { "histogram":
    HISTOGRAM_GLOBAL_PAGE "1" "Every pixel to one histogram" "h01_histogram_global";
    HISTOGRAM_SHARED_PAGE "2" "A private histogram" "h02_histogram_shared";
}

/// What the lessons have in common; each row states the rest.
const HISTOGRAM: Lesson = Lesson {
    part: Part::Histogram,
    module: Part::Histogram.module(),
    task: Task::Demonstration(Demonstration::Histogram(Histogram::Image)),
    ..LADDER
};

/// The lessons in reading order.
pub(crate) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "histogram_global",
        title: "every pixel to one histogram",
        change: "one thread per pixel adds to the bins of its red, green and blue in global memory, atomically, and queues with all others of that colour",
        needs: &["interleaved"],
        entries: Entries::AnyBlock("histogram_global"),
        ..HISTOGRAM.on(&HISTOGRAM_GLOBAL_PAGE)
    },
    Lesson {
        id: "histogram_shared",
        title: "a private histogram",
        change: "each block counts in its shared memory and merges once at the end, which pays if its threads take many pixels each",
        needs: &["histogram_global", "complete_unroll_shared"],
        entries: Entries::AnyBlock("histogram_shared"),
        parameter: Some(Parameter {
            name: "pixels",
            meaning: "pixels that each thread takes",
            values: &[1, 4, 32, 128],
            usual: 32,
        }),
        ..HISTOGRAM.on(&HISTOGRAM_SHARED_PAGE)
    },
];
