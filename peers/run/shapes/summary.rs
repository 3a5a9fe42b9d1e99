//! The record in a few lines, for who has started the run.

use crate::shapes_record::{Group, Missing, Point, ShapesRecord};
use clap::ValueEnum;

/// A line for each shape, with the time of the best peer divided by ours and our share of the ceiling, by operator; and who was left out.
pub fn text(record: &ShapesRecord) -> String {
    let mut text = "the best peer's time divided by ours; our share of the ceiling".to_owned();
    for &group in Group::value_variants() {
        let points = record.points.iter().filter(|point| point.group == group);
        let mut line: Option<(String, String)> = None;
        for point in points {
            let label = label(point);
            match &mut line {
                Some((of, cells)) if *of == label => *cells += &cell(point),
                _ => {
                    finish(&mut text, line.take());
                    line = Some((label, cell(point)));
                }
            }
        }
        finish(&mut text, line);
    }
    let mut told: Vec<(&str, &str)> = Vec::new();
    for Missing { name, at, reason } in &record.left_out {
        if told.contains(&(name, reason)) {
            continue;
        }
        told.push((name, reason));
        let same = record.left_out.iter();
        let times = same
            .filter(|other| other.name == *name && other.reason == *reason)
            .count();
        let at = match (at, times) {
            (None, _) => String::new(),
            (Some(at), 1) => format!(" at {at}"),
            (Some(at), _) => format!(" at {at} and {} more", times - 1),
        };
        text += &format!("\nleft out: {name}{at}: {reason}");
    }
    text
}

fn finish(text: &mut String, line: Option<(String, String)>) {
    if let Some((label, cells)) = line {
        *text += &format!("\n{label}:{cells}");
    }
}

fn label(point: &Point) -> String {
    let value = point.group.to_possible_value();
    let group = value.as_ref().map_or("", |value| value.get_name());
    format!("{group} {} {}", point.element_type, point.shape())
}

fn cell(point: &Point) -> String {
    let ratio = point
        .ratio()
        .map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let share = point
        .share()
        .map_or("-".to_owned(), |share| format!("{:.0}%", 100.0 * share));
    format!("  {} {ratio} {share}", point.operator)
}
