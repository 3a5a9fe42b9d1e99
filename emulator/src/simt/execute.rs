//! One fragment at a time: fetch, decide who takes part, execute.

use super::block::{Block, FRAGMENT_TURN, Turn};
use super::mbarrier::pending_count;
use super::moves::{is_space, move_pair, pack, read_clock, unpack};
use super::site::{Faulty, Site};
use super::warp::{Fragment, NONE, State};
use crate::code::{BranchTable, Op};
use crate::error::{Fault, Trap};
use crate::observer::{BranchEvent, BranchFate, FenceEvent, InstructionEvent, Observer};
use crate::registers::each_lane;
use crate::row::Row;
use std::sync::atomic::{Ordering, fence};

/// How it goes on after an instruction.
enum Flow {
    /// With the next one.
    Next,
    /// The same, when others have had their turn.
    Pause,
    /// The fragment has been handed over: its lanes wait, have gone elsewhere or have exited.
    Over,
}

impl<O: Observer> Block<'_, '_, O> {
    /// Runs one fragment for at most `turn` instructions.
    pub(super) fn run_fragment(
        &mut self,
        number: usize,
        mut fragment: Fragment,
        turn: u64,
    ) -> Result<Turn, Box<Trap>> {
        let mut code = self.code_of(number, &fragment);
        let mut stop = self.warps[number].stop_of(&fragment);
        // Instructions left of the turn, which ends earlier once another fragment wants to run.
        let mut turn = turn;
        let mut executed = 0;
        let result = loop {
            if fragment.pc == stop {
                match self.warps[number].arrive(fragment.reconvergence, fragment.lanes) {
                    Some(together) => fragment = together,
                    None => break Turn::Over,
                }
                code = self.code_of(number, &fragment);
                stop = self.warps[number].stop_of(&fragment);
                continue;
            }
            if executed >= turn {
                break Turn::Paused(fragment);
            }
            executed += 1;
            let pc = fragment.pc as usize;
            let instruction = &code.instructions[pc];
            let line = code.lines[pc];
            let warp = &mut self.warps[number];
            let registers = &mut warp.frames[fragment.frame as usize].registers;
            let lanes = match instruction.guard {
                0 => fragment.lanes,
                guard => {
                    let bits = registers.predicates[(guard >> 1) as usize - 1];
                    fragment.lanes & if guard & 1 == 1 { !bits } else { bits }
                }
            };
            let event = InstructionEvent {
                warp: number as u32,
                line,
                lanes,
                active: fragment.lanes,
                live: warp.live,
            };
            self.observer.instruction(event);
            if let Op::Alu {
                execute,
                rows,
                extra,
            } = &instruction.op
            {
                if lanes != 0 {
                    execute(registers, rows, *extra, lanes);
                }
                fragment.pc += 1;
                continue;
            }
            // Conditional branches are decided even where no lane takes them; everything else needs a lane.
            if let Op::Branch {
                target,
                reconverge,
                fate,
            } = instruction.op
            {
                let rest = fragment.lanes & !lanes;
                if instruction.guard != 0 {
                    self.observer.branch(BranchEvent {
                        warp: number as u32,
                        line,
                        taken: lanes,
                        not_taken: rest,
                        fate,
                    });
                } else {
                    self.observer.jump(event);
                }
                if rest == 0 {
                    fragment.pc = target;
                } else if lanes == 0 {
                    fragment.pc += 1;
                } else {
                    let warp = &mut self.warps[number];
                    fragment.reconvergence = warp.reconvergence_of_split(&fragment, reconverge);
                    warp.settle(Fragment {
                        pc: target,
                        lanes,
                        ..fragment
                    });
                    fragment.lanes = rest;
                    fragment.pc += 1;
                    stop = warp.stop_of(&fragment);
                    turn = turn.min(executed + FRAGMENT_TURN);
                }
                continue;
            }
            if lanes == 0 {
                fragment.pc += 1;
                continue;
            }
            let site = Site {
                warp: number,
                frame: fragment.frame,
                lanes,
                line,
                clock: self.warps[number].executed + executed,
            };
            match self.perform(&mut fragment, &instruction.op, site) {
                Ok(Flow::Next) => fragment.pc += 1,
                Ok(Flow::Pause) => {
                    fragment.pc += 1;
                    break Turn::Vain(fragment);
                }
                Ok(Flow::Over) => break Turn::Over,
                Err((fault, lane)) => {
                    // A grid that it waits for has stopped the launch, rather than this instruction.
                    let deeper = self.launches.trap.take();
                    return Err(deeper.unwrap_or_else(|| self.trap(number, lane, line, fault)));
                }
            }
        };
        self.executed += executed;
        self.warps[number].executed += executed;
        Ok(result)
    }

