//! What the sheet is covered with: cells, threads, lines and text.

use crate::trace::geometry::Band;
use crate::trace::picture::Boundary;
use svg::node::element::{Circle, Group, Line, Polygon, Rectangle, Text, Title};
use svg::{Document, Node};

/// Font sizes, and what one character of the fixed-width font takes in each.
const VALUE_SIZE: f64 = 12.0;
const SMALL_SIZE: f64 = 9.0;
const NOTE_SIZE: f64 = 11.0;
/// Width of a character of a value.
pub(super) const VALUE_CHARACTER: f64 = 0.61 * VALUE_SIZE;
/// Width of a character of a set of elements.
pub(super) const SMALL_CHARACTER: f64 = 0.61 * SMALL_SIZE;
/// Width that a character of proportional text takes at most, on average.
const NOTE_CHARACTER: f64 = 0.56 * NOTE_SIZE;

/// How a cell or a thread stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// It was there before the launch.
    Initial,
    /// It is written, or works, in this step.
    Written,
    /// The same, but nothing comes of it.
    WrittenInVain,
    /// It is not touched, or idle.
    Old,
}

/// The colours. In grey they are still told apart, by lightness; memories also by the shapes of their cells.
pub(super) mod colours {
    use super::Band;

    pub const INK: &str = "#1b1b1b";
    pub const NOTE: &str = "#4a4a4a";
    pub const PALE: &str = "#c9c9c9";
    pub const PALE_INK: &str = "#8f8f8f";
    pub const VAIN: &str = "#dedede";
    pub const ALARM: &str = "#b3261e";

    /// The colour of a line.
    pub fn line(is_used: bool) -> &'static str {
        if is_used { INK } else { PALE }
    }

    /// The fill of a written cell, and of one that the launch begins with.
    pub fn fill(band: Band) -> (&'static str, &'static str) {
        match band {
            Band::Registers => ("#b7e0b0", "#eaf6e8"),
            Band::Shared => ("#ffcf87", "#fff1dc"),
            // Global memory.
            _ => ("#a9cdf0", "#e6f1fb"),
        }
    }
}

/// The sheet. Lines lie below everything else.
#[derive(Default)]
pub(super) struct Sheet {
    lines: Vec<Box<dyn Node>>,
    shapes: Vec<Box<dyn Node>>,
}

/// A point: x to the right, y downwards.
pub(super) type Point = (f64, f64);

