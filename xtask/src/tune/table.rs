//! The table: for each length of rows the choice that gives up least against the fastest of each operator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::measurements::{Case, Measurements, Subject};

/// A choice that is within so much of the best one stays what it was for shorter rows.
const ALIKE: f64 = 0.004;

/// Times by subjects and choices, of one length.
type Times<'a> = Vec<(&'a Subject, &'a BTreeMap<String, f64>)>;

/// The source of the table, and the evidence as lines of CSV.
///
/// # Errors
/// What has not been measured.
pub fn of(measurements: &Measurements) -> Result<(String, String), String> {
    let groups: BTreeSet<(&str, usize)> = measurements
        .0
        .keys()
        .map(|case| (case.subject.work.as_str(), case.subject.value_bytes))
        .collect();
    let mut source = HEAD.to_owned();
    let mut evidence = "kind,row_bytes,subject,choice,ms,fastest,fastest_ms\n".to_owned();
    for (work, value_bytes) in groups {
        let mut lines = [String::new(), String::new()];
        for (is_single, lines) in [false, true].into_iter().zip(&mut lines) {
            let what = format!("{work} work for {value_bytes} bytes");
            let mut chosen: Option<String> = None;
            for (row_bytes, times) in lengths(measurements, is_single, work, value_bytes) {
                let choice = best(&times, chosen.as_deref())
                    .ok_or_else(|| format!("{what}, rows of {row_bytes} bytes"))?;
                prove(&mut evidence, is_single, row_bytes, &times, &choice);
                if chosen.as_ref() != Some(&choice) {
                    let line = line(is_single, row_bytes, &choice)
                        .ok_or_else(|| format!("{what}: `{choice}`"))?;
                    lines.push_str(&line);
                    chosen = Some(choice);
                }
            }
            if lines.is_empty() {
                return Err(what);
            }
        }
        let [rows, single] = lines;
        let _ = write!(
            source,
            "    Measured {{\n        work: Work::{work},\n        value_bytes: {value_bytes},\n        rows: &[\n{rows}        ],\n        \
             single: &[\n{single}        ],\n    }},\n"
        );
    }
    source.push_str("];\n");
    Ok((source, evidence))
}

const HEAD: &str = "//! The fastest ways that were measured, written by `cargo xtask tune`.\n\n\
    use super::choice::Choice::{Lanes, Packed, Shared, Whole};\nuse super::choice::{Measured, Work};\n\n\
    /// For each work and each number of bytes of a value.\n#[rustfmt::skip]\npub const MEASURED: &[Measured] = &[\n";

/// The lengths that were measured, with the times of each subject; the length is a power of two.
fn lengths<'a>(
    measurements: &'a Measurements,
    is_single: bool,
    work: &str,
    value_bytes: usize,
) -> BTreeMap<u32, Times<'a>> {
    let mut lengths: BTreeMap<u32, Times<'a>> = BTreeMap::new();
    for (case, times) in &measurements.0 {
        let Case { subject, .. } = case;
        if case.is_single == is_single && subject.work == work && subject.value_bytes == value_bytes
        {
            lengths
                .entry(case.row_bytes)
                .or_default()
                .push((subject, times));
        }
    }
    lengths
}

/// The choice whose worst time, divided by the subject's best, is least; `before` if that is hardly worse.
fn best(times: &Times<'_>, before: Option<&str>) -> Option<String> {
    let (_, first) = times.first()?;
    let score = |choice: &str| {
        times
            .iter()
            .map(|(_, times)| Some(times.get(choice)? / fastest(times)?.1))
            .try_fold(0.0_f64, |worst, share| Some(worst.max(share?)))
    };
    let scored = first
        .keys()
        .filter(|choice| choice.contains('{'))
        .filter_map(|choice| Some((choice, score(choice)?)));
    let (choice, least) = scored.min_by(|left, right| left.1.total_cmp(&right.1))?;
    match before.and_then(score) {
        Some(share) if share <= least + ALIKE => before.map(str::to_owned),
        _ => Some(choice.clone()),
    }
}

/// The fastest choice, and its time.
fn fastest(times: &BTreeMap<String, f64>) -> Option<(&str, f64)> {
    let choices = times.iter().filter(|(choice, _)| choice.contains('{'));
    let best = choices.min_by(|left, right| left.1.total_cmp(right.1))?;
    Some((best.0, *best.1))
}

