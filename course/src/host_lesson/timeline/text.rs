//! Timelines as text.

use super::{Kind, Lane, Timeline, kinds, longest_ms};

/// Cells of the longest timeline.
const CELLS: usize = 60;

/// The timelines one below the other, on one scale.
pub fn text(timelines: &[Timeline]) -> String {
    let longest_ms = longest_ms(timelines);
    let lanes = timelines.iter().flat_map(|timeline| &timeline.lanes);
    let widest = lanes.map(|lane| lane.name.chars().count()).max();
    let widest = widest.unwrap_or(0);
    let mut text = String::new();
    for timeline in timelines {
        let title = &timeline.title;
        text += &format!("{title}: {:.3} ms\n", timeline.elapsed_ms());
        for lane in &timeline.lanes {
            let line = format!("  {:<widest$}  {}", lane.name, bars(lane, longest_ms));
            text += &format!("{}\n", line.trim_end());
        }
    }
    let legend = kinds(timelines).map(|kind| format!("{} {}", glyph(kind), kind.name()));
    let legend = legend.collect::<Vec<_>>().join(" · ");
    text + &format!("{legend} · {CELLS} cells are {longest_ms:.3} ms")
}

/// The operations of a lane, each at least a cell wide.
fn bars(lane: &Lane, longest_ms: f64) -> String {
    let cell = |time_ms: f64| (time_ms / longest_ms * CELLS as f64).round() as usize;
    let mut cells = [' '; CELLS];
    for span in &lane.spans {
        let start = cell(span.start_ms).min(CELLS - 1);
        let end = cell(span.end_ms).clamp(start + 1, CELLS);
        cells[start..end].fill(glyph(span.kind));
    }
    cells.iter().collect()
}

fn glyph(kind: Kind) -> char {
    match kind {
        Kind::Upload => '▼',
        Kind::Kernel => '█',
        Kind::Download => '△',
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{span, timeline};
    use super::*;

    #[test]
    fn lanes_stand_one_below_the_other_on_one_scale() {
        let text = text(&[timeline()]);
        let lines: Vec<&str> = text.lines().collect();
        let bar = |glyph: &str, cells: usize| glyph.repeat(cells);
        assert_eq!(lines[0], "two & one: 2.000 ms");
        assert_eq!(lines[1], format!("  stream 1  {}", bar("█", 30)));
        let second = bar(" ", 15) + &bar("█", 30) + &bar("△", 15);
        assert_eq!(lines[2], format!("  stream 2  {second}"));
        assert_eq!(
            lines[3],
            "█ kernel · △ copy to the host · 60 cells are 2.000 ms"
        );
    }

    #[test]
    fn the_shortest_operation_has_a_cell_inside_the_line() {
        let lane = |start_ms, end_ms| Lane {
            name: String::new(),
            spans: vec![span(Kind::Upload, start_ms, end_ms)],
        };
        for (start_ms, end_ms) in [(0.0, 1e-9), (2.0 - 1e-9, 2.0), (1.0, 1.0)] {
            let bars = bars(&lane(start_ms, end_ms), 2.0);
            assert_eq!(bars.chars().count(), CELLS);
            assert_eq!(bars.matches('▼').count(), 1, "{start_ms}");
        }
    }
}