impl Sheet {
    /// The document.
    pub fn into_svg(self, title: &str, (width, height): (f64, f64)) -> String {
        let (width, height) = (rounded(width), rounded(height));
        let background = Rectangle::new()
            .set("width", width)
            .set("height", height)
            .set("fill", "white");
        let collect = |nodes: Vec<Box<dyn Node>>| {
            nodes
                .into_iter()
                .fold(Group::new(), Group::add::<Box<dyn Node>>)
        };
        let document = Document::new()
            .set("width", width)
            .set("height", height)
            .set("viewBox", (0, 0, width, height))
            .set("font-family", "sans-serif")
            .add(Title::new(title))
            .add(background)
            .add(collect(self.lines).set("stroke-linecap", "round"))
            .add(collect(self.shapes));
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}\n")
    }

    /// The name of the lesson, and a few words on it.
    pub fn title(&mut self, x: f64, y: f64, name: &str, words: &str) {
        let name_width = name.chars().count() as f64 * 20.0 * 0.61;
        self.shapes.push(Box::new(
            text((x, y), 20.0, colours::INK, name)
                .set("font-family", "monospace")
                .set("font-weight", "bold"),
        ));
        let beside = (x + name_width + 12.0, y);
        self.shapes
            .push(Box::new(text(beside, 16.0, colours::NOTE, words)));
    }

    /// The name of a block above its columns.
    pub fn block_name(&mut self, first: f64, last: f64, y: f64, block: usize) {
        let middle = (first + last) / 2.0;
        self.shapes.push(Box::new(
            text(
                (middle, y),
                NOTE_SIZE,
                colours::NOTE,
                &format!("block {block}"),
            )
            .set("text-anchor", "middle"),
        ));
        self.lines.push(Box::new(stroke(
            (first, y + 5.0),
            (last, y + 5.0),
            colours::PALE,
            1.0,
        )));
    }

    /// A line of small text.
    pub fn note(&mut self, x: f64, y: f64, words: &str) {
        self.shapes
            .push(Box::new(text((x, y), NOTE_SIZE, colours::NOTE, words)));
    }

    /// Small text beside something whose middle is at `y`; returns where it ends.
    pub fn label(&mut self, x: f64, y: f64, words: &str) -> f64 {
        self.note(x, y + 0.35 * NOTE_SIZE, words);
        x + words.chars().count() as f64 * NOTE_CHARACTER
    }

    /// The same, ending at `x`.
    pub fn label_before(&mut self, x: f64, y: f64, words: &str) {
        let place = (x, y + 0.35 * NOTE_SIZE);
        self.shapes.push(Box::new(
            text(place, NOTE_SIZE, colours::NOTE, words).set("text-anchor", "end"),
        ));
    }

    /// The number of a step, and how far from what they write its threads read.
    pub fn step_name(&mut self, x: f64, y: f64, step: usize, distance: &str) {
        let name = format!("Step {step}");
        self.shapes.push(Box::new(
            text((x, y), 14.0, colours::INK, &name).set("font-weight", "bold"),
        ));
        let beside = x + name.chars().count() as f64 * 9.0 + 4.0;
        self.shapes.push(Box::new(
            text((beside, y), 13.0, colours::INK, distance).set("font-family", "monospace"),
        ));
    }

    /// What separates two steps.
    pub fn boundary(&mut self, x: f64, (first, last): Point, y: f64, boundary: Boundary) {
        let (name, colour, width, dashes) = match boundary {
            Boundary::BlockBarrier => ("barrier", colours::NOTE, 2.5, ""),
            Boundary::Copy => ("copies arrive", colours::NOTE, 2.0, "2 4"),
            Boundary::WarpBarrier => ("warp barrier", colours::NOTE, 2.0, "8 5"),
            Boundary::Unordered => ("no barrier!", colours::ALARM, 1.5, "1 5"),
            Boundary::Start | Boundary::OwnThread | Boundary::Exchange => return,
        };
        let mut line = stroke((first, y), (last, y), colour, width);
        if !dashes.is_empty() {
            line = line.set("stroke-dasharray", dashes);
        }
        self.lines.push(Box::new(line));
        let place = (x, y + 0.35 * NOTE_SIZE);
        self.shapes.push(Box::new(
            text(place, NOTE_SIZE, colour, name).set("font-style", "italic"),
        ));
    }

    /// A cell with its lines of text.
    pub fn cell(
        &mut self,
        (left, top): Point,
        (width, height): (f64, f64),
        band: Band,
        style: Style,
        labels: &[String],
    ) {
        let (strong, weak) = colours::fill(band);
        let (fill, edge, ink) = match style {
            Style::Initial => (weak, colours::NOTE, colours::INK),
            Style::Written => (strong, colours::INK, colours::INK),
            Style::WrittenInVain => (colours::VAIN, colours::PALE_INK, colours::PALE_INK),
            Style::Old => ("white", colours::PALE, colours::PALE_INK),
        };
        let radius = match band {
            Band::Registers => height / 2.0,
            Band::Shared => 6.0,
            _ => 0.0,
        };
        self.shapes.push(Box::new(
            Rectangle::new()
                .set("x", rounded(left + 1.0))
                .set("y", rounded(top))
                .set("width", rounded(width - 2.0))
                .set("height", rounded(height))
                .set("rx", rounded(radius))
                .set("fill", fill)
                .set("stroke", edge)
                .set(
                    "stroke-width",
                    if style == Style::Written { 1.6 } else { 1.0 },
                ),
        ));
        let centre = (left + width / 2.0, top + height / 2.0);
        match labels {
            [only] => self.number(centre, SMALL_SIZE, ink, only),
            [value, elements] => {
                self.number((centre.0, centre.1 - 6.0), VALUE_SIZE, ink, value);
                self.number((centre.0, centre.1 + 9.0), SMALL_SIZE, ink, elements);
            }
            _ => {}
        }
    }

    /// A thread with its number.
    pub fn thread(&mut self, centre: Point, radius: f64, thread: u32, style: Style) {
        let ink = self.disc(centre, radius, style);
        let size = (radius * 1.05).min(NOTE_SIZE);
        self.number(centre, size, ink, &thread.to_string());
    }

    /// A thread without its number; returns the colour for what is on it.
    fn disc(&mut self, (x, y): Point, radius: f64, style: Style) -> &'static str {
        let (fill, edge, ink) = match style {
            Style::Initial | Style::Written => (colours::INK, colours::INK, "white"),
            Style::WrittenInVain => (colours::VAIN, colours::PALE_INK, colours::NOTE),
            Style::Old => ("white", colours::PALE, colours::PALE_INK),
        };
        self.shapes.push(Box::new(
            Circle::new()
                .set("cx", rounded(x))
                .set("cy", rounded(y))
                .set("r", rounded(radius))
                .set("fill", fill)
                .set("stroke", edge),
        ));
        ink
    }

    /// A number around a point.
    fn number(&mut self, (x, y): Point, size: f64, colour: &str, number: &str) {
        self.shapes.push(Box::new(
            text((x, y + 0.35 * size), size, colour, number)
                .set("font-family", "monospace")
                .set("text-anchor", "middle"),
        ));
    }

    /// A line from cell to thread; dashed for a register.
    pub fn line(&mut self, start: Point, end: Point, colour: &str, is_dashed: bool) {
        let mut line = stroke(start, end, colour, 1.3);
        if is_dashed {
            line = line.set("stroke-dasharray", "4 4");
        }
        self.lines.push(Box::new(line));
    }

    /// An arrow from thread to cell.
    pub fn arrow(&mut self, start: Point, end: Point, colour: &str) {
        const LENGTH: f64 = 8.0;
        const HALF_WIDTH: f64 = 3.2;
        let (dx, dy) = (end.0 - start.0, end.1 - start.1);
        let distance = dx.hypot(dy);
        let (along_x, along_y) = (dx / distance, dy / distance);
        let foot = (end.0 - LENGTH * along_x, end.1 - LENGTH * along_y);
        let corner = |side: f64| {
            let x = rounded(foot.0 - side * HALF_WIDTH * along_y);
            let y = rounded(foot.1 + side * HALF_WIDTH * along_x);
            format!("{x},{y}")
        };
        let tip = format!("{},{}", rounded(end.0), rounded(end.1));
        let points = [tip, corner(1.0), corner(-1.0)].join(" ");
        self.lines.push(Box::new(stroke(start, foot, colour, 1.3)));
        self.lines.push(Box::new(
            Polygon::new().set("points", points).set("fill", colour),
        ));
    }

    /// A thread in the legend; returns where the next thing begins.
    pub fn legend_thread(&mut self, x: f64, y: f64, style: Style, words: &str) -> f64 {
        self.disc((x + 7.0, y), 7.0, style);
        self.label(x + 20.0, y, words) + 16.0
    }

    /// A cell in the legend; returns where the next thing begins.
    pub fn legend_cell(&mut self, x: f64, y: f64, band: Band, words: &str) -> f64 {
        self.cell((x, y - 7.0), (22.0, 14.0), band, Style::Written, &[]);
        self.label(x + 28.0, y, words) + 16.0
    }

    /// A dashed line in the legend; returns where the next thing begins.
    pub fn legend_line(&mut self, x: f64, y: f64, words: &str) -> f64 {
        self.line((x, y), (x + 24.0, y), colours::INK, true);
        self.label(x + 30.0, y, words) + 16.0
    }
}

fn text((x, y): Point, size: f64, colour: &str, words: &str) -> Text {
    Text::new(words)
        .set("x", rounded(x))
        .set("y", rounded(y))
        .set("font-size", rounded(size))
        .set("fill", colour)
}

fn stroke(start: Point, end: Point, colour: &str, width: f64) -> Line {
    Line::new()
        .set("x1", rounded(start.0))
        .set("y1", rounded(start.1))
        .set("x2", rounded(end.0))
        .set("y2", rounded(end.1))
        .set("stroke", colour)
        .set("stroke-width", width)
}

/// To tenths of a pixel: more digits only make the file longer.
fn rounded(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}
