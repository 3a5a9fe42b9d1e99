//! The table of sums by several GPUs.

use super::groups_record::{
    AS_GRAPH, FIXED, GroupPoint, GroupTime, GroupsRecord, InARow, NCCL, QUEUED,
};

/// Bytes of a value.
const VALUE: f64 = 4.0;

/// What the document shows.
pub fn shown(records: &[GroupsRecord]) -> String {
    records.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// A record's tables.
fn block(record: &GroupsRecord) -> String {
    let mut text = format!(
        "{} · driver {} · {} · {}\n\n",
        gpus(&record.devices),
        record.driver,
        record.compilers.join(", "),
        record.date.split('T').next().unwrap_or_default()
    );
    text += "One sum:\n\n";
    text += "| `f32` in all | slower GPU alone | queued | as a graph | fixed order | NCCL after CUB | queued − alone | NCCL ÷ queued | alone ÷ queued | TB/s |\n";
    text += "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
    for point in &record.points {
        let GroupPoint {
            n, alone_ms, times, ..
        } = point;
        text += &row(*n, alone_ms, times, &[AS_GRAPH, FIXED]);
    }
    let rounds = record
        .points
        .first()
        .map_or(0, |point| point.in_a_row.rounds);
    text += &format!("\nEach of {rounds} sums in a row:\n\n");
    text += "| `f32` in all | slower GPU alone | `queue_on` | NCCL after CUB | ours − alone | NCCL ÷ ours | alone ÷ ours | TB/s |\n";
    text += "|--:|--:|--:|--:|--:|--:|--:|--:|\n";
    for point in &record.points {
        let InARow {
            alone_ms, times, ..
        } = &point.in_a_row;
        text += &row(point.n, alone_ms, times, &[]);
    }
    for left_out in &record.left_out {
        text += &format!("\nLeft out: {left_out}.\n");
    }
    text
}

/// `2 × NVIDIA H200`.
fn gpus(devices: &[String]) -> String {
    let name = |device: &String| {
        let (_, name) = device.split_once(": ")?;
        Some(name.split(',').next()?.to_owned())
    };
    let first = devices.first().and_then(name).unwrap_or_default();
    format!("{} × {first}", devices.len())
}

/// The times of everybody for `n` values, and what they say of ours. `between` are shown after ours.
fn row(n: usize, alone_ms: &[f64], times: &[GroupTime], between: &[&str]) -> String {
    let of = |name: &str| {
        let time = times.iter().find(|time| time.name == name);
        time.map(|time| time.median_ms)
    };
    let number = |number: Option<f64>, digits: usize| {
        number.map_or_else(String::new, |number| format!("{number:.digits$}"))
    };
    let microseconds = |ms: Option<f64>| number(ms.map(|ms| 1e3 * ms), 1);
    let alone = alone_ms.iter().copied().fold(0.0, f64::max);
    let (ours, nccl) = (of(QUEUED), of(NCCL));
    let mut cells = vec![
        super::figures::size(n),
        microseconds(Some(alone)),
        microseconds(ours),
    ];
    cells.extend(between.iter().map(|name| microseconds(of(name))));
    cells.extend([
        microseconds(nccl),
        microseconds(ours.map(|ours| ours - alone)),
        number(nccl.zip(ours).map(|(nccl, ours)| nccl / ours), 2),
        number(ours.map(|ours| alone / ours), 3),
        number(ours.map(|ours| n as f64 * VALUE / ours / 1e9), 2),
    ]);
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{GROUPS, blocks, read_groups};
    use std::fs;

    #[test]
    fn the_document_shows_the_committed_record_or_nothing() {
        let repository = crate::repository();
        let shown = shown(&read_groups(repository).expect("the records can be read"));
        let document = fs::read_to_string(repository.join(GROUPS)).expect("it is committed");
        let written = blocks::with_block(&document, "groups", &shown);
        assert!(
            written.as_ref() == Some(&document),
            "{GROUPS} is out of date: `cargo xtask results peers/results/h200.json` writes it anew"
        );
    }

    #[test]
    fn a_row_has_the_differences_and_the_ratios() {
        let time = |name: &str, median_ms| GroupTime {
            name: name.to_owned(),
            launches: 1,
            median_ms,
            fastest_ms: median_ms,
        };
        let times = [time(QUEUED, 0.0125), time(NCCL, 0.025)];
        assert_eq!(
            row(1 << 20, &[0.009, 0.01], &times, &[]),
            "| 2^20 | 10.0 | 12.5 | 25.0 | 2.5 | 2.00 | 0.800 | 0.34 |\n"
        );
        let with_graph = [&times[..], &[time(AS_GRAPH, 0.02)]].concat();
        assert_eq!(
            row(1 << 20, &[0.009, 0.01], &with_graph, &[AS_GRAPH, FIXED]),
            "| 2^20 | 10.0 | 12.5 | 20.0 |  | 25.0 | 2.5 | 2.00 | 0.800 | 0.34 |\n"
        );
    }
}
