//! The step of a launch that went wrong, as a picture in text.
//!
//! Where memory is the matter, columns are its elements, the middle one that of the fault, rows are lines of the solution, and each
//! cell names the threads that access the element there. Where a barrier, a shuffle or an endless loop is the matter, rows are warps and
//! columns are lanes. Nothing is drawn by hand: the launch runs again, in the same order, while a [`Record`] is taken.

use std::collections::BTreeMap;
use std::fmt::Write;

use warpfold_emulator::{AccessKind, Bytes, Finding, Kernel, Place, Space, Tool};

use crate::case::{After, Array};
use crate::record::{Access, BlockRecord, LANES, Record};
use crate::source::line_in;

/// What a picture is of.
#[derive(Clone, Debug)]
pub(crate) enum Focus {
    /// Bytes of memory, and who accesses them where.
    Memory { memory: Bytes, places: Vec<Place> },
    /// An element of the array of an argument, which is wrong at the end.
    Element { argument: usize, index: usize },
    /// Lanes that do not come together where they should, in the block and at the place of the first.
    Lanes {
        block: [u32; 3],
        place: Option<Place>,
    },
}

impl Focus {
    /// What a picture of a finding is of.
    pub(crate) fn of_finding(finding: &Finding) -> Option<Self> {
        let first = finding.places.first();
        if let Some(memory) = finding.memory {
            return Some(Self::Memory {
                memory,
                places: finding.places.clone(),
            });
        }
        let place = (!finding.ends_launch).then(|| first.cloned()).flatten();
        (finding.tool == Tool::Synccheck).then_some(Self::Lanes {
            block: first?.block,
            place,
        })
    }
}

/// An array of global memory, as a picture needs it.
pub(crate) struct Shown<'a> {
    /// What messages call it.
    pub name: String,
    pub argument: usize,
    pub array: &'a Array,
    /// The address of its first element.
    pub address: u64,
    /// What it holds at the end.
    pub bytes: Vec<u8>,
}

impl Shown<'_> {
    fn element(&self) -> u64 {
        self.array.values().size() as u64
    }

    fn len(&self) -> u64 {
        self.array.values().len() as u64
    }
}

/// Elements that a picture shows at most.
const COLUMNS: u64 = 7;
/// Elements before and after the one in the middle.
const BESIDE: u64 = COLUMNS / 2;
/// The room of a line.
const WIDTH: usize = 80;
/// The room of the words before the columns.
const LABEL: usize = 20;
/// Room of a cell.
const CELL: usize = (WIDTH - LABEL) / COLUMNS as usize;
/// Rows of warps at most.
const WARPS: usize = 8;

/// The elements that a picture shows.
pub(crate) struct Window<'a> {
    space: Space,
    array: Option<&'a Shown<'a>>,
    /// The address of element 0.
    base: u64,
    /// Bytes of an element.
    element: u64,
    /// Counted from element 0, which may have others before it.
    middle: i64,
    /// How many elements there are, where that is known.
    len: Option<u64>,
}

