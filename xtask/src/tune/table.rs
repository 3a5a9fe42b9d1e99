//! The table: for each number of bytes in all and each length of rows the choice that gives up least against the fastest of each operator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::measurements::{Case, Kind, Measurements, Subject};

/// A choice that is within so much of the best one stays what it was for shorter rows.
const ALIKE: f64 = 0.001;

/// The kind of work that has no rows.
const PAIRS: &str = "Pairs";

/// Times by subjects and choices.
type Times<'a> = Vec<(&'a Subject, &'a BTreeMap<String, f64>)>;

/// The times of a shape, which is that of the case.
struct CaseTimes<'a> {
    case: &'a Case,
    times: Times<'a>,
}

/// The source of the table, and the evidence as lines of CSV.
///
/// # Errors
/// What has not been measured.
pub fn of(measurements: &Measurements) -> Result<(String, String), String> {
    let groups: BTreeSet<(&str, usize)> = measurements
        .times
        .keys()
        .map(|case| (case.subject.work.as_str(), case.subject.value_bytes))
        .collect();
    let Device {
        name,
        multiprocessors,
        bytes_per_second,
    } = Device::of(&measurements.device)
        .ok_or_else(|| "a GPU whose memory's speed is known".to_owned())?;
    let mut source = format!(
        "//! The fastest ways that were measured on an {name}, written by `cargo xtask tune`.\n\n{HEAD}        \
         multiprocessors: {multiprocessors},\n        bytes_per_second: Some({bytes_per_second}),\n    }},\n    measured: &[\n"
    );
    let mut evidence = format!(
        "# {}\nkind,all_bytes,row_bytes,subject,choice,ms,fastest,fastest_ms\n",
        measurements.device
    );
    for (work, value_bytes) in groups {
        let what = format!("{work} work for {value_bytes} bytes");
        let of_group =
            |case: &&Case| case.subject.work == work && case.subject.value_bytes == value_bytes;
        let mut shapes = |kind: Kind| -> Result<String, String> {
            let is_of = |case: &&Case| of_group(case) && case.kind == kind;
            let totals: BTreeSet<u32> = (measurements.times.keys().filter(is_of))
                .map(|case| case.all_bytes)
                .collect();
            let mut shapes = String::new();
            for all_bytes in totals {
                let of_total = |case: &Case| is_of(&case) && case.all_bytes == all_bytes;
                let times = lengths(measurements, of_total);
                let lines = lines(&times, &what, &mut evidence)?;
                let _ = write!(
                    shapes,
                    "                ({all_bytes}, &[\n{lines}                ]),\n"
                );
            }
            Ok(shapes)
        };
        let (rows, odd_rows) = (shapes(Kind::Rows)?, shapes(Kind::OddRows)?);
        let columns = shapes(Kind::Columns)?;
        let times = lengths(measurements, |case| {
            of_group(&case) && case.kind == Kind::Single
        });
        let single = lines(&times, &what, &mut evidence)?;
        if rows.is_empty() && work != PAIRS || single.is_empty() {
            return Err(what);
        }
        let _ = write!(
            source,
            "        Measured {{\n            work: Work::{work},\n            value_bytes: {value_bytes},\n            rows: &[\n{rows}            ],\n            \
             odd_rows: &[\n{odd_rows}            ],\n            columns: &[\n{columns}            ],\n            single: &[\n{single}            ],\n        }},\n"
        );
    }
    source.push_str("    ],\n};\n");
    Ok((source, evidence))
}

const HEAD: &str = "use crate::reduce::choice::Choice::{Columns, Lanes, Packed, Shared, Whole};\nuse crate::reduce::choice::{Gpu, Measured, Tuned, Work};\n\n\
    /// For each work and each number of bytes of a value.\n#[rustfmt::skip]\npub const TUNED: Tuned = Tuned {\n    gpu: Gpu {\n";

/// What a GPU's description says of it.
pub struct Device {
    /// `NVIDIA H200`
    pub name: String,
    multiprocessors: u32,
    bytes_per_second: String,
}

impl Device {
    /// `GPU 0: NVIDIA H200, sm_90, 132 SMs, 139.8 GiB, 4.8 TB/s`
    pub fn of(description: &str) -> Option<Self> {
        let (_, description) = description.split_once(": ")?;
        let parts: Vec<&str> = description.split(", ").collect();
        let [name, _sm, multiprocessors, _memory, speed] = parts[..] else {
            return None;
        };
        let (number, exponent) = match speed.split_once(' ')? {
            (number, "TB/s") => (number, 12),
            (number, "GB/s") => (number, 9),
            _ => return None,
        };
        number.parse::<f64>().ok()?;
        Some(Self {
            name: name.to_owned(),
            multiprocessors: multiprocessors.strip_suffix(" SMs")?.parse().ok()?,
            bytes_per_second: format!("{number}e{exponent}"),
        })
    }

