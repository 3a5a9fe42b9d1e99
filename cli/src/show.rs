//! What tables, numbers and bars look like.

use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, LineStyle, Table, TableStyle};
use indicatif::{BinaryBytes, HumanCount};

/// The product's one style of table: a rule under the header and nothing else.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// An empty table of these columns: text goes `Left`, numbers go `Right`.
pub fn table(columns: &[(&str, CellAlignment)]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(
        columns
            .iter()
            .map(|&(title, alignment)| Cell::new(title).set_alignment(alignment)),
    );
    for (column, &(_, alignment)) in table.column_iter_mut().zip(columns) {
        // Two spaces between columns, the other of which the table puts there, and none before the first.
        column.set_padding((0, 1));
        column.set_cell_alignment(alignment);
    }
    table
}

/// The text of a table without the spaces that pad its last column.
pub fn text(table: &Table) -> String {
    table.trim_fmt()
}

/// The text of a table that hides, one after the other, the columns that a terminal is too narrow for.
pub fn fitted_text(table: &mut Table, expendable: &[usize]) -> String {
    let mut fitted = text(table);
    // Only a terminal has a width; files and pipes take every column.
    let Some(width) = table.width() else {
        return fitted;
    };
    for &column in expendable {
        // The rule is as wide as the table, and free of colour codes.
        let rule = fitted
            .lines()
            .find(|line| line.starts_with('─'))
            .unwrap_or_default();
        if rule.chars().count() <= width.into() {
            break;
        }
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
        fitted = text(table);
    }
    fitted
}

/// The text of a table with a heading above each group of rows, which are given as heading and number of rows. Every row
/// is one line.
pub fn with_headings(text: &str, groups: &[(&str, usize)]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let rows: usize = groups.iter().map(|&(_, rows)| rows).sum();
    let (header, mut rest) = lines.split_at(lines.len() - rows);
    let mut grouped = header.to_vec();
    for (index, &(heading, rows)) in groups.iter().enumerate() {
        if index > 0 {
            grouped.push("");
        }
        grouped.push(heading);
        let (group, after) = rest.split_at(rows);
        grouped.extend(group);
        rest = after;
    }
    grouped.join("\n")
}

/// Whether a result is right; on a terminal green or red, unless `NO_COLOR` is set (<https://no-color.org>).
pub fn verdict(is_right: bool) -> Cell {
    let (word, colour) = if is_right {
        ("right", Color::Green)
    } else {
        ("WRONG", Color::Red)
    };
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let cell = Cell::new(word);
    if no_colour { cell } else { cell.fg(colour) }
}

/// A bar of up to 12 cells for a `fraction` from 0 to 1, in eighths of a cell.
pub fn bar(fraction: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    const CELLS: f64 = 12.0;
    let eighths = (fraction.clamp(0.0, 1.0) * CELLS * 8.0).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A count with its digits in groups: `1,048,576`.
pub fn count(count: u64) -> String {
    HumanCount(count).to_string()
}

/// A number of bytes: `64.00 MiB`.
pub fn bytes(bytes: u64) -> String {
    BinaryBytes(bytes).to_string()
}

/// A time with four significant digits: `0.02104 ms`, `12.35 ms`, `1.523 s`.
pub fn milliseconds(elapsed_ms: f64) -> String {
    if elapsed_ms < 1000.0 {
        format!("{} ms", significant(elapsed_ms))
    } else {
        format!("{} s", significant(elapsed_ms / 1000.0))
    }
}

/// A number with four significant digits.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 12);
    format!("{value:.*}", decimals as usize)
}

/// A ratio: `2.54×`.
pub fn ratio(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

/// A percentage with the two decimals that profilers give: `98.36 %`.
pub fn percent(percent: f64) -> String {
    format!("{percent:.2} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(1.0 / 96.0), "▏");
        assert_eq!(bar(0.5), "██████");
        assert_eq!(bar(1.0).chars().count(), 12);
        assert_eq!(bar(7.0), bar(1.0));
    }

    #[test]
    fn times_keep_four_digits() {
        assert_eq!(milliseconds(0.021_04), "0.02104 ms");
        assert_eq!(milliseconds(12.345_6), "12.35 ms");
        assert_eq!(milliseconds(1523.4), "1.523 s");
        assert_eq!(milliseconds(0.0), "0 ms");
    }

    #[test]
    fn a_narrow_terminal_hides_what_is_expendable() {
        let mut table = table(&[
            ("first", CellAlignment::Left),
            ("second", CellAlignment::Left),
            ("third", CellAlignment::Left),
        ]);
        table.add_row(["1", "2", "3"]);
        assert_eq!(
            fitted_text(table.set_width(22), &[1, 0]).lines().next(),
            Some("first  second  third")
        );
        assert_eq!(
            fitted_text(table.set_width(16), &[1, 0]).lines().next(),
            Some("first  third")
        );
        assert_eq!(
            fitted_text(table.set_width(1), &[1, 0]).lines().next(),
            Some("third")
        );
    }

    #[test]
    fn headings_stand_above_their_rows() {
        let mut table = table(&[("two\nlines", CellAlignment::Left)]);
        table.add_row(["1"]).add_row(["2"]).add_row(["3"]);
        let text = with_headings(&text(&table), &[("one", 1), ("none", 0), ("more", 2)]);
        assert_eq!(text, "two\nlines\n──────\none\n1\n\nnone\n\nmore\n2\n3");
    }

    #[test]
    fn tables_have_no_trailing_spaces() {
        let mut table = table(&[("name", CellAlignment::Left), ("n", CellAlignment::Right)]);
        table.add_row(["a", "1"]).add_row(["bcd", "1,000"]);
        let text = text(&table);
        assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
        assert!(text.contains("bcd   1,000"), "{text}");
    }
}
