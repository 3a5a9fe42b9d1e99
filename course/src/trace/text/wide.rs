//! Four characters for each element, and an arrow for each thread from what it reads to what it writes.

use super::line::Line;
use super::parts::{LABEL, heading, unordered_note};
use crate::trace::elements;
use crate::trace::geometry::{Band, Geometry, cell_name};
use crate::trace::picture::{Cell, Content, Picture, Work};
use std::collections::BTreeSet;

/// Characters for each column.
const SLOT: usize = 4;
/// Characters between blocks.
const GAP: usize = 1;

/// The drawing; `None` where there is not enough room.
pub(super) fn draw(picture: &Picture, geometry: &Geometry<'_>, width: usize) -> Option<String> {
    let canvas = Canvas {
        picture,
        geometry,
        block_width: geometry.columns * SLOT + GAP,
    };
    let end = canvas.slot(picture.blocks.len(), 0) - GAP;
    if end > width {
        return None;
    }
    let mut lines = canvas.header();
    for step in 0..picture.steps() {
        let summary = geometry.summary(step);
        lines.push(heading(step, &summary, picture.threads(), end));
        let mut drawn = vec![canvas.threads(step)];
        drawn.extend(canvas.arrows(step));
        drawn.extend(canvas.contents(step, "holds", |content| content.value.to_string()));
        drawn.extend(canvas.contents(step, "made of", |content| {
            elements::label(content.elements.as_deref().unwrap_or_default())
        }));
        lines.extend(drawn.iter().map(Line::to_string));
    }
    lines.push(String::new());
    lines.push(
        "0◂──┘  thread 0 reads the element at ┘ and writes the one at ◂;  ·  idle".to_owned(),
    );
    lines.extend(unordered_note(picture).map(str::to_owned));
    Some(lines.join("\n"))
}

struct Canvas<'p> {
    picture: &'p Picture,
    geometry: &'p Geometry<'p>,
    block_width: usize,
}

impl Canvas<'_> {
    /// Where a column of a block begins. Numbers end on the character behind that.
    fn slot(&self, block: usize, column: usize) -> usize {
        LABEL + block * self.block_width + column * SLOT
    }

    /// The numbers of the elements.
    fn header(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.picture.blocks.len() > 1 {
            let mut line = Line::default();
            for block in 0..self.picture.blocks.len() {
                line.put(self.slot(block, 0), &format!(" block {block}"));
            }
            lines.push(line.to_string());
        }
        for row in 0..self.geometry.input_rows {
            let mut line = Line::labelled(if row == 0 { "element" } else { "" });
            for block in 0..self.picture.blocks.len() {
                for (place, cell) in self.geometry.cells(block, Band::Input) {
                    if let (Cell::Input(index), true) = (cell, place.row == row) {
                        self.put_number(&mut line, block, place.column, &index.to_string());
                    }
                }
            }
            lines.push(line.to_string());
        }
        lines
    }

    /// Puts a number where it ends under the last digit of the element's.
    fn put_number(&self, line: &mut Line, block: usize, column: usize, number: &str) -> bool {
        let end = self.slot(block, column) + 2;
        line.put(end.saturating_sub(number.chars().count()), number)
    }

    /// Which threads work.
    fn threads(&self, step: usize) -> Line {
        let mut line = Line::labelled("threads");
        for (number, block) in self.picture.blocks.iter().enumerate() {
            for thread in 0..self.picture.block {
                let work = &block.steps[step].work;
                let works = work.iter().any(|work| work.thread == thread);
                let text = if works {
                    thread.to_string()
                } else {
                    "·".to_owned()
                };
                self.put_number(&mut line, number, thread as usize, &text);
            }
        }
        line
    }

    /// The arrows of a step.
    fn arrows(&self, step: usize) -> Vec<Line> {
        let cells = self.picture.work(step).flat_map(|(_, work)| {
            let written = work.writes.iter().map(|write| write.cell);
            work.reads.iter().copied().chain(written)
        });
        // An arrow to a named one says its name.
        let bands: BTreeSet<Band> = cells
            .map(Band::of)
            .filter(|band| !band.is_named())
            .collect();
        let names: Vec<&str> = bands.into_iter().map(Band::name).collect();
        let arrows = self.picture.work(step);
        pack(
            &names.join(", "),
            arrows.map(|(block, work)| self.arrow(block, work)),
        )
    }

    /// What the written cells hold now.
    fn contents(&self, step: usize, label: &str, show: impl Fn(&Content) -> String) -> Vec<Line> {
        let contents = self.picture.work(step).flat_map(|(block, work)| {
            let shown = work.writes.iter().filter_map(|write| {
                let place = self.geometry.place(block, write.cell);
                let text = show(write.content.as_ref()?);
                // A set stands with its first number under that of the column.
                let first_number = text.chars().take_while(char::is_ascii_digit).count();
                let end = self.slot(block, place.column) + 2;
                let is_shown = !place.band.is_named() && !text.is_empty();
                is_shown.then_some((end.saturating_sub(first_number), text))
            });
            shown.collect::<Vec<_>>()
        });
        pack(label, contents)
    }

    /// The arrow of a thread, and where it begins.
    fn arrow(&self, block: usize, work: &Work) -> (usize, String) {
        let column = |cell: Cell| self.geometry.place(block, cell).column;
        let number = format!("{:>2}", work.thread);
        let named: Vec<String> = work
            .writes
            .iter()
            .filter(|write| Band::of(write.cell).is_named())
            .map(|write| match &write.content {
                Some(content) => format!("{} = {}", cell_name(write.cell), content.value),
                None => cell_name(write.cell),
            })
            .collect();
        if !named.is_empty() {
            let from = work.reads.first().map_or(0, |&cell| column(cell));
            return (
                self.slot(block, from),
                format!("{number}▸ {}", named.join(", ")),
            );
        }
        let target = work
            .writes
            .first()
            .map_or(Cell::Register(work.thread), |write| write.cell);
        let target = column(target);
        let mut line = Line::default();
        let (mut first, mut last) = (target, target);
        for source in work.reads.iter().map(|&cell| column(cell)) {
            first = first.min(source);
            last = last.max(source);
        }
        let start = self.slot(block, first);
        let at = |column: usize| self.slot(block, column) - start;
        for column in at(first) + 2..at(last) + 1 {
            line.set(column, '─');
        }
        for source in work.reads.iter().map(|&cell| column(cell)) {
            let end = match source {
                source if source == target => continue,
                source if source == first => '└',
                source if source == last => '┘',
                _ => '┴',
            };
            line.set(at(source) + 1, end);
        }
        for (offset, character) in number.chars().enumerate() {
            line.set(at(target) + offset, character);
        }
        if first < target {
            line.set(at(target) - 1, '▸');
        }
        line.set(
            at(target) + 2,
            if last > target || first == target {
                '◂'
            } else {
                ' '
            },
        );
        (start, line.to_string())
    }
}

/// Puts texts at their columns, on as many lines as they need not to touch; no line where there are none.
fn pack(label: &str, texts: impl Iterator<Item = (usize, String)>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (column, text) in texts {
        if lines.iter_mut().any(|line| line.put(column, &text)) {
            continue;
        }
        let mut line = Line::labelled(if lines.is_empty() { label } else { "" });
        line.put(column, &text);
        lines.push(line);
    }
    lines
}
