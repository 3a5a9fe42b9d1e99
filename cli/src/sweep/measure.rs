//! The measurements: every contender at every size.

use super::contender::Field;
use super::measured::Measured;
use crate::device::Machines;
use crate::failure::Failure;
use crate::workload::MeasuringArguments;
use crate::{progress, show};
use warpfold_course::data::Data;
use warpfold_course::lesson::LessonError;
use warpfold_course::reducible::{Plain, with_reducible};
use warpfold_course::size::short;

/// What to measure, besides the contenders.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub sizes: &'a [usize],
    pub measuring: &'a MeasuringArguments,
    pub data: Data,
}

/// Measures, as long as the device goes on.
///
/// # Errors
/// Standard error cannot show the progress.
pub fn measure(machines: &Machines, field: &Field, plan: &Plan<'_>) -> Result<Measured, Failure> {
    with_reducible!(field.element_type, T => measure_type::<T>(machines, field, plan))
}

fn measure_type<T: Plain + Sync>(
    machines: &Machines,
    field: &Field,
    plan: &Plan<'_>,
) -> Result<Measured, Failure> {
    let mut measured = Measured::default();
    let contenders = &field.contenders;
    let progress = progress::bar((plan.sizes.len() * contenders.len()) as u64)?;
    'sizes: for &n in plan.sizes {
        progress.set_message(format!("{} values", short(n)));
        let values = match no_room::<T>(machines, n) {
            Some(reason) => {
                measured.leave_out(None, n, None, reason);
                None
            }
            None => match plan.data.values::<T>(field.of_kernels, n) {
                Ok(values) => Some(values),
                Err(_) => {
                    measured.leave_out_for(None, n, &LessonError::HostMemory { n });
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
            let run = contender.run(machines, plan.measuring, &values);
            let noted = measured.note(contender, n, plan.measuring.block, run);
            if noted.is_break() {
                break 'sizes;
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Ok(measured)
}

/// Why a GPU cannot hold its part of this many elements. This is checked before they are made, because making them takes longer than any
/// kernel.
fn no_room<T>(machines: &Machines, n: usize) -> Option<String> {
    let gpu = machines.first().gpu_information()?;
    let n = n.div_ceil(machines.count());
    let bytes = (n as u64).saturating_mul(size_of::<T>() as u64);
    let memory = gpu.memory_bytes;
    (bytes > memory).then(|| {
        format!(
            "the input takes {}, and the GPU has {}",
            show::bytes(bytes),
            show::bytes(memory)
        )
    })
}
