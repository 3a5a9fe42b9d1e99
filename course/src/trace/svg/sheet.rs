//! What the sheet is covered with: cells, threads, lines and text.

use super::layout::{MARGIN, NOTE_SIZE};
use super::shapes::{Point, SMALL_SIZE, VALUE_SIZE, colours, width_of};
use crate::trace::diagram::Style;
use crate::trace::memory::Memory;
use svg::node::element::{Circle, Group, Line, Polygon, Rectangle, Text, Title};
use svg::{Document, Node};

/// The sheet. Lines lie below everything else.
#[derive(Default)]
pub(in crate::trace) struct Sheet {
    lines: Vec<Box<dyn Node>>,
    shapes: Vec<Box<dyn Node>>,
    covered: Vec<Covered>,
    columns: (Vec<f64>, f64),
    width: f64,
    height: f64,
}

/// Something on the sheet, and where: tests ask whether anything is in the way of anything.
#[derive(Clone, Debug)]
pub enum Covered {
    /// A cell, a thread, a band: the upper left corner, and the size.
    Shape(Point, Point),
    /// Text: the upper left corner, the size, and the words.
    Text(Point, Point, String),
    /// A line that leads from something to something.
    Line(Point, Point),
}

/// Everything on the sheet.
#[derive(Clone, Debug)]
pub struct Covering {
    /// Each thing.
    pub covered: Vec<Covered>,
    /// Where each warp's columns begin, and from where down.
    pub columns: (Vec<f64>, f64),
    /// The sheet's width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

impl Sheet {
    /// What is on it.
    pub fn into_covering(self) -> Covering {
        Covering {
            covered: self.covered,
            columns: self.columns,
            width: self.width,
            height: self.height,
        }
    }

    /// Notes where each warp's columns begin, and from where down.
    pub fn begin_columns(&mut self, starts: Vec<f64>, y: f64) {
        self.columns = (starts, y);
    }

    /// Height.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// Ends the sheet below `y`.
    pub fn finish(&mut self, y: f64) {
        self.height = y.ceil();
    }

    /// The document.
    pub fn into_svg(self, title: &str) -> String {
        let (width, height) = (self.width.ceil(), self.height);
        let ground = Rectangle::new()
            .set("width", width)
            .set("height", height)
            .set("fill", colours::GROUND);
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
            .add(ground)
            .add(collect(self.lines).set("stroke-linecap", "round"))
            .add(collect(self.shapes));
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}\n")
    }

    fn cover(&mut self, covered: Covered) {
        self.covered.push(covered);
    }

    fn widen(&mut self, end: f64) {
        self.width = self.width.max(end + MARGIN);
    }

    fn cover_text(&mut self, (left, base): Point, width: f64, size: u32, words: &str) {
        let size = f64::from(size);
        let top = base - 0.75 * size;
        self.widen(left + width);
        self.cover(Covered::Text(
            (left, top),
            (width, 0.9 * size),
            words.to_owned(),
        ));
    }

    /// The name of the lesson; returns its width.
    pub fn name(&mut self, place: Point, name: &str) -> f64 {
        let width = name.chars().count() as f64 * 20.0 * 0.61;
        self.cover_text(place, width, 20, name);
        let text = text(place, 20, colours::INK, name)
            .set("font-family", "monospace")
            .set("font-weight", "bold");
        self.shapes.push(Box::new(text));
        width
    }

    /// Proportional text that begins at a point of its base line; returns its width.
    pub fn text(&mut self, place: Point, size: u32, colour: &str, words: &str) -> f64 {
        if words.is_empty() {
            return 0.0;
        }
        let width = width_of(words, size);
        self.cover_text(place, width, size, words);
        self.shapes.push(Box::new(text(place, size, colour, words)));
        width
    }

    /// A line of small text; returns its width.
    pub fn note(&mut self, place: Point, words: &str) -> f64 {
        self.text(place, NOTE_SIZE, colours::NOTE, words)
    }

    /// The same in bold.
    pub fn bold(&mut self, place: Point, size: u32, words: &str) -> f64 {
        let width = 1.12 * width_of(words, size);
        self.cover_text(place, width, size, words);
        let text = text(place, size, colours::INK, words).set("font-weight", "bold");
        self.shapes.push(Box::new(text));
        width
    }

    /// Small text beside something whose middle is at `y`, ending at `x`.
    pub fn label_before(&mut self, x: f64, y: f64, words: &str) {
        let width = width_of(words, NOTE_SIZE);
        self.note((x - width, y + 0.35 * f64::from(NOTE_SIZE)), words);
    }

