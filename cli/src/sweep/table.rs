//! The sweep as tables: kernels down, sizes across.

use super::measured::Row;
use super::outcome::Sweep;
use crate::figures::LessonFigures;
use crate::show;
use comfy_table::CellAlignment::{Left, Right};
use warpfold_course::size::short;

/// What is shown of a measurement.
type Figure = fn(&LessonFigures) -> Option<String>;

/// The tables for the device: times on a GPU, counters on the emulator.
pub fn text(sweep: &Sweep) -> String {
    const OF_GPU: [(&str, Figure); 2] = [
        ("GB/s", |figures| {
            let gpu = figures.gpu.as_ref()?;
            Some(show::significant(gpu.gigabytes_per_second))
        }),
        ("ms", |figures| {
            Some(show::significant(figures.gpu.as_ref()?.elapsed_ms))
        }),
    ];
    const OF_EMULATOR: [(&str, Figure); 2] = [
        ("warp instructions", |figures| {
            let counters = &figures.emulator.as_ref()?.counters;
            Some(show::count(counters.inst_executed))
        }),
        ("32-byte sectors of global memory", |figures| {
            let counters = &figures.emulator.as_ref()?.counters;
            Some(show::count(counters.global().sectors))
        }),
    ];
    let tables = if sweep.on_gpu { OF_GPU } else { OF_EMULATOR };
    let tables = tables.map(|(title, figure)| table(sweep, title, figure));
    tables.join("\n\n")
}

fn table(sweep: &Sweep, title: &str, figure: Figure) -> String {
    let sizes: Vec<String> = sweep.sizes.iter().map(|&n| short(n)).collect();
    let mut columns = vec![(title, Left)];
    columns.extend(sizes.iter().map(|size| (size.as_str(), Right)));
    let mut table = show::table(&columns);
    for id in sweep.ids() {
        let cell = |&n: &usize| {
            sweep
                .row(id, n)
                .map_or_else(String::new, |row| cell(row, figure))
        };
        let mut cells = vec![id.to_owned()];
        cells.extend(sweep.sizes.iter().map(cell));
        table.add_row(cells);
    }
    show::text(&table)
}

fn cell(row: &Row, figure: Figure) -> String {
    match &row.figures {
        None => "FAULT".to_owned(),
        Some(figures) if !figures.is_right => "WRONG".to_owned(),
        Some(figures) => figure(figures).unwrap_or_default(),
    }
}
