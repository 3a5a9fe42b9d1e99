//! The steps between a block's barriers, as text and as JSON.

use super::measure::Profiled;
use super::table::title;
use crate::show;
use comfy_table::CellAlignment::Right;
use serde::Serialize;
use warpfold_emulator::Step;

/// One step, of all blocks together.
#[derive(Debug, Serialize)]
pub struct StepFigures {
    /// Its number, from 1.
    step: usize,
    /// Blocks that come to it.
    blocks: u64,
    warps: u64,
    active_warps: u64,
    threads: u64,
    active_threads: u64,
}

/// The steps of a profile.
pub fn figures(steps: &[Step]) -> Vec<StepFigures> {
    let figures = |(index, step): (usize, &Step)| StepFigures {
        step: index + 1,
        blocks: step.blocks,
        warps: step.warps,
        active_warps: step.active_warps,
        threads: step.threads,
        active_threads: step.active_threads,
    };
    steps.iter().enumerate().map(figures).collect()
}

/// The steps of a profile, as blocks have them on average.
pub fn text(profile: &Profiled, steps: &[Step]) -> String {
    let columns = [
        ("step", Right),
        ("blocks", Right),
        ("active warps", Right),
        ("", Right),
        ("active threads", Right),
        ("", Right),
    ];
    let mut table = show::table(&columns);
    for (index, step) in steps.iter().enumerate() {
        table.add_row([
            (index + 1).to_string(),
            show::count(step.blocks),
            of_all(step.active_warps, step.warps, step.blocks),
            share(step.active_warps, step.warps),
            of_all(step.active_threads, step.threads, step.blocks),
            share(step.active_threads, step.threads),
        ]);
    }
    format!(
        "{}: the steps between barriers; a thread is active where it accesses global or shared memory\n{}",
        title(profile).replace('\n', " "),
        show::text(&table)
    )
}

/// How many of how many, in one block on average.
fn of_all(active: u64, all: u64, blocks: u64) -> String {
    let mean = active as f64 / blocks as f64;
    let mean = if active.is_multiple_of(blocks) {
        mean.to_string()
    } else {
        format!("{mean:.2}")
    };
    format!("{mean} of {}", all / blocks)
}

fn share(active: u64, all: u64) -> String {
    show::percent(100.0 * active as f64 / all as f64)
}
