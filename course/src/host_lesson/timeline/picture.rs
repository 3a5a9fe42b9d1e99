//! Timelines as a picture.

use super::{Kind, Timeline, kinds, longest_ms};
use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{PathElement, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoTextStyle, RGBColor, WHITE};
use std::ops::Range;
use warpfold_plot::{BLUE, GREEN, RED, font, for_dark_pages, heading};

const WIDTH: u32 = 1000;
/// Pixels beside the lanes: names on the left, a margin on the right.
const LEFT: i32 = 170;
const RIGHT: i32 = 30;
/// Heights of a timeline's title, of a lane, of its bar, and of the room after a timeline.
const TITLE: i32 = 24;
const LANE: i32 = 22;
const BAR: i32 = 16;
const AFTER: i32 = 14;
/// Height of the axis and the legend below all.
const FOOT: i32 = 72;
/// Parts that the axis is divided into.
const TICKS: i32 = 5;

/// The timelines one below the other, on one scale, as SVG.
///
/// # Errors
/// The drawing library's reason.
pub(in crate::host_lesson) fn picture(
    title: &str,
    subtitle: &str,
    timelines: &[Timeline],
) -> Result<String, String> {
    // What the heading takes is known when it is drawn; this is more.
    const HEAD: i32 = 80;
    let of_each = |timeline: &Timeline| TITLE + LANE * timeline.lanes.len() as i32 + AFTER;
    let bottom = HEAD + timelines.iter().map(of_each).sum::<i32>();
    let height = bottom + FOOT;
    let mut text = String::new();
    let area =
        SVGBackend::with_string(&mut text, (WIDTH, height.unsigned_abs())).into_drawing_area();
    let drawing = Drawing {
        area: &area,
        longest_ms: longest_ms(timelines),
    };
    drawing
        .draw(title, subtitle, timelines, HEAD..bottom)
        .and_then(|()| area.present())
        .map_err(|error| error.to_string())?;
    drop(area);
    Ok(for_dark_pages(&text))
}

struct Drawing<'a, Backend: DrawingBackend> {
    area: &'a DrawingArea<Backend, Shift>,
    longest_ms: f64,
}

impl<Backend: DrawingBackend> Drawing<'_, Backend> {
    fn draw(
        &self,
        title: &str,
        subtitle: &str,
        timelines: &[Timeline],
        rows: Range<i32>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        self.area.fill(&WHITE)?;
        heading(self.area, title, subtitle)?;
        self.axis(&rows)?;
        let mut y = rows.start;
        let words = |size| font(size).into_text_style(self.area);
        let left = words(14).pos(Pos::new(HPos::Left, VPos::Center));
        let name = words(13).pos(Pos::new(HPos::Right, VPos::Center));
        for timeline in timelines {
            let title = format!("{} · {:.3} ms", timeline.title, timeline.elapsed_ms());
            self.area.draw_text(&title, &left, (LEFT, y + TITLE / 2))?;
            y += TITLE;
            for lane in &timeline.lanes {
                let middle = y + LANE / 2;
                self.area
                    .draw_text(&lane.name, &name, (LEFT - 10, middle))?;
                let (end, grey) = (WIDTH as i32 - RIGHT, BLACK.mix(0.12));
                let line = vec![(LEFT, middle), (end, middle)];
                self.area.draw(&PathElement::new(line, grey))?;
                for span in &lane.spans {
                    let (start, end) = (self.x(span.start_ms), self.x(span.end_ms));
                    // A gap of a pixel tells a bar from the next; none vanishes.
                    let end = (end - 1).max(start + 1);
                    self.bar(span.kind, [start, end], middle)?;
                }
                y += LANE;
            }
            y += AFTER;
        }
        self.legend(timelines, rows.end + 52)
    }

    fn x(&self, time_ms: f64) -> i32 {
        let across = f64::from(WIDTH as i32 - LEFT - RIGHT);
        LEFT + (time_ms / self.longest_ms * across).round() as i32
    }

    fn bar(
        &self,
        kind: Kind,
        [start, end]: [i32; 2],
        middle: i32,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let corners = [(start, middle - BAR / 2), (end, middle + BAR / 2)];
        self.area
            .draw(&Rectangle::new(corners, colour(kind).filled()))
    }

    fn axis(&self, rows: &Range<i32>) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let below = Pos::new(HPos::Center, VPos::Top);
        let style = font(13).into_text_style(self.area).pos(below);
        for tick in 0..=TICKS {
            let time_ms = self.longest_ms * f64::from(tick) / f64::from(TICKS);
            let x = self.x(time_ms);
            let line = vec![(x, rows.start), (x, rows.end)];
            self.area.draw(&PathElement::new(line, BLACK.mix(0.08)))?;
            let unit = if tick == TICKS { " ms" } else { "" };
            let label = format!("{time_ms:.2}{unit}");
            self.area.draw_text(&label, &style, (x, rows.end + 6))?;
        }
        Ok(())
    }

    fn legend(
        &self,
        timelines: &[Timeline],
        y: i32,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let beside = Pos::new(HPos::Left, VPos::Center);
        let style = font(13).into_text_style(self.area).pos(beside);
        let mut x = LEFT;
        for kind in kinds(timelines) {
            self.bar(kind, [x, x + BAR], y)?;
            let at = (x + BAR + 6, y);
            self.area.draw_text(kind.name(), &style, at)?;
            let (width, _) = self.area.estimate_text_size(kind.name(), &style)?;
            x = at.0 + width as i32 + 30;
        }
        Ok(())
    }
}

