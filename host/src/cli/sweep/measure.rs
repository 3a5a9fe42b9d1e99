//! The measurements: every contender at every size.

use super::contender::{Contender, Field};
use crate::cli::failure::Failure;
use crate::cli::figures::LessonFigures;
use crate::cli::workload::MeasuringArguments;
use crate::cli::{progress, show};
use serde::Serialize;
use std::mem::{Discriminant, discriminant};
use warpfold::device::{Device, DeviceError};
use warpfold::lesson::LessonError;
use warpfold::machine::Machine;
use warpfold::reducible::with_reducible;
use warpfold::size::short;
use warpfold::sum::Summable;

/// What to measure, beside who.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub sizes: &'a [usize],
    pub measuring: &'a MeasuringArguments,
}

/// One contender at one size.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub id: &'static str,
    /// Number of elements.
    pub n: usize,
    /// Threads of a block; `null` where the library chooses.
    pub block: Option<u32>,
    /// What it came to; `null` where the kernel faulted.
    pub figures: Option<LessonFigures>,
    /// The fault of the kernel, in one sentence.
    pub fault: Option<String>,
}

impl Row {
    /// Whether the kernel ran to its end with the right result.
    pub fn is_right(&self) -> bool {
        let figures = self.figures.as_ref();
        figures.is_some_and(|figures| figures.is_right)
    }
}

/// Sizes that a contender does not take, or the machine not with it.
#[derive(Debug, Serialize)]
pub struct LeftOut {
    /// Its name; `null` for everybody.
    pub id: Option<&'static str>,
    /// The sizes.
    pub sizes: Vec<usize>,
    /// Why, in one sentence about the first of them.
    pub reason: String,
}

impl LeftOut {
    /// One sentence.
    pub fn describe(&self) -> String {
        let who = self
            .id
            .map_or("everybody".to_owned(), |id| format!("`{id}`"));
        let sizes: Vec<String> = self.sizes.iter().map(|&n| short(n)).collect();
        format!(
            "left out: {who} at {}, because {}",
            sizes.join(", "),
            self.reason
        )
    }
}

/// Measures. A wrong result is a row like every other, and who is left out is named; what stops the sweep is a device that cannot go on.
pub fn measure(
    machine: &Machine,
    field: &Field,
    plan: &Plan<'_>,
) -> Result<(Vec<Row>, Vec<LeftOut>), Failure> {
    with_reducible!(field.element_type, T => measure_type::<T>(machine, field, plan))
}

fn measure_type<T: Summable>(
    machine: &Machine,
    field: &Field,
    plan: &Plan<'_>,
) -> Result<(Vec<Row>, Vec<LeftOut>), Failure> {
    let mut rows = Vec::new();
    let mut absences = Absences::default();
    let contenders = &field.contenders;
    let progress = progress::bar((plan.sizes.len() * contenders.len()) as u64)?;
    for &n in plan.sizes {
        progress.set_message(format!("{} random values", short(n)));
        let values = match no_room::<T>(machine.device(), n) {
            Some(reason) => {
                absences.add(None, n, None, reason);
                None
            }
            None => match T::random(field.of_kernels, n, plan.measuring.seed) {
                Ok(values) => Some(values),
                Err(_) => {
                    absences.add_error(None, n, &LessonError::HostMemory { n });
                    None
                }
            },
        };
        let Some(values) = values else {
            progress.inc(contenders.len() as u64);
            continue;
        };
        for contender in contenders {
            progress.set_message(format!("{} at {}", contender.id(), short(n)));
            let run = contender.run(machine, plan.measuring, &values);
            let mut row = Row {
                id: contender.id(),
                n,
                block: match contender {
                    Contender::Lesson(_) => Some(plan.measuring.block),
                    Contender::Library => None,
                },
                figures: None,
                fault: None,
            };
            progress.inc(1);
            match run {
                Ok(figures) => row.figures = Some(figures),
                Err(LessonError::Device(error)) if error.is_fault() => {
                    row.fault = Some(error.to_string());
                }
                Err(error) if is_a_limit(&error) => {
                    absences.add_error(Some(contender.id()), n, &error);
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            rows.push(row);
        }
    }
    progress.finish_and_clear();
    Ok((rows, absences.left_out))
}

/// Whether an error says what a kernel or a machine does not do, and not that something went wrong.
fn is_a_limit(error: &LessonError) -> bool {
    match error {
        LessonError::Device(error) => matches!(
            error,
            DeviceError::NoRoom { .. }
                | DeviceError::EmulatorMemory(_)
                | DeviceError::InvalidLaunch { .. }
                | DeviceError::NoDeviceRuntime { .. }
                | DeviceError::WaitsOnDevice { .. }
        ),
        _ => true,
    }
}

/// Why a GPU cannot hold so many elements: better known before they are made, which takes longer than any kernel.
fn no_room<T>(device: &Device, n: usize) -> Option<String> {
    let Device::Gpu(gpu) = device else {
        return None;
    };
    let bytes = (n as u64).saturating_mul(size_of::<T>() as u64);
    let memory = gpu.information().memory_bytes;
    (bytes > memory).then(|| {
        format!(
            "the input takes {}, and the GPU has {}",
            show::bytes(bytes),
            show::bytes(memory)
        )
    })
}

/// Who is left out, with the sizes of one kind of reason together.
#[derive(Default)]
struct Absences {
    left_out: Vec<LeftOut>,
    kinds: Vec<Option<Discriminant<LessonError>>>,
}

impl Absences {
    fn add_error(&mut self, id: Option<&'static str>, n: usize, error: &LessonError) {
        self.add(id, n, Some(discriminant(error)), error.to_string());
    }

    fn add(
        &mut self,
        id: Option<&'static str>,
        n: usize,
        kind: Option<Discriminant<LessonError>>,
        reason: String,
    ) {
        let mut known = self.left_out.iter_mut().zip(&self.kinds);
        match known.find(|(absence, known)| absence.id == id && **known == kind) {
            Some((absence, _)) => absence.sizes.push(n),
            None => {
                self.left_out.push(LeftOut {
                    id,
                    sizes: vec![n],
                    reason,
                });
                self.kinds.push(kind);
            }
        }
    }
}
