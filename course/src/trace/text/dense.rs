//! One character for each element: who works, what is written and what is read, without saying by whom.

use super::line::Line;
use super::parts::{LABEL, heading, unordered_note};
use crate::trace::geometry::{Band, Geometry};
use crate::trace::picture::{Cell, Picture};

/// Columns between the numbers of the header.
const TICK: usize = 8;

/// The drawing. Where even that does not fit into the width, the terminal has to wrap it.
pub(super) fn draw(picture: &Picture, geometry: &Geometry<'_>, width: usize) -> String {
    let blocks = picture.blocks.len();
    let gap = usize::from(LABEL + blocks * (geometry.columns + 1) - 1 <= width);
    let canvas = Canvas {
        picture,
        geometry,
        block_width: geometry.columns + gap,
    };
    let end = canvas.column(blocks, 0) - gap;
    let mut lines = vec![canvas.header()];
    for step in 0..picture.steps() {
        let summary = geometry.summary(step);
        lines.push(heading(step, &summary, picture.threads(), end));
        lines.push(canvas.threads(step).to_string());
        lines.extend(canvas.cells(step));
        lines.extend(canvas.origins(step));
    }
    lines.push(String::new());
    if geometry.input_rows > 1 {
        lines.push(format!(
            "Each column stands for {} elements: i, i + {} …",
            geometry.input_rows, geometry.columns
        ));
    }
    lines.push("threads: █ works, ░ works in vain, · idle".to_owned());
    lines.push("memory:  ● written, ○ only read".to_owned());
    lines.extend(unordered_note(picture).map(str::to_owned));
    lines.join("\n")
}

struct Canvas<'p> {
    picture: &'p Picture,
    geometry: &'p Geometry<'p>,
    block_width: usize,
}

impl Canvas<'_> {
    fn column(&self, block: usize, column: usize) -> usize {
        LABEL + block * self.block_width + column
    }

    /// The number of every eighth element.
    fn header(&self) -> String {
        let mut line = Line::labelled("element");
        for block in 0..self.picture.blocks.len() {
            for (place, cell) in self.geometry.cells(block, Band::Input) {
                if let (Cell::Input(index), 0, 0) = (cell, place.row, place.column % TICK) {
                    line.put(self.column(block, place.column), &index.to_string());
                }
            }
        }
        line.to_string()
    }

    /// Which threads work.
    fn threads(&self, step: usize) -> Line {
        let mut line = Line::labelled("threads");
        for block in 0..self.picture.blocks.len() {
            for thread in 0..self.geometry.columns {
                line.set(self.column(block, thread), '·');
            }
        }
        for (block, work) in self.picture.work(step) {
            let mark = if work.is_used { '█' } else { '░' };
            line.set(self.column(block, work.thread as usize), mark);
        }
        line
    }

    /// What is read and written by work that counts, a line for each band.
    fn cells(&self, step: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for band in Band::ALL {
            let mut line = Line::labelled(band.name());
            let label = line.to_string();
            for (block, work) in self.picture.work(step).filter(|(_, work)| work.is_used) {
                let read = work.reads.iter().map(|&cell| (cell, '○'));
                let written = work.writes.iter().map(|write| (write.cell, '●'));
                for (cell, mark) in read.chain(written) {
                    let place = self.geometry.place(block, cell);
                    let column = self.column(block, place.column);
                    if place.band == band && line.get(column) != Some('●') {
                        line.set(column, mark);
                    }
                }
                let result = work
                    .writes
                    .iter()
                    .find(|write| Band::of(write.cell) == band);
                if let (true, Some(write)) = (band.is_named(), result)
                    && let Some(content) = &write.content
                {
                    let column = self.geometry.place(block, write.cell).column + 2;
                    line.put(self.column(block, column), &format!("= {}", content.value));
                }
            }
            let line = line.to_string();
            if line != label {
                lines.push(line);
            }
        }
        lines
    }

    /// How many elements the written cells are made of.
    fn origins(&self, step: usize) -> Option<String> {
        let counts = || {
            let work = self.picture.work(step).filter(|(_, work)| work.is_used);
            work.flat_map(|(_, work)| &work.writes)
                .filter_map(|write| write.content.as_ref()?.elements.as_ref())
                .map(Vec::len)
                // What decides whose turn it is, is made of none.
                .filter(|&count| count > 0)
        };
        let (least, most) = (counts().min()?, counts().max()?);
        let range = if least == most {
            format!("{most} elements each")
        } else {
            format!("{least} to {most} elements each")
        };
        let mut line = Line::labelled("made of");
        line.put(LABEL, &range);
        Some(line.to_string())
    }
}
