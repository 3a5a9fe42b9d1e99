//! A profile as JSON.

use super::arguments::By;
use super::measure::Profiled;
use super::residency::Residency;
use super::steps::{self, StepFigures};
use crate::counters::Figure;
use serde::ser::{Serialize, SerializeMap, Serializer};
use warpfold_course::data::Data;
use warpfold_course::element::ElementType;
use warpfold_emulator::{METRICS, Measurements, Unit};

/// What the command writes.
#[derive(serde::Serialize)]
pub struct Report<'a> {
    /// What the numbers mean.
    metrics: Vec<Meaning>,
    profiles: Vec<ProfileFigures<'a>>,
}

#[derive(serde::Serialize)]
struct Meaning {
    name: &'static str,
    ncu: Option<&'static str>,
    unit: &'static str,
    explanation: &'static str,
}

#[derive(serde::Serialize)]
struct ProfileFigures<'a> {
    kernel: &'a str,
    n: Option<usize>,
    element_type: Option<&'static str>,
    parameter: Option<u32>,
    data: Option<Data>,
    seed: Option<u64>,
    grid: [u32; 3],
    block: [u32; 3],
    is_right: Option<bool>,
    profiled_in_ms: f64,
    measured: Values,
    /// On each architecture that was asked for.
    occupancy: &'a [Residency],
    /// Only where the profile is by line.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<LineFigures<'a>>>,
    /// Only where the profile is by step.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepFigures>>,
}

#[derive(serde::Serialize)]
struct LineFigures<'a> {
    line: u32,
    ptx: Option<&'a str>,
    source_file: Option<String>,
    source_line: Option<u32>,
    measured: Values,
}

/// Every metric by its name; one without a value is `null`.
struct Values(Measurements);

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(METRICS.len()))?;
        for metric in METRICS {
            map.serialize_entry(metric.name, &Figure::new(metric, &self.0))?;
        }
        map.end()
    }
}

impl<'a> Report<'a> {
    /// The report on these profiles.
    pub fn new(profiles: &'a [Profiled], by: Option<By>) -> Self {
        Self {
            metrics: METRICS
                .iter()
                .map(|metric| Meaning {
                    name: metric.name,
                    ncu: metric.ncu,
                    unit: match metric.unit {
                        Unit::Count => "count",
                        Unit::Ratio => "ratio",
                        Unit::Percent => "percent",
                    },
                    explanation: metric.explanation,
                })
                .collect(),
            profiles: profiles
                .iter()
                .map(|profile| ProfileFigures {
                    kernel: profile.kernel.name(),
                    n: profile.workload.map(|workload| workload.n),
                    element_type: profile
                        .workload
                        .and_then(|workload| workload.element_type)
                        .map(ElementType::name),
                    parameter: profile.parameter.map(|(_, value)| value),
                    data: profile.workload.map(|workload| workload.data),
                    seed: profile.workload.and_then(|workload| workload.data.seed()),
                    grid: profile.grid.0,
                    block: profile.block.0,
                    is_right: profile.is_right,
                    profiled_in_ms: profile.profiled_in_ms,
                    measured: Values(profile.total),
                    occupancy: &profile.residencies,
                    lines: (by == Some(By::Line)).then(|| lines(profile)),
                    steps: profile.steps.as_deref().map(steps::figures),
                })
                .collect(),
        }
    }
}

fn lines(profile: &Profiled) -> Vec<LineFigures<'_>> {
    profile
        .lines
        .iter()
        .map(|&(line, measured)| {
            let source = profile.kernel.origin(line).map(|origin| origin.own);
            LineFigures {
                line,
                ptx: profile.kernel.line_text(line),
                source_line: source.as_ref().map(|source| source.line),
                source_file: source.map(|source| source.file),
                measured: Values(measured),
            }
        })
        .collect()
}
