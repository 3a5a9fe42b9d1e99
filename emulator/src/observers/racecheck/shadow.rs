//! Who last accessed each word of a memory, and whether that is ordered before the next access.
//!
//! A cell per 4-byte word holds the last plain write and the accesses since then that nothing orders: one stamp each, for as long
//! as that is enough, which it nearly always is. Words that are accessed in part have a cell per byte.

use crate::observers::Map;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use super::clocks::{Clocks, Knowledge};
use super::copies::Completed;
use super::reach::{Reach, Strong};
use crate::observer::{AccessEvent, AccessKind, AccessOrder};
use crate::registers::{LANES, each_lane, gather};

/// Cells of a page.
const PAGE_WORDS: u64 = 1024;
/// How many of the unordered accesses to one word are remembered, in warps.
const CROWD_LIMIT: usize = 1 << 16;
/// A warp's last moments, among which the next access looks for its like: loops come back to the same ones.
pub(super) type Recent = [u64; 4];

/// How an access conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub kind: AccessKind,
    /// Atomic, relaxed or stronger: no race with its like, as far as both reach.
    pub strong: bool,
    pub reach: Reach,
    pub volatile: bool,
    /// A load that promises that nobody writes there.
    pub read_only: bool,
    /// Done by an asynchronous copy that nobody has waited for.
    pub unfinished: bool,
}

impl Mode {
    pub fn of(kind: AccessKind, order: AccessOrder, reach: Reach) -> Self {
        Self {
            kind,
            strong: kind == AccessKind::Atomic
                || matches!(
                    order,
                    AccessOrder::Relaxed(_) | AccessOrder::AcquireRelease(_)
                ),
            reach,
            volatile: order == AccessOrder::Volatile,
            read_only: order == AccessOrder::ReadOnly,
            unfinished: false,
        }
    }

    pub fn writes(self) -> bool {
        self.kind != AccessKind::Load
    }

    /// The same of an asynchronous copy that is not complete.
    pub fn unfinished(self) -> Self {
        Self {
            unfinished: true,
            ..self
        }
    }
}

/// Lanes of a warp access memory by one instruction, at one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub block: u32,
    pub clock: u32,
    pub line: u32,
    pub warp: u32,
    /// Whose clock it is: the warp's, or that of its copies ([`super::copies`]).
    pub clock_of: u32,
    /// The block's grid.
    pub grid: u64,
    /// The block's device.
    pub device: u8,
    pub mode: Mode,
}

impl Moment {
    /// Whether it is an asynchronous copy's, of one that is not complete or that has told an mbarrier.
    pub fn is_copy(&self) -> bool {
        self.mode.unfinished || self.clock_of != self.warp
    }

    /// Whether one of two accesses is a load that promises that nobody does what the other does, in whatever order they happen.
    pub fn breaks_promise(&self, other: &Self) -> bool {
        let (one, two) = (self.mode, other.mode);
        (one.read_only && two.writes() || two.read_only && one.writes()) && self.grid == other.grid
    }

    /// Whether two unordered accesses are a race.
    pub fn conflicts(&self, other: &Self) -> bool {
        let (one, two) = (self.mode, other.mode);
        let strong = |moment: &Self| Strong {
            block: moment.block,
            device: moment.device,
            reach: moment.mode.reach,
        };
        let is_strong = one.strong && two.strong && strong(self).is_mutual(strong(other));
        (one.writes() || two.writes()) && !is_strong
    }
}

/// A lane's part of a moment, as `number << 5 | lane`; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp(u64);

/// In place of a stamp: the index of a crowd or of four cells.
const INDEX: u64 = 1 << 63;

impl Stamp {
    const NONE: Self = Self(0);

    fn new(moment: u64, lane: usize) -> Self {
        Self(moment << 5 | lane as u64)
    }
    fn moment(self) -> u64 {
        self.0 >> 5
    }
    fn lane(self) -> u32 {
        self.0 as u32 & 31
    }
    fn from_index(index: usize) -> Self {
        Self(INDEX | index as u64)
    }
    fn index(self) -> Option<usize> {
        (self.0 & INDEX != 0).then_some((self.0 & !INDEX) as usize)
    }
}

