//! The heat map of a record.

use warpfold_plot::{HeatCell, HeatMap, HeatPlot, LinePlotError};

use super::names::{group, shape};
use super::table::{OPERATORS, cell};
use crate::results::shapes_record::{Group, ShapesRecord};

/// The groups of each column of the picture.
const COLUMNS: [&[Group]; 2] = [
    &[
        Group::Rows,
        Group::OddRows,
        Group::Columns,
        Group::OddColumns,
    ],
    &[
        Group::Types,
        Group::TypeColumns,
        Group::Segments,
        Group::Graphs,
        Group::Scans,
        Group::Keys,
    ],
];

/// The picture as SVG.
///
/// # Errors
/// The drawing library's.
pub fn svg(record: &ShapesRecord) -> Result<String, LinePlotError> {
    let column = |groups: &[Group]| {
        let maps = groups.iter().map(|&group| map(record, group));
        maps.filter(|map| !map.rows.is_empty()).collect()
    };
    let plot = HeatPlot {
        title: "The best peer's time divided by ours, and our share of the speed of only reading and writing",
        subtitle: &format!(
            "{} · blue: the best peer takes longer; red: it takes less",
            record.device
        ),
        columns: COLUMNS.map(column).into(),
    };
    plot.to_svg()
}

fn map(record: &ShapesRecord, of: Group) -> HeatMap {
    let points = || record.points.iter().filter(move |point| point.group == of);
    let columns: Vec<String> = OPERATORS
        .into_iter()
        .filter(|&operator| points().any(|point| point.operator == operator))
        .map(str::to_owned)
        .collect();
    let mut rows: Vec<(String, Vec<Option<HeatCell>>)> = Vec::new();
    for point in points() {
        let name = shape(point);
        let place = rows.iter().position(|(other, _)| *other == name);
        let place = place.unwrap_or_else(|| {
            rows.push((name, vec![None; columns.len()]));
            rows.len() - 1
        });
        let column = columns.iter().position(|name| *name == point.operator);
        if let Some(column) = column {
            rows[place].1[column] = Some(HeatCell {
                ratio: point.ratio(),
                text: cell(point),
            });
        }
    }
    HeatMap {
        title: group(of).to_owned(),
        columns,
        rows,
    }
}
