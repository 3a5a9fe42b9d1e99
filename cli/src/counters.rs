//! The emulator's counters, as tables and JSON show them. Their names and what they are counted from are in the emulator's
//! [`METRICS`](warpfold_emulator::METRICS).

use super::show;
use serde::{Serialize, Serializer};
use std::ops::Deref;
use warpfold_emulator::{Counters, GridCounts, Measurements, Metric, Unit};

/// The metrics that every run on the emulator shows, in their order. Each has its name in tables, unless only the JSON shows it.
const SHOWN: [(&str, Option<&str>); 21] = [
    ("warp_instructions", Some("warp instructions")),
    ("thread_instructions", Some("thread instructions")),
    ("threads_launched", Some("threads launched")),
    ("threads_working", Some("threads that accessed memory")),
    ("child_grids", Some("grids launched by kernels")),
    ("grid_generations", Some("their generations")),
    ("child_grids_pending", Some("pending at one time")),
    ("branches", Some("branches")),
    ("divergent_branches", Some("divergent branches")),
    ("branch_efficiency", Some("branch efficiency")),
    ("assembled_branches", None),
    ("assembled_divergent_branches", None),
    (
        "assembled_branch_efficiency",
        Some("branch efficiency, assembled"),
    ),
    ("global_load_bytes", Some("global bytes loaded")),
    ("global_store_bytes", Some("global bytes stored")),
    ("global_sectors", Some("global sectors")),
    ("global_sectors_ideal", Some("global sectors, ideal")),
    ("global_useful_bytes_per_sector", None),
    ("shared_wavefronts", Some("shared wavefronts")),
    ("shared_wavefronts_ideal", Some("shared wavefronts, ideal")),
    ("barriers", Some("barriers")),
];

/// Those about grids that kernels launched, the first their number.
const GRIDS: [&str; 3] = ["child_grids", "grid_generations", "child_grids_pending"];

/// What the emulator counted while a kernel ran. The JSON has each metric by its name; the names of percentages end in `_percent`.
#[derive(Clone, Debug)]
pub struct CounterFigures(Measurements);

impl CounterFigures {
    /// The figures of one launch.
    pub fn new(counters: Counters, grids: GridCounts) -> Self {
        Self(Measurements {
            counters,
            grids: Some(grids),
            ..Measurements::default()
        })
    }

    /// The value of a metric.
    pub fn value(&self, name: &str) -> Option<f64> {
        named(name).value(&self.0)
    }

    /// Name and value of each figure, for a table. Where kernels launched no grids, nothing is said of them.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, String)> {
        let is_nested = self.value(GRIDS[0]) > Some(0.0);
        SHOWN
            .iter()
            .filter(move |(name, _)| is_nested || !GRIDS.contains(name))
            .filter_map(|&(name, title)| Some((title?, text(named(name), &self.0))))
    }
}

impl Deref for CounterFigures {
    type Target = Counters;

    fn deref(&self) -> &Counters {
        &self.0.counters
    }
}

impl Serialize for CounterFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(SHOWN.iter().map(|&(name, _)| {
            let metric = named(name);
            let unit = match metric.unit {
                Unit::Percent => "_percent",
                Unit::Count | Unit::Ratio => "",
            };
            (format!("{name}{unit}"), Figure::new(metric, &self.0))
        }))
    }
}

/// A metric's value as JSON has it: counts as whole numbers, and `null` where there is none.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number of whole things.
    Count(u64),
    /// Anything else, if it has a value.
    Other(Option<f64>),
}

impl Figure {
    /// The value of a metric.
    pub fn new(metric: &Metric, measured: &Measurements) -> Self {
        match (metric.value(measured), metric.unit) {
            (Some(count), Unit::Count) => Self::Count(count as u64),
            (value, _) => Self::Other(value),
        }
    }
}

/// A metric's value as tables have it.
pub fn text(metric: &Metric, measured: &Measurements) -> String {
    match (metric.value(measured), metric.unit) {
        (None, _) => "–".to_owned(),
        (Some(count), Unit::Count) => show::count(count as u64),
        (Some(ratio), Unit::Ratio) => format!("{ratio:.2}"),
        (Some(percent), Unit::Percent) => show::percent(percent),
    }
}

fn named(name: &str) -> &'static Metric {
    Metric::find(name).expect("the name of a metric, which a test reads")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_is_a_metric_that_follows_from_the_counters() {
        let counters = Counters {
            inst_executed: 12_345,
            ..Counters::default()
        };
        let figures = CounterFigures::new(counters, GridCounts::default());
        let json = serde_json::to_value(&figures).unwrap();
        assert_eq!(json.as_object().unwrap().len(), SHOWN.len());
        assert_eq!(json["warp_instructions"], 12_345);
        assert_eq!(json["branch_efficiency_percent"], 100.0);
        assert!(json["global_useful_bytes_per_sector"].is_null());
        let first = figures.rows().next();
        assert_eq!(first, Some(("warp instructions", "12,345".to_owned())));
    }
}
