//! A warp, and how its lanes diverge and reconverge.
//!
//! The lanes of a warp that stand at one instruction are a *fragment*. A branch that only some of them take splits the fragment in
//! two and sets a *reconvergence point*: the immediate post-dominator of the branch, where the parts wait for one another and go on
//! together. Fragments advance independently of each other, as on GPUs since Volta (independent thread scheduling): a lane may spin
//! until another lane of its warp acts. Lanes that wait at a reconvergence point go on alone when the others need them to.

use std::sync::atomic::AtomicU64;

use crate::code::NOWHERE;
use crate::registers::Registers;

/// No reconvergence point.
pub(super) const NONE: u32 = u32::MAX;
/// Lanes that have waited at a reconvergence point while their warp executed this many instructions
/// go on alone: what the others do may never end without them.
const PATIENCE: u64 = 1 << 20;
/// After this many reads in a row that find nothing new, a warp is taken to wait for somebody.
const VAIN_READS: u32 = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub pc: u32,
    pub lanes: u32,
    pub frame: u32,
    /// The innermost reconvergence point that the lanes are bound for.
    pub reconvergence: u32,
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// Arrived at the block's barrier of this number; `pc` is the barrier instruction.
    AtBarrier(u32),
    /// Waits for the barrier of the cluster; `pc` is the instruction that waits.
    AtCluster,
    /// Arrived at a collective instruction, whose other members are still to come.
    AtCollective,
}

/// A reconvergence point: where diverged lanes wait for one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reconvergence {
    pub pc: u32,
    pub frame: u32,
    /// All lanes that are to come, less those that have exited. If none are, the point is no longer needed and its place is free.
    pub expected: u32,
    pub arrived: u32,
    /// What the warp had executed when the first of them arrived.
    pub since: u64,
    pub parent: u32,
    /// For the return from a function: the frame of the callee.
    pub callee: u32,
}

/// The registers and memory of one function call.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Index of the function in the kernel.
    pub code: u32,
    /// The frame that called it; the entry's own for the entry's.
    pub caller: u32,
    pub registers: Registers,
    /// Parameter memory, `parameter_bytes` for each lane in turn.
    pub parameters: Vec<AtomicU64>,
    /// Where the frame's local memory begins in each thread's. Frames of different lanes may share the same range: every thread
    /// has a memory of its own.
    pub local_base: u32,
    pub depth: u32,
}

#[derive(Debug, Default)]
pub(super) struct Warp {
    pub fragments: Vec<Fragment>,
    pub reconvergences: Vec<Reconvergence>,
    free_reconvergences: Vec<u32>,
    pub frames: Vec<Frame>,
    pub free_frames: Vec<u32>,
    /// Lanes that have not exited.
    pub live: u32,
    /// Lanes that the launch gave it.
    pub initial: u32,
    /// Bytes of local memory per thread, and that memory, thread by thread.
    pub local_bytes: u32,
    pub local: Vec<AtomicU64>,
    /// Instructions executed.
    pub executed: u64,
    /// Line at which lanes last exited: for messages.
    pub last_exit: Option<u32>,
    /// Reads in a row that found nothing new.
    vain_reads: u32,
}

impl Warp {
    /// Puts all lanes before the first instruction of the entry, whose frame is the first.
    pub fn begin(&mut self) {
        self.fragments.clear();
        self.reconvergences.clear();
        self.free_reconvergences.clear();
        self.frames.truncate(1);
        self.free_frames.clear();
        self.live = self.initial;
        self.last_exit = None;
        self.executed = 0;
        self.vain_reads = 0;
        self.fragments.push(Fragment {
            pc: 0,
            lanes: self.initial,
            frame: 0,
            reconvergence: NONE,
            state: State::Ready,
        });
    }

    /// Takes out a fragment that can go on: the one added last.
    pub fn take_ready(&mut self) -> Option<Fragment> {
        let index = self
            .fragments
            .iter()
            .rposition(|fragment| fragment.state == State::Ready)?;
        Some(self.fragments.remove(index))
    }

    /// Takes out a fragment that can go on: the one that has waited longest.
    pub fn take_oldest_ready(&mut self) -> Option<Fragment> {
        let index = self
            .fragments
            .iter()
            .position(|fragment| fragment.state == State::Ready)?;
        Some(self.fragments.remove(index))
    }

    pub fn has_ready(&self) -> bool {
        self.fragments
            .iter()
            .any(|fragment| fragment.state == State::Ready)
    }

    pub fn new_reconvergence(&mut self, reconvergence: Reconvergence) -> u32 {
        match self.free_reconvergences.pop() {
            Some(index) => {
                self.reconvergences[index as usize] = reconvergence;
                index
            }
            None => {
                self.reconvergences.push(reconvergence);
                self.reconvergences.len() as u32 - 1
            }
        }
    }