/// A word, or a byte of it.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The last write that was not strong; or the index of the four cells of the word's bytes.
    write: Stamp,
    /// The other access since then; or the index of a crowd.
    others: Stamp,
}

/// Accesses to a word that nothing orders: moments with their lanes.
#[derive(Clone, Debug, Default)]
struct Crowd {
    reads: Vec<(u64, u32)>,
    strong: Vec<(u64, u32)>,
}

/// Two accesses that conflict and that nothing orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    pub before: Moment,
    pub before_lane: u32,
    pub after: Moment,
    pub after_lane: u32,
    /// The first byte that both access.
    pub address: u64,
    /// Whether wider scopes would have ordered them.
    pub was_missed: bool,
}

/// The past of a memory.
#[derive(Debug)]
pub(super) struct Shadow {
    /// The first is nobody's.
    moments: Vec<Moment>,
    pages: Vec<Box<[Cell]>>,
    page_numbers: Map<u64, usize>,
    /// Number and index of the page used last.
    last_page: (u64, usize),
    crowds: Vec<Crowd>,
    free_crowds: Vec<usize>,
    splits: Vec<[Cell; 4]>,
    free_splits: Vec<usize>,
    /// Whether there may have been an access that does not reach all blocks.
    any_narrow: bool,
}

impl Default for Shadow {
    fn default() -> Self {
        let nobody = Moment {
            block: u32::MAX,
            clock: 0,
            line: 0,
            warp: 0,
            clock_of: 0,
            grid: 0,
            device: 0,
            mode: Mode::of(AccessKind::Load, AccessOrder::Weak, Reach::System),
        };
        Self {
            moments: vec![nobody],
            pages: Vec::new(),
            page_numbers: Map::default(),
            last_page: (u64::MAX, 0),
            crowds: Vec::new(),
            free_crowds: Vec::new(),
            splits: Vec::new(),
            free_splits: Vec::new(),
            any_narrow: false,
        }
    }
}

impl Shadow {
    /// From now on, others than the threads of one device access it: what is for a device only does not reach all.
    pub fn share_among_devices(&mut self) {
        self.any_narrow = true;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.moments.truncate(1);
        for page in &mut self.pages {
            page.fill(Cell::default());
        }
        self.crowds.clear();
        self.free_crowds.clear();
        self.splits.clear();
        self.free_splits.clear();
    }

    /// Takes note of an access by its lanes, or by one lane's copy at its completion, and tells of every word of it that is part of a
    /// race.
    pub fn access(
        &mut self,
        clocks: &Clocks,
        completed: Option<&Completed>,
        recent: &mut Recent,
        event: &AccessEvent<'_>,
        found: &mut dyn FnMut(Conflict),
    ) {
        let reach = clocks.reach(event.order.scope());
        let mode = Mode::of(event.kind, event.order, reach);
        self.any_narrow |= matches!(reach, Reach::Block(_) | Reach::Cluster(_));
        let mut rest = event.lanes;
        while rest != 0 {
            let now = clocks.of_warp(event.warp);
            // Nearly always the lanes of a warp are at the same clock.
            let (clock_of, clock, lanes) = match completed {
                Some(copy) => (copy.clock_of, copy.clock, rest),
                None => {
                    let clock = now[rest.trailing_zeros() as usize];
                    (event.warp, clock, rest & gather(|lane| now[lane] == clock))
                }
            };
            rest &= !lanes;
            let moment = self.moment(
                recent,
                Moment {
                    block: clocks.block(),
                    clock,
                    line: event.line,
                    warp: event.warp,
                    clock_of,
                    grid: clocks.grid(),
                    device: clocks.device(),
                    mode,
                },
            );
            let mut view = View {
                clocks,
                moment,
                mode,
                warp: event.warp,
                completed: completed.map(|copy| &copy.known),
                base: match completed {
                    Some(copy) => copy.known.base(clocks.block()),
                    None => clocks.base(),
                },
                known: 0,
                learnt: None,
            };
            each_lane(lanes, |lane| {
                let stamp = Stamp::new(moment, lane);
                let address = event.addresses[lane];
                let past = address + u64::from(event.bytes);
                let conflict = self.visit_bytes(&mut view, address..past, stamp);
                if let Some((stamp, address)) = conflict {
                    let before = self.moments[stamp.moment() as usize];
                    let other = before.clock_of * LANES as u32 + stamp.lane();
                    let thread = event.warp * LANES as u32 + lane as u32;
                    found(Conflict {
                        before,
                        before_lane: stamp.lane(),
                        after: self.moments[moment as usize],
                        after_lane: lane as u32,
                        address,
                        was_missed: clocks.has_missed(before.block, other, before.clock, thread),
                    });
                }
            });
        }
    }

