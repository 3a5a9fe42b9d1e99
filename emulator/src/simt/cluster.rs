//! Clusters: blocks that are resident together, reach each other's shared memory and have a barrier of their own (PTX ISA §2.2.2,
//! §9.7.13.4 `barrier.cluster`, §9.7.9 `mapa`).
//!
//! An address in the shared memory of the cluster is an offset in its lowest [`RANK_SHIFT`] bits, and above them the rank of the block,
//! counted from 1. Without a rank it is in the block's own memory.

use std::sync::atomic::{Ordering, fence};

use super::block::{Block, Progress};
use super::site::{Faulty, Site};
use super::warp::{Fragment, State};
use crate::error::{Fault, Trap};
use crate::observer::{ClusterBarrierEvent, Observer};
use crate::region::Region;
use crate::registers::each_lane;
use crate::row::Row;
use crate::window::RANK_SHIFT;

impl<O: Observer> Block<'_, '_, O> {
    /// The shared memory of another block that an address of the cluster's leads to, and the offset in it.
    pub(super) fn shared_of_rank(&self, address: u64) -> Result<Option<Region<'_>>, Fault> {
        let rank = (address >> RANK_SHIFT).wrapping_sub(1);
        let Some(member) = &self.membership else {
            return Ok(None);
        };
        let Some(words) = member.cluster.shared.get(rank as usize) else {
            return Ok(None);
        };
        if member.cluster.ended.load(Ordering::Relaxed) >> rank & 1 == 1 {
            return Err(Fault::EndedBlock { rank: rank as u32 });
        }
        let base = (rank + 1) << RANK_SHIFT;
        Ok(Some(Region::new(
            base,
            self.spaces.shared_bytes,
            false,
            words,
        )))
    }

    /// The rank in the cluster; 0 where there is none.
    pub(super) fn rank(&self) -> u32 {
        self.membership.as_ref().map_or(0, |member| member.rank)
    }

    /// `mapa`: the address of the same place in another block's shared memory.
    pub(super) fn map_address(&mut self, site: Site, d: Row, a: Row, rank: u32) -> Faulty<()> {
        let blocks = self.shape.cluster.iter().product();
        let registers = &mut self.warps[site.warp].frames[site.frame as usize].registers;
        let mut wrong = None;
        each_lane(site.lanes, |lane| {
            let rank = registers.narrow[rank as usize][lane];
            if rank >= blocks {
                wrong = wrong.or(Some((lane as u32, rank)));
            }
            let ranks = 0xff << RANK_SHIFT;
            let address = registers.get(a, lane) & !ranks;
            registers.put(d, lane, address | u64::from(rank + 1) << RANK_SHIFT & ranks);
        });
        match wrong {
            Some((lane, rank)) => {
                let message = format!("block {rank} of a cluster that has {blocks}");
                Err((Fault::BadOperand(message), lane))
            }
            None => Ok(()),
        }
    }

    /// `getctarank`: the rank of the block whose shared memory an address is in.
    pub(super) fn rank_of_address(&mut self, site: Site, d: u32, a: Row) {
        let own = self.rank();
        let registers = &mut self.warps[site.warp].frames[site.frame as usize].registers;
        each_lane(site.lanes, |lane| {
            let rank = (registers.get(a, lane) >> RANK_SHIFT) as u32 & 0xff;
            registers.narrow[d as usize][lane] = rank.checked_sub(1).unwrap_or(own);
        });
    }

    /// `barrier.cluster.arrive`
    pub(super) fn arrive_at_cluster(&mut self, site: Site) -> Faulty<()> {
        fence(Ordering::SeqCst);
        self.tell_of_cluster_barrier(site.warp, site.lanes, site.line, false);
        let Some(member) = &mut self.membership else {
            return Ok(());
        };
        let mut barrier = member.cluster.barrier();
        let mut again = 0;
        each_lane(site.lanes, |lane| {
            // Phases are counted from 1 here: 0 is none.
            let phase = std::mem::replace(&mut member.phases[site.warp][lane], barrier.phase + 1);
            again |= u32::from(phase == barrier.phase + 1) << lane;
        });
        if again != 0 {
            let message = "a thread arrives twice at the barrier of its cluster".to_owned();
            return Err((Fault::MisusedBarrier(message), again.trailing_zeros()));
        }
        barrier.arrived += site.lanes.count_ones();
        barrier.complete();
        Ok(())
    }

    /// `barrier.cluster.wait`: tells whether the phase is over in which the lanes have arrived.
    pub(super) fn is_cluster_there(&mut self, site: Site) -> bool {
        let is_over = match &self.membership {
            Some(member) => {
                let phase = member.cluster.barrier().phase;
                let arrived = &member.phases[site.warp];
                let mut is_over = true;
                each_lane(site.lanes, |lane| is_over &= arrived[lane] <= phase);
                is_over
            }
            // A cluster of one block: the block's own threads wait for each other as those of others do, but for nobody here.
            None => true,
        };
        if is_over {
            self.tell_of_cluster_barrier(site.warp, site.lanes, site.line, true);
            fence(Ordering::SeqCst);
        }
        is_over
    }

    fn tell_of_cluster_barrier(&mut self, warp: usize, lanes: u32, line: u32, waits: bool) {
        if let Some(member) = &self.membership {
            let mut rest = lanes;
            // Those who wait may have arrived in one phase only, and others at once: lane by lane.
            while rest != 0 {
                let phase = match waits {
                    true => member.phases[warp][rest.trailing_zeros() as usize],
                    false => member.cluster.barrier().phase + 1,
                };
                let mut same = 0;
                each_lane(rest, |lane| {
                    let is_same = !waits || member.phases[warp][lane] == phase;
                    same |= u32::from(is_same) << lane;
                });
                rest &= !same;
                self.observer.cluster_barrier(ClusterBarrierEvent {
                    warp: warp as u32,
                    line,
                    lanes: same,
                    cluster: member.cluster.number,
                    phase,
                    waits,
                });
            }
        }
    }

    /// Threads that have exited are waited for no more.
    pub(super) fn leave_cluster(&mut self, lanes: u32) {
        if let Some(member) = &self.membership {
            let mut barrier = member.cluster.barrier();
            barrier.exited += lanes.count_ones();
            barrier.complete();
        }
    }

    /// The block has ended, and with it its shared memory.
    pub(super) fn end_in_cluster(&mut self) {
        if let Some(member) = &self.membership {
            member
                .cluster
                .ended
                .fetch_or(1 << member.rank, Ordering::Relaxed);
            member.cluster.barrier().stuck |= 1 << member.rank;
        }
    }

    /// The block goes no further, because it has trapped or another one has: nobody need wait for it.
    pub(super) fn abandon_cluster(&mut self) {
        if let Some(member) = &self.membership {
            member.cluster.barrier().is_abandoned = true;
        }
    }

    /// Lets those go on whose phase of the cluster's barrier is over. Tells whether there were any.
    pub(super) fn release_from_cluster(&mut self) -> bool {
        let mut any = false;
        if self.membership.is_none() {
            return any;
        }
        for number in 0..self.warps.len() {
            let waits = |fragment: &Fragment| fragment.state == State::AtCluster;
            while let Some(index) = self.warps[number].fragments.iter().position(|fragment| {
                waits(fragment) && self.has_phase_ended(number, fragment.lanes)
            }) {
                any = true;
                let mut fragment = self.warps[number].fragments.remove(index);
                let line = self.line_of(number, &fragment);
                self.tell_of_cluster_barrier(number, fragment.lanes, line, true);
                fragment.state = State::Ready;
                fragment.pc += 1;
                self.warps[number].settle(fragment);
            }
        }
        any
    }

    fn has_phase_ended(&self, warp: usize, lanes: u32) -> bool {
        let Some(member) = &self.membership else {
            return true;
        };
        let phase = member.cluster.barrier().phase;
        let mut is_over = true;
        each_lane(lanes, |lane| is_over &= member.phases[warp][lane] <= phase);
        is_over
    }

    /// No warp can go on. Tells whether some may, once other blocks of the cluster have arrived; a trap if none ever will.
    pub(super) fn wait_for_cluster(&mut self) -> Result<Option<Progress>, Box<Trap>> {
        let waiting = self.warps.iter().enumerate().find_map(|(number, warp)| {
            let waits = |fragment: &&Fragment| fragment.state == State::AtCluster;
            Some((number, *warp.fragments.iter().find(waits)?))
        });
        let (Some((warp, fragment)), Some(member)) = (waiting, &self.membership) else {
            return Ok(None);
        };
        let mut barrier = member.cluster.barrier();
        if barrier.is_abandoned {
            return Ok(Some(Progress::Finished));
        }
        barrier.stuck |= 1 << member.rank;
        if barrier.stuck.count_ones() < member.cluster.shared.len() as u32 {
            return Ok(Some(Progress::Waiting));
        }
        let fault = Fault::ClusterBarrierNeverCompleted {
            arrived: barrier.arrived,
            expected: barrier.threads - barrier.exited,
        };
        let lane = fragment.lanes.trailing_zeros();
        drop(barrier);
        Err(self.trap(warp, lane, self.line_of(warp, &fragment), fault))
    }
}
