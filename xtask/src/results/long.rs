//! Everything in a record, for a terminal.

use comfy_table::{Cell, CellAlignment, Table, TableStyle};

use super::figures;
use super::record::{Cache, Maker, Record};

/// A table for each size.
pub fn text(record: &Record) -> String {
    let mut text = figures::provenance(record).join("\n");
    for n in figures::sizes(record) {
        text += &format!("\n\nn = {}\n{}", figures::size(n), table(record, n));
    }
    text += "\n\n× ours: how much longer it takes than our kernel of the same name, or than warpfold::sum for who has no counterpart; \
             of the best: of the bandwidth of the fastest launch in the table";
    for left_out in &record.left_out {
        text += &format!("\nleft out: {}: {}", left_out.name, left_out.reason);
    }
    text
}

fn table(record: &Record, n: usize) -> String {
    let number = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let headings = ["warm", "cold"].into_iter().flat_map(|cache| {
        let heading = format!("{cache} ms");
        [heading.as_str(), "GB/s", "× ours", "of the best"].map(str::to_owned)
    });
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(
        [Cell::new("by"), Cell::new("contender")]
            .into_iter()
            .chain(headings.map(number)),
    );
    for (maker, name) in figures::contenders(record) {
        let of_caches = [Cache::Warm, Cache::Cold]
            .into_iter()
            .flat_map(|cache| cells(record, maker, name, n, cache));
        table.add_row(
            [Cell::new(label(maker)), Cell::new(name)]
                .into_iter()
                .chain(of_caches.map(number)),
        );
    }
    for column in table.column_iter_mut() {
        // Two spaces between columns, the other of which the table puts there, and none before the first.
        column.set_padding((0, 1));
    }
    table.trim_fmt()
}

fn cells(record: &Record, maker: Maker, name: &str, n: usize, cache: Cache) -> [String; 4] {
    let Some(measurement) = figures::find(record, maker, name, n, cache) else {
        return Default::default();
    };
    let ratio = |part: Option<f64>, whole: f64| {
        part.map_or_else(String::new, |part| format!("{:.3}", whole / part))
    };
    let ours = figures::counterpart(record, measurement).map(|ours| ours.median_ms);
    let share = figures::ceiling_ms(record, n, cache).map_or_else(String::new, |best| {
        format!("{:.1} %", 100.0 * best / measurement.median_ms)
    });
    [
        figures::ms(measurement.median_ms),
        format!("{:.0}", figures::gigabytes_per_second(measurement)),
        if maker == Maker::Warpfold {
            String::new()
        } else {
            ratio(ours, measurement.median_ms)
        },
        share,
    ]
}

fn label(maker: Maker) -> &'static str {
    match maker {
        Maker::Warpfold => "Rust",
        Maker::CudaCpp => "CUDA C++",
        Maker::Library => "C++",
        Maker::Python => "Python",
        Maker::Ceiling => "only reads",
    }
}
