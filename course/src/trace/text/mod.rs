//! Pictures as text: with an arrow for each thread where there is room, else with one character for each column.

mod columns;
mod line;
mod scene;

use super::diagram::{Diagram, Hits, Strip, Tree, diagram};
use super::elements::{count, label};
use super::picture::Picture;
use columns::{Columns, LABEL};
use line::{Line, pack, wrap};

/// The widest picture.
const MOST_WIDTH: usize = 120;

impl Picture {
    /// The picture as text, for a terminal with this many columns, of which it takes at most 120.
    pub fn to_text(&self, width: usize) -> String {
        let width = width.min(MOST_WIDTH);
        let diagram = diagram(self, &columns::TextRoom(width));
        let columns = Columns::new(&diagram, width);
        let title = [diagram.lesson.to_owned(), diagram.title.to_owned()];
        let mut lines = wrap(&title, " · ", width);
        lines.extend(wrap(&diagram.subtitle, " · ", width));
        lines.push(String::new());
        lines.extend(tree(&diagram.tree, width));
        lines.extend(header(&diagram, &columns));
        for scene in &diagram.scenes {
            lines.extend(scene::lines(&diagram, &columns, scene));
            for strip in &scene.strips {
                lines.extend(hits(strip, width));
            }
        }
        lines.push(String::new());
        lines.extend(legend(&diagram));
        for note in &diagram.notes {
            let words: Vec<String> = note.split(' ').map(str::to_owned).collect();
            lines.extend(wrap(&words, " ", width));
        }
        lines.join("\n")
    }
}

/// The grids, each above those that it has launched.
fn tree(tree: &Tree, width: usize) -> Vec<String> {
    let grids = tree.grids.iter().map(|grid| {
        let size = format!("{}: {}", grid.name, grid.size);
        (grid.generation, vec![size, grid.launcher.clone()])
    });
    let more = tree.more.iter().enumerate();
    let more = more.filter(|(_, more)| **more > 0);
    let more = more.map(|(generation, more)| {
        let text = format!("and {} more", count(*more, "grid"));
        (generation, vec![text])
    });
    let mut lines = Vec::new();
    for (generation, parts) in grids.chain(more) {
        // Below the name of the column.
        let (indent, branch) = match generation {
            0 => (3, ""),
            below => (3 * below + 3, "└─ "),
        };
        for (number, text) in wrap(&parts, ", ", width - indent).iter().enumerate() {
            let (label, branch) = if number == 0 {
                (generation.to_string(), branch)
            } else {
                (String::new(), "")
            };
            let left = indent - branch.chars().count();
            lines.push(format!("{label:<left$}{branch}{text}"));
        }
    }
    if !lines.is_empty() {
        lines.insert(0, "generation".to_owned());
        lines.push(String::new());
    }
    lines
}

/// The names of the columns.
fn header(diagram: &Diagram, columns: &Columns) -> Vec<String> {
    if let [only] = &diagram.groups[..]
        && only.note.is_empty()
        && !only.name.contains("warp")
    {
        return Vec::new();
    }
    let names = diagram.groups.iter().enumerate();
    let names = names.map(|(group, of)| (columns.start(group), of.name.clone()));
    let notes = diagram.groups.iter().enumerate();
    let notes = notes.filter(|(_, of)| !of.note.is_empty());
    let notes = notes.map(|(group, of)| (columns.start(group), of.note.clone()));
    let mut lines = pack("", names, columns.width);
    lines.extend(pack("", notes, columns.width));
    lines.iter().map(Line::to_string).collect()
}

/// What lanes hit, and what that costs.
fn hits(strip: &Strip, width: usize) -> Vec<String> {
    let words: Vec<String> = strip.text.split(' ').map(str::to_owned).collect();
    let mut lines = wrap(&words, " ", width);
    match &strip.hits {
        Hits::Sectors(sectors) => {
            // Each takes eight words and two edges.
            let most = (width - LABEL) / 10;
            let shown: Vec<&(u64, u8)> = if sectors.len() <= most {
                sectors.iter().collect()
            } else {
                let first = sectors.iter().take(most - 2);
                first.chain(sectors.last()).collect()
            };
            let mut line = Line::labelled("sectors");
            let mut at = LABEL;
            let cut = sectors.len() - shown.len();
            for (index, (_, wanted)) in shown.iter().enumerate() {
                if cut > 0 && index + 1 == shown.len() {
                    let text = format!("… {cut} …");
                    line.put(at, &text);
                    at += 10;
                }
                let word = |bit: u32| if wanted >> bit & 1 == 1 { '■' } else { '·' };
                let text: String = (0..8).map(word).collect();
                line.put(at, &format!("[{text}]"));
                at += 10;
            }
            lines.push(line.to_string());
        }
        Hits::Banks(banks) => {
            let mut numbers = Line::labelled("banks");
            for bank in (0..banks.len()).step_by(4) {
                numbers.put(LABEL + 2 * bank, &bank.to_string());
            }
            lines.push(numbers.to_string());
            let mut words = Line::labelled("words of each");
            for (bank, wanted) in banks.iter().enumerate() {
                let text = if wanted.is_empty() {
                    "·".to_owned()
                } else {
                    wanted.len().to_string()
                };
                for (offset, character) in text.chars().enumerate() {
                    words.set(LABEL + 2 * bank + offset, character);
                }
            }
            lines.push(words.to_string());
        }
        Hits::Words(wanted) => {
            let words = wanted.iter().map(|(word, lanes)| {
                let lanes: Vec<usize> = lanes.iter().map(|&lane| lane as usize).collect();
                format!("[{word}]: {}", label(&lanes))
            });
            let words: Vec<String> = words.collect();
            for (index, text) in wrap(&words, "  ", width - LABEL).iter().enumerate() {
                let mut line = Line::labelled(if index == 0 { "word: lanes" } else { "" });
                line.put(LABEL, text);
                lines.push(line.to_string());
            }
        }
    }
    lines
}

/// What the signs mean.
fn legend(diagram: &Diagram) -> Vec<String> {
    let mut lines = if diagram.is_full {
        vec!["0◂──┘  thread 0 reads the element at ┘ and writes the one at ◂;  ·  idle".to_owned()]
    } else {
        vec![
            "threads: █ works, ░ works in vain, · idle".to_owned(),
            "memory:  ● written, ○ only read".to_owned(),
        ]
    };
    let is_sectors = |strip: &Strip| matches!(strip.hits, Hits::Sectors(_));
    if diagram
        .scenes
        .iter()
        .any(|scene| scene.strips.iter().any(is_sectors))
    {
        lines.push("sectors: ■ a word that a lane wants, · one that comes along".to_owned());
    }
    lines
}
