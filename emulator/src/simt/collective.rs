//! What the lanes of a member mask do together: shuffles, votes, matches, reductions, the barrier of a warp.
//!
//! A `.sync` instruction waits until every member that has not exited executes it. Members may stand in different fragments, which
//! are gathered first; each member's values come from its own frame.

use super::block::Block;
use super::site::Faulty;
use super::together::Together;
use super::warp::{Fragment, State, Warp};
use crate::code::*;
use crate::error::{Absence, Fault, Trap};
use crate::observer::{CollectiveEvent, ExchangeEvent, Observer};
use crate::registers::{LANES, Registers, each_lane, gather};

impl<O: Observer> Block<'_, '_, O> {
    /// Executes the instruction if the lanes of one fragment are all the members; tells whether it did.
    pub(super) fn collective_alone(
        &mut self,
        number: usize,
        fragment: &Fragment,
        collective: &Collective,
        lanes: u32,
        line: u32,
    ) -> Faulty<bool> {
        let warp = &mut self.warps[number];
        let live = warp.live;
        let registers = &mut warp.frames[fragment.frame as usize].registers;
        let members = members_of(registers, collective, lanes)?;
        let all_here = lanes & gather(|lane| members[lane] & live & !lanes != 0) == 0;
        if all_here {
            let observer = &mut self.observer;
            Together {
                parts: &mut [(registers, lanes)],
                members: &members,
                lanes,
            }
            .execute(&collective.kind, |sources, values| {
                observer.exchange(ExchangeEvent {
                    warp: number as u32,
                    line,
                    lanes,
                    sources,
                    values,
                });
            });
            let kind = &collective.kind;
            report(&mut self.observer, number, line, kind, &members, lanes);
        }
        Ok(all_here)
    }

    /// Sets a fragment aside until the other members come.
    pub(super) fn wait_for_members(&mut self, number: usize, mut fragment: Fragment) -> Faulty<()> {
        fragment.state = State::AtCollective;
        let warp = &mut self.warps[number];
        warp.fragments.push(fragment);
        self.gather(number, fragment.pc, fragment.frame)
    }

    /// After an exit: members that waited only for the exited lanes can go on.
    pub(super) fn retry_collectives(&mut self, number: usize) {
        let places: Vec<(u32, u32)> = self.warps[number]
            .fragments
            .iter()
            .filter(|fragment| fragment.state == State::AtCollective)
            .map(|fragment| (fragment.pc, fragment.frame))
            .collect();
        for (pc, frame) in places {
            // The masks were checked when the fragments arrived.
            let _ = self.gather(number, pc, frame);
        }
    }

    /// Executes the collective instruction at `pc` for all waiting lanes whose members are all there.
    fn gather(&mut self, number: usize, pc: u32, frame: u32) -> Faulty<()> {
        let kernel = self.code;
        let warp = &mut self.warps[number];
        let code = warp.frames[frame as usize].code;
        let Op::Collective(collective) =
            &kernel.functions[code as usize].instructions[pc as usize].op
        else {
            return Ok(());
        };
        let mut here = Vec::new();
        let mut members = [0; LANES];
        let mut union = 0;
        for index in 0..warp.fragments.len() {
            let fragment = warp.fragments[index];
            if fragment.state != State::AtCollective {
                continue;
            }
            let other_code = warp.frames[fragment.frame as usize].code;
            let other =
                &kernel.functions[other_code as usize].instructions[fragment.pc as usize].op;
            let Op::Collective(other) = other else {
                continue;
            };
            // Lanes may wait for one another at different `bar.warp.sync`; every other kind must be the same instruction.
            let both_barriers = matches!(
                (collective.kind, other.kind),
                (CollectiveKind::Barrier, CollectiveKind::Barrier)
            );
            if !both_barriers && (fragment.pc != pc || other_code != code) {
                continue;
            }
            let registers = &warp.frames[fragment.frame as usize].registers;
            let own = members_of(registers, other, fragment.lanes)?;
            each_lane(fragment.lanes, |lane| members[lane] = own[lane]);
            union |= fragment.lanes;
            here.push(fragment);
        }
        let mut complete = union;
        // Who waits at a barrier for other lanes than this one does is at another barrier, and not there for this one.
        let is_barrier = matches!(collective.kind, CollectiveKind::Barrier);
        let alike = |lane: usize| match is_barrier {
            true => gather(|other| members[other] == members[lane]),
            false => u32::MAX,
        };
        // A lane whose members are not all there stays, and so do those that count on it.
        loop {
            let stays = complete
                & gather(|lane| members[lane] & warp.live & !(complete & alike(lane)) != 0);
            if stays == 0 {
                break;
            }
            complete &= !stays;
        }
        if complete == 0 {
            return Ok(());
        }
        let line = kernel.functions[code as usize].lines[pc as usize];
        let observer = &mut self.observer;
        execute_gathered(
            warp,
            &here,
            &collective.kind,
            &members,
            complete,
            |sources, values| {
                observer.exchange(ExchangeEvent {
                    warp: number as u32,
                    line,
                    lanes: complete,
                    sources,
                    values,
                });
            },
        );
        let kind = &collective.kind;
        report(&mut self.observer, number, line, kind, &members, complete);
        warp.fragments.retain(|fragment| {
            fragment.state != State::AtCollective || fragment.lanes & complete == 0
        });
        for fragment in here {
            let done = fragment.lanes & complete;
            if done == 0 {
                continue;
            }
            if fragment.lanes != done {
                warp.fragments.push(Fragment {
                    lanes: fragment.lanes & !done,
                    ..fragment
                });
            }
            warp.settle(Fragment {
                lanes: done,
                pc: fragment.pc + 1,
                state: State::Ready,
                ..fragment
            });
        }
        Ok(())
    }

