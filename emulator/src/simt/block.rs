//! A block at work: its warps take turns until all threads have exited.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use super::access::Faulty;
use super::async_copy::pending_count;
use super::barrier::BarrierState;
use super::warp::{Fragment, Frame, NONE, State, Warp};
use crate::error::{Fault, Trap};
use crate::memory::{Memory, Region};
use crate::observer::{BlockEvent, BranchEvent, InstructionEvent, Observer};
use crate::program::*;
use crate::registers::{LANES, Registers, each_lane};

/// Instructions after which another fragment of the same warp has its turn, if there is one: lanes may wait for each other.
const FRAGMENT_TURN: u64 = 1 << 10;
/// Instructions after which another warp of the block has its turn.
const WARP_TURN: u64 = 1 << 16;
/// Barriers of a block.
pub(super) const BARRIERS: usize = 16;

/// Shape and contents of a launch, common to all blocks.
#[derive(Debug)]
pub(crate) struct Shape {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
    pub started: Instant,
}

/// A block's state. It can be run for a while, set aside, and run on.
pub(crate) struct Block<'k, 'm, O> {
    pub program: &'k Program,
    pub shape: &'k Shape,
    pub memory: &'m Memory,
    pub parameters: Region<'m>,
    pub observer: O,
    pub index: [u32; 3],
    pub threads: u32,
    pub warps: Vec<Warp>,
    pub shared: Vec<AtomicU64>,
    pub shared_bytes: u64,
    pub(super) barriers: [BarrierState; BARRIERS],
    /// The last region of global memory that was accessed.
    pub cached_region: Region<'m>,
    /// Instructions executed by the block's warps.
    pub executed: u64,
    /// The warp whose turn is next.
    next_warp: usize,
}

impl Shape {
    /// `%ctaid` of a block by its number in the grid.
    pub fn block_index(&self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(u64::from);
        [
            (number % x) as u32,
            (number / x % y) as u32,
            (number / x / y) as u32,
        ]
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }
}

/// Whether a block has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Finished,
    Unfinished,
}

/// How a fragment's turn ended.
pub(super) enum Turn {
    /// It waits, has met others or has exited.
    Over,
    /// It could go on.
    Paused(Fragment),
}

