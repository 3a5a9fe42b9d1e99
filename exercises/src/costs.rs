//! Which lines of a solution a counter comes from.

use std::collections::BTreeMap;
use std::fmt::Write;

use warpfold_emulator::{Metric, Profile};

use crate::run::Solution;

/// Lines that are shown at most.
const LINES: usize = 5;

/// The lines of the solution, whose text this is, that cost most of a metric, one below the other; empty where no line has any.
pub(crate) fn costs(
    solution: Solution<'_>,
    text: &str,
    profile: &Profile,
    metric: &'static str,
) -> String {
    let Some(of) = Metric::find(metric) else {
        return String::new();
    };
    let line_of = solution.lines();
    let mut by_line: BTreeMap<Option<u32>, f64> = BTreeMap::new();
    for (line, measurements) in profile.lines() {
        let value = of.value(&measurements).unwrap_or_default();
        *by_line.entry(line_of(line)).or_default() += value;
    }
    let mut lines: Vec<(Option<u32>, f64)> = by_line
        .into_iter()
        .filter(|(_, value)| *value > 0.0)
        .collect();
    lines.sort_by(|one, other| other.1.total_cmp(&one.1));
    if lines.is_empty() {
        return String::new();
    }
    let mut shown = format!("Where your {} come from:\n\n", metric.replace('_', " "));
    for (line, value) in lines.iter().take(LINES) {
        let (number, text) = match line {
            Some(line) => {
                let text = text.lines().nth(*line as usize - 1).unwrap_or_default();
                (line.to_string(), text.trim())
            }
            None => ("—".to_owned(), "what other lines call"),
        };
        let _ = writeln!(shown, "{value:>9.0}  line {number:>3}  {text}");
    }
    if lines.len() > LINES {
        let rest: f64 = lines[LINES..].iter().map(|(_, value)| value).sum();
        let _ = writeln!(shown, "{rest:>9.0}  {} other lines", lines.len() - LINES);
    }
    shown
}
