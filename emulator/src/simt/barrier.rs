//! The sixteen barriers of a block, and what to say when its threads wait for ever.

use super::access::Faulty;
use super::block::{BARRIERS, Block, thread_index};
use super::warp::{Fragment, State};
use crate::error::{Absence, Fault, Trap};
use crate::observer::{BarrierEvent, Observer, ReleaseEvent};
use crate::program::*;
use crate::registers::{LANES, each_lane};

/// One barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct BarrierState {
    /// Threads that have arrived.
    arrived: u32,
    /// Threads that must arrive; 0 until the first does.
    expected: u32,
    /// Of the arrived threads, those whose predicate holds.
    holds: u32,
    /// Who arrived: warps with their lanes.
    who: Vec<(u32, u32)>,
}

impl<O: Observer> Block<'_, '_, O> {
    /// A fragment arrives; it waits unless it only arrives, or is the last.
    pub(super) fn arrive_at_barrier(
        &mut self,
        number: usize,
        mut fragment: Fragment,
        barrier: &Barrier,
        line: u32,
    ) -> Faulty<()> {
        let first = fragment.lanes.trailing_zeros();
        let fail = |message: String| Err((Fault::BadOperand(message), first));
        let registers = &self.warps[number].frames[fragment.frame as usize].registers;
        let id = registers.narrow[barrier.id as usize][first as usize];
        if id as usize >= BARRIERS {
            return fail(format!("barrier {id} of a block that has {BARRIERS}"));
        }
        let mut uniform = true;
        each_lane(fragment.lanes, |lane| {
            uniform &= registers.narrow[barrier.id as usize][lane] == id
        });
        if !uniform {
            return fail("barrier numbers that differ inside a warp".to_owned());
        }
        let expected = match barrier.count {
            None => self.threads,
            Some(row) => registers.narrow[row as usize][first as usize],
        };
        if barrier.count.is_some() && (expected == 0 || expected % LANES as u32 != 0) {
            return fail(format!(
                "a barrier for {expected} threads, which is no multiple of the warp size"
            ));
        }
        let predicate = match barrier.kind {
            BarrierKind::Sync | BarrierKind::Arrive => None,
            BarrierKind::Count { predicate, .. }
            | BarrierKind::Or { predicate, .. }
            | BarrierKind::And { predicate, .. } => Some(predicate),
        };
        let holds = predicate.map_or(0, |code| {
            let bits = registers.predicates[(code >> 1) as usize];
            (fragment.lanes & if code & 1 == 1 { !bits } else { bits }).count_ones()
        });
        let warp = &self.warps[number];
        self.observer.barrier(BarrierEvent {
            warp: number as u32,
            line,
            lanes: fragment.lanes,
            live: warp.live,
            barrier: id,
            waits: barrier.kind != BarrierKind::Arrive,
            aligned: barrier.aligned,
        });
        let state = &mut self.barriers[id as usize];
        let before: u32 = state
            .who
            .iter()
            .filter(|(warp, _)| *warp == number as u32)
            .fold(0, |before, (_, lanes)| before | lanes);
        // With an explicit count a warp counts as 32 threads, even the last one of a block that is not full.
        let missing = if barrier.count.is_some()
            && (before | fragment.lanes) == warp.live
            && warp.live == warp.initial
        {
            LANES as u32 - warp.live.count_ones()
        } else {
            0
        };
        let arriving = fragment.lanes.count_ones() + missing;
        if state.arrived != 0 && state.expected != expected {
            let message = format!(
                "barrier {id} for {expected} threads, while others wait at it for {}",
                state.expected
            );
            return fail(message);
        }
        state.expected = expected;
        state.arrived += arriving;
        state.holds += holds;
        state.who.push((number as u32, fragment.lanes));
        if state.arrived > expected {
            let message = format!(
                "barrier {id} for {expected} threads is reached by {}",
                state.arrived
            );
            return fail(message);
        }
        if barrier.kind == BarrierKind::Arrive {
            fragment.pc += 1;
            self.warps[number].settle(fragment);
        } else {
            fragment.state = State::AtBarrier(id);
            self.warps[number].fragments.push(fragment);
        }
        if self.barriers[id as usize].arrived == expected {
            self.release(number, first, id)
        } else {
            Ok(())
        }
    }

