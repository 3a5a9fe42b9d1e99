//! A block at work: its warps take turns until all threads have exited.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::barrier_state::{BARRIERS, BarrierState};
use super::copies::Copies;
use super::grids::Launches;
use super::membership::{Cluster, Membership};
use super::run::Run;
use super::shape::{Shape, thread_index};
use super::spaces::Spaces;
use super::warp::{Fragment, Frame, State, Warp};
use crate::code::{FunctionCode, KernelCode, Special, Value};
use crate::error::{Fault, Trap};
use crate::observer::{BlockEvent, Observer};
use crate::registers::LANES;

/// Instructions after which another fragment of the same warp has its turn, if there is one: lanes may wait for each other.
pub(super) const FRAGMENT_TURN: u64 = 1 << 10;
/// Instructions after which another warp of the block has its turn.
const WARP_TURN: u64 = 1 << 16;
/// Shared memory past that of the kernel, where the kernel asks for it.
pub(super) const RESERVED_SHARED_BYTES: u32 = 1024;

/// A block's state. It can be run for a while, set aside, and run on.
pub(crate) struct Block<'k, 'm, O> {
    pub code: &'k KernelCode,
    pub shape: &'k Shape,
    pub spaces: Spaces<'m>,
    pub observer: O,
    pub index: [u32; 3],
    pub threads: u32,
    pub warps: Vec<Warp>,
    pub(super) barriers: [BarrierState; BARRIERS],
    pub(super) copies: Copies,
    /// Of a cluster of more than one block.
    pub(super) membership: Option<Membership>,
    /// How its grid is run.
    pub(super) run: Run<'k>,
    pub(super) launches: Launches<O>,
    /// Instructions executed by the block's warps.
    pub executed: u64,
    /// The warp whose turn is next.
    next_warp: usize,
}

/// Whether a block has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Finished,
    /// It has used up its turn, or all its warps wait for what others may write.
    Unfinished,
    /// All its warps wait for other blocks of the cluster.
    Waiting,
}

/// How a fragment's turn ended.
pub(super) enum Turn {
    /// It waits, has joined others, has called or has exited.
    Over,
    /// It could go on.
    Paused(Fragment),
    /// It could go on, but waits for what others write.
    Vain(Fragment),
}

