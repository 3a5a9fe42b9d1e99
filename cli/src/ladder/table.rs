//! The ladder as a table: times on a GPU, counters on the emulator.

use super::climb::{Climb, Step};
use crate::figures::ReferenceFigures;
use crate::{footnotes, show};
use comfy_table::{
    Cell,
    CellAlignment::{self, Left, Right},
    Table,
};

const GPU_COLUMNS: [(&str, CellAlignment); 10] = [
    ("step", Left),
    ("kernel", Left),
    ("grid", Right),
    ("ms", Right),
    ("GB/s", Right),
    ("faster than\nbefore", Right),
    ("faster than\nfirst", Right),
    ("faster than\nCPU", Right),
    ("sum", Left),
    ("GB/s", Left),
];

const EMULATOR_COLUMNS: [(&str, CellAlignment); 13] = [
    ("step", Left),
    ("kernel", Left),
    ("grid", Right),
    ("warp\ninstructions", Right),
    ("global\nbytes", Right),
    ("useful bytes\nper sector", Right),
    ("branch\nefficiency", Right),
    ("fewer than\nbefore", Right),
    ("fewer than\nfirst", Right),
    ("emulated in\n(cpu: ran in)", Right),
    ("H200 ms,\nrecorded", Right),
    ("sum", Left),
    ("instructions", Left),
];

/// Columns that are left out on narrow terminals, one after the other: the bar and the grid.
const GPU_EXPENDABLE: [usize; 2] = [9, 2];

/// The same on the emulator.
const EMULATOR_EXPENDABLE: [usize; 2] = [12, 2];

/// The table of a climb as text, which fits the terminal.
pub fn text(climb: &Climb) -> String {
    let expendable: &[usize] = if climb.on_gpu {
        &GPU_EXPENDABLE
    } else {
        &EMULATOR_EXPENDABLE
    };
    show::fitted_text(&table(climb), 2, expendable)
}

fn table(climb: &Climb) -> Table {
    let mut table = show::table(if climb.on_gpu {
        &GPU_COLUMNS
    } else {
        &EMULATOR_COLUMNS
    });
    for reference in &climb.cpu_references {
        table.add_row(if climb.on_gpu {
            gpu_reference_row(reference, climb)
        } else {
            emulator_reference_row(reference)
        });
    }
    let highest_cost = climb
        .steps
        .iter()
        .filter_map(Step::cost)
        .fold(0.0, f64::max);
    let lowest_cost = climb
        .steps
        .iter()
        .filter_map(Step::cost)
        .fold(f64::INFINITY, f64::min);
    for step in &climb.steps {
        table.add_row(if climb.on_gpu {
            gpu_row(step, climb, lowest_cost)
        } else {
            emulator_row(step, highest_cost)
        });
    }
    table
}

fn gpu_reference_row(reference: &ReferenceFigures, climb: &Climb) -> Vec<Cell> {
    let on_cpu = sequential_ms(climb).map(|sequential_ms| sequential_ms / reference.elapsed_ms);
    vec![
        Cell::new("cpu"),
        Cell::new(reference.id),
        Cell::new(""),
        Cell::new(show::significant(reference.elapsed_ms)),
        Cell::new(show::significant(reference.gigabytes_per_second)),
        Cell::new(""),
        Cell::new(""),
        ratio(on_cpu),
    ]
}

fn gpu_row(step: &Step, climb: &Climb, lowest_ms: f64) -> Vec<Cell> {
    let gpu = step
        .figures
        .as_ref()
        .and_then(|figures| figures.gpu.as_ref());
    let on_cpu = || Some(sequential_ms(climb)? / gpu?.elapsed_ms);
    let mut row = first_cells(step);
    row.extend([
        number(gpu.map(|gpu| gpu.elapsed_ms)),
        number(gpu.map(|gpu| gpu.gigabytes_per_second)),
        ratio(step.step_speed_up),
        ratio(step.cumulative_speed_up),
        ratio(on_cpu()),
        verdict(step),
        Cell::new(gpu.map_or_else(String::new, |gpu| show::bar(lowest_ms / gpu.elapsed_ms))),
    ]);
    row
}

fn emulator_reference_row(reference: &ReferenceFigures) -> Vec<Cell> {
    let mut row = vec![Cell::new("cpu"), Cell::new(reference.id)];
    row.resize_with(9, || Cell::new(""));
    row.push(Cell::new(show::milliseconds(reference.elapsed_ms)));
    row
}