    /// Executes an instruction that is more than arithmetic or a plain branch.
    #[inline(always)]
    fn perform(&mut self, fragment: &mut Fragment, op: &Op, site: Site) -> Faulty<Flow> {
        let Site {
            warp: number,
            lanes,
            line,
            ..
        } = site;
        let registers = &mut self.warps[number].frames[fragment.frame as usize].registers;
        match op {
            Op::Load(access) => {
                if !access.observes() {
                    self.access::<false>(site, access)?;
                    return Ok(Flow::Next);
                }
                let lane = lanes.trailing_zeros() as usize;
                let row = access.registers.iter().flatten().next().copied();
                let before = row.map(|row| registers.get(row, lane));
                self.access::<false>(site, access)?;
                return Ok(self.after_read(site, row, before));
            }
            Op::Store(access) => self.access::<true>(site, access)?,
            Op::Atomic(atomic) => {
                let lane = lanes.trailing_zeros() as usize;
                let row = atomic.d.iter().flatten().next().copied();
                let before = row.map(|row| registers.get(row, lane));
                self.atomic(site, atomic)?;
                return Ok(self.after_read(site, row, before));
            }
            Op::Mbarrier(mbarrier) => {
                self.mbarrier(site, mbarrier)?;
                let registers = &self.warps[number].frames[fragment.frame as usize].registers;
                let is_over = mbarrier
                    .predicate
                    .map(|row| registers.predicates[row as usize] & lanes != 0);
                return Ok(self.after_test(site, is_over));
            }
            Op::MbarrierPending { d, a } => each_lane(lanes, |lane| {
                let state = registers.wide[*a as usize][lane];
                registers.narrow[*d as usize][lane] = pending_count(state) as u32;
            }),
            Op::AsyncCopy(copy) => self.issue_copy(site, copy)?,
            Op::CommitCopies { bulk } => self.commit_copies(site, *bulk),
            Op::WaitForCopies { bulk, but } => self.wait_for_copies(site, *bulk, *but),
            Op::Pack { d, bits, parts } => pack(registers, *d, *bits, parts, lanes),
            Op::Unpack { a, bits, parts } => unpack(registers, *a, *bits, parts, lanes),
            Op::MovePair { d, a } => move_pair(registers, *d, *a, lanes),
            Op::IsSpace { d, a, window } => is_space(registers, *d, *a, *window, lanes),
            Op::ActiveMask { d } => {
                each_lane(lanes, |lane| registers.narrow[*d as usize][lane] = lanes);
            }
            Op::Clock { d, clock } => {
                let value = read_clock(*clock, site.clock, self.shape.started);
                each_lane(lanes, |lane| registers.put(*d, lane, value));
            }
            Op::Fence(of) => {
                self.observer.fence(FenceEvent {
                    warp: site.warp as u32,
                    lanes,
                    scope: of.scope,
                    is_sequential: of.is_sequential,
                });
                fence(Ordering::SeqCst);
            }
            Op::Pause => {
                self.warps[number].note_pause();
                return Ok(self.pause_if_vain(site));
            }
            Op::Nothing | Op::Alu { .. } | Op::Branch { .. } => {}
            Op::Trap => return Err((Fault::Trap, lanes.trailing_zeros())),
            Op::Return if fragment.frame != 0 => {
                self.return_from(number, fragment, lanes);
                return Ok(without(fragment, lanes));
            }
            Op::Exit | Op::Return => {
                self.exit(fragment, site);
                return Ok(without(fragment, lanes));
            }
            Op::BranchTable(table) => {
                self.branch_table(site, fragment, table)?;
                return Ok(Flow::Over);
            }
            Op::Call(call) => {
                self.call(number, fragment, call, lanes)?;
                return Ok(Flow::Over);
            }
            Op::Video { rows, video } => {
                let frame = &mut self.warps[number].frames[fragment.frame as usize];
                video.execute(&mut frame.registers, rows, lanes);
            }
            Op::Builtin(call) => self.builtin(site, call)?,
            Op::Barrier(barrier) => {
                self.part(number, fragment, lanes);
                self.arrive_at_barrier(number, *fragment, barrier, line)?;
                return Ok(Flow::Over);
            }
            Op::ArriveAtCluster => self.arrive_at_cluster(site)?,
            Op::WaitForCluster => {
                if !self.is_cluster_there(site) {
                    self.part(number, fragment, lanes);
                    let waiting = Fragment {
                        state: State::AtCluster,
                        ..*fragment
                    };
                    self.warps[number].fragments.push(waiting);
                    return Ok(Flow::Over);
                }
            }
            Op::MapAddress { d, a, rank } => self.map_address(site, *d, *a, *rank)?,
            Op::RankOfAddress { d, a } => self.rank_of_address(site, *d, *a),
            Op::Collective(collective) => {
                if !self.collective_alone(number, fragment, collective, lanes, line)? {
                    self.part(number, fragment, lanes);
                    self.wait_for_members(number, *fragment)?;
                    return Ok(Flow::Over);
                }
            }
        }
        Ok(Flow::Next)
    }

