//! What a record comes to: bounds that our calls are to keep, and those that they miss.

use super::names::{group, shape};
use crate::results::shapes_record::{Group, Point, ShapesRecord, Time};

/// How much longer than a kernel that only reads a small array may take, where that is more than a share of the best peer: 0.3 µs.
const OVER_READING_MS: f64 = 0.0003;

/// One comparison.
struct Comparison {
    /// What is compared.
    what: String,
    /// Where.
    at: String,
    /// What was measured, and what it should be at least.
    found: f64,
    least: f64,
}

/// A line for each kind of comparison, and below it, indented, one for each that misses its bound.
pub fn verdict(record: &ShapesRecord) -> Vec<String> {
    let comparisons: Vec<Comparison> = record.points.iter().flat_map(of_point).collect();
    let mut kinds: Vec<&str> = Vec::new();
    for comparison in &comparisons {
        if !kinds.contains(&comparison.what.as_str()) {
            kinds.push(&comparison.what);
        }
    }
    let mut lines = Vec::new();
    for kind in kinds {
        let all = || comparisons.iter().filter(|one| one.what == kind);
        // NaN is a miss.
        let is_kept = |one: &Comparison| one.found >= one.least;
        let is_missed = |one: &&Comparison| !is_kept(one);
        let (count, missed) = (all().count(), all().filter(is_missed).count());
        let closest = all().min_by(|left, right| {
            (left.found / left.least).total_cmp(&(right.found / right.least))
        });
        let closest = closest.map_or_else(String::new, |one| {
            format!("{:.3} at {} (at least {:.2})", one.found, one.at, one.least)
        });
        lines.push(match missed {
            0 => format!("{kind}: kept in all {count}; closest to its bound: {closest}"),
            _ => format!("{kind}: missed in {missed} of {count}:"),
        });
        let line = |one: &Comparison| {
            let Comparison {
                at, found, least, ..
            } = one;
            format!("  {at}: {found:.3} (at least {least:.2})")
        };
        lines.extend(all().filter(is_missed).map(line));
    }
    lines
}

/// The comparisons of a point.
fn of_point(point: &Point) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    let group = group(point.group);
    let mut compare = |what: &str, found: Option<f64>, least: f64| {
        comparisons.extend(found.map(|found| Comparison {
            what: format!("{group}, {what}"),
            at: format!("{} of {}", point.operator, shape(point)),
            found,
            least,
        }));
    };
    let by = |starts: &str| {
        let is_of = |time: &&Time| time.name.starts_with(starts);
        let times = point.times.iter().filter(is_of);
        let best = times.min_by(|left, right| left.median_ms.total_cmp(&right.median_ms));
        Some(best?.median_ms / point.ours()?.median_ms)
    };
    let operator = point.operator.as_str();
    match point.group {
        Group::Rows | Group::Columns => {
            let least = match operator {
                "sum" | "max" | "mean" => Some(0.90),
                "argmax" | "argmax, u32" | "variance" => Some(0.85),
                _ => None,
            };
            if let Some(least) = least {
                compare("share of the ceiling", point.share(), least);
            }
            compare("best peer's time divided by ours", point.ratio(), 1.0);
            if operator == "log-sum-exp" {
                compare("torch's log-sum-exp divided by ours", by("torch."), 4.0);
            } else if point.group == Group::Rows {
                match point.columns {
                    64 => compare("torch's time divided by ours", by("torch."), 3.5),
                    4 | 16 => compare("torch's time divided by ours", by("torch."), 4.0),
                    _ => {}
                }
            }
        }
        Group::OddRows => {
            if operator != "log-sum-exp" {
                compare("share of the ceiling", point.share(), 0.60);
            }
            compare("best peer's time divided by ours", point.ratio(), 1.0);
        }
        Group::OddColumns => {
            compare("share of the ceiling", point.share(), 0.80);
            compare("best peer's time divided by ours", point.ratio(), 1.0);
        }
        Group::Types | Group::TypeColumns => compare("share of the ceiling", point.share(), 0.85),
        Group::Segments => {
            let least = if point.columns < 32 { 0.60 } else { 0.85 };
            compare("share of the ceiling", point.share(), least);
            compare("CUB's time divided by ours", by("cub::"), 1.0);
        }
        Group::Graphs => {
            let times = || Some((point.ours()?, point.best_peer()?, point.ceiling()?));
            if let Some((ours, best, ceiling)) = times() {
                let bound = match point.columns {
                    n if n <= 1 << 20 => {
                        let over_reading = ceiling.median_ms + OVER_READING_MS;
                        (0.75 * best.median_ms).max(over_reading)
                    }
                    _ => 0.95 * best.median_ms,
                };
                compare(
                    "allowed time divided by ours",
                    Some(bound / ours.median_ms),
                    1.0,
                );
            }
        }
        Group::Scans | Group::Keys => {
            compare("best peer's time divided by ours", point.ratio(), 1.0);
        }
    }
    comparisons
}