    /// A horizontal rule.
    pub fn rule(&mut self, (first, last): Point, y: f64, colour: &str, width: f64, dashes: &str) {
        self.widen(last);
        let mut line = stroke((first, y), (last, y), colour, width);
        if !dashes.is_empty() {
            line = line.set("stroke-dasharray", dashes);
        }
        self.lines.push(Box::new(line));
    }

    /// A box of a memory.
    pub fn cell(&mut self, corner: Point, size: Point, memory: Memory, style: Style) {
        let (strong, weak) = colours::fill(memory);
        let (fill, edge) = match style {
            Style::Initial => (weak, colours::NOTE),
            Style::Active => (strong, colours::INK),
            Style::InVain => (colours::VAIN, colours::PALE_INK),
            Style::Idle => (colours::GROUND, colours::PALE),
        };
        let radius = match memory {
            Memory::Registers => size.1 / 2.0,
            Memory::Shared => 5.0,
            Memory::Constant => 2.0,
            _ => 0.0,
        };
        self.widen(corner.0 + size.0);
        self.cover(Covered::Shape(corner, size));
        self.shapes.push(Box::new(
            Rectangle::new()
                .set("x", rounded(corner.0))
                .set("y", rounded(corner.1))
                .set("width", rounded(size.0))
                .set("height", rounded(size.1))
                .set("rx", rounded(radius))
                .set("fill", fill)
                .set("stroke", edge)
                .set(
                    "stroke-width",
                    if style == Style::Active { 1.4 } else { 1.0 },
                ),
        ));
    }

    /// The lines of text in a cell around its centre: its value, and its elements.
    pub fn in_cell(&mut self, (x, y): Point, style: Style, value: &str, elements: &str) {
        let ink = match style {
            Style::Initial | Style::Active => colours::INK,
            Style::InVain | Style::Idle => colours::PALE_INK,
        };
        if elements.is_empty() {
            self.number((x, y), VALUE_SIZE, ink, value);
        } else {
            self.number((x, y - 6.0), VALUE_SIZE, ink, value);
            self.number((x, y + 9.0), SMALL_SIZE, ink, elements);
        }
    }

    /// A thread; its number where there is room.
    pub fn thread(&mut self, (x, y): Point, radius: f64, number: Option<u32>, style: Style) {
        let (fill, edge, ink) = match style {
            Style::Initial | Style::Active => (colours::INK, colours::INK, colours::GROUND),
            Style::InVain => (colours::VAIN, colours::PALE_INK, colours::NOTE),
            Style::Idle => (colours::GROUND, colours::PALE, colours::PALE_INK),
        };
        self.widen(x + radius);
        self.cover(Covered::Shape(
            (x - radius, y - radius),
            (2.0 * radius, 2.0 * radius),
        ));
        self.shapes.push(Box::new(
            Circle::new()
                .set("cx", rounded(x))
                .set("cy", rounded(y))
                .set("r", rounded(radius))
                .set("fill", fill)
                .set("stroke", edge),
        ));
        if let Some(number) = number {
            self.number((x, y), NOTE_SIZE, ink, &number.to_string());
        }
    }

    /// A number around a point.
    pub fn number(&mut self, (x, y): Point, size: u32, colour: &str, number: &str) {
        if number.is_empty() {
            return;
        }
        let base = y + 0.35 * f64::from(size);
        let width = number.chars().count() as f64 * 0.61 * f64::from(size);
        self.cover_text((x - width / 2.0, base), width, size, number);
        self.shapes.push(Box::new(
            text((x, base), size, colour, number)
                .set("font-family", "monospace")
                .set("text-anchor", "middle"),
        ));
    }

    /// A line from cell to thread; dashed for a register.
    pub fn line(&mut self, start: Point, end: Point, colour: &str, is_dashed: bool) {
        let mut line = stroke(start, end, colour, 1.2);
        if is_dashed {
            line = line.set("stroke-dasharray", "4 4");
        }
        self.cover(Covered::Line(start, end));
        self.lines.push(Box::new(line));
    }

    /// An arrow from thread to cell.
    pub fn arrow(&mut self, start: Point, end: Point, colour: &str) {
        const LENGTH: f64 = 7.0;
        const HALF_WIDTH: f64 = 3.0;
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
        self.cover(Covered::Line(start, end));
        self.lines.push(Box::new(stroke(start, foot, colour, 1.2)));
        self.lines.push(Box::new(
            Polygon::new().set("points", points).set("fill", colour),
        ));
    }
}

fn text((x, y): Point, size: u32, colour: &str, words: &str) -> Text {
    Text::new(words)
        .set("x", rounded(x))
        .set("y", rounded(y))
        .set("font-size", size)
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