impl<'a> Window<'a> {
    /// The window around what is in focus; `None` where no memory is.
    pub(crate) fn of(focus: &Focus, arrays: &'a [Shown<'a>]) -> Option<Self> {
        match *focus {
            Focus::Lanes { .. } => None,
            Focus::Element { argument, index } => {
                let array = arrays.iter().find(|array| array.argument == argument)?;
                Some(Self::in_array(array, index as i64))
            }
            Focus::Memory { memory, .. } => match memory.space {
                Space::Shared => {
                    let element = u64::from(memory.bytes.clamp(1, 8));
                    Some(Self {
                        space: Space::Shared,
                        array: None,
                        base: 0,
                        element,
                        middle: (memory.address / element) as i64,
                        len: None,
                    })
                }
                Space::Global => {
                    // Past an array lies what is nearest to its end.
                    let distance = |array: &&Shown<'_>| {
                        let end = array.address + array.element() * array.len();
                        let past = memory.address.saturating_sub(end);
                        array.address.saturating_sub(memory.address).max(past)
                    };
                    let array = arrays.iter().min_by_key(distance)?;
                    let bytes = memory.address as i64 - array.address as i64;
                    Some(Self::in_array(
                        array,
                        bytes.div_euclid(array.element() as i64),
                    ))
                }
                _ => None,
            },
        }
    }

    fn in_array(array: &'a Shown<'a>, middle: i64) -> Self {
        Self {
            space: Space::Global,
            array: Some(array),
            base: array.address,
            element: array.element(),
            middle,
            len: Some(array.len()),
        }
    }

    /// Which element the fault is at, in words that follow "the address is that of ".
    pub(crate) fn words(&self) -> Option<String> {
        let (array, len) = (self.array?, self.len?);
        let name = &array.name;
        let past = self.middle - len as i64;
        Some(match (self.middle, past) {
            (..0, _) => format!("{name}[0] less {}", elements(-self.middle as u64)),
            (middle, 0..) => format!(
                "{name}[{middle}], past the end: {name} has {}",
                elements(len)
            ),
            (middle, _) => format!("{name}[{middle}]"),
        })
    }

    /// The elements shown: those of the array, if the one in the middle is among them.
    fn elements(&self) -> std::ops::Range<i64> {
        let columns = COLUMNS as i64;
        let first = self.middle - BESIDE as i64;
        match self.len.map(|len| len as i64) {
            _ if self.middle < 0 => first..first + columns,
            Some(len) if self.middle < len => {
                let first = first.min(len - columns).max(0);
                first..(first + columns).min(len)
            }
            _ => first.max(0)..first.max(0) + columns,
        }
    }

    /// The bytes that are shown.
    pub(crate) fn watched(&self) -> (Space, std::ops::Range<u64>) {
        let elements = self.elements();
        let address = |element: i64| {
            let address = self.base as i64 + element * self.element as i64;
            address.max(0) as u64
        };
        (self.space, address(elements.start)..address(elements.end))
    }

    fn bytes_of(&self, element: i64) -> std::ops::Range<i64> {
        let first = self.base as i64 + element * self.element as i64;
        first..first + self.element as i64
    }

    /// One row: its label and its cells.
    fn row(&self, label: &str, cell: impl Fn(i64) -> String) -> String {
        let mut row = format!("{label:LABEL$}");
        for element in self.elements() {
            let bar = if self.len == Some(element as u64) && element >= 0 {
                '│'
            } else {
                ' '
            };
            let _ = write!(row, "{bar}{:^width$}", cell(element), width = CELL - 1);
        }
        row.truncate(row.trim_end().len());
        row.push('\n');
        row
    }

    fn name(&self) -> &str {
        self.array.map_or("shared memory", |array| &array.name)
    }

    fn head(&self) -> String {
        self.row(self.name(), |element| {
            if element == self.middle {
                format!("[{element}]")
            } else {
                element.to_string()
            }
        })
    }
}

/// Accesses that are drawn: with the block, where several blocks are.
struct Drawn<'r> {
    block: Option<u32>,
    access: &'r Access,
}

/// The picture; `None` where the record has nothing of what is in focus.
pub(crate) fn draw(
    focus: &Focus,
    window: Option<&Window<'_>>,
    record: &Record,
    kernel: &Kernel,
    file: &str,
) -> Option<String> {
    let text = match (focus, window) {
        (Focus::Lanes { block, place }, _) => {
            let block = record.block_at(*block)?;
            match place {
                Some(place) => arrivals(block, place, kernel, file)?,
                None => standing(block, kernel, file),
            }
        }
        (Focus::Element { index, .. }, Some(window)) => {
            let array = window.array?;
            let mut text = format!("{} at the end\n\n{}", array.name, window.head());
            text += &at_the_end(window, array);
            let drawn = all(record, None);
            text += &rows(window, &drawn, kernel, file, &[]);
            if !drawn
                .iter()
                .any(|drawn| covers(window, drawn.access, *index as i64))
            {
                let _ = writeln!(text, "\nNo thread accesses {}[{index}].", array.name);
            }
            text
        }
        (Focus::Memory { places, .. }, Some(window)) => {
            of_memory(window, places, record, kernel, file)?
        }
        (_, None) => return None,
    };
    Some(text)
}

