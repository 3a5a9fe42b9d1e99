//! The climb itself: every step run, verified and compared with the step before.

use crate::device::Machines;
use crate::failure::Failure;
use crate::figures::{LessonFigures, ReferenceFigures};
use crate::progress;
use crate::recorded;
use crate::workload::Workload;
use serde::Serialize;
use warpfold::device::Timing;
use warpfold_course::lesson::LessonError;
use warpfold_course::oracle::CPU_REFERENCES;
use warpfold_kernels::catalogue::{Lesson, Part, lessons_of};

/// The CPU references that a climb starts from.
const STARTING_POINTS: [&str; 2] = ["cpu_sequential", "cpu_parallel"];

/// The results of a climb.
#[derive(Debug, Serialize)]
pub struct Climb {
    /// What was run on what.
    #[serde(flatten)]
    pub workload: Workload,
    /// Whether the steps have times of a GPU; otherwise they have counters of the emulator.
    pub on_gpu: bool,
    /// The CPU references on this computer.
    pub cpu_references: Vec<ReferenceFigures>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Steps that the device is too old for, or that come after a fault that it does not survive; a sentence each.
    pub left_out: Vec<String>,
}

/// One step of the ladder.
#[derive(Debug, Serialize)]
pub struct Step {
    /// The lesson.
    #[serde(skip)]
    pub lesson: &'static Lesson,
    /// Its figures; `null` if the kernel faulted.
    pub figures: Option<LessonFigures>,
    /// The fault of the kernel, in one sentence.
    pub fault: Option<String>,
    /// How many times faster than the step before on a GPU, how many times fewer warp instructions on the emulator.
    pub step_speed_up: Option<f64>,
    /// The same against the first step.
    pub cumulative_speed_up: Option<f64>,
    /// How long it took a GPU once, for this n and block, in milliseconds; `null` on a GPU and where that is not recorded.
    pub recorded_ms: Option<f64>,
}

impl Climb {
    /// What the recorded times are, and which steps lose there; `None` where there are none.
    pub fn recorded(&self) -> Option<String> {
        self.steps.iter().find_map(|step| step.recorded_ms)?;
        let mut before = f64::INFINITY;
        let mut slower = Vec::new();
        for step in &self.steps {
            let Some(ms) = step.recorded_ms else { continue };
            if ms > before {
                slower.push(step.lesson.id);
            }
            if !step.is_variant() {
                before = ms;
            }
        }
        let slower = match slower[..] {
            [] => "No step is slower there than the one before.".to_owned(),
            _ => format!(
                "Slower there than the step before: {}; their pages say why.",
                slower.join(", ")
            ),
        };
        Some(format!(
            "Recorded on {}, at this n and block. {} {slower}",
            recorded::GPU,
            recorded::HOW
        ))
    }
}

impl Step {
    /// Whether the kernel ran to its end with the right sum.
    pub fn is_right(&self) -> bool {
        self.figures
            .as_ref()
            .is_some_and(|figures| figures.is_right)
    }

    /// What speed-ups compare: the time on a GPU, the warp instructions on the emulator.
    pub fn cost(&self) -> Option<f64> {
        let figures = self.figures.as_ref()?;
        match (&figures.gpu, &figures.emulator) {
            (Some(gpu), _) => Some(gpu.elapsed_ms),
            (_, Some(emulator)) => Some(emulator.counters.inst_executed as f64),
            (None, None) => None,
        }
    }

    /// Whether it is a variant beside the ladder, like 5b, which the next step does not build on.
    fn is_variant(&self) -> bool {
        self.lesson
            .step
            .ends_with(|last: char| last.is_ascii_alphabetic())
    }
}

/// Runs every step of the ladder. A wrong step is a row like any other. The climb stops only if the device cannot go on.
pub fn climb(
    machines: &Machines,
    workload: Workload,
    mut values: Vec<i32>,
    block: u32,
    timing: Timing,
) -> Result<Climb, Failure> {
    let (ladder, too_new): (Vec<&Lesson>, Vec<&Lesson>) = lessons_of(Part::Ladder)
        .iter()
        .partition(|lesson| machines.run(lesson));
    let too_new = too_new.iter().map(|lesson| {
        format!(
            "`{}` is left out: it needs sm_{}",
            lesson.id, lesson.least_sm
        )
    });
    let mut left_out: Vec<String> = too_new.collect();
    let bytes = size_of_val(&values[..]) as u64;
    let progress = progress::bar((STARTING_POINTS.len() + ladder.len()) as u64)?;
    let mut cpu_references = Vec::new();
    for reference in CPU_REFERENCES
        .iter()
        .filter(|reference| STARTING_POINTS.contains(&reference.id))
    {
        progress.set_message(reference.id);
        cpu_references.push(ReferenceFigures::measure(reference, &mut values));
        progress.inc(1);
    }
    let recorded_ms = |id| {
        let is_missing = !machines.first().is_gpu() && machines.count() == 1;
        is_missing.then(|| recorded::step_ms(id, values.len(), block))?
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut ladder = ladder.into_iter();
    while let Some(lesson) = ladder.next() {
        progress.set_message(lesson.id);
        let run = machines.reduce(lesson, lesson.usual(block), &values, timing);
        let (figures, fault) = match run {
            Ok(run) => (Some(LessonFigures::new(lesson, &run, bytes)), None),
            Err(LessonError::Device(error)) if error.is_fault() => {
                if error.ends_device() {
                    left_out.extend(ladder.by_ref().map(|later| {
                        format!(
                            "`{}` is left out: the device does not work after the fault of `{}`",
                            later.id, lesson.id
                        )
                    }));
                }
                (None, Some(error.to_string()))
            }
            Err(error) => return Err(error.into()),
        };
        let mut step = Step {
            lesson,
            figures,
            fault,
            step_speed_up: None,
            cumulative_speed_up: None,
            recorded_ms: recorded_ms(lesson.id),
        };
        let speed_up = |before: Option<&Step>| Some(before?.cost()? / step.cost()?);
        let step_speed_up = speed_up(steps.iter().rev().find(|step| !step.is_variant()));
        let cumulative_speed_up = speed_up(steps.first());
        step.step_speed_up = step_speed_up;
        step.cumulative_speed_up = cumulative_speed_up;
        steps.push(step);
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(Climb {
        workload,
        on_gpu: machines.first().is_gpu(),
        cpu_references,
        steps,
        left_out,
    })
}