    /// All have arrived: everybody goes on, with the result of a reducing barrier.
    fn release(&mut self, number: usize, first: u32, id: u32) -> Faulty<()> {
        let state = &mut self.barriers[id as usize];
        let (arrived, holds) = (state.arrived, state.holds);
        self.observer.release(ReleaseEvent {
            barrier: id,
            arrived: &state.who,
        });
        state.who.clear();
        *state = BarrierState {
            who: std::mem::take(&mut state.who),
            ..BarrierState::default()
        };
        let program = self.program;
        for warp in 0..self.warps.len() {
            let mut place: Option<u32> = None;
            let mut waiting = Vec::new();
            self.warps[warp].fragments.retain(|fragment| {
                let here = fragment.state == State::AtBarrier(id);
                if here {
                    waiting.push(*fragment);
                }
                !here
            });
            for mut fragment in waiting {
                let code = &program.functions
                    [self.warps[warp].frames[fragment.frame as usize].code as usize];
                let Op::Barrier(barrier) = &code.instructions[fragment.pc as usize].op else {
                    continue;
                };
                let line = code.lines[fragment.pc as usize];
                if let Some(other) = place.filter(|&other| barrier.aligned && other != line) {
                    let lane = if warp == number {
                        first
                    } else {
                        fragment.lanes.trailing_zeros()
                    };
                    return Err((
                        Fault::DivergentBarrier {
                            barrier: id,
                            other_line: other as usize,
                        },
                        lane,
                    ));
                }
                place = Some(line);
                let registers = &mut self.warps[warp].frames[fragment.frame as usize].registers;
                let mut set = |d: u32, value: bool| {
                    let d = &mut registers.predicates[d as usize];
                    *d = *d & !fragment.lanes | if value { fragment.lanes } else { 0 };
                };
                match barrier.kind {
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                    BarrierKind::And { d, .. } => set(d, holds == arrived),
                    BarrierKind::Or { d, .. } => set(d, holds != 0),
                    BarrierKind::Count { d, .. } => {
                        each_lane(fragment.lanes, |lane| {
                            registers.narrow[d as usize][lane] = holds
                        });
                    }
                }
                fragment.state = State::Ready;
                fragment.pc += 1;
                self.warps[warp].settle(fragment);
            }
        }
        Ok(())
    }

    /// No thread can go on, and not all have exited: names who waits for whom.
    pub(super) fn stuck(&self) -> Box<Trap> {
        let at_collective = self.waiting(|state| state == State::AtCollective);
        if let Some((warp, fragment)) = at_collective {
            return self.stuck_collective(warp, &fragment);
        }
        let Some((warp, fragment)) = self.waiting(|state| matches!(state, State::AtBarrier(_)))
        else {
            // Every live lane is in a fragment, so one of the two kinds of waiting was found above.
            return self.trap(
                0,
                0,
                0,
                Fault::Deadlock("no thread waits, and none can run".to_owned()),
            );
        };
        let State::AtBarrier(barrier) = fragment.state else {
            unreachable!("found by its state")
        };
        let state = &self.barriers[barrier as usize];
        let missing = self.missing(barrier);
        let lane = fragment.lanes.trailing_zeros();
        let fault = Fault::BarrierNeverCompleted {
            barrier,
            waiting: state.arrived,
            expected: state.expected,
            missing,
        };
        self.trap(warp, lane, self.line_of(warp, &fragment), fault)
    }

    fn waiting(&self, wanted: impl Fn(State) -> bool) -> Option<(usize, Fragment)> {
        self.warps.iter().enumerate().find_map(|(number, warp)| {
            warp.fragments
                .iter()
                .find(|fragment| wanted(fragment.state))
                .map(|fragment| (number, *fragment))
        })
    }

    /// What the first thread does that is not at the barrier.
    fn missing(&self, barrier: u32) -> Absence {
        for (number, warp) in self.warps.iter().enumerate() {
            let thread =
                |lane: u32| thread_index(self.shape.block, number as u32 * LANES as u32 + lane);
            let elsewhere = warp
                .fragments
                .iter()
                .find(|fragment| fragment.state != State::AtBarrier(barrier));
            if let Some(fragment) = elsewhere {
                return Absence::Waits {
                    thread: thread(fragment.lanes.trailing_zeros()),
                    line: self.line_of(number, fragment),
                };
            }
            if let Some((pc, frame, lanes)) = warp.met() {
                return Absence::Waits {
                    thread: thread(lanes.trailing_zeros()),
                    line: self.program.line(warp.frames[frame as usize].code, pc),
                };
            }
            if warp.live != warp.initial {
                return Absence::Exited {
                    thread: thread((warp.initial & !warp.live).trailing_zeros()),
                    line: warp.last_exit.map_or(0, |(_, line)| line),
                };
            }
        }
        Absence::NoThread
    }
}