/// A line of the table's source.
fn line(is_single: bool, row_bytes: u32, choice: &str) -> Option<String> {
    if !is_single {
        let choice = choice
            .replace('{', " { ")
            .replace('}', " }")
            .replace(':', ": ")
            .replace(',', ", ");
        let choice = choice.replace(&u32::MAX.to_string(), "u32::MAX");
        return Some(format!("            ({row_bytes}, {choice}),\n"));
    }
    let numbers = choice.strip_prefix("Shared{block:")?.strip_suffix('}')?;
    let (block, blocks) = numbers.split_once(",blocks:")?;
    Some(format!("            ({row_bytes}, {block}, {blocks}),\n"))
}

/// What the choice gives up for each subject.
fn prove(evidence: &mut String, is_single: bool, row_bytes: u32, times: &Times<'_>, choice: &str) {
    let kind = if is_single { "single" } else { "rows" };
    for (subject, times) in times {
        if let (Some(ms), Some((fastest, least))) = (times.get(choice), fastest(times)) {
            let (choice, fastest) = (choice.replace(',', " "), fastest.replace(',', " "));
            let _ = writeln!(
                evidence,
                "{kind},{},{},{choice},{ms},{fastest},{least}",
                1_u64 << row_bytes,
                subject.name
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "a GPU\nsum of f32: Little work for 4 bytes\nheads\n\
        16 4 ceiling - - 0.1 1 1.0\n16 4 Lanes{lanes:1,blocks:4294967295} 1 256 0.30 1 1.0\n16 4 Packed{block:256,blocks:8} 1 256 0.20 1 1.0\n\
        8 8 Lanes{lanes:1,blocks:4294967295} 1 256 0.2 1 1.0\n8 8 Packed{block:256,blocks:8} 1 256 0.2005 1 1.0\n";
    const MAX: &str = "a GPU\nmax of f32: Little work for 4 bytes\nheads\n\
        16 4 Lanes{lanes:1,blocks:4294967295} 1 256 0.20 1 1.0 chosen\n16 4 Packed{block:256,blocks:8} 1 256 0.25 1 1.0\n\
        8 8 Lanes{lanes:1,blocks:4294967295} 1 256 0.2 1 1.0\n8 8 Packed{block:256,blocks:8} 1 256 0.2 1 1.0\n";
    const SINGLE: &str = "a GPU\nsum of f32: Little work for 4 bytes\nheads\n1 256 Shared{block:512,blocks:66} 66 512 0.003 1 NaN\n";

    fn measured(texts: &[(&str, bool)]) -> Measurements {
        let mut measurements = Measurements::default();
        for (text, is_single) in texts {
            measurements
                .read("a file", text, *is_single)
                .expect("these are measurements");
        }
        measurements
    }

    #[test]
    fn the_choice_that_gives_up_least_and_stays_where_it_is_alike() {
        let (source, evidence) =
            of(&measured(&[(SUM, false), (MAX, false), (SINGLE, true)])).expect("enough is there");
        // 0.25 / 0.20 of the maximum is less than 0.30 / 0.20 of the sum, and what it gives up for the longer rows is nearly nothing.
        assert!(
            source.contains(
                "rows: &[\n            (4, Packed { block: 256, blocks: 8 }),\n        ],"
            ),
            "{source}"
        );
        assert!(
            source.contains("single: &[\n            (10, 512, 66),\n        ],"),
            "{source}"
        );
        assert!(evidence.contains("rows,16,max of f32,Packed{block:256 blocks:8},0.25,Lanes{lanes:1 blocks:4294967295},0.2\n"), "{evidence}");
    }

    #[test]
    fn what_is_missing_or_no_measurement_is_said() {
        assert_eq!(
            of(&measured(&[(SUM, false)])),
            Err("Little work for 4 bytes".to_owned())
        );
        let error = Measurements::default().read(
            "a file",
            "a GPU\nsum of f32: Little work for 4 bytes\nheads\nfour\n",
            false,
        );
        assert!(
            error
                .expect_err("it is none")
                .to_string()
                .contains("a file, line 4: `four`")
        );
    }
}
