//! Lessons about the host's side of a GPU: how data gets there, how work is queued, what a clock sees.
//!
//! Each runs real work on a device and verifies every sum. What a GPU shows is its times; the emulator runs the same operations in
//! order, which shows that they are right and nothing more. [`HOST_LESSONS`] is the one list, which the command line reads.

mod events;
mod graph;
mod l2_persistence;
mod one_pass;
mod operators;
mod report;
mod roofline;
mod stopwatch;
mod streams;
mod sum;
mod transfers;
mod two_stage;

pub use report::{Cell, Column, Report};

use crate::lesson::LessonError;
use crate::random;
use warpfold::device::DeviceError;
use warpfold::ptx::PtxError;
use warpfold::{Device, Error};

/// One lesson about the host's side.
#[derive(Clone, Copy, Debug)]
pub struct HostLesson {
    /// What the user types: `warpfold host-lesson <id>`, with `_` or `-`.
    pub id: &'static str,
    /// Another name for it, in fewer letters.
    pub alias: Option<&'static str>,
    /// A few words for tables.
    pub title: &'static str,
    /// What a reader learns, in one sentence.
    pub change: &'static str,
    /// Ids of the lessons that it builds on.
    pub needs: &'static [&'static str],
    /// The source file, relative to the repository root.
    pub file: &'static str,
    /// Elements that it moves on a GPU, unless told otherwise.
    usual_n: fn(&Device) -> usize,
    /// What to see in the table of a GPU, in one sentence.
    pub see: &'static str,
    /// What the emulator cannot show, in one sentence.
    pub not_shown: &'static str,
    /// Whether it draws a picture.
    pub has_picture: bool,
    run: fn(&Setting<'_>) -> Result<Report, HostLessonError>,
}

/// All lessons about the host's side, in reading order.
pub const HOST_LESSONS: &[HostLesson] = &[
    transfers::LESSON,
    events::LESSON,
    streams::LESSON,
    graph::LESSON,
    two_stage::LESSON,
    l2_persistence::LESSON,
    roofline::LESSON,
    operators::LESSON,
];

/// On what a lesson runs, and how much.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The device, with the kernels.
    pub machine: &'a Device,
    /// Number of elements, where it was asked for.
    pub n: Option<usize>,
    /// How often each time is taken; its median is told.
    pub repeat: usize,
    /// Seed of the random elements.
    pub seed: u64,
}

/// Why a lesson could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostLessonError {
    /// The device has not the memory, refuses the work, or a kernel faults.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A lesson of the ladder that this one measures could not be run.
    #[error(transparent)]
    Lesson(LessonError),
    /// There is no PTX for the device.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// There is no picture.
    #[error("the picture cannot be drawn: {0}")]
    Picture(String),
    /// There are more elements than memory for them.
    #[error("there is not enough memory for {n} i32 elements; ask for fewer with -n")]
    NoMemory {
        /// The number of elements.
        n: usize,
    },
    /// No elements, of which nothing can be learnt.
    #[error("`{id}` has nothing to show for 0 elements; ask for more with -n")]
    NoElements {
        /// The lesson's id.
        id: &'static str,
    },
    /// The lesson does not take so many elements, or not on this device.
    #[error("{0}")]
    Unsuitable(String),
}

impl From<Error> for HostLessonError {
    fn from(error: Error) -> Self {
        match error {
            Error::Ptx(error) => Self::Ptx(error),
            Error::Device(error) => Self::Device(error),
        }
    }
}

impl From<LessonError> for HostLessonError {
    fn from(error: LessonError) -> Self {
        match error {
            LessonError::Device(error) => Self::Device(error),
            error => Self::Lesson(error),
        }
    }
}

impl HostLesson {
    /// Elements that it moves on the emulator, unless told otherwise.
    const EMULATED_N: usize = (1 << 13) + 13;

    /// The number of elements that the lesson takes in this setting.
    pub fn n(&self, setting: &Setting<'_>) -> usize {
        setting.n.unwrap_or_else(|| {
            if setting.device().is_gpu() {
                (self.usual_n)(setting.device())
            } else {
                Self::EMULATED_N
            }
        })
    }

    /// Runs the lesson.
    ///
    /// # Errors
    /// A number of elements that it does not take; a device without the memory or without what the lesson is about; a kernel that
    /// faults. A wrong sum is no error: it is in the report.
    pub fn run(&self, setting: &Setting<'_>) -> Result<Report, HostLessonError> {
        let n = self.n(setting);
        if n == 0 {
            return Err(HostLessonError::NoElements { id: self.id });
        }
        (self.run)(&Setting {
            n: Some(n),
            ..*setting
        })
    }
}

/// The lesson of that id or alias, in which `-` stands for `_`.
pub fn find(name: &str) -> Option<&'static HostLesson> {
    let name = name.replace('-', "_");
    HOST_LESSONS
        .iter()
        .find(|lesson| lesson.id == name || lesson.alias == Some(&name))
}

impl Setting<'_> {
    /// The device.
    fn device(&self) -> &Device {
        self.machine
    }

    /// The number of elements, which [`HostLesson::run`] has settled.
    fn elements(&self) -> usize {
        self.n.unwrap_or(0)
    }

    /// Random elements.
    fn values(&self) -> Result<Vec<i32>, HostLessonError> {
        let n = self.elements();
        random::i32_values(n, self.seed).map_err(|_| HostLessonError::NoMemory { n })
    }
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
        let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for lesson in HOST_LESSONS {
            assert!(repository.join(lesson.file).is_file(), "{}", lesson.id);
            for sentence in [lesson.see, lesson.not_shown] {
                assert!(sentence.ends_with('.'), "{}: {sentence}", lesson.id);
            }
        }
    }
}
