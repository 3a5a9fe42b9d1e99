//! The figures of one lesson or CPU reference, as tables and JSON show them.

use super::counters::CounterFigures;
use super::show;
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;
use warpfold_course::case::Measured;
use warpfold_course::lesson::LessonRun;
use warpfold_course::number::Number;
use warpfold_course::oracle::CpuReference;
use warpfold_course::reducible::Reducible;
use warpfold_kernels::catalogue::Lesson;

/// One lesson on one input.
#[derive(Debug, Serialize)]
pub struct LessonFigures {
    /// Its number in its part of the course.
    pub step: &'static str,
    /// Its name.
    pub id: &'static str,
    /// Number of blocks.
    pub grid: u32,
    /// Its result.
    pub result: Number,
    /// The right result.
    pub expected: Number,
    /// How far apart the two may be because of rounding; `null` where they must be equal.
    pub tolerance: Option<f64>,
    /// Whether the two agree.
    pub is_right: bool,
    /// Why it is kept although it breaks a rule.
    pub exhibit: Option<&'static str>,
    /// Times on a GPU.
    pub gpu: Option<GpuFigures>,
    /// Counters of the emulator.
    pub emulator: Option<EmulatorFigures>,
}

/// Times of a kernel on a GPU.
#[derive(Debug, Serialize)]
pub struct GpuFigures {
    /// The median.
    pub elapsed_ms: f64,
    /// The shortest.
    pub fastest_ms: f64,
    /// Bytes of the input divided by the median time, in 10^9 per second.
    pub gigabytes_per_second: f64,
}

/// What the emulator measured of a kernel.
#[derive(Debug, Serialize)]
pub struct EmulatorFigures {
    /// The counters.
    pub counters: CounterFigures,
    /// How long the emulation took on this computer.
    pub emulated_in_ms: f64,
}

impl LessonFigures {
    /// The figures of a run over `bytes` bytes of input.
    pub fn new<T: Reducible>(lesson: &Lesson, run: &LessonRun<T>, bytes: u64) -> Self {
        Self {
            step: lesson.step,
            exhibit: lesson.exhibit,
            ..Self::of_kernel(lesson.id, run, bytes)
        }
    }

    /// The figures of a run of a kernel that need not be a lesson.
    pub fn of_kernel<T: Reducible>(id: &'static str, run: &LessonRun<T>, bytes: u64) -> Self {
        let (gpu, emulator) = measured_figures(&run.measured, bytes);
        Self {
            step: "",
            id,
            grid: run.blocks,
            result: run.result.into(),
            expected: run.expected(),
            tolerance: run.tolerance(),
            is_right: run.is_right(),
            exhibit: None,
            gpu,
            emulator,
        }
    }

    /// What is wrong with the result, in words that follow the name of the lesson.
    pub fn wrong_result(&self) -> String {
        let tolerance = self.tolerance.map_or_else(String::new, |tolerance| {
            format!(", to within {}", show::significant(tolerance))
        });
        format!(
            "gives {}, which should be {}{tolerance}",
            self.result, self.expected
        )
    }
}

/// The figures of a launch over `bytes` bytes of input: of a GPU or of the emulator, or neither where nothing was launched.
pub fn measured_figures(
    measured: &Measured,
    bytes: u64,
) -> (Option<GpuFigures>, Option<EmulatorFigures>) {
    match measured {
        Measured::Nothing => (None, None),
        Measured::Times(times) => {
            let elapsed_ms = times.median_ms();
            let gpu = GpuFigures {
                elapsed_ms,
                fastest_ms: times.fastest_ms(),
                gigabytes_per_second: gigabytes_per_second(bytes, elapsed_ms),
            };
            (Some(gpu), None)
        }
        Measured::Counters {
            counters,
            grids,
            emulated_in_ms,
        } => {
            let emulator = EmulatorFigures {
                counters: CounterFigures::new(*counters, *grids),
                emulated_in_ms: *emulated_in_ms,
            };
            (None, Some(emulator))
        }
    }
}

/// One CPU reference on one input.
#[derive(Debug, Serialize)]
pub struct ReferenceFigures {
    /// Its name.
    pub id: &'static str,
    /// Its result.
    pub sum: i32,
    /// Its time on this computer: the median of five runs.
    pub elapsed_ms: f64,
    /// Bytes of the input divided by that time, in 10^9 per second.
    pub gigabytes_per_second: f64,
}

impl ReferenceFigures {
    /// Runs and times the reference on values that it leaves as they were.
    pub fn measure(reference: &CpuReference, values: &mut [i32]) -> Self {
        const RUNS: usize = 5;
        let pristine = reference.in_place.then(|| values.to_vec());
        let mut sum = 0;
        let mut times_ms = [0.0; RUNS];
        for elapsed_ms in &mut times_ms {
            let start = Instant::now();
            sum = (reference.sum)(black_box(values));
            *elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
            if let Some(pristine) = &pristine {
                values.copy_from_slice(pristine);
            }
        }
        times_ms.sort_by(f64::total_cmp);
        let elapsed_ms = times_ms[RUNS / 2];
        Self {
            id: reference.id,
            sum,
            elapsed_ms,
            gigabytes_per_second: gigabytes_per_second(size_of_val(values) as u64, elapsed_ms),
        }
    }
}

fn gigabytes_per_second(bytes: u64, elapsed_ms: f64) -> f64 {
    if elapsed_ms > 0.0 {
        bytes as f64 / (elapsed_ms * 1e6)
    } else {
        0.0
    }
}