fn colour(kind: Kind) -> RGBColor {
    match kind {
        Kind::Upload => GREEN,
        Kind::Kernel => BLUE,
        Kind::Download => RED,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{span, timeline};
    use super::super::{Lane, Timeline};
    use super::*;

    /// The numbers of an attribute in all elements of a name.
    fn numbers(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
        let (element, attribute) = (format!("<{element} "), format!("{attribute}=\""));
        let tags = svg.split(&element).skip(1);
        let of = |tag: &str| {
            let of_attribute = |word: &str| Some(word.strip_prefix(&attribute)?.to_owned());
            let word = tag.split_whitespace().find_map(of_attribute)?;
            word.split_once('"')?.0.parse().ok()
        };
        tags.filter_map(of).collect()
    }

    #[test]
    fn everything_is_inside_and_every_lane_has_its_place() {
        let mut second = timeline();
        second.lanes.push(Lane {
            name: "a stream of a long name".to_owned(),
            spans: vec![span(Kind::Upload, 0.0, 1e-6), span(Kind::Upload, 1.5, 3.0)],
        });
        let timelines = [timeline(), second];
        let svg = picture("a title", "a GPU", &timelines).expect("it can be drawn");
        for text in ["a title", "a GPU", "two &amp; one", "stream 1", "3.00 ms"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        let height = numbers(&svg, "svg", "height")[0];
        let [x, y, wide, high] = ["x", "y", "width", "height"].map(|of| numbers(&svg, "rect", of));
        // The page itself, the operations, and the legend.
        assert_eq!(x.len(), 1 + 3 + 5 + 3);
        for bar in 1..x.len() {
            assert!(x[bar] >= f64::from(LEFT) && wide[bar] >= 1.0, "{svg}");
            assert!(x[bar] + wide[bar] <= f64::from(WIDTH), "{svg}");
            assert!(y[bar] >= 70.0 && y[bar] + high[bar] <= height, "{svg}");
        }
        // Lanes do not touch: bars are at one height, or a lane apart.
        for (one, other) in y[1..].iter().zip(&y[2..]) {
            let apart = (one - other).abs();
            assert!(apart < 0.5 || apart >= f64::from(LANE), "{one} {other}");
        }
        for (x, y) in numbers(&svg, "text", "x")
            .iter()
            .zip(numbers(&svg, "text", "y"))
        {
            assert!((0.0..=f64::from(WIDTH)).contains(x), "{svg}");
            assert!((0.0..=height).contains(&y), "{svg}");
        }
    }

    #[test]
    fn nothing_to_draw_is_drawn() {
        let nothing = Timeline::new("nothing", vec![]);
        assert!(picture("", "", &[nothing]).is_ok());
    }
}
