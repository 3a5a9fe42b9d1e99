//! Any lesson, ready to launch on random data, with the judge of what comes of it.

use crate::case::{Case, LoadedCase, Measured, Outputs};
use crate::lesson::{self, LessonError};
use warpfold::Device;
use warpfold::device::{DeviceError, Timing, Watch};
use warpfold_kernels::catalogue::Lesson;

/// A lesson with its input.
pub struct Prepared {
    /// Its launch; `None` where there is nothing to launch.
    pub case: Option<Case<'static>>,
    /// What to make of the buffers afterwards.
    pub judge: Judge,
}

/// Judges what a launch has left in its buffers.
pub type Judge = Box<dyn Fn(&Outputs<'_>) -> Result<Verdict, DeviceError>>;

/// What came of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What there is to see, by name, in the order to show it.
    pub facts: Vec<(&'static str, String)>,
    /// The first thing that is wrong, in words that follow the name of the lesson: `leaves 3 in word 7, which should be 4`.
    pub mistake: Option<String>,
}

/// What came of a lesson.
#[derive(Clone, Debug)]
pub struct PreparedRun {
    /// What there was to see.
    pub verdict: Verdict,
    /// What was measured on the way.
    pub measured: Measured,
}

impl Prepared {
    /// Launches and judges; on a GPU a right kernel is launched again and timed, where `timing` asks for it.
    ///
    /// # Errors
    /// A device without the memory or too old; a kernel that faults. A mistake is no error: it is in the verdict.
    pub fn run(
        &self,
        machine: &Device,
        lesson: &Lesson,
        timing: Option<Timing>,
    ) -> Result<PreparedRun, LessonError> {
        let Some(mut launch) = self.load(machine, lesson)? else {
            return Ok(PreparedRun {
                verdict: Verdict::default(),
                measured: Measured::Nothing,
            });
        };
        let mut measured = launch.first()?;
        let mut verdict = (self.judge)(&launch.outputs())?;
        if let (Some(timing), true, None) = (timing, machine.is_gpu(), &verdict.mistake) {
            measured = Measured::Times(launch.time(&timing)?);
            // The last of the timed launches must be right as well.
            verdict = (self.judge)(&launch.outputs())?;
        }
        Ok(PreparedRun { verdict, measured })
    }

    /// Launches on the emulator while `observer` watches, and judges.
    ///
    /// # Errors
    /// As [`Self::run`], and a device that is a GPU.
    pub fn observe(
        &self,
        machine: &Device,
        lesson: &Lesson,
        observer: &mut dyn Watch,
    ) -> Result<Verdict, LessonError> {
        match self.load(machine, lesson)? {
            None => Ok(Verdict::default()),
            Some(launch) => {
                launch.observe(observer)?;
                Ok((self.judge)(&launch.outputs())?)
            }
        }
    }

    /// Puts the buffers on the machine's device; `None` where there is nothing to launch.
    ///
    /// # Errors
    /// A device without the memory or too old.
    pub fn load(
        &self,
        machine: &Device,
        lesson: &Lesson,
    ) -> Result<Option<LoadedCase>, LessonError> {
        let Some(case) = &self.case else {
            return Ok(None);
        };
        lesson::check_device(lesson, machine)?;
        let kernel = machine.kernel(lesson.part.module(), case.entry)?;
        // SAFETY: the case is the one that the catalogue's lesson is made for: a reduction's is that of `lesson::case`, a
        // demonstration's stands beside the kernel's contract in its module; the tests hold each to it on the emulator.
        Ok(Some(unsafe { case.load(machine, kernel)? }))
    }
}