    /// Notes what a read of memory that others may write has brought; one lane stands for all.
    fn after_read(&mut self, site: Site, row: Option<Row>, before: Option<u64>) -> Flow {
        let Some(row) = row else { return Flow::Next };
        let warp = &mut self.warps[site.warp];
        let lane = site.lanes.trailing_zeros() as usize;
        let after = warp.frames[site.frame as usize].registers.get(row, lane);
        warp.note_read(before == Some(after));
        self.pause_if_vain(site)
    }

    /// The same for a test of a barrier in memory that says no.
    fn after_test(&mut self, site: Site, is_over: Option<bool>) -> Flow {
        let Some(is_over) = is_over else {
            return Flow::Next;
        };
        self.warps[site.warp].note_read(!is_over);
        self.pause_if_vain(site)
    }

    fn pause_if_vain(&mut self, site: Site) -> Flow {
        if self.warps[site.warp].waits_in_vain() {
            Flow::Pause
        } else {
            Flow::Next
        }
    }

    /// Sends the lanes that an instruction's guard keeps away on to the next one by themselves.
    fn part(&mut self, number: usize, fragment: &mut Fragment, lanes: u32) {
        let rest = fragment.lanes & !lanes;
        if rest != 0 {
            self.warps[number].settle(Fragment {
                lanes: rest,
                pc: fragment.pc + 1,
                ..*fragment
            });
            fragment.lanes = lanes;
        }
    }

    fn branch_table(&mut self, site: Site, fragment: &Fragment, table: &BranchTable) -> Faulty<()> {
        let warp = &mut self.warps[site.warp];
        let registers = &warp.frames[fragment.frame as usize].registers;
        let indices = registers.narrow[table.index as usize];
        let reconvergence = warp.reconvergence_of_split(fragment, table.reconverge);
        let rest = fragment.lanes & !site.lanes;
        if rest != 0 {
            warp.settle(Fragment {
                pc: fragment.pc + 1,
                lanes: rest,
                reconvergence,
                ..*fragment
            });
        }
        let target = |lane: usize| table.targets.get(indices[lane] as usize).copied();
        let mut left = site.lanes;
        while left != 0 {
            let lane = left.trailing_zeros();
            let Some(pc) = target(lane as usize) else {
                let message = format!(
                    "branch index {} of a table with {} targets",
                    indices[lane as usize],
                    table.targets.len()
                );
                return Err((Fault::BadOperand(message), lane));
            };
            let mut same = 0;
            each_lane(left, |other| {
                same |= u32::from(target(other) == Some(pc)) << other
            });
            if left == site.lanes {
                self.observer.branch(BranchEvent {
                    warp: site.warp as u32,
                    line: site.line,
                    taken: same,
                    not_taken: fragment.lanes & !same,
                    fate: BranchFate::Kept,
                });
            }
            warp.settle(Fragment {
                pc,
                lanes: same,
                reconvergence,
                ..*fragment
            });
            left &= !same;
        }
        Ok(())
    }

    fn exit(&mut self, fragment: &Fragment, site: Site) {
        let event = self.event(fragment, site);
        self.observer.exit(event);
        let warp = &mut self.warps[site.warp];
        warp.live &= !site.lanes;
        warp.last_exit = Some(site.line);
        warp.leave(fragment.reconvergence, site.lanes, NONE);
        self.leave_cluster(site.lanes);
        self.retry_collectives(site.warp);
    }

    fn event(&self, fragment: &Fragment, site: Site) -> InstructionEvent {
        InstructionEvent {
            warp: site.warp as u32,
            line: site.line,
            lanes: site.lanes,
            active: fragment.lanes,
            live: self.warps[site.warp].live,
        }
    }
}

/// Takes lanes that are gone out of the fragment.
fn without(fragment: &mut Fragment, lanes: u32) -> Flow {
    fragment.lanes &= !lanes;
    if fragment.lanes == 0 {
        Flow::Over
    } else {
        Flow::Next
    }
}