    /// The number of a moment: that of one just like it, if it was among the warp's last.
    fn moment(&mut self, recent: &mut Recent, moment: Moment) -> u64 {
        let found = recent
            .iter()
            .find(|&&number| self.moments.get(number as usize) == Some(&moment));
        if let Some(&number) = found {
            return number;
        }
        let number = self.moments.len() as u64;
        self.moments.push(moment);
        recent.rotate_right(1);
        recent[0] = number;
        number
    }

    /// Visits bytes of these addresses. Returns the first access that races, and the address that shows it.
    #[inline(always)]
    fn visit_bytes(
        &mut self,
        view: &mut View<'_>,
        addresses: Range<u64>,
        stamp: Stamp,
    ) -> Option<(Stamp, u64)> {
        let mut first = None;
        let past = addresses.end.div_ceil(4);
        let mut word = addresses.start / 4;
        while word < past {
            let (page, slot) = self.place(word);
            let count = (PAGE_WORDS - slot as u64).min(past - word);
            let mut cells = mem::take(&mut self.pages[page]);
            for cell in &mut cells[slot..slot + count as usize] {
                let begin = 4 * word;
                let conflict = if addresses.start <= begin
                    && begin + 4 <= addresses.end
                    && cell.write.index().is_none()
                {
                    self.visit(view, cell, stamp).map(|before| (before, begin))
                } else {
                    let bit = |address: u64| 1 << (address.clamp(begin, begin + 4) - begin);
                    let mask = bit(addresses.end) - bit(addresses.start);
                    self.visit_parts(view, cell, mask, stamp)
                        .map(|(before, byte)| (before, begin + byte))
                };
                first = first.or(conflict);
                word += 1;
            }
            self.pages[page] = cells;
        }
        first
    }

    /// Visits the bytes of the mask in one word. Returns an access that races, and the byte of the word that shows it.
    fn visit_parts(
        &mut self,
        view: &mut View<'_>,
        cell: &mut Cell,
        mask: u32,
        stamp: Stamp,
    ) -> Option<(Stamp, u64)> {
        let split = match cell.write.index() {
            Some(split) => split,
            None => self.split(*cell),
        };
        *cell = Cell {
            write: Stamp::from_index(split),
            others: Stamp::NONE,
        };
        let mut first = None;
        each_lane(mask, |byte| {
            let mut part = self.splits[split][byte];
            let conflict = self.visit(view, &mut part, stamp);
            self.splits[split][byte] = part;
            first = first.or(conflict.map(|before| (before, byte as u64)));
        });
        if mask == 0b1111 && view.mode.writes() && !view.mode.strong {
            // All four bytes have the same past again.
            *cell = self.splits[split][0];
            self.free_splits.push(split);
        }
        first
    }