impl<'k, 'm, O: Observer> Block<'k, 'm, O> {
    /// A block that has yet to be given its place by [`Block::begin`].
    pub fn new(run: &Run<'k>, observer: O) -> Self
    where
        'k: 'm,
    {
        let Run {
            code,
            shape,
            memory,
            parameters,
            ..
        } = *run;
        let threads: u32 = shape.block.iter().product();
        let shared_bytes = code.shared_bytes(shape.dynamic_shared_bytes);
        let shared_bytes = if code.reserves_shared {
            shared_bytes.next_multiple_of(16) + u64::from(RESERVED_SHARED_BYTES)
        } else {
            shared_bytes
        };
        let mut block = Self {
            code,
            shape,
            spaces: Spaces::new(memory, parameters, shared_bytes),
            observer,
            index: [0; 3],
            threads,
            warps: Vec::new(),
            barriers: Default::default(),
            copies: Copies::default(),
            membership: None,
            run: *run,
            launches: Launches::default(),
            executed: 0,
            next_warp: 0,
        };
        block
            .warps
            .resize_with(threads.div_ceil(LANES as u32) as usize, Warp::default);
        for number in 0..block.warps.len() {
            let mut frame = Frame::default();
            block.prepare_frame(number as u32, &mut frame, 0);
            let warp = &mut block.warps[number];
            warp.frames.push(frame);
            warp.local_bytes = code.functions[0].local_bytes;
            warp.local
                .resize_with(warp.local_bytes as usize / 8 * LANES, AtomicU64::default);
            let lanes = threads - number as u32 * LANES as u32;
            warp.initial = if lanes >= LANES as u32 {
                u32::MAX
            } else {
                (1 << lanes) - 1
            };
        }
        block
    }

    /// Makes it the block of this index, at its first instruction. A block that has finished may begin anew as another.
    pub fn begin(&mut self, index: [u32; 3]) {
        self.index = index;
        self.executed = 0;
        self.next_warp = 0;
        self.barriers = Default::default();
        self.copies.begin(self.warps.len());
        self.launches.begin();
        self.observer.block(BlockEvent {
            grid: self.shape.number,
            launch: self.shape.launch,
            device: self.spaces.memory.own.device(),
            index,
            shape: self.shape.block,
            shared_bytes: self.spaces.shared_bytes,
            cluster: self.shape.cluster_of(index),
            rank: self
                .shape
                .value_of_block(index, Value::Special(Special::RankInCluster))
                .unwrap_or(0),
            cluster_blocks: self.shape.blocks_per_cluster() as u32,
        });
        for word in &*self.spaces.shared {
            word.store(0, Ordering::Relaxed);
        }
        let code = &self.code.functions[0];
        for warp in &mut self.warps {
            warp.begin();
            let registers = &mut warp.frames[0].registers;
            for &(row, value) in &code.narrow_values {
                if let Some(value) = self.shape.value_of_block(index, value) {
                    registers.narrow[row as usize] = [value; LANES];
                }
            }
            for &(row, value) in &code.wide_values {
                if let Some(value) = self.shape.value_of_block(index, value) {
                    registers.wide[row as usize] = [u64::from(value); LANES];
                }
            }
        }
    }

    /// Makes blocks that have begun a cluster.
    pub fn make_cluster(number: u64, blocks: &mut [&mut Self]) {
        if blocks.len() < 2 {
            return;
        }
        let shared = blocks.iter().map(|block| Arc::clone(&block.spaces.shared));
        let cluster = Arc::new(Cluster::new(number, shared.collect(), blocks[0].threads));
        for (block, rank) in blocks.iter_mut().zip(0..) {
            let member = Membership::new(Arc::clone(&cluster), rank, block.warps.len());
            block.membership = Some(member);
        }
    }

    /// Runs until all threads have exited, `budget` instructions are executed, or all warps wait for what others may write.
    pub fn run(&mut self, budget: u64) -> Result<Progress, Box<Trap>> {
        let end = self.executed + budget;
        // Those whose cluster has come meanwhile go on, whatever the others of the block do.
        self.release_from_cluster();
        // Warps in a row that cannot run, and those that run in vain or not at all.
        let (mut idle, mut vain) = (0, 0);
        loop {
            if idle == self.warps.len() {
                match self.rouse()? {
                    Progress::Unfinished => idle = 0,
                    ended => return Ok(ended),
                }
            }
            let number = self.next_warp;
            if self.warps[number].has_ready() {
                if self.executed >= end || vain >= self.warps.len() {
                    return Ok(Progress::Unfinished);
                }
                idle = 0;
                vain = if self.run_warp(number, end)? {
                    0
                } else {
                    vain + 1
                };
                self.warps[number].release_impatient();
            } else {
                idle += 1;
                vain += 1;
            }
            self.next_warp = (number + 1) % self.warps.len();
        }
    }

    /// No warp can go on. Either all threads have exited; or lanes wait at reconvergence points, which are then given up (where lanes
    /// reconverge is the emulator's choice, and must keep no thread from a barrier); or they wait for ever.
    pub(super) fn rouse(&mut self) -> Result<Progress, Box<Trap>> {
        if self.warps.iter().all(|warp| warp.live == 0) {
            self.finish_all_copies();
            self.end_in_cluster();
            return Ok(Progress::Finished);
        }
        let mut released = false;
        for warp in &mut self.warps {
            released |= warp.release_waiting();
        }
        if released || self.release_from_cluster() {
            return Ok(Progress::Unfinished);
        }
        match self.wait_for_cluster()? {
            Some(progress) => Ok(progress),
            None => Err(self.stuck()),
        }
    }

    /// Runs a warp until it waits or its turn is over. Tells whether it did anything but look for what others may write.
    fn run_warp(&mut self, number: usize, end: u64) -> Result<bool, Box<Trap>> {
        let end = end.min(self.executed + WARP_TURN);
        let mut turn_end = self.executed + FRAGMENT_TURN;
        let mut vain_turns = 0;
        let mut next = self.warps[number].take_ready();
        while let Some(fragment) = next {
            if self.executed >= end {
                self.warps[number].fragments.push(fragment);
                return Ok(true);
            }
            let turn = if self.warps[number].has_ready() {
                turn_end.min(end).saturating_sub(self.executed).max(1)
            } else {
                end - self.executed
            };
            let is_over = match self.run_fragment(number, fragment, turn)? {
                Turn::Over => self.executed >= turn_end,
                Turn::Paused(fragment) => {
                    self.warps[number].fragments.push(fragment);
                    true
                }
                Turn::Vain(fragment) => {
                    // Perhaps the others wait at a reconvergence point with this one.
                    let warp = &mut self.warps[number];
                    vain_turns = if warp.release_waiting() {
                        0
                    } else {
                        vain_turns + 1
                    };
                    let others = warp.has_ready();
                    warp.fragments.push(fragment);
                    if !others || vain_turns > warp.fragments.len() {
                        return Ok(false);
                    }
                    true
                }
            };
            next = if is_over {
                turn_end = self.executed + FRAGMENT_TURN;
                self.warps[number].take_oldest_ready()
            } else {
                self.warps[number].take_ready()
            };
        }
        Ok(true)
    }

    /// The trap for a launch that has executed as many instructions as it may.
    pub fn out_of_steps(&self, limit: u64) -> Box<Trap> {
        let ready = self.warps.iter().enumerate().find_map(|(number, warp)| {
            let is_ready = |fragment: &&Fragment| fragment.state == State::Ready;
            Some((number, *warp.fragments.iter().find(is_ready)?))
        });
        let (warp, lane, line) = ready.map_or((0, 0, 0), |(number, fragment)| {
            (
                number,
                fragment.lanes.trailing_zeros(),
                self.line_of(number, &fragment),
            )
        });
        self.trap(warp, lane, line, Fault::StepLimit(limit))
    }

    pub(super) fn trap(&self, warp: usize, lane: u32, line: u32, fault: Fault) -> Box<Trap> {
        Box::new(Trap {
            fault,
            kernel: self.shape.kernel.clone(),
            grid: self.shape.number_in_launch(),
            device: self.spaces.memory.own.device(),
            block: self.index,
            thread: self.thread(warp, lane),
            line: line as usize,
            text: String::new(),
            origin: None,
        })
    }

    /// `%tid` of a lane.
    pub(super) fn thread(&self, warp: usize, lane: u32) -> [u32; 3] {
        thread_index(self.shape.block, warp as u32 * LANES as u32 + lane)
    }

    pub(super) fn code_of(&self, warp: usize, fragment: &Fragment) -> &'k FunctionCode {
        &self.code.functions[self.warps[warp].frames[fragment.frame as usize].code as usize]
    }

    /// The line at which a fragment stands.
    pub(super) fn line_of(&self, warp: usize, fragment: &Fragment) -> u32 {
        self.code_of(warp, fragment).lines[fragment.pc as usize]
    }
}
