//! What a lesson about the host's side is, what it runs on, and why it may not run.

use super::Report;
use crate::lesson::LessonError;
use crate::random;
use warpfold::device::DeviceError;
use warpfold::ptx::PtxError;
use warpfold::{Device, Error, Group};

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
    pub(super) usual_n: fn(&Device) -> usize,
    /// What to see in the table of a GPU, in one sentence.
    pub see: &'static str,
    /// What the emulator cannot show, in one sentence.
    pub not_shown: &'static str,
    /// Whether it draws a picture.
    pub has_picture: bool,
    /// Whether it is about several devices together.
    pub needs_group: bool,
    pub(super) run: fn(&Setting<'_>) -> Result<Report, HostLessonError>,
}

/// On what a lesson runs, and how much.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The device; of several, the first.
    pub device: &'a Device,
    /// The devices together, for a lesson that is about several.
    pub group: Option<&'a Group>,
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
    /// The device has too little memory, refuses the work, or a kernel faults.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A lesson of the ladder that this one measures could not be run.
    #[error(transparent)]
    Lesson(LessonError),
    /// There is no PTX for the device.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The library refuses.
    #[error(transparent)]
    Library(Error),
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
    /// The lesson does not take this number of elements, or not on this device.
    #[error("{0}")]
    Unsuitable(String),
}

impl From<Error> for HostLessonError {
    fn from(error: Error) -> Self {
        match error {
            Error::Ptx(error) => Self::Ptx(error),
            Error::Device(error) => Self::Device(error),
            error => Self::Library(error),
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
            if setting.device.is_gpu() {
                (self.usual_n)(setting.device)
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

impl<'a> Setting<'a> {
    /// The devices of a lesson that is about several, two at least.
    pub(super) fn group(&self, id: &str) -> Result<&'a Group, HostLessonError> {
        let group = self.group.filter(|group| group.devices().len() > 1);
        group.ok_or_else(|| {
            HostLessonError::Unsuitable(format!(
                "`{id}` is about several GPUs: give --device all, gpu:0,1 or emulator:4"
            ))
        })
    }
}

impl Setting<'_> {
    /// The number of elements, which [`HostLesson::run`] has settled.
    pub(super) fn elements(&self) -> usize {
        self.n.unwrap_or(0)
    }

    /// Random elements.
    pub(super) fn values(&self) -> Result<Vec<i32>, HostLessonError> {
        let n = self.elements();
        random::i32_values(n, self.seed).map_err(|_| HostLessonError::NoMemory { n })
    }
}