    /// Gives each byte of a word a cell of its own.
    fn split(&mut self, cell: Cell) -> usize {
        let mut parts = [cell; 4];
        if let Some(crowd) = cell.others.index() {
            for part in &mut parts[1..] {
                let copy = self.crowds[crowd].clone();
                part.others = Stamp::from_index(self.new_crowd(copy));
            }
        }
        match self.free_splits.pop() {
            Some(index) => {
                self.splits[index] = parts;
                index
            }
            None => {
                self.splits.push(parts);
                self.splits.len() - 1
            }
        }
    }

    fn new_crowd(&mut self, crowd: Crowd) -> usize {
        match self.free_crowds.pop() {
            Some(index) => {
                self.crowds[index] = crowd;
                index
            }
            None => {
                self.crowds.push(crowd);
                self.crowds.len() - 1
            }
        }
    }

    /// Page and place in it of a word.
    #[inline(always)]
    fn place(&mut self, word: u64) -> (usize, usize) {
        let (number, slot) = (word / PAGE_WORDS, (word % PAGE_WORDS) as usize);
        if self.last_page.0 != number {
            let pages = &mut self.pages;
            let index = *self.page_numbers.entry(number).or_insert_with(|| {
                pages.push(vec![Cell::default(); PAGE_WORDS as usize].into());
                pages.len() - 1
            });
            self.last_page = (number, index);
        }
        (self.last_page.1, slot)
    }

    /// Adds an access to the past of a cell. Returns one that it races with.
    #[inline(always)]
    fn visit(&mut self, view: &mut View<'_>, cell: &mut Cell, stamp: Stamp) -> Option<Stamp> {
        let mut conflict = None;
        if cell.write != Stamp::NONE
            && (!view.is_ordered(&self.moments, cell.write, stamp)
                || view.mode.read_only && self.breaks_promise(view, cell.write))
        {
            conflict = Some(cell.write);
        }
        if cell.others != Stamp::NONE && conflict.is_none() {
            conflict = self.conflict_with_others(view, cell.others, stamp);
        }
        if view.mode.writes() && !view.mode.strong {
            // Whatever comes after this comes after all that was ordered before it.
            if let Some(crowd) = cell.others.index() {
                self.free_crowds.push(crowd);
            }
            *cell = Cell {
                write: stamp,
                others: Stamp::NONE,
            };
        } else if cell.others == Stamp::NONE {
            cell.others = stamp;
        } else {
            self.add_other(view, cell, stamp);
        }
        conflict
    }

    fn breaks_promise(&self, view: &View<'_>, before: Stamp) -> bool {
        self.moments[view.moment as usize].breaks_promise(&self.moments[before.moment() as usize])
    }

    fn conflict_with_others(
        &mut self,
        view: &mut View<'_>,
        others: Stamp,
        stamp: Stamp,
    ) -> Option<Stamp> {
        let Some(crowd) = others.index() else {
            let races = self.moments[others.moment() as usize]
                .conflicts(&self.moments[view.moment as usize])
                && (!view.is_ordered(&self.moments, others, stamp)
                    || self.breaks_promise(view, others));
            return races.then_some(others);
        };
        let Crowd { reads, strong } = &self.crowds[crowd];
        let reads = if view.mode.writes() { &reads[..] } else { &[] };
        let strong = if view.mode.strong && !self.any_narrow {
            &[]
        } else {
            &strong[..]
        };
        let now = &self.moments[view.moment as usize];
        for &(moment, lanes) in reads.iter().chain(strong) {
            let before = &self.moments[moment as usize];
            let breaks_promise = before.breaks_promise(now);
            if !before.conflicts(now) || view.all_know(before) && !breaks_promise {
                continue;
            }
            let racing = (0..LANES)
                .filter(|lane| lanes >> lane & 1 == 1)
                .map(|lane| Stamp::new(moment, lane))
                .find(|&other| breaks_promise || !view.is_ordered(&self.moments, other, stamp));
            if racing.is_some() {
                return racing;
            }
        }
        None
    }