    /// The name of its module: `h200`.
    pub fn module(&self) -> String {
        let words = self
            .name
            .split(|letter: char| !letter.is_ascii_alphanumeric());
        let words: Vec<String> = (words.filter(|word| !["", "NVIDIA"].contains(word)))
            .map(str::to_lowercase)
            .collect();
        words.join("_")
    }
}

/// The shapes that were measured of some cases, by the length of their rows, with the times of each subject.
fn lengths(
    measurements: &Measurements,
    is_one: impl Fn(&Case) -> bool,
) -> BTreeMap<u32, CaseTimes<'_>> {
    let mut lengths: BTreeMap<u32, CaseTimes<'_>> = BTreeMap::new();
    for (case, times) in measurements.times.iter().filter(|(case, _)| is_one(case)) {
        let of_length = lengths.entry(case.row_bytes).or_insert(CaseTimes {
            case,
            times: Vec::new(),
        });
        of_length.times.push((&case.subject, times));
    }
    lengths
}

/// The lines of the table for rows of these lengths, one wherever the choice changes.
fn lines(
    lengths: &BTreeMap<u32, CaseTimes<'_>>,
    what: &str,
    evidence: &mut String,
) -> Result<String, String> {
    let mut lines = String::new();
    let mut chosen: Option<String> = None;
    for (row_bytes, shape) in lengths {
        let choice = best(&shape.times, chosen.as_deref())
            .ok_or_else(|| format!("{what}, rows of {row_bytes} bytes"))?;
        prove(evidence, shape, &choice);
        if chosen.as_ref() != Some(&choice) {
            let line = line(shape.case, &choice).ok_or_else(|| format!("{what}: `{choice}`"))?;
            lines.push_str(&line);
            chosen = Some(choice);
        }
    }
    Ok(lines)
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
fn line(case: &Case, choice: &str) -> Option<String> {
    let row_bytes = case.row_bytes;
    if case.kind != Kind::Single {
        let choice = choice
            .replace('{', " { ")
            .replace('}', " }")
            .replace(':', ": ")
            .replace(',', ", ");
        let choice = choice.replace(&u32::MAX.to_string(), "u32::MAX");
        return Some(format!("                    ({row_bytes}, {choice}),\n"));
    }
    let numbers = choice.strip_prefix("Shared{block:")?.strip_suffix('}')?;
    let (block, blocks) = numbers.split_once(",blocks:")?;
    Some(format!(
        "                ({row_bytes}, {block}, {blocks}),\n"
    ))
}

/// What the choice gives up for each subject.
fn prove(evidence: &mut String, shape: &CaseTimes<'_>, choice: &str) {
    let Case {
        kind,
        all_bytes,
        row_bytes,
        ..
    } = *shape.case;
    for (subject, times) in &shape.times {
        if let (Some(ms), Some((fastest, least))) = (times.get(choice), fastest(times)) {
            let (choice, fastest) = (choice.replace(',', " "), fastest.replace(',', " "));
            let _ = writeln!(
                evidence,
                "{kind},{},{},{},{choice},{ms},{fastest},{least}",
                1_u64 << all_bytes,
                1_u64 << row_bytes,
                subject.name
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "GPU 0: NVIDIA Example, sm_86, 82 SMs, 24.0 GiB, 936 GB/s\nsum of f32: Little work for 4 bytes\nheads\n\
        16 4 ceiling - - 0.1 1 1.0\n16 4 Lanes{lanes:1,blocks:4294967295} 1 256 0.30 1 1.0\n16 4 Packed{block:256,blocks:8} 1 256 0.20 1 1.0\n\
        8 8 Lanes{lanes:1,blocks:4294967295} 1 256 0.2 1 1.0\n8 8 Packed{block:256,blocks:8} 1 256 0.2001 1 1.0\n";
    const MAX: &str = "GPU 0: NVIDIA Example, sm_86, 82 SMs, 24.0 GiB, 936 GB/s\nmax of f32: Little work for 4 bytes\nheads\n\
        16 4 Lanes{lanes:1,blocks:4294967295} 1 256 0.20 1 1.0 chosen\n16 4 Packed{block:256,blocks:8} 1 256 0.25 1 1.0\n\
        8 8 Lanes{lanes:1,blocks:4294967295} 1 256 0.2 1 1.0\n8 8 Packed{block:256,blocks:8} 1 256 0.2 1 1.0\n";
    const SINGLE: &str = "GPU 0: NVIDIA Example, sm_86, 82 SMs, 24.0 GiB, 936 GB/s\nsum of f32: Little work for 4 bytes\nheads\n1 256 Shared{block:512,blocks:66} 66 512 0.003 1 NaN\n";

    const COLUMNS: &str = "GPU 0: NVIDIA Example, sm_86, 82 SMs, 24.0 GiB, 936 GB/s\nsum of f32: Little work for 4 bytes\nheads\n\
        16 4 ceiling - - 0.1 1 1.0\n16 4 Columns{width:32,blocks:1} 1 256 0.30 1 1.0 chosen\n16 4 Columns{width:32,blocks:2} 2 256 0.20 1 1.0 best\n";

    const ODD: &str = "GPU 0: NVIDIA Example, sm_86, 82 SMs, 24.0 GiB, 936 GB/s\nsum of f32: Little work for 4 bytes\nheads\n\
        21 3 Lanes{lanes:1,blocks:8} 1 256 0.30 1 1.0\n21 3 Packed{block:256,blocks:8} 1 256 0.20 1 1.0\n";

    fn measured(texts: &[(&str, Kind)]) -> Measurements {
        let mut measurements = Measurements::default();
        for (text, kind) in texts {
            measurements
                .read("a file", text, *kind)
                .expect("these are measurements");
        }
        measurements
    }

    #[test]
    fn the_choice_that_gives_up_least_and_stays_where_it_is_alike() {
        let (source, evidence) = of(&measured(&[
            (SUM, Kind::Rows),
            (MAX, Kind::Rows),
            (ODD, Kind::OddRows),
            (SINGLE, Kind::Single),
            (COLUMNS, Kind::Columns),
        ]))
        .expect("enough is there");
        // 0.25 / 0.20 of the maximum is less than 0.30 / 0.20 of the sum, and what it gives up for the longer rows is nearly nothing.
        assert!(
            source.contains(
                "rows: &[\n                (8, &[\n                    (4, Packed { block: 256, blocks: 8 }),\n                ]),\n            ],"
            ),
            "{source}"
        );
        // 252 bytes are 256 but for less than a row.
        assert!(
            source.contains(
                "odd_rows: &[\n                (8, &[\n                    (3, Packed { block: 256, blocks: 8 }),\n                ]),\n            ],"
            ),
            "{source}"
        );
        assert!(
            source.contains("single: &[\n                (10, 512, 66),\n            ],"),
            "{source}"
        );
        assert!(evidence.contains("rows,256,16,max of f32,Packed{block:256 blocks:8},0.25,Lanes{lanes:1 blocks:4294967295},0.2\n"), "{evidence}");
        assert!(
            source.contains(
                "columns: &[\n                (8, &[\n                    (4, Columns { width: 32, blocks: 2 }),\n                ]),\n            ],"
            ),
            "{source}"
        );
        assert!(evidence.contains("columns,256,16,sum of f32,Columns{width:32 blocks:2},0.2,Columns{width:32 blocks:2},0.2\n"), "{evidence}");
    }

    #[test]
    fn a_gpu_is_what_its_description_says() {
        let source = of(&measured(&[(SUM, Kind::Rows), (SINGLE, Kind::Single)]))
            .expect("enough is there")
            .0;
        assert!(
            source.contains("multiprocessors: 82,\n        bytes_per_second: Some(936e9),"),
            "{source}"
        );
        let device = Device::of("GPU 1: NVIDIA H100 80GB HBM3, sm_90, 132 SMs, 79.2 GiB, 3.4 TB/s");
        assert_eq!(
            device.map(|device| device.module()).as_deref(),
            Some("h100_80gb_hbm3")
        );
        assert!(Device::of("GPU 1: NVIDIA H200, sm_90, 132 SMs, 139.8 GiB").is_none());
    }

    #[test]
    fn what_is_missing_or_no_measurement_is_said() {
        assert_eq!(
            of(&measured(&[(SUM, Kind::Rows)])),
            Err("Little work for 4 bytes".to_owned())
        );
        let error = Measurements::default().read(
            "a file",
            "GPU 0: NVIDIA Example, sm_86, 82 SMs, 24.0 GiB, 936 GB/s\nsum of f32: Little work for 4 bytes\nheads\nfour\n",
            Kind::Rows,
        );
        assert!(
            error
                .expect_err("it is none")
                .to_string()
                .contains("a file, line 4: `four`")
        );
    }
}
