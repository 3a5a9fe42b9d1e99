//! Counting the colours of an image.

use super::ladder::LADDER;
use super::{Demonstration, Entries, Lesson, Parameter, Part, Task};

/// What a lesson of this part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histogram {
    /// Three histograms of an image, by a kernel that takes `(image, width, height, pitch, bins)`.
    Image,
}

/// What the lessons have in common; each row states the rest.
const HISTOGRAM: Lesson = Lesson {
    part: Part::Histogram,
    task: Task::Demonstration(Demonstration::Histogram(Histogram::Image)),
    ..LADDER
};

/// In reading order.
pub(super) const LESSONS: &[Lesson] = &[
    Lesson {
        id: "histogram_global",
        step: "1",
        title: "every pixel to one histogram",
        change: "one thread per pixel adds to the bins of its red, green and blue in global memory, atomically, and in one queue with all others of that colour",
        needs: &["interleaved"],
        file: "kernels/src/h01_histogram_global.rs",
        entries: Entries::AnyBlock("histogram_global"),
        ..HISTOGRAM
    },
    Lesson {
        id: "histogram_shared",
        step: "2",
        title: "a histogram of one's own",
        change: "each block counts in its shared memory and merges once at the end, which pays where its threads take many pixels each",
        needs: &["histogram_global", "complete_unroll_shared"],
        file: "kernels/src/h02_histogram_shared.rs",
        entries: Entries::AnyBlock("histogram_shared"),
        parameter: Some(Parameter {
            name: "pixels",
            meaning: "pixels that each thread takes",
            values: &[1, 4, 32, 128],
            usual: 32,
        }),
        ..HISTOGRAM
    },
];