/// All accesses, or those of one block and some of its steps.
fn all<'r>(record: &'r Record, only: Option<([u32; 3], &[usize])>) -> Vec<Drawn<'r>> {
    let mut drawn = Vec::new();
    for block in &record.blocks {
        for access in &block.accesses {
            match only {
                Some((index, _)) if index != block.index => {}
                Some((_, steps)) if !steps.contains(&access.step) => {}
                Some(_) => drawn.push(Drawn {
                    block: None,
                    access,
                }),
                None => drawn.push(Drawn {
                    block: (record.blocks.len() > 1).then_some(block.index[0]),
                    access,
                }),
            }
        }
    }
    drawn
}

fn covers(window: &Window<'_>, access: &Access, element: i64) -> bool {
    let bytes = window.bytes_of(element);
    (access.bytes.start as i64) < bytes.end && bytes.start < access.bytes.end as i64
}

fn thread_of(block: &BlockRecord, place: &Place) -> u32 {
    let ([x, y, z], [width, height, _]) = (place.thread, block.shape);
    x + width * (y + height * z)
}

fn of_memory(
    window: &Window<'_>,
    places: &[Place],
    record: &Record,
    kernel: &Kernel,
    file: &str,
) -> Option<String> {
    let first = places.first()?;
    let is_of_one_block = places.iter().all(|place| place.block == first.block);
    let block = record.block_at(first.block)?;
    let steps_of = |place: &Place| -> Vec<usize> {
        let thread = thread_of(block, place);
        let accesses = block.accesses.iter();
        let own = accesses.filter(|access| {
            access.thread == thread
                && access.line == place.line
                && covers(window, access, window.middle)
        });
        own.map(|access| access.step).collect()
    };
    let mut steps = steps_of(first);
    if let Some(other) = places.get(1) {
        // Both belong to one step, which other turns of a loop may not share.
        let others = steps_of(other);
        steps.retain(|step| others.contains(step));
    }
    // A launch that ends at the access has no more of it than the place.
    let faulted = steps.is_empty().then(|| Access {
        step: block.step,
        thread: thread_of(block, first),
        line: first.line,
        kind: if first.does == "writes" {
            AccessKind::Store
        } else {
            AccessKind::Load
        },
        bytes: {
            let bytes = window.bytes_of(window.middle);
            bytes.start.max(0) as u64..bytes.end.max(0) as u64
        },
    });
    let step = steps.first().copied().unwrap_or(block.step);
    let (title, mut drawn) = if is_of_one_block {
        let title = format!("{}, {}", block_name(block, record), step_name(step));
        (title, all(record, Some((first.block, &[step]))))
    } else {
        ("the whole launch".to_owned(), all(record, None))
    };
    if let Some(access) = &faulted {
        let block = drawn
            .iter()
            .any(|drawn| drawn.block.is_some())
            .then_some(first.block[0]);
        drawn.push(Drawn { block, access });
    }
    let lines: Vec<u32> = places.iter().map(|place| place.line).collect();
    let name = window.name();
    let mut text = format!("{name} in {title}\n\n{}", window.head());
    text += &rows(window, &drawn, kernel, file, &lines);
    Some(text)
}

fn block_name(block: &BlockRecord, record: &Record) -> String {
    match record.blocks.len() {
        1 => "the block".to_owned(),
        _ => format!("block {}", block.index[0]),
    }
}

fn step_name(step: usize) -> String {
    match step {
        0 => "before its first barrier".to_owned(),
        1 => "after its first barrier".to_owned(),
        step => format!("after its barrier {step}"),
    }
}

