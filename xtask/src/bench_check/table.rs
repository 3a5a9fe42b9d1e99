//! The comparison as a table.

use comfy_table::{Cell, CellAlignment, Table, TableStyle};

use super::compare::{Comparison, Line, Verdict};

/// A row for each count.
pub fn text(comparison: &Comparison<'_>) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header([
        Cell::new("what"),
        right("count"),
        Cell::new("of"),
        Cell::new("for each"),
        right("before"),
        right("after"),
        right("change"),
        Cell::new(""),
    ]);
    for line in &comparison.lines {
        let row = line.row;
        let change = line
            .change()
            .map(|change| format!("{:+.2} %", 100.0 * change));
        table.add_row([
            Cell::new(&row.name),
            right(row.count),
            Cell::new(&row.counted),
            Cell::new(&row.unit),
            right(line.before.map_or_else(String::new, each)),
            right(each(row.each())),
            right(change.unwrap_or_default()),
            Cell::new(word(line)),
        ]);
    }
    for column in table.column_iter_mut() {
        // Two spaces between columns, the other of which the table puts there, and none before the first.
        column.set_padding((0, 1));
    }
    table.trim_fmt()
}

fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn each(value: f64) -> String {
    format!("{value:.1}")
}

fn word(line: &Line<'_>) -> &'static str {
    match line.verdict() {
        Verdict::New => "new",
        Verdict::Same => "",
        Verdict::Worse => "WORSE",
        Verdict::Better => "better",
    }
}
