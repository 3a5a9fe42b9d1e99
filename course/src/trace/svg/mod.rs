//! Pictures as SVG, from top to bottom: the input, then for each step its threads and the cells that they have written.

mod layout;
mod shapes;

use super::elements;
use super::geometry::{Band, Geometry, Place, cell_name};
use super::picture::{Boundary, Cell, Content, Picture, Work};
use layout::Layout;
use shapes::{Point, Sheet, Style, colours};
use std::collections::{BTreeSet, HashMap};
use warpfold_plot::for_dark_pages;

/// Between the last cells and the line of what separates two steps.
const ABOVE_BOUNDARY: f64 = 10.0;
/// Between the threads and the cells that they write.
const BELOW_THREADS: f64 = 26.0;
/// Between two rows of cells.
const BETWEEN_ROWS: f64 = 8.0;

impl Picture {
    /// The picture as an SVG document: black on white or, where dark pages are preferred, the other way round; generic fonts, nothing from
    /// outside.
    pub fn to_svg(&self) -> String {
        let geometry = Geometry::new(self);
        let mut drawing = Drawing {
            picture: self,
            layout: Layout::new(self, &geometry),
            geometry,
            sheet: Sheet::default(),
            y: 0.0,
            contents: HashMap::new(),
            places: HashMap::new(),
            last_writes: HashMap::new(),
        };
        drawing.head();
        drawing.input();
        for step in 0..self.steps() {
            drawing.step(step);
        }
        drawing.legend();
        let title = format!("{}: {}", self.lesson, self.title);
        let size = (drawing.layout.width(), drawing.y);
        for_dark_pages(&drawing.sheet.into_svg(&title, size))
    }
}

/// A cell of a block.
type Key = (usize, Cell);

struct Drawing<'p> {
    picture: &'p Picture,
    geometry: Geometry<'p>,
    layout: Layout,
    sheet: Sheet,
    /// How far down the sheet is full.
    y: f64,
    /// What cells hold.
    contents: HashMap<Key, Content>,
    /// Where cells have last been drawn: the middles of their upper and their lower edges.
    places: HashMap<Key, (Point, Point)>,
    /// What each thread of each block has last written.
    last_writes: HashMap<(usize, u32), Cell>,
}

