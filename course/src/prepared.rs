//! Any lesson, ready to launch on random data, with the judge of what comes of it.

use crate::case::{Case, LoadedCase, Measured, Outputs};
use crate::lesson::{self, LessonError};
use std::fmt;
use warpfold::Device;
use warpfold::device::{DeviceError, Timing, Watch};
use warpfold_kernels::catalogue::Lesson;

/// A lesson with its input and the judge of its results.
///
/// Safe functions launch it, and a GPU checks no access. So only this crate makes one, for the lesson that it keeps, and nobody changes
/// its case:
///
/// ```compile_fail
/// use warpfold_course::prepared::PreparedLesson;
/// use warpfold_kernels::catalogue;
///
/// let shuffle = catalogue::find("shuffle").unwrap();
/// let mut prepared = PreparedLesson::new(shuffle, shuffle.usual(64), 1000, 1, 8).unwrap();
/// prepared.case.as_mut().unwrap().arguments.clear();
/// ```
/// ```compile_fail
/// use warpfold::Device;
/// use warpfold_course::prepared::PreparedLesson;
/// use warpfold_kernels::catalogue;
///
/// let [shuffle, other] = ["shuffle", "atomics"].map(|id| catalogue::find(id).unwrap());
/// let prepared = PreparedLesson::new(shuffle, shuffle.usual(64), 1000, 1, 8).unwrap();
/// prepared.run(&Device::best(), other, None).unwrap();
/// ```
/// ```
/// use warpfold::Device;
/// use warpfold_course::prepared::PreparedLesson;
/// use warpfold_kernels::catalogue;
///
/// let shuffle = catalogue::find("shuffle").unwrap();
/// let prepared = PreparedLesson::new(shuffle, shuffle.usual(64), 1000, 1, 8).unwrap();
/// assert_eq!(prepared.case().unwrap().arguments.len(), 3);
/// assert_eq!(prepared.run(&Device::best(), None).unwrap().verdict.mistake, None);
/// ```
pub struct PreparedLesson {
    lesson: &'static Lesson,
    case: Option<Case<'static>>,
    judge: Judge,
}

/// Judges what a launch has left in its buffers.
type Judge = Box<dyn Fn(&Outputs<'_>) -> Result<Verdict, DeviceError>>;

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

impl PreparedLesson {
    /// The lesson with a case, if there is something to launch, and what to make of the buffers afterwards.
    ///
    /// # Safety
    /// The lesson's module has the case's kernel. Launched in the case's shape with its arguments, where the buffers hold what the case
    /// gives them, the kernel reads and writes only inside these buffers.
    pub(crate) unsafe fn of_case(
        lesson: &'static Lesson,
        case: Option<Case<'static>>,
        judge: impl Fn(&Outputs<'_>) -> Result<Verdict, DeviceError> + 'static,
    ) -> Self {
        Self {
            lesson,
            case,
            judge: Box::new(judge),
        }
    }

    /// The lesson where there is nothing to launch.
    pub(crate) fn without_launch(lesson: &'static Lesson) -> Self {
        Self {
            lesson,
            case: None,
            judge: Box::new(|_| Ok(Verdict::default())),
        }
    }

    /// Its launch; `None` where there is nothing to launch.
    pub fn case(&self) -> Option<&Case<'static>> {
        self.case.as_ref()
    }

    /// Judges a launch that somebody else made of the case: the bytes of each argument's buffer, none for a number.
    ///
    /// # Errors
    /// The judge cannot read a buffer, which does not happen to copies.
    ///
    /// # Panics
    /// There are fewer buffers than arguments, or of other lengths.
    pub fn judge_copies(&self, buffers: &[Vec<u8>]) -> Result<Verdict, DeviceError> {
        self.judge(&Outputs::copied(buffers))
    }

    /// Judges what a launch of the case has left in its buffers.
    pub(crate) fn judge(&self, outputs: &Outputs<'_>) -> Result<Verdict, DeviceError> {
        (self.judge)(outputs)
    }

    /// Launches and judges; on a GPU a right kernel is launched again and timed, where `timing` asks for it.
    ///
    /// # Errors
    /// A device without the memory or too old; a kernel that faults. A mistake is no error: it is in the verdict.
    pub fn run(&self, device: &Device, timing: Option<Timing>) -> Result<PreparedRun, LessonError> {
        let Some(mut launch) = self.load(device)? else {
            return Ok(PreparedRun {
                verdict: Verdict::default(),
                measured: Measured::Nothing,
            });
        };
        let mut measured = launch.launch()?;
        let mut verdict = self.judge(&launch.outputs())?;
        if let (Some(timing), true, None) = (timing, device.is_gpu(), &verdict.mistake) {
            measured = Measured::Times(launch.time(&timing)?);
            // The last of the timed launches must be right as well.
            verdict = self.judge(&launch.outputs())?;
        }
        Ok(PreparedRun { verdict, measured })
    }

    /// Launches on the emulator while `observer` watches, and judges.
    ///
    /// # Errors
    /// As [`Self::run`], and a device that is a GPU.
    pub fn observe(
        &self,
        device: &Device,
        observer: &mut dyn Watch,
    ) -> Result<Verdict, LessonError> {
        match self.load(device)? {
            None => Ok(Verdict::default()),
            Some(mut launch) => {
                launch.observe(observer)?;
                Ok(self.judge(&launch.outputs())?)
            }
        }
    }

    /// Puts the buffers on the device; `None` where there is nothing to launch.
    pub(crate) fn load(&self, device: &Device) -> Result<Option<LoadedCase>, LessonError> {
        let Some(case) = &self.case else {
            return Ok(None);
        };
        lesson::check_device(self.lesson, device)?;
        let kernel = device.kernel(self.lesson.module, case.entry)?;
        // SAFETY: the kernel is that of the lesson's module on this device, for which `of_case` was promised that it keeps to the case.
        Ok(Some(unsafe { case.load(device, kernel)? }))
    }
}

impl fmt::Debug for PreparedLesson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PreparedLesson")
            .field("lesson", &self.lesson.id)
            .field("case", &self.case)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_kernels::catalogue;

    /// A kernel that counts up from what a launch has left in its counter writes past its records.
    #[test]
    fn a_case_may_be_launched_again() {
        let device = Device::best();
        if !device.is_gpu() {
            eprintln!("skipped: there is no GPU");
            return;
        }
        for id in [
            "recursive_hello",
            "fence_publish",
            "critical_section",
            "reverse_static",
        ] {
            let lesson = catalogue::find(id).expect("it is in the catalogue");
            let prepared =
                PreparedLesson::new(lesson, lesson.usual(64), 1000, 1, 8).expect("it takes that");
            let mut loaded = prepared
                .load(&device)
                .expect("it fits")
                .expect("there is something to launch");
            for launch in 0..3 {
                loaded
                    .launch()
                    .unwrap_or_else(|error| panic!("{id}, launch {launch}: {error}"));
                let verdict = prepared
                    .judge(&loaded.outputs())
                    .expect("the device goes on");
                assert_eq!(verdict.mistake, None, "{id}, launch {launch}");
            }
        }
    }
}