    /// The reconvergence point for the parts of a fragment. The one that the fragment is bound for serves again if it is at the same
    /// instruction, as in loops.
    pub fn reconvergence_of_split(&mut self, fragment: &Fragment, pc: u32) -> u32 {
        if pc == NOWHERE || pc == self.stop_of(fragment) {
            return fragment.reconvergence;
        }
        self.new_reconvergence(Reconvergence {
            pc,
            frame: fragment.frame,
            expected: fragment.lanes,
            arrived: 0,
            since: 0,
            parent: fragment.reconvergence,
            callee: NONE,
        })
    }

    /// The instruction at which the fragment must stop for others to join it.
    #[inline(always)]
    pub fn stop_of(&self, fragment: &Fragment) -> u32 {
        if fragment.reconvergence == NONE {
            return NOWHERE;
        }
        let reconvergence = &self.reconvergences[fragment.reconvergence as usize];
        if reconvergence.frame == fragment.frame && reconvergence.callee == NONE {
            reconvergence.pc
        } else {
            NOWHERE
        }
    }

    /// Brings lanes to their reconvergence point. Once all are there, they go on as one fragment, which is returned.
    pub fn arrive(&mut self, index: u32, lanes: u32) -> Option<Fragment> {
        let reconvergence = &mut self.reconvergences[index as usize];
        if reconvergence.arrived == 0 {
            reconvergence.since = self.executed;
        }
        reconvergence.arrived |= lanes;
        self.complete(index)
    }

    /// Ends a reconvergence point at which all have arrived.
    fn complete(&mut self, index: u32) -> Option<Fragment> {
        let reconvergence = &mut self.reconvergences[index as usize];
        if reconvergence.arrived != reconvergence.expected {
            return None;
        }
        let ended = *reconvergence;
        (reconvergence.expected, reconvergence.arrived) = (0, 0);
        self.free_reconvergences.push(index);
        if ended.callee != NONE {
            self.free_frames.push(ended.callee);
        }
        (ended.arrived != 0).then_some(Fragment {
            pc: ended.pc,
            lanes: ended.arrived,
            frame: ended.frame,
            reconvergence: ended.parent,
            state: State::Ready,
        })
    }

    /// Lets a fragment go on: it arrives at its reconvergence point if it stands there already, and joins others that stand where it does.
    pub fn settle(&mut self, mut fragment: Fragment) {
        while fragment.pc == self.stop_of(&fragment) {
            match self.arrive(fragment.reconvergence, fragment.lanes) {
                Some(together) => fragment = together,
                None => return,
            }
        }
        let same = self.fragments.iter_mut().find(|other| {
            other.state == State::Ready
                && (other.pc, other.frame, other.reconvergence)
                    == (fragment.pc, fragment.frame, fragment.reconvergence)
        });
        match same {
            Some(other) => other.lanes |= fragment.lanes,
            None => self.fragments.push(fragment),
        }
    }

    /// Takes lanes out of a chain of reconvergence points, up to `end` (exclusive). Points that waited only for them let their lanes go on.
    pub fn leave(&mut self, mut index: u32, lanes: u32, end: u32) {
        while index != end && index != NONE {
            let reconvergence = &mut self.reconvergences[index as usize];
            let parent = reconvergence.parent;
            reconvergence.expected &= !lanes;
            // The parent still expects these lanes, so that it cannot end before its own turn.
            if let Some(together) = self.complete(index) {
                self.settle(together);
            }
            index = parent;
        }
    }

    /// Lets the lanes that wait at reconvergence points go on without the others. Tells whether there were any.
    pub fn release_waiting(&mut self) -> bool {
        self.release(|_| true)
    }

    /// The same for those that have waited too long.
    pub fn release_impatient(&mut self) {
        let executed = self.executed;
        self.release(|reconvergence| executed - reconvergence.since > PATIENCE);
    }

    fn release(&mut self, which: impl Fn(&Reconvergence) -> bool) -> bool {
        let mut any = false;
        for index in 0..self.reconvergences.len() {
            let reconvergence = &mut self.reconvergences[index];
            if reconvergence.arrived == 0 || !which(reconvergence) {
                continue;
            }
            any = true;
            let released = Fragment {
                pc: reconvergence.pc,
                lanes: reconvergence.arrived,
                frame: reconvergence.frame,
                reconvergence: reconvergence.parent,
                state: State::Ready,
            };
            reconvergence.expected &= !reconvergence.arrived;
            reconvergence.arrived = 0;
            self.settle(released);
        }
        any
    }

    /// Takes note of a read of memory that others may write: whether it found the value that its register held already.
    pub fn note_read(&mut self, found_same: bool) {
        self.vain_reads = if found_same { self.vain_reads + 1 } else { 0 };
    }

    /// Takes note of a barrier: whoever comes to one has not been waiting for what is read, however often that was the same.
    pub fn note_barrier(&mut self) {
        self.vain_reads = 0;
    }

    /// Takes note that lanes ask to be left alone for a while.
    pub fn note_pause(&mut self) {
        self.vain_reads = VAIN_READS;
    }

    /// Whether the warp seems to wait for what others do; asking begins the count anew.
    pub fn waits_in_vain(&mut self) -> bool {
        let vain = self.vain_reads >= VAIN_READS;
        if vain {
            self.vain_reads = 0;
        }
        vain
    }
}
