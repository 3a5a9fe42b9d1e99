//! Everything in a record, for a terminal.

use comfy_table::{Cell, CellAlignment, Table, TableStyle};

use super::figures::{self, Contender, OfType};
use super::record::{Finds, Maker, Record};
use super::verdict;

/// A table for each type and size, and what they come to.
pub fn text(record: &Record) -> String {
    let mut text = figures::provenance(record).join("\n");
    for part in OfType::all(record) {
        for n in part.sizes() {
            text += &format!(
                "\n\n{} of {}\n{}",
                figures::size(n),
                part.element_type,
                table(part, n)
            );
        }
    }
    text += "\n\n× ours: how much longer it takes than our kernel of the same name, or than warpfold::sum for who has no counterpart; \
             of the best: of the bandwidth of the fastest launch in the table";
    for note in &record.notes {
        text += &format!("\nnote: {note}");
    }
    for left_out in figures::left_out(record) {
        text += &format!("\n{left_out}");
    }
    text += "\n";
    for line in verdict::lines(record) {
        text += &format!("\n{line}");
    }
    text
}

fn table(part: OfType<'_>, n: usize) -> String {
    let number = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let found: Vec<Finds> = figures::FINDS
        .into_iter()
        .filter(|&finds| part.ceiling_ms(n, finds).is_some())
        .collect();
    let headings = found.iter().flat_map(|&finds| {
        let heading = format!("{} ms", figures::word(finds));
        [heading.as_str(), "GB/s", "× ours", "of the best"].map(str::to_owned)
    });
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(
        [Cell::new("by"), Cell::new("contender")]
            .into_iter()
            .chain(headings.map(number)),
    );
    for contender in part.contenders() {
        let numbers: Vec<String> = found
            .iter()
            .flat_map(|&finds| cells(part, contender, n, finds))
            .collect();
        if numbers.iter().all(String::is_empty) {
            continue;
        }
        table.add_row(
            [Cell::new(label(contender.maker)), Cell::new(contender.name)]
                .into_iter()
                .chain(numbers.into_iter().map(number)),
        );
    }
    for column in table.column_iter_mut() {
        // Two spaces between columns, the other of which the table puts there, and none before the first.
        column.set_padding((0, 1));
    }
    table.trim_fmt()
}

fn cells(part: OfType<'_>, contender: Contender<'_>, n: usize, finds: Finds) -> [String; 4] {
    let Contender { maker, name } = contender;
    let Some(measurement) = part.find(maker, name, n, finds) else {
        return Default::default();
    };
    let ratio = part
        .counterpart(measurement)
        .map_or_else(String::new, |ours| {
            format!("{:.3}", measurement.median_ms / ours.median_ms)
        });
    let reads = name != figures::EMPTY;
    let share = part.ceiling_ms(n, finds).map_or_else(String::new, |best| {
        format!("{:.1} %", 100.0 * best / measurement.median_ms)
    });
    let if_reads = |text: String| if reads { text } else { String::new() };
    [
        figures::ms(measurement.median_ms),
        if_reads(format!("{:.0}", figures::gigabytes_per_second(measurement))),
        if contender.is_step() || name == figures::LIBRARY {
            String::new()
        } else {
            ratio
        },
        if_reads(share),
    ]
}

fn label(maker: Maker) -> &'static str {
    match maker {
        Maker::Warpfold => "warpfold",
        Maker::CudaCpp => "CUDA C++",
        Maker::Library => "C++",
        Maker::Python => "Python",
        Maker::Rust => "Rust",
        Maker::Ceiling => "no sum",
    }
}
