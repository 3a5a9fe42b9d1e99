//! The table of sums by several GPUs.

use super::groups_record::{AS_GRAPH, FIXED, GroupPoint, GroupsRecord, NCCL, QUEUED};

/// Bytes of a value.
const VALUE: f64 = 4.0;

/// What the document shows.
pub fn block(record: &GroupsRecord) -> String {
    let mut text = format!(
        "{} · driver {} · {} · {}\n\n",
        gpus(&record.devices),
        record.driver,
        record.compilers.join(", "),
        record.date.split('T').next().unwrap_or_default()
    );
    text += "| `f32` in all | slower GPU alone | queued | as a graph | fixed order | NCCL after CUB | queued − alone | NCCL ÷ queued | alone ÷ queued | TB/s |\n";
    text += "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
    for point in &record.points {
        text += &row(point);
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

fn row(point: &GroupPoint) -> String {
    let of = |name: &str| {
        let time = point.times.iter().find(|time| time.name == name);
        time.map(|time| time.median_ms)
    };
    let microseconds =
        |ms: Option<f64>| ms.map_or_else(String::new, |ms| format!("{:.1}", 1e3 * ms));
    let alone = point.alone_ms.iter().copied().fold(0.0, f64::max);
    let queued = of(QUEUED);
    let ratio = |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    let cells = [
        super::figures::size(point.n),
        microseconds(Some(alone)),
        microseconds(queued),
        microseconds(of(AS_GRAPH)),
        microseconds(of(FIXED)),
        microseconds(of(NCCL)),
        microseconds(queued.map(|queued| queued - alone)),
        ratio(of(NCCL).zip(queued).map(|(nccl, queued)| nccl / queued)),
        queued.map_or_else(String::new, |queued| format!("{:.3}", alone / queued)),
        ratio(queued.map(|queued| point.n as f64 * VALUE / queued / 1e9)),
    ];
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::groups_record::GroupTime;
    use crate::results::{GROUPS, GROUPS_RECORD, blocks, read_groups};
    use std::fs;

    #[test]
    fn the_document_shows_the_committed_record_or_nothing() {
        let repository = crate::repository();
        let record = repository.join(GROUPS_RECORD);
        let shown = match record.is_file() {
            true => block(&read_groups(&record).expect("the record can be read")),
            false => String::new(),
        };
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
        let point = GroupPoint {
            n: 1 << 20,
            alone_ms: vec![0.009, 0.01],
            times: vec![time(QUEUED, 0.0125), time(NCCL, 0.025)],
        };
        assert_eq!(
            row(&point),
            "| 2^20 | 10.0 | 12.5 |  |  | 25.0 | 2.5 | 2.00 | 0.800 | 0.34 |\n"
        );
    }
}
