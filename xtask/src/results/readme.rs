//! The README's block: two tables and where they come from.

use super::figures;
use super::record::{Cache, Maker, Record};

const BEGIN: &str = "<!-- results: begin -->\n";
const END: &str = "<!-- results: end -->";
/// Sizes from which on the bandwidth of a step means more than its launch.
const STEPS_FROM: usize = 1 << 24;

/// What stands in the README.
pub fn block(record: &Record) -> String {
    let mut text = figures::provenance(record).join(";  \n");
    text += ".\n";
    for (cache, what) in [
        (Cache::Warm, "with a warm L2 cache"),
        (Cache::Cold, "with a cold L2 cache"),
    ] {
        if record
            .measurements
            .iter()
            .any(|measurement| measurement.cache == cache)
        {
            text += &format!(
                "\nMilliseconds {what}, and in brackets the same divided by that of `warpfold::sum`:\n\n"
            );
            text += &libraries(record, cache);
        }
    }
    let large: Vec<usize> = figures::sizes(record)
        .into_iter()
        .filter(|&n| n >= STEPS_FROM)
        .collect();
    if !large.is_empty() {
        text += "\nMilliseconds of each step in Rust, warm, and in brackets the time of the same kernel in CUDA C++ by nvcc divided by it:\n\n";
        text += &steps(record, &large);
    }
    for left_out in &record.left_out {
        text += &format!(
            "\nNot in this run: {}, because {}.\n",
            left_out.name, left_out.reason
        );
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

/// Our library against others, at all sizes.
fn libraries(record: &Record, cache: Cache) -> String {
    let sizes = figures::sizes(record);
    let mut text = head("", &sizes);
    let ours = sizes
        .iter()
        .map(|&n| match figures::of_library(record, n, cache) {
            Some(ours) => format!("**{}**", figures::ms(ours.median_ms)),
            None => String::new(),
        });
    text += &row(&format!("**`{}`**", figures::LIBRARY), ours);
    let others = figures::contenders(record).into_iter();
    for (maker, name) in
        others.filter(|(maker, _)| !matches!(maker, Maker::Warpfold | Maker::CudaCpp))
    {
        let cells = sizes.iter().map(|&n| cell(record, maker, name, n, cache));
        let name = match maker {
            Maker::Ceiling => format!("`{name}`, which adds up nothing"),
            _ => name.to_owned(),
        };
        text += &row(&name, cells);
    }
    text
}

/// Our steps against their counterparts.
fn steps(record: &Record, sizes: &[usize]) -> String {
    let mut text = head("step", sizes);
    let names = figures::ours(record).into_iter();
    for name in names.filter(|name| *name != figures::LIBRARY) {
        let cells = sizes.iter().map(|&n| {
            let ours = figures::find(record, Maker::Warpfold, name, n, Cache::Warm);
            let theirs = figures::find(record, Maker::CudaCpp, name, n, Cache::Warm);
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
        text += &row(&format!("`{name}`"), cells);
    }
    text
}

/// A time, and how many times ours it is.
fn cell(record: &Record, maker: Maker, name: &str, n: usize, cache: Cache) -> String {
    let Some(measurement) = figures::find(record, maker, name, n, cache) else {
        return String::new();
    };
    let time = figures::ms(measurement.median_ms);
    match figures::counterpart(record, measurement) {
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