    /// The trap for members that never come.
    pub(super) fn stuck_collective(&self, number: usize, fragment: &Fragment) -> Box<Trap> {
        let warp = &self.warps[number];
        let line = self.line_of(number, fragment);
        let frame = &warp.frames[fragment.frame as usize];
        let op = &self.code.functions[frame.code as usize].instructions[fragment.pc as usize].op;
        let lane = fragment.lanes.trailing_zeros();
        let mask = match op {
            Op::Collective(collective) => collective.members.map_or(fragment.lanes, |row| {
                frame.registers.narrow[row as usize][lane as usize]
            }),
            _ => fragment.lanes,
        };
        // Who waits for the same members at the same instruction has arrived.
        let here = |other: &&Fragment| {
            other.state == State::AtCollective
                && (other.pc, other.frame) == (fragment.pc, fragment.frame)
        };
        let arrived = warp.fragments.iter().filter(here);
        let arrived = arrived.fold(fragment.lanes, |lanes, other| lanes | other.lanes);
        let absent = mask & warp.live & !arrived;
        let other = warp
            .fragments
            .iter()
            .find(|other| other.lanes & absent != 0);
        let missing = match other {
            Some(other) => {
                let lane = (other.lanes & absent).trailing_zeros();
                Absence::Waits {
                    thread: self.thread(number, lane),
                    line: self.line_of(number, other),
                }
            }
            None => Absence::NoThread,
        };
        self.trap(
            number,
            lane,
            line,
            Fault::WarpSyncNeverCompleted {
                mask,
                absent,
                missing,
            },
        )
    }
}

/// The member mask of each lane; checks that every lane is in its own.
fn members_of(registers: &Registers, collective: &Collective, lanes: u32) -> Faulty<[u32; LANES]> {
    let Some(row) = collective.members else {
        return Ok([lanes; LANES]);
    };
    let members = registers.narrow[row as usize];
    let outside = lanes & gather(|lane| members[lane] & (1 << lane) == 0);
    if outside != 0 {
        let lane = outside.trailing_zeros();
        return Err((
            Fault::NotInMask {
                lane,
                mask: members[lane as usize],
            },
            lane,
        ));
    }
    Ok(members)
}

/// Tells the observer who has acted, one event for each member mask.
fn report(
    observer: &mut impl Observer,
    warp: usize,
    line: u32,
    kind: &CollectiveKind,
    members: &[u32; LANES],
    mut lanes: u32,
) {
    while lanes != 0 {
        let mask = members[lanes.trailing_zeros() as usize];
        let group = lanes & gather(|lane| members[lane] == mask);
        observer.collective(CollectiveEvent {
            warp: warp as u32,
            line,
            lanes: group,
            mask,
            is_barrier: *kind == CollectiveKind::Barrier,
        });
        lanes &= !group;
    }
}

/// Executes the instruction over the frames of several fragments.
fn execute_gathered(
    warp: &mut Warp,
    fragments: &[Fragment],
    kind: &CollectiveKind,
    members: &[u32; LANES],
    lanes: u32,
    exchanged: impl FnMut(&[u32; LANES], &[u32; LANES]),
) {
    // Each frame once, with all its lanes.
    let mut by_frame: Vec<(u32, u32)> = Vec::new();
    for fragment in fragments {
        match by_frame
            .iter_mut()
            .find(|(frame, _)| *frame == fragment.frame)
        {
            Some((_, lanes)) => *lanes |= fragment.lanes,
            None => by_frame.push((fragment.frame, fragment.lanes)),
        }
    }
    let mut parts: Vec<(&mut Registers, u32)> = warp
        .frames
        .iter_mut()
        .enumerate()
        .filter_map(|(index, frame)| {
            let (_, own) = by_frame
                .iter()
                .find(|(number, _)| *number == index as u32)?;
            Some((&mut frame.registers, own & lanes))
        })
        .collect();
    let mut together = Together {
        parts: &mut parts,
        members,
        lanes,
    };
    together.execute(kind, exchanged);
}