    /// Adds a read or a strong access to those since the last write.
    fn add_other(&mut self, view: &mut View<'_>, cell: &mut Cell, stamp: Stamp) {
        let crowd = match cell.others.index() {
            Some(crowd) => crowd,
            None => {
                let other = cell.others;
                let mode = self.moments[other.moment() as usize].mode;
                // What conflicts with the older one, conflicts with the newer or comes after it.
                let stands_for = mode.strong == view.mode.strong
                    && mode.read_only == view.mode.read_only
                    && mode.reach == view.mode.reach
                    && (view.mode.writes() || !mode.writes());
                if stands_for && view.is_ordered(&self.moments, other, stamp) {
                    cell.others = stamp;
                    return;
                }
                let index = self.new_crowd(Crowd::default());
                let list = self.crowds[index].list(mode);
                list.push((other.moment(), 1 << other.lane()));
                cell.others = Stamp::from_index(index);
                index
            }
        };
        let Self {
            crowds, moments, ..
        } = self;
        let list = crowds[crowd].list(view.mode);
        match list
            .iter_mut()
            .rev()
            .take(4)
            .find(|(moment, _)| *moment == view.moment)
        {
            Some((_, lanes)) => *lanes |= 1 << stamp.lane(),
            None => {
                if list.len() >= 16 && list.len().is_power_of_two() {
                    // Whatever races with one that is left out, races with the new one as well.
                    let now = &moments[view.moment as usize];
                    list.retain(|&(moment, lanes)| {
                        let moment = &moments[moment as usize];
                        let same_thread = (moment.block, moment.clock_of, lanes)
                            == (now.block, now.clock_of, 1 << stamp.lane());
                        (moment.mode.writes() && !view.mode.writes())
                            || moment.mode.reach != view.mode.reach
                            || !(same_thread || view.all_know(moment))
                    });
                }
                if list.len() >= CROWD_LIMIT {
                    list.drain(..CROWD_LIMIT / 2);
                }
                list.push((view.moment, 1 << stamp.lane()));
            }
        }
    }
}

impl Crowd {
    fn list(&mut self, mode: Mode) -> &mut Vec<(u64, u32)> {
        if mode.strong {
            &mut self.strong
        } else {
            &mut self.reads
        }
    }
}

/// An access as it looks back.
struct View<'a> {
    clocks: &'a Clocks,
    moment: u64,
    mode: Mode,
    warp: u32,
    /// What was before it, of a copy at its completion.
    completed: Option<&'a Arc<Knowledge>>,
    /// The clock below which everything of the block is known.
    base: u32,
    /// A moment that is known to be ordered before, whatever the lanes.
    known: u64,
    /// A lane's part of a moment, and what threads have learnt that comes after it.
    learnt: Option<(Stamp, &'a Arc<Knowledge>)>,
}

impl View<'_> {
    /// Whether a moment is ordered before, whatever the lanes.
    #[inline(always)]
    fn all_know(&self, before: &Moment) -> bool {
        before.block == self.clocks.block() && before.clock < self.base
    }

    #[inline(always)]
    fn is_ordered(&mut self, moments: &[Moment], before: Stamp, stamp: Stamp) -> bool {
        let number = before.moment();
        if number == self.known {
            return true;
        }
        let moment = &moments[number as usize];
        if self.all_know(moment) {
            self.known = number;
            return true;
        }
        let (block, clock) = (moment.block, moment.clock);
        let other = moment.clock_of * LANES as u32 + before.lane();
        let thread = self.warp * LANES as u32 + stamp.lane();
        let learnt = match self.completed {
            None if self.clocks.is_near(block, other, clock, thread) => return true,
            None => self.clocks.learnt(thread),
            completed => completed,
        };
        let Some(learnt) = learnt else {
            return false;
        };
        // Many lanes ask the same of what they have learnt together.
        if let Some((of, by)) = self.learnt
            && of == before
            && Arc::ptr_eq(by, learnt)
        {
            return true;
        }
        let is_ordered = learnt.covers(block, other, clock);
        if is_ordered {
            self.learnt = Some((before, learnt));
        }
        is_ordered
    }
}