impl Drawing<'_> {
    /// The title, and the blocks' names.
    fn head(&mut self) {
        let picture = self.picture;
        let left = layout::MARGIN;
        self.sheet.title(left, 34.0, picture.lesson, picture.title);
        let sizes = match picture.blocks.len() {
            1 => format!("one block of {} threads", picture.block),
            blocks => format!("{blocks} blocks of {} threads", picture.block),
        };
        let subtitle = format!(
            "n = {} · {sizes} · element i begins as i + 1 · drawn from an execution of the PTX",
            picture.n
        );
        self.sheet.note(left, 54.0, &subtitle);
        self.y = 76.0;
        if picture.blocks.len() > 1 {
            for block in 0..picture.blocks.len() {
                let (first, last) = self.layout.block(block);
                self.sheet.block_name(first, last, self.y, block);
            }
            self.y += 14.0;
        }
    }

    /// The input as it is before the launch.
    fn input(&mut self) {
        for block in 0..self.picture.blocks.len() {
            for (_, cell) in self.geometry.cells(block, Band::Input) {
                if let Cell::Input(index) = cell {
                    let content = self.picture.first_content(index);
                    self.contents.insert((block, cell), content);
                }
            }
        }
        for row in 0..self.geometry.input_rows {
            let middle = self.y + self.layout.input_height() / 2.0;
            if row == 0 {
                self.sheet
                    .label(layout::MARGIN, middle, band_name(Band::Input));
            }
            if let ([_], false) = (&self.picture.blocks[..], self.layout.is_full()) {
                let elements: Vec<usize> = self
                    .row(0, Band::Input, row)
                    .iter()
                    .filter_map(|&(_, cell)| match cell {
                        Cell::Input(index) => Some(index),
                        _ => None,
                    })
                    .collect();
                let end = self.layout.block(0).0 - 8.0;
                self.sheet
                    .label_before(end, middle, &elements::label(&elements));
            }
            for block in 0..self.picture.blocks.len() {
                for (place, cell) in self.row(block, Band::Input, row) {
                    let labels = match self.contents.get(&(block, cell)) {
                        Some(content) if self.layout.is_full() => {
                            self.layout.labels(Band::Input, content)
                        }
                        _ => Vec::new(),
                    };
                    let height = self.layout.input_height();
                    self.cell(block, place, cell, Style::Initial, height, &labels);
                }
            }
            self.y += self.layout.input_height() + self.layout.between_input_rows();
        }
        self.y += BETWEEN_ROWS - self.layout.between_input_rows();
    }

    /// The cells of a row of a band that a block ever touches.
    fn row(&self, block: usize, band: Band, row: usize) -> Vec<(Place, Cell)> {
        let cells = self.geometry.cells(block, band);
        cells.filter(|(place, _)| place.row == row).collect()
    }

    /// One row of cells, with what they hold now. `written` says which are new, and whether that counts.
    fn cells(&mut self, band: Band, row: usize, written: &HashMap<Key, bool>) {
        let height = self.layout.cell_height(band);
        let middle = self.y + height / 2.0;
        self.sheet.label(layout::MARGIN, middle, band_name(band));
        for block in 0..self.picture.blocks.len() {
            for (place, cell) in self.row(block, band, row) {
                let content = self.contents.get(&(block, cell));
                let style = match written.get(&(block, cell)) {
                    Some(true) => Style::Written,
                    Some(false) => Style::WrittenInVain,
                    None if content.is_none() => continue,
                    None => Style::Old,
                };
                let labels =
                    content.map_or_else(Vec::new, |content| self.layout.labels(band, content));
                let right = self.cell(block, place, cell, style, height, &labels);
                if band.is_named() {
                    self.sheet.label(right + 8.0, middle, &cell_name(cell));
                }
            }
        }
        self.y += height + BETWEEN_ROWS;
    }

    /// One cell of the row at the end of the sheet; returns where its right edge is.
    fn cell(
        &mut self,
        block: usize,
        place: Place,
        cell: Cell,
        style: Style,
        height: f64,
        labels: &[String],
    ) -> f64 {
        let middle = self.layout.column(block, place.column);
        let left = middle - self.layout.cell / 2.0;
        let width = self.layout.cell_width(place.band, labels);
        let bottom = self.y + height;
        self.sheet
            .cell((left, self.y), (width, height), place.band, style, labels);
        self.places
            .insert((block, cell), ((middle, self.y), (middle, bottom)));
        left + width
    }

    /// One step: what separates it from the one before, its threads, and what they have written.
    fn step(&mut self, step: usize) {
        let picture = self.picture;
        self.y += ABOVE_BOUNDARY - BETWEEN_ROWS;
        let boundary = picture.boundary(step);
        if boundary > Boundary::Exchange {
            let ends = (self.layout.block(0).0, self.layout.end());
            self.sheet.boundary(layout::MARGIN, ends, self.y, boundary);
        }
        self.y += self.layout.reach();
        let threads = self.y + self.layout.radius();
        self.step_label(step, threads);
        for (number, block) in picture.blocks.iter().enumerate() {
            let work = &block.steps[step].work;
            for thread in 0..picture.block {
                let style = match work.iter().find(|work| work.thread == thread) {
                    Some(work) if work.is_used => Style::Written,
                    Some(_) => Style::WrittenInVain,
                    None => Style::Old,
                };
                let centre = (self.layout.column(number, thread as usize), threads);
                self.sheet
                    .thread(centre, self.layout.radius(), thread, style);
            }
        }
        // Work in vain first, so that it lies below what counts.
        let mut work: Vec<(usize, &Work)> = picture.work(step).collect();
        work.sort_by_key(|(_, work)| work.is_used);
        for &(block, work) in &work {
            self.reading(block, work, threads);
        }
        self.y = threads + self.layout.radius() + BELOW_THREADS;
        self.written_rows(step, &work);
        for &(block, work) in &work {
            self.writing(block, work, threads);
        }
    }

    fn step_label(&mut self, step: usize, y: f64) {
        let summary = self.geometry.summary(step);
        let distance = summary.distance.as_deref().unwrap_or_default();
        self.sheet
            .step_name(layout::MARGIN, y - 4.0, step + 1, distance);
        let threads = summary.threads(self.picture.threads());
        for (line, text) in threads.split(", ").enumerate() {
            self.sheet
                .note(layout::MARGIN, y + 11.0 + 13.0 * line as f64, text);
        }
    }

    /// Lines from what a thread reads down to the thread.
    fn reading(&mut self, block: usize, work: &Work, threads: f64) {
        let x = self.layout.column(block, work.thread as usize);
        let end = (x, threads - self.layout.radius());
        let colour = colours::line(work.is_used);
        for &cell in &work.reads {
            if let Some((_, start)) = self.drawn(block, cell) {
                self.sheet.line(start, end, colour, false);
            }
        }
        let own = self.last_writes.get(&(block, work.thread));
        if work.from_register
            && let Some(&own) = own
            && !work.reads.contains(&own)
            && let Some(&(_, start)) = self.places.get(&(block, own))
        {
            self.sheet.line(start, end, colour, true);
        }
    }

    /// Where a cell has last been drawn; one of a named buffer, perhaps beside the block that wrote it.
    fn drawn(&self, block: usize, cell: Cell) -> Option<(Point, Point)> {
        let others = if Band::of(cell).is_named() {
            0..self.picture.blocks.len()
        } else {
            0..0
        };
        std::iter::once(block)
            .chain(others)
            .find_map(|block| self.places.get(&(block, cell)).copied())
    }

    /// The rows of cells in which something has been written that counts.
    fn written_rows(&mut self, step: usize, work: &[(usize, &Work)]) {
        // What a thread has in its register after a step is known only where it goes on to another thread.
        self.contents
            .retain(|(_, cell), _| Band::of(*cell) != Band::Registers);
        let mut rows: BTreeSet<(Band, usize)> = BTreeSet::new();
        let mut written: HashMap<Key, bool> = HashMap::new();
        for &(block, work) in work {
            for write in &work.writes {
                let key = (block, write.cell);
                let place = self.geometry.place(block, write.cell);
                if work.is_used {
                    rows.insert((place.band, place.row));
                }
                written.insert(key, work.is_used);
                self.last_writes.insert((block, work.thread), write.cell);
                // What is above is no longer what the cell holds; if it counts, it is drawn again.
                self.places.remove(&key);
                match &write.content {
                    Some(content) => self.contents.insert(key, content.clone()),
                    None => self.contents.remove(&key),
                };
            }
        }
        // What lanes bring to the next exchange they hold already.
        for (number, block) in self.picture.blocks.iter().enumerate() {
            for write in block
                .steps
                .get(step + 1)
                .iter()
                .flat_map(|step| &step.registers)
            {
                if let Some(content) = &write.content {
                    self.contents.insert((number, write.cell), content.clone());
                }
            }
        }
        for (band, row) in rows {
            self.cells(band, row, &written);
        }
    }

    /// Arrows from a thread down to what it writes.
    fn writing(&mut self, block: usize, work: &Work, threads: f64) {
        let x = self.layout.column(block, work.thread as usize);
        let start = (x, threads + self.layout.radius());
        for write in &work.writes {
            // What has not been drawn again is above.
            if let Some(&(end, _)) = self.places.get(&(block, write.cell))
                && end.1 > start.1
            {
                self.sheet.arrow(start, end, colours::line(work.is_used));
            }
        }
    }

    /// What the signs mean: only those that the picture has.
    fn legend(&mut self) {
        let steps = || {
            let blocks = self.picture.blocks.iter();
            blocks.flat_map(|block| &block.steps)
        };
        let work = || steps().flat_map(|step| &step.work);
        let has_band = |band: Band| {
            work()
                .filter(|work| work.is_used)
                .any(|work| work.writes.iter().any(|write| Band::of(write.cell) == band))
        };
        self.y += 14.0;
        let mut x = layout::MARGIN;
        let mut items = vec![(Style::Written, "a thread at work")];
        if work().any(|work| !work.is_used) {
            items.push((Style::WrittenInVain, "works in vain"));
        }
        items.push((Style::Old, "idle"));
        for (style, text) in items {
            x = self.sheet.legend_thread(x, self.y, style, text);
        }
        let mut bands = vec![Band::Input];
        bands.extend(
            [Band::Registers, Band::Shared]
                .into_iter()
                .filter(|&band| has_band(band)),
        );
        for band in bands {
            x = self.sheet.legend_cell(x, self.y, band, band_name(band));
        }
        if work().any(|work| work.from_register) {
            x = self
                .sheet
                .legend_line(x, self.y, "kept in the thread's register");
        }
        self.layout.widen(x);
        self.y += 24.0;
        self.sheet
            .note(layout::MARGIN, self.y, self.layout.explanation());
        self.y += 18.0;
    }
}

fn band_name(band: Band) -> &'static str {
    match band {
        Band::Input | Band::Partials | Band::Total | Band::Next | Band::Counter | Band::Status => {
            "global memory"
        }
        Band::Registers => "registers",
        Band::Shared => "shared memory",
    }
}
