//! The tables of the README and of `docs/speed.md`, and where they come from.

use super::figures::{self, Contender, OfType};
use super::record::{Finds, Maker, Measurement, Record};

/// Sizes from which on the bandwidth of a step means more than its launch.
const STEPS_FROM: usize = 1 << 24;
/// What the README shows, where it is in the record.
const SHOWN_TYPE: &str = "f32";
const SHOWN_SIZES: [usize; 5] = [1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28];

/// What stands in the README: one table of those that are best known.
pub fn summary(record: &Record) -> String {
    let finds = figures::from_memory(record);
    let parts = OfType::all(record);
    let shown = parts.iter().find(|part| part.element_type == SHOWN_TYPE);
    let Some(&part) = shown.or(parts.first()) else {
        return String::new();
    };
    let mut sizes = part.sizes();
    if sizes.iter().any(|n| SHOWN_SIZES.contains(n)) {
        sizes.retain(|n| SHOWN_SIZES.contains(n));
    }
    let mut text = format!(
        "Sums of {} on {}, milliseconds with a {} L2 cache:\n\n{}",
        part.element_type,
        record.device,
        figures::word(finds),
        head("", &sizes)
    );
    let ours: figures::Shown = (figures::LIBRARY, |one| one.name == figures::LIBRARY);
    for (name, is_shown) in [ours].into_iter().chain(figures::BEST_KNOWN) {
        let found: Vec<_> = sizes
            .iter()
            .map(|&n| part.fastest(n, finds, is_shown))
            .collect();
        if found.iter().any(Option::is_some) {
            let name = match name {
                figures::LIBRARY => format!("`{name}`"),
                _ => name.to_owned(),
            };
            text += &row(&name, found.into_iter().map(|one| cell(part, one)));
        }
    }
    text
}

/// What stands in `docs/speed.md`: everybody, at every size.
pub fn everything(record: &Record) -> String {
    let mut text = figures::provenance(record).join(";  \n");
    text += ".\n";
    for part in OfType::all(record) {
        for finds in figures::FINDS {
            if part.has(finds) {
                text += &format!(
                    "\n### Sums of {}, {}\n\n",
                    part.element_type,
                    figures::found(finds)
                );
                text += &everybody(part, finds);
            }
        }
    }
    for part in OfType::all(record) {
        let mut large = part.sizes();
        large.retain(|&n| {
            n >= STEPS_FROM && part.fastest(n, Finds::Warm, Contender::is_step).is_some()
        });
        if !large.is_empty() {
            text += &format!(
                "\n### Steps of the ladder, Rust beside CUDA C++, {}, warm\n\n\
                 In brackets: the time of the same kernel compiled by nvcc, divided by ours.\n\n",
                part.element_type
            );
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

/// All but the steps, ours first.
fn everybody(part: OfType<'_>, finds: Finds) -> String {
    let mut sizes = part.sizes();
    sizes.retain(|&n| part.ceiling_ms(n, finds).is_some());
    let mut text = head("", &sizes);
    let mut rows: Vec<(Maker, &str)> = Vec::new();
    for contender in part.contenders() {
        let row = (contender.maker, contender.family());
        let is_shown = !contender.is_step() && contender.maker != Maker::CudaCpp;
        if is_shown && !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows.sort_by_key(|(maker, _)| *maker != Maker::Warpfold);
    for (maker, family) in rows {
        let cells = sizes.iter().map(|&n| {
            let is_of_row = |one: &Contender<'_>| one.maker == maker && one.family() == family;
            cell(part, part.fastest(n, finds, is_of_row))
        });
        let name = match maker {
            Maker::Ceiling if family == figures::EMPTY => family.to_owned(),
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