/// What the array holds, and what it must hold.
fn at_the_end(window: &Window<'_>, array: &Shown<'_>) -> String {
    let found = array.array.values().like(&array.bytes);
    let expected = match &array.array.after {
        After::Exactly(values) | After::Within { values, .. } => values,
        After::Unchanged | After::Anything => array.array.values(),
    };
    let cell = |values: &crate::case::Values, element: i64| match usize::try_from(element) {
        Ok(index) if element < array.len() as i64 => shortened(&values.show(index)),
        _ => String::new(),
    };
    let is = window.row("is", |element| cell(&found, element));
    is + &window.row("must be", |element| cell(expected, element))
}

/// A row for each line of the solution and what it does.
fn rows(
    window: &Window<'_>,
    drawn: &[Drawn<'_>],
    kernel: &Kernel,
    file: &str,
    wrong: &[u32],
) -> String {
    let mut by_line: BTreeMap<(Option<u32>, &str), Vec<&Drawn<'_>>> = BTreeMap::new();
    for drawn in drawn {
        let does = match drawn.access.kind {
            AccessKind::Load => "reads",
            AccessKind::Store => "writes",
            AccessKind::Atomic => "updates",
        };
        let line = line_in(file, kernel.origin(drawn.access.line).as_ref());
        by_line.entry((line, does)).or_default().push(drawn);
    }
    let mut text = String::new();
    for ((line, does), drawn) in by_line {
        let is_wrong = drawn.iter().any(|drawn| wrong.contains(&drawn.access.line));
        let mark = if is_wrong { " ✗" } else { "" };
        let label = match line {
            Some(line) => format!("line {line} {does}{mark}"),
            None => format!("{does}{mark}"),
        };
        text += &window.row(&label, |element| {
            let those = drawn
                .iter()
                .filter(|drawn| covers(window, drawn.access, element));
            let mut threads: Vec<(Option<u32>, u32)> = those
                .map(|drawn| (drawn.block, drawn.access.thread))
                .collect();
            threads.sort_unstable();
            threads.dedup();
            names(&threads)
        });
    }
    if text.is_empty() {
        return text;
    }
    let of_blocks = drawn.iter().any(|drawn| drawn.block.is_some());
    let unit = if of_blocks {
        "block:thread"
    } else {
        "the thread"
    };
    let mark = if wrong.is_empty() {
        ""
    } else {
        "; ✗ marks what is reported"
    };
    let bar = match window.len {
        Some(len) if window.elements().contains(&(len as i64)) => "; │ is the end",
        _ => "",
    };
    text + &format!("\nA cell names {unit}, · means none{mark}{bar}.\n")
}

/// Threads in a cell: `3`, `3–7`, `3 7`, or how many.
fn names(threads: &[(Option<u32>, u32)]) -> String {
    let one = |&(block, thread): &(Option<u32>, u32)| match block {
        Some(block) => format!("{block}:{thread}"),
        None => thread.to_string(),
    };
    match threads {
        [] => "·".to_owned(),
        [only] => one(only),
        [first, .., last] => {
            let is_range = first.0 == last.0 && (last.1 - first.1) as usize + 1 == threads.len();
            let text = if threads.len() == 2 {
                format!("{} {}", one(first), one(last))
            } else if is_range {
                format!("{}–{}", one(first), last.1)
            } else {
                threads.iter().map(one).collect::<Vec<_>>().join(" ")
            };
            if text.chars().count() < CELL {
                text
            } else {
                format!("{} thr.", threads.len())
            }
        }
    }
}

fn elements(count: u64) -> String {
    match count {
        1 => "1 element".to_owned(),
        _ => format!("{count} elements"),
    }
}

fn shortened(text: &str) -> String {
    if text.len() < CELL {
        text.to_owned()
    } else {
        format!("{}…", text.chars().take(CELL - 2).collect::<String>())
    }
}

/// Who came to a barrier that not all lanes of a warp came to together.
fn arrivals(block: &BlockRecord, place: &Place, kernel: &Kernel, file: &str) -> Option<String> {
    let thread = thread_of(block, place) as usize;
    let (warp, lane) = ((thread / LANES) as u32, thread % LANES);
    let is_it = |line: u32, lanes: u32| line == place.line && lanes >> lane & 1 == 1;
    let mut arrivals = block.arrivals.iter().filter(|arrival| arrival.warp == warp);
    let arrival = arrivals
        .find(|arrival| is_it(arrival.line, arrival.lanes) && arrival.lanes != arrival.live);
    let Some(arrival) = arrival else {
        return Some(standing(block, kernel, file));
    };
    let line = line_in(file, kernel.origin(arrival.line).as_ref());
    let at = line.map_or("a barrier".to_owned(), |line| {
        format!("the barrier of line {line}")
    });
    let mut text = format!(
        "who comes to {at} together, in block {}\n\n{RULER}",
        block.index[0]
    );
    let of_step = block
        .arrivals
        .iter()
        .filter(|other| other.step == arrival.step);
    let mut by_warp: BTreeMap<u32, String> = BTreeMap::new();
    for other in of_step {
        let cells =
            (0..LANES).map(
                |lane| match (other.lanes >> lane & 1, other.live >> lane & 1) {
                    (1, _) => '█',
                    (_, 1) => '·',
                    _ => ' ',
                },
            );
        by_warp.entry(other.warp).or_insert_with(|| cells.collect());
    }
    text += &folded(by_warp);
    text += "\n█ comes, · does not, a blank has left the kernel\n";
    Some(text)
}

/// The lanes' numbers above their columns.
const RULER: &str = "lane            0       8       16      24    31\n";

/// Where each lane was when the launch ended.
fn standing(block: &BlockRecord, kernel: &Kernel, file: &str) -> String {
    let place_of = |line: u32| {
        let text = kernel.line_text(line).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_end = words.iter().any(|word| matches!(*word, "ret;" | "exit;"));
        match line_in(file, kernel.origin(line).as_ref()) {
            _ if is_end => "has left the kernel".to_owned(),
            Some(line) => format!("line {line}"),
            None => format!("PTX line {line}: {text}"),
        }
    };
    let threads: usize = block.shape.iter().product::<u32>() as usize;
    let mut places: BTreeMap<String, char> = BTreeMap::new();
    for lines in block.last.values() {
        for line in lines.iter().filter(|&&line| line != 0) {
            let letter = (b'A' + places.len().min(25) as u8) as char;
            places.entry(place_of(*line)).or_insert(letter);
        }
    }
    let row = |warp: u32, lines: &[u32; LANES]| -> String {
        let cells = lines.iter().enumerate().map(|(lane, &line)| {
            match (warp as usize * LANES + lane < threads, line) {
                (false, _) => ' ',
                (true, 0) => '·',
                (true, line) => places[&place_of(line)],
            }
        });
        cells.collect()
    };
    let by_warp = block
        .last
        .iter()
        .map(|(&warp, lines)| (warp, row(warp, lines)));
    let mut text = format!(
        "where the lanes of block {} were when it stopped\n\n{RULER}{}\n",
        block.index[0],
        folded(by_warp.collect())
    );
    let mut letters: Vec<(char, String)> = places
        .into_iter()
        .map(|(place, letter)| (letter, place))
        .collect();
    letters.sort();
    for (letter, place) in letters {
        let _ = writeln!(text, "{letter} {place}");
    }
    text
}

/// Rows of warps, of which neighbours alike are one.
fn folded(by_warp: BTreeMap<u32, String>) -> String {
    let rows: Vec<(u32, String)> = by_warp.into_iter().collect();
    let groups: Vec<&[(u32, String)]> = rows.chunk_by(|one, next| one.1 == next.1).collect();
    let mut text = String::new();
    for group in groups.iter().take(WARPS) {
        let (first, last) = (group[0].0, group[group.len() - 1].0);
        let label = if first == last {
            format!("warp {first}")
        } else {
            format!("warps {first} to {last}")
        };
        let _ = writeln!(text, "{label:15} {}", group[0].1.trim_end());
    }
    if groups.len() > WARPS {
        let _ = writeln!(text, "… {} more", groups.len() - WARPS);
    }
    text
}