impl<'k, 'm, O: Observer> Block<'k, 'm, O> {
    /// A block that has yet to be given its place by [`Block::begin`].
    pub fn new(
        program: &'k Program,
        shape: &'k Shape,
        memory: &'m Memory,
        parameters: Region<'m>,
        observer: O,
    ) -> Self {
        let threads: u32 = shape.block.iter().product();
        let shared_bytes = u64::from(if shape.dynamic_shared_bytes > 0 {
            program.dynamic_shared_offset + shape.dynamic_shared_bytes
        } else {
            program.static_shared_bytes
        });
        let mut block = Self {
            program,
            shape,
            memory,
            parameters,
            observer,
            index: [0; 3],
            threads,
            warps: Vec::new(),
            shared: (0..shared_bytes.div_ceil(8))
                .map(|_| AtomicU64::new(0))
                .collect(),
            shared_bytes,
            barriers: Default::default(),
            cached_region: Region::new(0, 0, false, &[]),
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
            warp.local_bytes = program.functions[0].local_bytes;
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
        self.observer.block(BlockEvent {
            index,
            shape: self.shape.block,
            shared_bytes: self.shared_bytes,
        });
        for word in &mut self.shared {
            *word.get_mut() = 0;
        }
        let code = &self.program.functions[0];
        for warp in &mut self.warps {
            warp.fragments.clear();
            warp.meetings.clear();
            warp.free_meetings.clear();
            warp.frames.truncate(1);
            warp.free_frames.clear();
            warp.live = warp.initial;
            warp.last_exit = None;
            warp.executed = 0;
            warp.fragments.push(Fragment {
                pc: 0,
                lanes: warp.initial,
                frame: 0,
                meeting: NONE,
                state: State::Ready,
            });
            // All other special values are the same for every block.
            let registers = &mut warp.frames[0].registers;
            for &(row, value) in &code.narrow_values {
                if let Value::Special(Special::BlockIndex(axis)) = value {
                    registers.narrow[row as usize] = [index[axis as usize]; LANES];
                }
            }
            for &(row, value) in &code.wide_values {
                if let Value::Special(Special::BlockIndex(axis)) = value {
                    registers.wide[row as usize] = [u64::from(index[axis as usize]); LANES];
                }
            }
        }
    }

    /// Sizes a frame for its function and fills the rows of constants and special registers.
    pub(super) fn prepare_frame(&self, warp: u32, frame: &mut Frame, local_base: u32) {
        let code = &self.program.functions[frame.code as usize];
        frame.local_base = local_base;
        let registers = &mut frame.registers;
        *registers = Registers::default();
        registers.narrow.resize(code.narrow_rows, [0; LANES]);
        registers.wide.resize(code.wide_rows, [0; LANES]);
        registers.predicates.resize(code.predicate_rows, 0);
        for &row in &code.true_predicates {
            registers.predicates[row as usize] = u32::MAX;
        }
        for &(row, value) in &code.narrow_values {
            registers.narrow[row as usize] = self
                .value(value, warp, local_base)
                .map(|value| value as u32);
        }
        for &(row, value) in &code.wide_values {
            registers.wide[row as usize] = self.value(value, warp, local_base);
        }
        frame.parameters.clear();
        frame.parameters.resize_with(
            code.parameter_bytes as usize / 8 * LANES,
            AtomicU64::default,
        );
    }

    fn value(&self, value: Value, warp: u32, local_base: u32) -> [u64; LANES] {
        let special = match value {
            Value::Constant(bits) => return [bits; LANES],
            Value::Local(offset) => return [u64::from(local_base + offset); LANES],
            Value::DynamicShared(offset) => {
                return [u64::from(self.program.dynamic_shared_offset).wrapping_add(offset); LANES];
            }
            Value::Special(special) => special,
        };
        let block = self.shape.block;
        core::array::from_fn(|lane| {
            let thread = warp * LANES as u32 + lane as u32;
            let lane_bit = 1u32 << lane;
            u64::from(match special {
                Special::ThreadIndex(axis) => thread_index(block, thread)[axis as usize],
                Special::BlockDim(axis) => block[axis as usize],
                Special::BlockIndex(axis) => self.index[axis as usize],
                Special::GridDim(axis) => self.shape.grid[axis as usize],
                Special::Lane => lane as u32,
                Special::Warp => warp,
                Special::Warps => self.warps.len() as u32,
                Special::LaneMaskEq => lane_bit,
                Special::LaneMaskLt => lane_bit - 1,
                Special::LaneMaskLe => lane_bit | (lane_bit - 1),
                Special::LaneMaskGe => !(lane_bit - 1),
                Special::LaneMaskGt => !(lane_bit | (lane_bit - 1)),
                Special::DynamicSharedBytes => self.shape.dynamic_shared_bytes,
                Special::TotalSharedBytes => self.shared_bytes as u32,
            })
        })
    }

    /// Runs until all threads have exited or `budget` instructions are executed.
    pub fn run(&mut self, budget: u64) -> Result<Progress, Box<Trap>> {
        let end = self.executed + budget;
        let mut idle = 0;
        while idle < self.warps.len() {
            let warp = self.next_warp;
            if self.warps[warp].has_ready() {
                if self.executed >= end {
                    return Ok(Progress::Unfinished);
                }
                idle = 0;
                self.run_warp(warp, end)?;
            } else {
                idle += 1;
            }
            self.next_warp = (warp + 1) % self.warps.len();
        }
        self.finished()
    }

    /// No warp can go on: because all threads have exited, or because they wait for ever.
    pub(super) fn finished(&self) -> Result<Progress, Box<Trap>> {
        if self.warps.iter().all(|warp| warp.live == 0) {
            Ok(Progress::Finished)
        } else {
            Err(self.stuck())
        }
    }

    /// The trap for a launch that has executed as many instructions as it may.
    pub fn out_of_steps(&self, limit: u64) -> Box<Trap> {
        let ready = self.warps.iter().enumerate().find_map(|(number, warp)| {
            Some((
                number,
                *warp
                    .fragments
                    .iter()
                    .find(|fragment| fragment.state == State::Ready)?,
            ))
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

    /// Runs a warp until it waits or its turn is over.
    fn run_warp(&mut self, warp: usize, end: u64) -> Result<(), Box<Trap>> {
        let end = end.min(self.executed + WARP_TURN);
        let mut next = self.warps[warp].take_ready();
        while let Some(fragment) = next {
            if self.executed >= end {
                self.warps[warp].fragments.push(fragment);
                return Ok(());
            }
            let alone = self.warps[warp].fragments.is_empty();
            let left = end - self.executed;
            let turn = if alone { left } else { left.min(FRAGMENT_TURN) };
            next = match self.run_fragment(warp, fragment, turn)? {
                Turn::Over => self.warps[warp].take_ready(),
                Turn::Paused(fragment) => {
                    self.warps[warp].fragments.push(fragment);
                    self.warps[warp].take_oldest_ready()
                }
            };
        }
        Ok(())
    }

    /// Runs one fragment for at most `turn` instructions.
    pub(super) fn run_fragment(
        &mut self,
        number: usize,
        mut fragment: Fragment,
        turn: u64,
    ) -> Result<Turn, Box<Trap>> {
        let program = self.program;
        let mut code =
            &program.functions[self.warps[number].frames[fragment.frame as usize].code as usize];
        let mut stop = self.warps[number].stop_of(&fragment);
        let (mut done, mut limit) = (0, turn);
        let result = loop {
            if fragment.pc == stop {
                match self.warps[number].arrive(fragment.meeting, fragment.lanes) {
                    Some(together) => fragment = together,
                    None => break Turn::Over,
                }
                code = self.code_of(number, &fragment);
                stop = self.warps[number].stop_of(&fragment);
                continue;
            }
            if done == limit {
                break Turn::Paused(fragment);
            }
            done += 1;
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
            self.observer.instruction(InstructionEvent {
                warp: number as u32,
                line,
                lanes,
                active: fragment.lanes,
                live: warp.live,
            });
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
            if let Op::Branch { target, reconverge } = instruction.op {
                let rest = fragment.lanes & !lanes;
                if instruction.guard != 0 {
                    self.observer.branch(BranchEvent {
                        warp: number as u32,
                        line,
                        taken: lanes,
                        not_taken: rest,
                    });
                }
                if rest == 0 {
                    fragment.pc = target;
                } else if lanes == 0 {
                    fragment.pc += 1;
                } else {
                    let meeting = self.split_meeting(number, &fragment, reconverge);
                    fragment.meeting = meeting;
                    let taken = Fragment {
                        pc: target,
                        lanes,
                        ..fragment
                    };
                    self.warps[number].settle(taken);
                    fragment.lanes = rest;
                    fragment.pc += 1;
                    stop = self.warps[number].stop_of(&fragment);
                    limit = limit.min(done + FRAGMENT_TURN);
                }
                continue;
            }
            if lanes == 0 {
                fragment.pc += 1;
                continue;
            }
            let outcome: Faulty<()> = match &instruction.op {
                Op::Alu { .. } | Op::Branch { .. } => Ok(()),
                Op::Load(access) => self.load(number, &fragment, access, lanes, line),
                Op::Store(access) => self.store(number, &fragment, access, lanes, line),
                Op::Atomic(atomic) => self.atomic(number, &fragment, atomic, lanes, line),
                Op::Mbarrier(mbarrier) => self.mbarrier(number, &fragment, mbarrier, lanes, line),
                Op::MbarrierPending { d, a } => {
                    each_lane(lanes, |lane| {
                        let state = registers.wide[*a as usize][lane];
                        registers.narrow[*d as usize][lane] = pending_count(state) as u32;
                    });
                    Ok(())
                }
                Op::AsyncCopy(copy) => self.async_copy(number, &fragment, copy, lanes, line),
                Op::Pack { d, bits, parts } => {
                    pack(registers, *d, *bits, parts, lanes);
                    Ok(())
                }
                Op::Unpack { a, bits, parts } => {
                    unpack(registers, *a, *bits, parts, lanes);
                    Ok(())
                }
                Op::IsSpace { d, a, window } => {
                    let mut bits = 0;
                    each_lane(lanes, |lane| {
                        let address = match *a {
                            Row::Wide(row) => registers.wide[row as usize][lane],
                            Row::Narrow(row) => u64::from(registers.narrow[row as usize][lane]),
                        };
                        bits |= u32::from(address.wrapping_sub(window.0) < window.1) << lane;
                    });
                    let d = &mut registers.predicates[*d as usize];
                    *d = *d & !lanes | bits;
                    Ok(())
                }
                Op::ActiveMask { d } => {
                    each_lane(lanes, |lane| registers.narrow[*d as usize][lane] = lanes);
                    Ok(())
                }
                Op::Clock { d, wide, clock } => {
                    let value = read_clock(*clock, warp.executed + done, self.shape.started);
                    each_lane(lanes, |lane| {
                        if *wide {
                            registers.wide[*d as usize][lane] = value;
                        } else {
                            registers.narrow[*d as usize][lane] = value as u32;
                        }
                    });
                    Ok(())
                }
                Op::Fence => {
                    self.observer.fence(InstructionEvent {
                        warp: number as u32,
                        line,
                        lanes,
                        active: fragment.lanes,
                        live: warp.live,
                    });
                    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                    Ok(())
                }
                Op::Nothing => Ok(()),
                Op::Trap => Err((Fault::Trap, lanes.trailing_zeros())),
                // What follows parts or ends the fragment.
                Op::Exit | Op::Return => {
                    let own_function = fragment.frame != 0 && matches!(instruction.op, Op::Return);
                    if own_function {
                        self.return_from(number, &fragment, lanes);
                    } else {
                        self.exit(number, &fragment, lanes, line);
                    }
                    fragment.lanes &= !lanes;
                    if fragment.lanes == 0 {
                        break Turn::Over;
                    }
                    Ok(())
                }
                Op::BranchTable(table) => {
                    match self.branch_table(number, &fragment, table, lanes) {
                        Ok(()) => break Turn::Over,
                        Err(fault) => Err(fault),
                    }
                }
                Op::Call(call) => match self.call(number, &fragment, call, lanes) {
                    Ok(()) => break Turn::Over,
                    Err(fault) => Err(fault),
                },
                Op::Barrier(barrier) => {
                    // Lanes that the guard keeps away go on by themselves.
                    let rest = fragment.lanes & !lanes;
                    if rest != 0 {
                        self.warps[number].settle(Fragment {
                            lanes: rest,
                            pc: fragment.pc + 1,
                            ..fragment
                        });
                        fragment.lanes = lanes;
                    }
                    match self.arrive_at_barrier(number, fragment, barrier, line) {
                        Ok(()) => break Turn::Over,
                        Err(fault) => Err(fault),
                    }
                }
                Op::Collective(collective) => {
                    match self.collective_alone(number, &fragment, collective, lanes, line) {
                        Ok(true) => Ok(()),
                        Ok(false) => {
                            let rest = fragment.lanes & !lanes;
                            if rest != 0 {
                                self.warps[number].settle(Fragment {
                                    lanes: rest,
                                    pc: fragment.pc + 1,
                                    ..fragment
                                });
                            }
                            fragment.lanes = lanes;
                            match self.wait_for_members(number, fragment) {
                                Ok(()) => break Turn::Over,
                                Err(fault) => Err(fault),
                            }
                        }
                        Err(fault) => Err(fault),
                    }
                }
            };
            if let Err((fault, lane)) = outcome {
                return Err(self.trap(number, lane, line, fault));
            }
            fragment.pc += 1;
        };
        self.executed += done;
        self.warps[number].executed += done;
        Ok(result)
    }

    fn code_of(&self, number: usize, fragment: &Fragment) -> &'k Code {
        &self.program.functions[self.warps[number].frames[fragment.frame as usize].code as usize]
    }

    /// The meeting for the parts of a fragment: an enclosing one at the same instruction serves again (loops).
    pub(super) fn split_meeting(&mut self, number: usize, fragment: &Fragment, pc: u32) -> u32 {
        let warp = &mut self.warps[number];
        if pc == NOWHERE || pc == warp.stop_of(fragment) {
            return fragment.meeting;
        }
        warp.new_meeting(super::warp::Meeting {
            pc,
            frame: fragment.frame,
            expected: fragment.lanes,
            arrived: 0,
            parent: fragment.meeting,
            callee: NONE,
        })
    }

    fn branch_table(
        &mut self,
        number: usize,
        fragment: &Fragment,
        table: &BranchTable,
        lanes: u32,
    ) -> Faulty<()> {
        let indices = self.warps[number].frames[fragment.frame as usize]
            .registers
            .narrow[table.index as usize];
        let rest = fragment.lanes & !lanes;
        let meeting = self.split_meeting(number, fragment, table.reconverge);
        let mut left = lanes;
        if rest != 0 {
            self.warps[number].settle(Fragment {
                pc: fragment.pc + 1,
                lanes: rest,
                meeting,
                ..*fragment
            });
        }
        while left != 0 {
            let lane = left.trailing_zeros();
            let index = indices[lane as usize];
            let Some(&pc) = table.targets.get(index as usize) else {
                let message = format!(
                    "branch index {index} of a table with {} targets",
                    table.targets.len()
                );
                return Err((Fault::BadOperand(message), lane));
            };
            let mut same = 0;
            each_lane(left, |other| {
                same |= u32::from(indices[other] == index) << other
            });
            self.warps[number].settle(Fragment {
                pc,
                lanes: same,
                meeting,
                ..*fragment
            });
            left &= !same;
        }
        Ok(())
    }

    fn exit(&mut self, number: usize, fragment: &Fragment, lanes: u32, line: u32) {
        let warp = &mut self.warps[number];
        self.observer.exit(InstructionEvent {
            warp: number as u32,
            line,
            lanes,
            active: fragment.lanes,
            live: warp.live,
        });
        warp.live &= !lanes;
        warp.last_exit = Some((lanes.trailing_zeros(), line));
        warp.leave(fragment.meeting, lanes, NONE);
        self.retry_collectives(number);
    }

    pub(super) fn trap(&self, warp: usize, lane: u32, line: u32, fault: Fault) -> Box<Trap> {
        let thread = warp as u32 * LANES as u32 + lane;
        Box::new(Trap {
            fault,
            kernel: self.shape.kernel.clone(),
            block: self.index,
            thread: thread_index(self.shape.block, thread),
            line: line as usize,
            text: String::new(),
        })
    }

    /// The line at which a fragment stands.
    pub(super) fn line_of(&self, warp: usize, fragment: &Fragment) -> u32 {
        self.code_of(warp, fragment).lines[fragment.pc as usize]
    }
}

/// `%tid` of a thread by its number in the block.
pub(super) fn thread_index(block: [u32; 3], thread: u32) -> [u32; 3] {
    [
        thread % block[0],
        thread / block[0] % block[1],
        thread / block[0] / block[1],
    ]
}

fn read_clock(clock: Clock, executed: u64, started: Instant) -> u64 {
    let nanoseconds = || started.elapsed().as_nanos() as u64;
    match clock {
        Clock::Cycles => executed & 0xffff_ffff,
        Clock::CyclesHigh => executed >> 32,
        Clock::Cycles64 => executed,
        Clock::Nanoseconds => nanoseconds(),
        Clock::NanosecondsLow => nanoseconds() & 0xffff_ffff,
        Clock::NanosecondsHigh => nanoseconds() >> 32,
    }
}

fn pack(registers: &mut Registers, d: Row, bits: u32, parts: &[Row], lanes: u32) {
    let mask = (1u64 << bits) - 1;
    each_lane(lanes, |lane| {
        let value = parts.iter().enumerate().fold(0, |value, (index, part)| {
            let part = match *part {
                Row::Narrow(row) => u64::from(registers.narrow[row as usize][lane]),
                Row::Wide(row) => registers.wide[row as usize][lane],
            };
            value | (part & mask) << (index as u32 * bits)
        });
        match d {
            Row::Narrow(row) => registers.narrow[row as usize][lane] = value as u32,
            Row::Wide(row) => registers.wide[row as usize][lane] = value,
        }
    });
}

fn unpack(registers: &mut Registers, a: Row, bits: u32, parts: &[Option<Row>], lanes: u32) {
    let mask = (1u64 << bits) - 1;
    each_lane(lanes, |lane| {
        let value = match a {
            Row::Narrow(row) => u64::from(registers.narrow[row as usize][lane]),
            Row::Wide(row) => registers.wide[row as usize][lane],
        };
        for (index, part) in parts.iter().enumerate() {
            let part_value = value >> (index as u32 * bits) & mask;
            match part {
                Some(Row::Narrow(row)) => registers.narrow[*row as usize][lane] = part_value as u32,
                Some(Row::Wide(row)) => registers.wide[*row as usize][lane] = part_value,
                None => {}
            }
        }
    });
}
