//! The table of a record, what it comes to, and where it comes from.

use super::names::{group, shape};
use super::verdict::verdict;
use crate::results::shapes_record::{Missing, Point, ShapesRecord};

/// Operators, in the order of the columns.
pub const OPERATORS: [&str; 8] = [
    "sum",
    "max",
    "argmax",
    "argmax, u32",
    "mean",
    "variance",
    "log-sum-exp",
    "dot",
];

/// What stands in `docs/speed.md`; nothing where nothing has been measured.
pub fn block(record: Option<&ShapesRecord>) -> String {
    let Some(record) = record else {
        return String::new();
    };
    let date = record.date.split('T').next().unwrap_or_default();
    let mut text = format!(
        "## Reductions of every shape\n\n\
         ![Tables of shapes and operators, coloured by the time of the best peer divided by ours](shapes.svg)\n\n\
         {}; driver {}; {date};  \n{}.\n\n\
         In each cell: the time of the fastest other library divided by ours, and our share of the speed of a kernel that only reads \
         and writes as many bytes. In `argmax` are those that write 8 bytes for a result, an index or one with its value, and in \
         `argmax, u32` those that write 4. Rows, columns, segments and runs are of 2^28 values; graphs are of 20 launches on small arrays. The \
         L2 cache is overwritten before each launch, but for graphs. Every contender's results are compared with the CPU's before it is \
         timed and after it; of more than 2^22 results those of evenly spread ranges.\n\n",
        record.device,
        record.driver,
        record.compilers.join("; "),
    );
    text += &row("", OPERATORS.map(str::to_owned).into_iter());
    text += &format!("|---|{}\n", "--:|".repeat(OPERATORS.len()));
    for (name, points) in rows(record) {
        let cell = |operator: &str| {
            let of_operator = points.iter().find(|point| point.operator == operator);
            of_operator.map_or_else(String::new, |point| cell(point))
        };
        text += &row(&name, OPERATORS.into_iter().map(cell));
    }
    text += "\nWhat it comes to:\n\n";
    for line in verdict(record) {
        let item = match line.strip_prefix("  ") {
            Some(line) => format!("  - {line}\n"),
            None => format!("- {line}\n"),
        };
        text += &item;
    }
    for note in &record.notes {
        text += &format!("\n{note}.\n");
    }
    for left_out in left_out(record) {
        text += &format!("\n{left_out}\n");
    }
    text
}

/// The points that share everything but the operator, in the order of the record, with a name.
fn rows(record: &ShapesRecord) -> Vec<(String, Vec<&Point>)> {
    let mut rows: Vec<(String, Vec<&Point>)> = Vec::new();
    for point in &record.points {
        let name = format!("{}, {}", group(point.group), shape(point));
        match rows.iter_mut().find(|(other, _)| *other == name) {
            Some((_, points)) => points.push(point),
            None => rows.push((name, vec![point])),
        }
    }
    rows
}

/// The two numbers of a point.
pub fn cell(point: &Point) -> String {
    let ratio = point.ratio().map(|ratio| match ratio {
        ratio if ratio < 10.0 => format!("{ratio:.2}"),
        ratio => format!("{ratio:.0}"),
    });
    let share = point.share().map(|share| format!("{:.0} %", 100.0 * share));
    let numbers: Vec<String> = [ratio, share].into_iter().flatten().collect();
    numbers.join(" · ")
}

fn row(first: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {first} | {} |\n", cells.join(" | "))
}

/// Who did not take part, a sentence for each name and reason: `Left out: cupy.sum at three places (…)`.
pub fn left_out(record: &ShapesRecord) -> Vec<String> {
    let mut sentences: Vec<(&Missing, Vec<&str>)> = Vec::new();
    for one in &record.left_out {
        let place = one.at.as_deref();
        let is_same =
            |(other, _): &&mut (&Missing, _)| other.name == one.name && other.reason == one.reason;
        match sentences.iter_mut().find(is_same) {
            Some((_, places)) => places.extend(place),
            None => sentences.push((one, place.into_iter().collect())),
        }
    }
    let sentence = |(Missing { name, reason, .. }, places): (&Missing, Vec<&str>)| {
        let at = if places.is_empty() { "" } else { " at " };
        format!("Left out: {name}{at}{} ({reason}).", places.join("; "))
    };
    sentences.into_iter().map(sentence).collect()
}
