//! In which step each event of a block belongs.

use super::events::{Event, Races};
use super::picture::{Boundary, Cell, Content};
use std::collections::{BTreeMap, HashMap, HashSet};
use warpfold_emulator::AccessKind;

/// Where each warp stands while events are dealt out to steps.
pub(super) struct Clocks<'r> {
    races: &'r Races,
    is_cooperative: bool,
    /// The step in which the block begins.
    start: usize,
    /// Whether the block has looked at a counter since its last barrier.
    has_counted: bool,
    warps: BTreeMap<u32, Clock>,
    /// Who has last written each cell.
    writers: HashMap<Cell, Writer>,
    step_of: Vec<usize>,
    boundaries: BTreeMap<usize, Boundary>,
}

#[derive(Clone, Copy)]
struct Writer {
    warp: u32,
    lane: u32,
    line: u32,
    is_copy: bool,
    step: usize,
}

#[derive(Default)]
struct Clock {
    step: usize,
    /// The events of the step after its last store.
    after_store: Vec<usize>,
    has_barrier_after_store: bool,
    /// What the warp has written in this step.
    written: HashSet<Cell>,
}

impl Clock {
    fn begin(&mut self, step: usize) {
        self.step = step;
        self.after_store.clear();
        self.has_barrier_after_store = false;
        self.written.clear();
    }
}

impl<'r> Clocks<'r> {
    pub(super) fn new(races: &'r Races, is_cooperative: bool, start: usize) -> Self {
        Self {
            races,
            is_cooperative,
            start,
            has_counted: false,
            warps: BTreeMap::new(),
            writers: HashMap::new(),
            step_of: Vec::new(),
            boundaries: BTreeMap::new(),
        }
    }

    /// The step of each event, and what lies before each step. `launched` gets the step in which each grid is launched; `finish` takes
    /// from it the grids that the block waits for, and returns the step after them.
    pub(super) fn divide(
        mut self,
        events: &[Event],
        launched: &mut BTreeMap<u64, usize>,
        finish: &mut impl FnMut(&[u64], &mut BTreeMap<u64, usize>) -> Option<usize>,
    ) -> (Vec<usize>, BTreeMap<usize, Boundary>) {
        for (number, event) in events.iter().enumerate() {
            let step = match event {
                Event::Access {
                    warp,
                    line,
                    kind,
                    is_copy,
                    moves,
                    ..
                } => {
                    self.has_counted |= moves
                        .iter()
                        .any(|(_, cell, _)| matches!(cell, Cell::Counter(_)));
                    self.access(number, (*warp, *line, *kind, *is_copy), moves);
                    self.clock(*warp).step
                }
                Event::Exchange { warp, .. } => {
                    let step = self.clock(*warp).step + 1;
                    self.clock(*warp).begin(step);
                    self.bound(step, Boundary::Exchange);
                    step
                }
                Event::WarpBarrier { warp } => {
                    let clock = self.clock(*warp);
                    clock.has_barrier_after_store = true;
                    clock.step
                }
                Event::BlockBarrier { warps } => {
                    let steps = warps.iter().map(|&warp| self.clock(warp).step).max();
                    let step = steps.unwrap_or_default() + 1;
                    for &warp in warps {
                        self.clock(warp).begin(step);
                    }
                    let is_of_grid = self.is_cooperative && std::mem::take(&mut self.has_counted);
                    self.bound(
                        step,
                        if is_of_grid {
                            Boundary::GridBarrier
                        } else {
                            Boundary::BlockBarrier
                        },
                    );
                    // The barrier itself is part of no step; it counts where it cannot make one.
                    step - 1
                }
                Event::GridLaunch { warp, grid, .. } => {
                    let step = self.clock(*warp).step;
                    launched.insert(*grid, step);
                    step
                }
                Event::GridWait { warp, grids } => {
                    let before = self.clock(*warp).step;
                    if let Some(step) = finish(grids, launched) {
                        self.clock(*warp).begin(step);
                        self.bound(step, Boundary::GridWait);
                    }
                    before
                }
            };
            self.step_of.push(step);
        }
        (self.step_of, self.boundaries)
    }

    fn access(
        &mut self,
        number: usize,
        (warp, line, kind, is_copy): (u32, u32, AccessKind, bool),
        moves: &[(u32, Cell, Content)],
    ) {
        let clock = self.warps.entry(warp).or_insert_with(|| Clock {
            step: self.start,
            ..Clock::default()
        });
        if kind != AccessKind::Store {
            let writers = || {
                moves
                    .iter()
                    .filter_map(|(_, cell, _)| self.writers.get(cell))
            };
            let copied = writers().filter(|writer| writer.is_copy);
            let copied = copied.map(|writer| writer.step + 1).max();
            if let Some(step) = copied.filter(|&step| step > clock.step) {
                clock.begin(step);
                raise(&mut self.boundaries, step, Boundary::Copy);
            } else if moves
                .iter()
                .any(|(_, cell, _)| clock.written.contains(cell))
            {
                // It needs what this step has written. Everything after the writing goes along.
                let boundary = if clock.has_barrier_after_store {
                    Boundary::WarpBarrier
                } else {
                    Boundary::OwnThread
                };
                let step = clock.step + 1;
                for &event in &clock.after_store {
                    self.step_of[event] = step;
                }
                clock.begin(step);
                raise(&mut self.boundaries, step, boundary);
            }
        }
        if kind == AccessKind::Load {
            let races = |(lane, cell, _): &(u32, Cell, Content)| {
                self.writers.get(cell).is_some_and(|writer| {
                    writer.warp == warp
                        && writer.lane != *lane
                        && self.races.contains(&[writer.line, line])
                })
            };
            if moves.iter().any(races) {
                raise(&mut self.boundaries, clock.step, Boundary::Unordered);
            }
            clock.after_store.push(number);
            return;
        }
        clock.after_store.clear();
        clock.has_barrier_after_store = false;
        for &(lane, cell, _) in moves {
            clock.written.insert(cell);
            let step = clock.step;
            self.writers.insert(
                cell,
                Writer {
                    warp,
                    lane,
                    line,
                    is_copy,
                    step,
                },
            );
        }
    }

    fn clock(&mut self, warp: u32) -> &mut Clock {
        let step = self.start;
        self.warps.entry(warp).or_insert_with(|| Clock {
            step,
            ..Clock::default()
        })
    }

    fn bound(&mut self, step: usize, boundary: Boundary) {
        raise(&mut self.boundaries, step, boundary);
    }
}

/// Notes what lies before a step; of several, the strongest.
pub(super) fn raise(boundaries: &mut BTreeMap<usize, Boundary>, step: usize, boundary: Boundary) {
    let known = boundaries.entry(step).or_default();
    *known = boundary.max(*known);
}
