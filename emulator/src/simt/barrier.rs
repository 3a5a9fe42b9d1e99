//! The sixteen barriers of a block, and what to say when its threads wait for ever.

use super::barrier_state::{BARRIERS, BarrierState};
use super::block::Block;
use super::site::Faulty;
use super::warp::{Fragment, State};
use crate::code::{Barrier, BarrierKind, Op};
use crate::error::{Absence, Fault, Trap};
use crate::observer::{BarrierEvent, Observer, ReleaseEvent};
use crate::registers::{LANES, each_lane};

impl<O: Observer> Block<'_, '_, O> {
    /// A fragment arrives; it waits unless it only arrives, or is the last.
    pub(super) fn arrive_at_barrier(
        &mut self,
        number: usize,
        mut fragment: Fragment,
        barrier: &Barrier,
        line: u32,
    ) -> Faulty<()> {
        self.warps[number].note_barrier();
        let first = fragment.lanes.trailing_zeros();
        let fail = |message: String| Err((Fault::MisusedBarrier(message), first));
        let warp = &self.warps[number];
        let registers = &warp.frames[fragment.frame as usize].registers;
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
        if barrier.count.is_some() && (expected == 0 || !expected.is_multiple_of(LANES as u32)) {
            return fail(format!(
                "a barrier for {expected} threads, which is no multiple of the warp size"
            ));
        }
        let holds = match barrier.kind {
            BarrierKind::Sync | BarrierKind::Arrive => 0,
            BarrierKind::Count { predicate, .. }
            | BarrierKind::Or { predicate, .. }
            | BarrierKind::And { predicate, .. } => fragment.lanes & registers.predicate(predicate),
        };
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
        if state.expected != 0 && state.expected != expected {
            let message = format!(
                "barrier {id} for {expected} threads, while others wait at it for {}",
                state.expected
            );
            return fail(message);
        }
        // With a count, a warp that is all there counts as 32 threads, even the last one of a block that is not full.
        let counted = |lanes: u32| match barrier.count {
            Some(_) if lanes == warp.live => LANES as u32,
            _ => lanes.count_ones(),
        };
        let before = state.arrived[number];
        let now = before | fragment.lanes;
        state.arrived[number] = now;
        state.count += counted(now) - if before == 0 { 0 } else { counted(before) };
        state.expected = expected;
        state.holds += holds.count_ones();
        state.who.push((number as u32, fragment.lanes));
        if before & fragment.lanes != 0 || state.count > expected {
            let message = format!(
                "barrier {id} for {expected} threads is reached by more, or twice by one thread"
            );
            return fail(message);
        }
        let complete = state.count == expected;
        let elsewhere = self.warps[number].fragments.iter().find(|other| {
            other.state == State::AtBarrier(id) && self.line_of(number, other) != line
        });
        if let Some(other) = elsewhere.filter(|_| barrier.aligned) {
            let fault = Fault::DivergentBarrier {
                barrier: id,
                other_thread: self.thread(number, other.lanes.trailing_zeros()),
                other_line: self.line_of(number, other),
            };
            return Err((fault, first));
        }
        if barrier.kind == BarrierKind::Arrive {
            fragment.pc += 1;
            self.warps[number].settle(fragment);
        } else {
            fragment.state = State::AtBarrier(id);
            self.warps[number].fragments.push(fragment);
        }
        if complete {
            self.release(id);
        }
        Ok(())
    }

    /// All have arrived: everybody goes on, with the result of a reducing barrier.
    fn release(&mut self, id: u32) {
        let state = &mut self.barriers[id as usize];
        let holds = state.holds;
        let hold_all = holds == state.threads();
        self.observer.release(ReleaseEvent {
            barrier: id,
            arrived: &state.who,
        });
        state.who.clear();
        *state = BarrierState {
            who: std::mem::take(&mut state.who),
            ..BarrierState::default()
        };
        let kernel = self.code;
        for warp in 0..self.warps.len() {
            let mut waiting = Vec::new();
            self.warps[warp].fragments.retain(|fragment| {
                let here = fragment.state == State::AtBarrier(id);
                if here {
                    waiting.push(*fragment);
                }
                !here
            });
            for mut fragment in waiting {
                let code = &kernel.functions
                    [self.warps[warp].frames[fragment.frame as usize].code as usize];
                let Op::Barrier(barrier) = &code.instructions[fragment.pc as usize].op else {
                    continue;
                };
                let registers = &mut self.warps[warp].frames[fragment.frame as usize].registers;
                let mut set = |d: u32, value: bool| {
                    let d = &mut registers.predicates[d as usize];
                    *d = *d & !fragment.lanes | if value { fragment.lanes } else { 0 };
                };
                match barrier.kind {
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                    BarrierKind::And { d, .. } => set(d, hold_all),
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
    }

    /// No thread can go on, and not all have exited: names who waits for whom.
    pub(super) fn stuck(&self) -> Box<Trap> {
        let waiting = |wanted: fn(State) -> bool| {
            self.warps.iter().enumerate().find_map(|(number, warp)| {
                let fragment = warp
                    .fragments
                    .iter()
                    .find(|fragment| wanted(fragment.state))?;
                Some((number, *fragment))
            })
        };
        if let Some((warp, fragment)) = waiting(|state| state == State::AtCollective) {
            return self.stuck_collective(warp, &fragment);
        }
        let at_barrier = waiting(|state| matches!(state, State::AtBarrier(_)));
        let Some((warp, fragment, barrier)) = at_barrier.and_then(|(warp, fragment)| {
            let State::AtBarrier(barrier) = fragment.state else {
                return None;
            };
            Some((warp, fragment, barrier))
        }) else {
            unreachable!(
                "a live lane is ready, at a reconvergence point that was released, or waits as above"
            )
        };
        let state = &self.barriers[barrier as usize];
        let fault = Fault::BarrierNeverCompleted {
            barrier,
            waiting: state.threads(),
            expected: state.expected,
            missing: self.missing(barrier),
        };
        let lane = fragment.lanes.trailing_zeros();
        self.trap(warp, lane, self.line_of(warp, &fragment), fault)
    }

    /// What the first thread does that is not at the barrier.
    fn missing(&self, barrier: u32) -> Absence {
        for (number, warp) in self.warps.iter().enumerate() {
            let absent = warp.initial & !self.barriers[barrier as usize].arrived[number];
            if absent == 0 {
                continue;
            }
            let lane = absent.trailing_zeros();
            let thread = self.thread(number, lane);
            let fragment = warp
                .fragments
                .iter()
                .find(|fragment| fragment.lanes >> lane & 1 == 1);
            return match fragment {
                Some(fragment) => Absence::Waits {
                    thread,
                    line: self.line_of(number, fragment),
                },
                None => Absence::Exited {
                    thread,
                    line: warp.last_exit.unwrap_or_default(),
                },
            };
        }
        Absence::NoThread
    }
}
