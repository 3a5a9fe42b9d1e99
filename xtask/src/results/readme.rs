//! The README's block: two tables and where they come from.

use super::figures::{self, Contender, OfType};
use super::record::{Finds, Maker, Measurement, Record};

const BEGIN: &str = "<!-- results: begin -->\n";
const END: &str = "<!-- results: end -->";
/// Sizes from which on the bandwidth of a step means more than its launch.
const STEPS_FROM: usize = 1 << 24;
/// Sizes that are shown of our library and others, where they are in the record.
const SHOWN: [usize; 8] = [
    1 << 10,
    1 << 16,
    1 << 20,
    1 << 22,
    1 << 24,
    1 << 26,
    1 << 28,
    1 << 30,
];

/// What stands in the README.
pub fn block(record: &Record) -> String {
    let mut text = figures::provenance(record).join(";  \n");
    text += ".\n";
    for part in OfType::all(record) {
        // What a single call takes is in the record.
        for finds in [Finds::Warm, Finds::Cold] {
            if part.has(finds) {
                text += &format!(
                    "\nSums of {}, milliseconds with a {} L2 cache, and in brackets the same divided by that of `{}`:\n\n",
                    part.element_type,
                    figures::word(finds),
                    figures::LIBRARY
                );
                text += &libraries(part, finds);
            }
        }
    }
    for part in OfType::all(record) {
        let mut large = part.sizes();
        large.retain(|&n| {
            n >= STEPS_FROM && part.fastest(n, Finds::Warm, Contender::is_step).is_some()
        });
        if !large.is_empty() {
            text += "\nMilliseconds of each step in Rust, warm, and in brackets the time of the same kernel in CUDA C++ by nvcc divided by it:\n\n";
            text += &steps(part, &large);
        }
    }
    for note in &record.notes {
        text += &format!("\n{note}.\n");
    }
    for left_out in figures::left_out(record) {
        text += &format!("\n{left_out}\n");
    }
    text
}

/// The text with this block between the markers; `None` where it has none.
pub fn with_block(text: &str, block: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{block}{END}{after}"))
}

/// What stands between the markers.
#[cfg(test)]
pub fn shown(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(BEGIN)?;
    Some(rest.split_once(END)?.0)
}

/// Our library against others.
fn libraries(part: OfType<'_>, finds: Finds) -> String {
    let mut sizes = part.sizes();
    if sizes.iter().any(|n| SHOWN.contains(n)) {
        sizes.retain(|n| SHOWN.contains(n));
    }
    let mut text = head("", &sizes);
    let mut rows: Vec<(Maker, &str)> = Vec::new();
    for contender in part.contenders() {
        let row = (contender.maker, contender.family());
        let is_shown = contender.name != figures::EMPTY
            && !contender.is_step()
            && !contender.is_misaligned()
            && contender.maker != Maker::CudaCpp;
        if is_shown && !rows.contains(&row) {
            rows.push(row);
        }
    }
    // Ours first.
    rows.sort_by_key(|(maker, _)| *maker != Maker::Warpfold);
    for (maker, family) in rows {
        let cells = sizes.iter().map(|&n| {
            let is_of_row = |one: &Contender<'_>| one.maker == maker && one.family() == family;
            cell(part, part.fastest(n, finds, is_of_row))
        });
        let name = match maker {
            Maker::Ceiling => format!("`{family}`, which adds up nothing"),
            Maker::Warpfold => format!("`{family}`"),
            _ => family.to_owned(),
        };
        text += &row(&name, cells);
    }
    text
}

/// Our steps against their counterparts.
fn steps(part: OfType<'_>, sizes: &[usize]) -> String {
    let mut text = head("step", sizes);
    for step in part.contenders().into_iter().filter(Contender::is_step) {
        let cells = sizes.iter().map(|&n| {
            let ours = part.find(Maker::Warpfold, step.name, n, Finds::Warm);
            let theirs = part.find(Maker::CudaCpp, step.name, n, Finds::Warm);
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => format!(
                    "{} ({:.3})",
                    figures::ms(ours.median_ms),
                    theirs.median_ms / ours.median_ms
                ),
                (Some(ours), None) => figures::ms(ours.median_ms),
                _ => String::new(),
            }
        });
        text += &row(&format!("`{}`", step.name), cells);
    }
    text
}

/// A time, and how many times that of our library it is; of our library in bold.
fn cell(part: OfType<'_>, measurement: Option<&Measurement>) -> String {
    let Some(measurement) = measurement else {
        return String::new();
    };
    let time = figures::ms(measurement.median_ms);
    match part.of_library(measurement.n, measurement.finds) {
        Some(ours) if ours == measurement => format!("**{time}**"),
        Some(ours) => format!("{time} ({:.2})", measurement.median_ms / ours.median_ms),
        None => time,
    }
}

fn head(first: &str, sizes: &[usize]) -> String {
    let names = sizes.iter().map(|&n| figures::size(n));
    let rules = "--:|".repeat(sizes.len());
    format!("{}|---|{rules}\n", row(first, names))
}

fn row(first: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {first} | {} |\n", cells.join(" | "))
}
