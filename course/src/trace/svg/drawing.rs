//! A sheet that is being covered from top to bottom.

use super::layout::{Layout, MARGIN, MOST_WIDTH, NOTE_SIZE, TITLE_SIZE};
use super::shapes::{colours, width_of};
use super::sheet::Sheet;
use crate::trace::diagram::Diagram;
use crate::trace::memory::Memory;

pub(super) struct Drawing {
    pub layout: Layout,
    pub sheet: Sheet,
    /// How far down the sheet is full.
    pub y: f64,
    /// The lower edge of the row that arrows of the next scene may begin in.
    pub above: Option<f64>,
}

impl Drawing {
    /// The title, and what was launched.
    pub fn head(&mut self, diagram: &Diagram) {
        let name_width = self.sheet.name((MARGIN, 34.0), diagram.lesson);
        let beside = MARGIN + name_width + 12.0;
        self.sheet
            .text((beside, 34.0), TITLE_SIZE, colours::NOTE, diagram.title);
        self.y = 54.0;
        let most = self.layout.end().clamp(720.0, MOST_WIDTH - MARGIN) - MARGIN;
        let mut line = String::new();
        for part in &diagram.subtitle {
            let longer = if line.is_empty() {
                part.clone()
            } else {
                format!("{line} · {part}")
            };
            if width_of(&longer, NOTE_SIZE) > most && !line.is_empty() {
                self.sheet.note((MARGIN, self.y), &line);
                self.y += 15.0;
                line = part.clone();
            } else {
                line = longer;
            }
        }
        self.sheet.note((MARGIN, self.y), &line);
        self.y += 20.0;
    }

    /// The names of the columns.
    pub fn groups(&mut self, diagram: &Diagram) {
        if let [only] = &diagram.groups[..]
            && only.note.is_empty()
            && !only.name.contains("warp")
        {
            return;
        }
        let has_notes = diagram.groups.iter().any(|group| !group.note.is_empty());
        let height = if has_notes { 28.0 } else { 14.0 };
        for (group, of) in diagram.groups.iter().enumerate() {
            let (first, last) = self.layout.group(group);
            self.sheet.note((first, self.y + 10.0), &of.name);
            self.sheet.note((first, self.y + 24.0), &of.note);
            let y = self.y + height + 2.0;
            self.sheet.rule((first, last), y, colours::PALE, 1.0, "");
        }
        self.y += height + 10.0;
    }

    /// Words from a point on, in lines of this width.
    pub fn wrapped(&mut self, (x, width): (f64, f64), words: &str) {
        let mut line = String::new();
        for word in words.split(' ') {
            let longer = if line.is_empty() {
                word.to_owned()
            } else {
                format!("{line} {word}")
            };
            if width_of(&longer, NOTE_SIZE) > width && !line.is_empty() {
                self.sheet.note((x, self.y), &line);
                self.y += 15.0;
                line = word.to_owned();
            } else {
                line = longer;
            }
        }
        self.sheet.note((x, self.y), &line);
        self.y += 15.0;
    }
}

/// What a row of a memory is called.
pub(super) fn row_name(memory: Memory) -> &'static str {
    match memory {
        Memory::Input => "global memory",
        Memory::Second => "second buffer",
        Memory::Constant => "constants",
        Memory::Output => "output buffer",
        Memory::Registers => "registers",
        Memory::Shared => "shared memory",
        Memory::Totals
        | Memory::Partials
        | Memory::Total
        | Memory::Next
        | Memory::Counter
        | Memory::Status => "global memory",
    }
}
