//! What tables, numbers and bars look like.

use comfy_table::{
    Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
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

/// How many columns of characters there are: as many as the variable `COLUMNS` says, else those of the terminal. Files and pipes take
/// every line as long as it is.
pub fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok();
    let said = said.and_then(|columns| columns.parse().ok());
    said.or_else(|| Table::new().width().map(usize::from))
        .filter(|&width| width > 0)
}

/// The text of a table. One that is too wide is broken into several, one below the other, that begin with the same column; what is
/// still too wide then is broken into lines.
pub fn text(table: &Table) -> String {
    fitted_text(table, 1, &[])
}

/// The same of a table whose `keys` first columns say what its rows are, and where there is too little room without the `expendable`
/// columns; the first goes first. A line below the table names those that are left out.
pub fn fitted_text(table: &Table, keys: usize, expendable: &[usize]) -> String {
    fit(table, keys, expendable, width())
}

fn fit(table: &Table, keys: usize, expendable: &[usize], width: Option<usize>) -> String {
    let mut columns: Vec<usize> = (0..table.column_iter().count()).collect();
    let whole = of_columns(table, &columns, None);
    let Some(width) = width.filter(|&width| width_of(&whole) > width) else {
        return whole;
    };
    let fits = |columns: &[usize]| width_of(&of_columns(table, columns, None)) <= width;
    let mut left_out = Vec::new();
    for column in expendable {
        if fits(&columns) {
            break;
        }
        columns.retain(|other| other != column);
        left_out.push(*column);
    }
    let (keys, rest) = columns.split_at(keys.min(columns.len()));
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for &column in rest {
        if let Some(last) = parts.last_mut() {
            last.push(column);
            if fits(last) {
                continue;
            }
            last.pop();
        }
        parts.push(keys.iter().copied().chain([column]).collect());
    }
    let parts = parts.iter().map(|part| {
        let broken = (!fits(part)).then_some(width);
        of_columns(table, part, broken)
    });
    let text = parts.collect::<Vec<_>>().join("\n\n");
    match left_out_of(table, &left_out, width) {
        Some(note) => format!("{text}\n{note}"),
        None => text,
    }
}

/// Which columns are left out of a table so wide.
fn left_out_of(table: &Table, columns: &[usize], width: usize) -> Option<String> {
    let header = table.header()?;
    let titles = header
        .cell_iter()
        .map(|cell| cell.content().replace('\n', " "));
    let titles: Vec<String> = titles.collect();
    let names: Vec<&str> = columns
        .iter()
        .map(|&column| titles[column].trim())
        .collect();
    (!names.is_empty()).then(|| format!("{width} columns have no room for: {}.", names.join(", ")))
}

/// Some columns of a table, without the spaces that pad the last; where there is a width, in lines no longer than that.
fn of_columns(table: &Table, columns: &[usize], width: Option<usize>) -> String {
    let mut part = table.clone();
    for (index, column) in part.column_iter_mut().enumerate() {
        if !columns.contains(&index) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    if let Some(width) = width {
        part.set_width(width.try_into().unwrap_or(u16::MAX));
        part.set_content_arrangement(ContentArrangement::Dynamic);
    }
    part.trim_fmt()
}

/// How wide a table is, from its text.
fn width_of(text: &str) -> usize {
    // The rule is as wide as the table, and free of colour codes.
    let rule = text.lines().find(|line| line.starts_with('─'));
    rule.map_or(0, |rule| rule.chars().count())
}

/// The text of a table with a heading above each group of rows, which are given as heading and number of rows. Every row is one line,
/// and is left without the `expendable` columns where there is too little room.
pub fn with_headings(table: &Table, expendable: &[usize], groups: &[(&str, usize)]) -> String {
    let mut columns: Vec<usize> = (0..table.column_iter().count()).collect();
    let mut text = of_columns(table, &columns, None);
    let mut note = None;
    if let Some(width) = width() {
        let mut left_out = Vec::new();
        for column in expendable {
            if width_of(&text) <= width {
                break;
            }
            columns.retain(|other| other != column);
            left_out.push(*column);
            text = of_columns(table, &columns, None);
        }
        note = left_out_of(table, &left_out, width);
    }
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
    grouped.extend(note.as_deref().map(|note| ["", note]).into_iter().flatten());
    grouped.join("\n")
}

/// Text in Markdown whose paragraphs are broken anew where there are fewer columns than they take. Code, headings and lists stay as they are.
pub fn flowed(text: &str) -> String {
    flowed_within(text, 0)
}

/// As [`flowed`], with this many columns less.
pub fn flowed_within(text: &str, less: usize) -> String {
    match width() {
        Some(width) => flow(text, width.saturating_sub(less).max(20)),
        None => text.to_owned(),
    }
}

fn flow(text: &str, width: usize) -> String {
    let mut flowed = String::new();
    let mut is_code = false;
    let mut column = 0;
    for line in text.lines() {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let stays = is_code || is_fence || line.is_empty() || line.starts_with(['#', '-', ' ']);
        if stays {
            if column > 0 {
                flowed.push('\n');
            }
            flowed += line;
            flowed.push('\n');
            column = 0;
            continue;
        }
        for word in line.split_whitespace() {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > width {
                flowed.push('\n');
                column = 0;
            }
            if column > 0 {
                flowed.push(' ');
                column += 1;
            }
            flowed += word;
            column += length;
        }
    }
    if column > 0 {
        flowed.push('\n');
    }
    flowed
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
    fn a_narrow_terminal_gets_all_that_is_not_expendable() {
        let mut table = table(&[
            ("first", CellAlignment::Left),
            ("second", CellAlignment::Left),
            ("third", CellAlignment::Left),
        ]);
        table.add_row(["1", "2", "3 and more"]);
        let fitted = |expendable, width| fit(&table, 1, expendable, width);
        let whole = "first  second  third\n──────────────────────────\n1      2       3 and more";
        assert_eq!(fitted(&[], None), whole);
        assert_eq!(fitted(&[1], Some(26)), whole);
        let without_second = "first  third\n──────────────────\n1      3 and more";
        assert_eq!(
            fitted(&[1], Some(25)),
            format!("{without_second}\n25 columns have no room for: second.")
        );
        assert_eq!(
            fitted(&[], Some(25)),
            format!("first  second\n──────────────\n1      2\n\n{without_second}")
        );
        let broken = fitted(&[1], Some(15));
        assert!(
            broken.lines().all(|line| line.chars().count() <= 36),
            "{broken}"
        );
        assert!(broken.contains("3 and"), "{broken}");
        assert!(!broken.contains("3 and more"), "{broken}");
    }

    #[test]
    fn paragraphs_flow_and_pictures_stay() {
        let text = "# A title that is long\n\none two three\nfour\n\n```text\n0 1 2 3 4 5 6 7 8\n```\nfive\n";
        assert_eq!(
            flow(text, 10),
            "# A title that is long\n\none two\nthree four\n\n```text\n0 1 2 3 4 5 6 7 8\n```\nfive\n"
        );
    }

    #[test]
    fn headings_stand_above_their_rows() {
        let mut table = table(&[("two\nlines", CellAlignment::Left)]);
        table.add_row(["1"]).add_row(["2"]).add_row(["3"]);
        let text = with_headings(&table, &[], &[("one", 1), ("none", 0), ("more", 2)]);
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
