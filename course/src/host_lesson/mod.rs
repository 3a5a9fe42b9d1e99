//! Lessons about the host's side of a GPU: how data gets there, how work is queued, what a clock sees.
//!
//! Each runs real work on a device and verifies every sum. What a GPU shows is its times; the emulator runs the same operations in
//! order, which shows that they are right and nothing more. [`HOST_LESSONS`] is the one list, which the command line reads.

mod default_stream;
mod diamond;
mod events;
mod graph;
mod group_sum;
mod issue_order;
mod l2_persistence;
mod lesson;
mod operators;
mod peer_atomic;
mod peer_copy;
mod report;
mod residency;
mod roofline;
pub mod scaling;
mod stopwatch;
mod streams;
mod sum;
mod timeline;
mod transfers;
mod two_stage;

pub use lesson::{HostLesson, HostLessonError, Setting};
pub use report::{Cell, Column, Report};
pub use roofline::picture_of as roofline_picture;
pub use timeline::{Kind, Lane, Span, Timeline, text as timelines_as_text};

/// All lessons about the host's side, in reading order.
pub const HOST_LESSONS: &[HostLesson] = &[
    transfers::LESSON,
    events::LESSON,
    streams::LESSON,
    issue_order::LESSON,
    default_stream::LESSON,
    graph::LESSON,
    diamond::LESSON,
    two_stage::LESSON,
    l2_persistence::LESSON,
    residency::LESSON,
    roofline::LESSON,
    operators::LESSON,
    peer_copy::LESSON,
    peer_atomic::LESSON,
    group_sum::LESSON,
    scaling::LESSON,
];

/// The lesson of that id or alias, in which `-` stands for `_`.
pub fn find(name: &str) -> Option<&'static HostLesson> {
    let name = name.replace('-', "_");
    HOST_LESSONS
        .iter()
        .find(|lesson| lesson.id == name || lesson.alias == Some(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_with_either_dash() {
        for lesson in HOST_LESSONS {
            for name in [Some(lesson.id), lesson.alias].into_iter().flatten() {
                assert_eq!(find(name).map(|found| found.id), Some(lesson.id));
                let dashed = name.replace('_', "-");
                assert_eq!(find(&dashed).map(|found| found.id), Some(lesson.id));
            }
        }
        assert!(find("transfer").is_none());
    }

    #[test]
    fn sources_exist_and_sentences_end() {
        let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for lesson in HOST_LESSONS {
            assert!(repository.join(lesson.file).is_file(), "{}", lesson.id);
            for sentence in [lesson.see, lesson.not_shown] {
                assert!(sentence.ends_with('.'), "{}: {sentence}", lesson.id);
            }
        }
    }
}
