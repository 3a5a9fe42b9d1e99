//! The comparison as a table: two rows for each kernel, one above the other.

use comfy_table::{Cell, CellAlignment, Table, TableStyle};

use super::compiled::Compiled;
use super::kinds;

/// The table of two sides with the same kernels in the same order. A column that has nothing to show is left out.
pub(super) fn text(left: &[Compiled], right: &[Compiled]) -> String {
    let rows: Vec<(&str, &str, Vec<Value>)> = left
        .iter()
        .zip(right)
        .flat_map(|(left, right)| [(left.entry, "L", values(left)), ("", "R", values(right))])
        .collect();
    let is_shown = |heading: &str| {
        let mut values = rows.iter().flat_map(|(.., values)| values);
        values.any(|(title, value)| *title == heading && value.is_some())
    };
    let number = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);

    let mut table = Table::new();
    table.load_style(TableStyle::new());
    for (index, (entry, side, values)) in rows.iter().enumerate() {
        let shown = || values.iter().filter(|(heading, _)| is_shown(heading));
        if index == 0 {
            let headings = shown().map(|(heading, _)| number(heading));
            table.set_header(
                [Cell::new("kernel"), Cell::new("")]
                    .into_iter()
                    .chain(headings),
            );
        }
        let numbers = shown().map(|(_, value)| number(value.as_deref().unwrap_or_default()));
        table.add_row(
            [Cell::new(entry), Cell::new(side)]
                .into_iter()
                .chain(numbers),
        );
    }
    for column in table.column_iter_mut() {
        // Two spaces between columns, the other of which the table puts there, and none before the first.
        column.set_padding((0, 1));
    }
    table.trim_fmt()
}

/// A column's heading and what stands in it, if anything does.
type Value = (&'static str, Option<String>);

fn values(compiled: &Compiled) -> Vec<Value> {
    let Compiled {
        kinds,
        registers,
        figures,
        ..
    } = compiled;
    let mut values = vec![("in PTX", Some(kinds.total().to_string()))];
    let counts = kinds.counts().map(|count| Some(count.to_string()));
    values.extend(kinds::NAMES.into_iter().zip(counts));
    let whole = |number: Option<u64>| number.map(|number| number.to_string());
    values.extend([
        ("registers", whole(registers.map(u64::from))),
        ("executed", whole(figures.warp_instructions)),
        (
            "efficiency %",
            figures
                .branch_efficiency_percent
                .map(|percent| format!("{percent:.2}")),
        ),
        ("loaded", whole(figures.global_load_bytes)),
        ("stored", whole(figures.global_store_bytes)),
        (
            "ms",
            figures
                .elapsed_ms
                .map(|elapsed_ms| format!("{elapsed_ms:.4}")),
        ),
    ]);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare_codegen::kinds::Kinds;
    use crate::compare_codegen::runs::Figures;

    fn compiled(registers: Option<u32>, warp_instructions: u64) -> Compiled {
        Compiled {
            entry: "sum",
            kinds: Kinds::count(&["add.s32".to_owned(), "bar.sync".to_owned()]),
            registers,
            figures: Figures {
                warp_instructions: Some(warp_instructions),
                ..Figures::default()
            },
        }
    }

    #[test]
    fn both_sides_stand_together_and_what_nobody_knows_has_no_column() {
        let text = text(&[compiled(Some(18), 1000)], &[compiled(None, 1100)]);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let [header, left, right] = &rows[..] else {
            panic!("not three rows: {text}");
        };
        assert_eq!(header[..3], ["kernel", "in", "PTX"]);
        assert_eq!(header[header.len() - 2..], ["registers", "executed"]);
        assert_eq!(left[..3], ["sum", "L", "2"]);
        assert_eq!(left[left.len() - 2..], ["18", "1000"]);
        assert_eq!(right[..2], ["R", "2"]);
        assert_eq!(right.last(), Some(&"1100"));
    }
}