fn emulator_row(step: &Step, most_instructions: f64) -> Vec<Cell> {
    let mut row = first_cells(step);
    let emulator = step
        .figures
        .as_ref()
        .and_then(|figures| figures.emulator.as_ref());
    if let Some(emulator) = emulator {
        let counters = &emulator.counters;
        row.extend([
            Cell::new(show::count(counters.inst_executed)),
            Cell::new(show::bytes(
                counters.global_loads.bytes + counters.global_stores.bytes,
            )),
            Cell::new(
                counters
                    .value("global_useful_bytes_per_sector")
                    .map_or_else(String::new, |bytes| format!("{bytes:.1}")),
            ),
            Cell::new(show::percent(
                100.0 * counters.assembled_branch_efficiency(),
            )),
            ratio(step.step_speed_up),
            ratio(step.cumulative_speed_up),
            Cell::new(show::milliseconds(emulator.emulated_in_ms)),
            number(step.recorded_ms),
            verdict(step),
            Cell::new(show::bar(counters.inst_executed as f64 / most_instructions)),
        ]);
    } else {
        row.resize_with(11, || Cell::new(""));
        row.push(verdict(step));
    }
    row
}

/// Step, kernel and grid.
fn first_cells(step: &Step) -> Vec<Cell> {
    let grid = step
        .figures
        .as_ref()
        .map_or_else(String::new, |figures| figures.grid.to_string());
    vec![
        Cell::new(format!(
            "{}{}",
            step.lesson.step,
            footnotes::mark(step.lesson.exhibit)
        )),
        Cell::new(step.lesson.id),
        Cell::new(grid),
    ]
}

fn verdict(step: &Step) -> Cell {
    show::verdict(step.is_right())
}

fn number(value: Option<f64>) -> Cell {
    Cell::new(value.map_or_else(String::new, show::significant))
}

fn ratio(value: Option<f64>) -> Cell {
    Cell::new(value.map_or_else(String::new, show::ratio))
}

/// The time of the reference that speed-ups on the CPU compare with.
fn sequential_ms(climb: &Climb) -> Option<f64> {
    climb
        .cpu_references
        .first()
        .map(|reference| reference.elapsed_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::CounterFigures;
    use crate::figures::{EmulatorFigures, GpuFigures, LessonFigures};
    use crate::workload::Workload;
    use warpfold_course::element::ElementType;
    use warpfold_course::number::Number;
    use warpfold_emulator::{Counters, GridCounts};
    use warpfold_kernels::catalogue::{Lesson, Part, lessons_of};

    /// A climb of three steps, of which the second is wrong and the third faulted.
    fn climb(
        on_gpu: bool,
        measured: impl Fn() -> (Option<GpuFigures>, Option<EmulatorFigures>),
    ) -> Climb {
        let figures = |lesson: &'static Lesson, sum| {
            let (gpu, emulator) = measured();
            let (step, id) = (lesson.step, lesson.id);
            Some(LessonFigures {
                step,
                id,
                grid: 8,
                result: Number::I32(sum),
                expected: Number::I32(1),
                tolerance: None,
                is_right: sum == 1,
                exhibit: None,
                gpu,
                emulator,
            })
        };
        let step = |lesson, figures| Step {
            lesson,
            figures,
            fault: None,
            step_speed_up: Some(2.0),
            cumulative_speed_up: None,
            recorded_ms: None,
        };
        Climb {
            workload: Workload {
                device: "test".to_owned(),
                n: 8,
                element_type: Some(ElementType::I32),
                block: Some(64),
                data: 0.into(),
                seed: Some(0),
                repeat: None,
                cold: None,
            },
            on_gpu,
            cpu_references: vec![ReferenceFigures {
                id: "cpu_sequential",
                sum: 1,
                elapsed_ms: 3.0,
                gigabytes_per_second: 1.5,
            }],
            steps: vec![
                step(
                    &lessons_of(Part::Ladder)[0],
                    figures(&lessons_of(Part::Ladder)[0], 1),
                ),
                step(
                    &lessons_of(Part::Ladder)[1],
                    figures(&lessons_of(Part::Ladder)[1], 7),
                ),
                step(&lessons_of(Part::Ladder)[2], None),
            ],
            left_out: Vec::new(),
        }
    }

    #[test]
    fn a_gpu_has_times_and_no_counters() {
        let gpu = || GpuFigures {
            elapsed_ms: 0.5,
            fastest_ms: 0.4,
            gigabytes_per_second: 123.456,
        };
        let text = show::text(&table(&climb(true, || (Some(gpu()), None))));
        assert!(
            text.contains("GB/s") && !text.contains("instructions"),
            "{text}"
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 + 1 + 4, "{text}");
        assert!(
            lines[4].contains(
                "0.5000  123.5        2.00×                     6.00×  right  ████████████"
            ),
            "{text}"
        );
        assert!(
            lines[5].contains("WRONG") && lines[6].contains("WRONG"),
            "{text}"
        );
    }

    #[test]
    fn the_emulator_has_counters_and_no_times_of_a_gpu() {
        let counters = Counters {
            inst_executed: 12_345,
            ..Counters::default()
        };
        let emulator = || EmulatorFigures {
            counters: CounterFigures::new(counters, GridCounts::default()),
            emulated_in_ms: 7.0,
        };
        let text = show::text(&table(&climb(false, || (None, Some(emulator())))));
        assert!(
            text.contains("12,345") && text.contains("emulated in"),
            "{text}"
        );
        assert!(!text.contains("GB/s"), "{text}");
        assert_eq!(text.matches("WRONG").count(), 2, "{text}");
    }
}
