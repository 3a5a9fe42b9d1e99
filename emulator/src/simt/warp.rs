//! A warp and how its lanes part and meet.
//!
//! The lanes of a warp that stand at one instruction are a *fragment*. A branch that not all of them take splits a fragment in
//! two and makes a *meeting*: the immediate post-dominator of the branch, where the parts wait for one another and go on
//! together. Fragments advance independently of each other (independent thread scheduling, as GPUs do since Volta), so that a lane
//! may spin on what another lane of its warp will do.

use crate::program::NOWHERE;
use crate::registers::Registers;

/// No meeting.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub pc: u32,
    pub lanes: u32,
    pub frame: u32,
    /// The innermost meeting that the lanes are bound for.
    pub meeting: u32,
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// Arrived at the block's barrier of this number; `pc` is the barrier instruction.
    AtBarrier(u32),
    /// Arrived at a collective instruction, whose other members are still to come.
    AtCollective,
}

/// Where parted lanes wait for one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting {
    pub pc: u32,
    pub frame: u32,
    /// All lanes that are to come, less those that have exited.
    pub expected: u32,
    pub arrived: u32,
    pub parent: u32,
    /// For the return from a function: the frame of the callee.
    pub callee: u32,
}

/// The registers and memory of one function call.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Index of the function in the program.
    pub code: u32,
    pub registers: Registers,
    /// Parameter memory, `parameter_bytes` for each lane in turn.
    pub parameters: Vec<std::sync::atomic::AtomicU64>,
    /// Where the frame's local memory begins in each thread's.
    pub local_base: u32,
    pub depth: u32,
}

#[derive(Debug, Default)]
pub(super) struct Warp {
    pub fragments: Vec<Fragment>,
    pub meetings: Vec<Meeting>,
    pub free_meetings: Vec<u32>,
    pub frames: Vec<Frame>,
    pub free_frames: Vec<u32>,
    /// Lanes that have not exited.
    pub live: u32,
    /// Lanes that the launch gave it.
    pub initial: u32,
    /// Bytes of local memory per thread, and that memory, thread by thread.
    pub local_bytes: u32,
    pub local: Vec<std::sync::atomic::AtomicU64>,
    /// Instructions executed.
    pub executed: u64,
    /// Where the last lane to exit did so: for messages.
    pub last_exit: Option<(u32, u32)>,
}

impl Warp {
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

    pub fn new_meeting(&mut self, meeting: Meeting) -> u32 {
        match self.free_meetings.pop() {
            Some(index) => {
                self.meetings[index as usize] = meeting;
                index
            }
            None => {
                self.meetings.push(meeting);
                self.meetings.len() as u32 - 1
            }
        }
    }

    /// The instruction at which the fragment must stop to meet others.
    #[inline(always)]
    pub fn stop_of(&self, fragment: &Fragment) -> u32 {
        if fragment.meeting == NONE {
            return NOWHERE;
        }
        let meeting = &self.meetings[fragment.meeting as usize];
        if meeting.frame == fragment.frame && meeting.callee == NONE {
            meeting.pc
        } else {
            NOWHERE
        }
    }

    /// Brings lanes to their meeting. Once all are there, they go on as one fragment, which is returned.
    pub fn arrive(&mut self, index: u32, lanes: u32) -> Option<Fragment> {
        let meeting = &mut self.meetings[index as usize];
        meeting.arrived |= lanes;
        self.complete(index)
    }

    /// Instruction, frame and lanes of a meeting at which some wait for the rest of their warp.
    pub fn met(&self) -> Option<(u32, u32, u32)> {
        (0..self.meetings.len() as u32)
            .filter(|index| !self.free_meetings.contains(index))
            .map(|index| &self.meetings[index as usize])
            .find(|meeting| meeting.arrived != 0)
            .map(|meeting| (meeting.pc, meeting.frame, meeting.arrived))
    }

    /// Ends a meeting at which all have arrived.
    fn complete(&mut self, index: u32) -> Option<Fragment> {
        let meeting = self.meetings[index as usize];
        if meeting.arrived != meeting.expected {
            return None;
        }
        self.free_meetings.push(index);
        if meeting.callee != NONE {
            self.free_frames.push(meeting.callee);
        }
        (meeting.arrived != 0).then_some(Fragment {
            pc: meeting.pc,
            lanes: meeting.arrived,
            frame: meeting.frame,
            meeting: meeting.parent,
            state: State::Ready,
        })
    }

    /// Sends a fragment on its way: into its meeting if it stands there already.
    pub fn settle(&mut self, fragment: Fragment) {
        if fragment.pc == self.stop_of(&fragment) {
            if let Some(together) = self.arrive(fragment.meeting, fragment.lanes) {
                self.settle(together);
            }
        } else {
            self.fragments.push(fragment);
        }
    }

    /// Takes lanes out of a chain of meetings, up to `end` (exclusive); meetings that waited only for them go on.
    pub fn leave(&mut self, mut index: u32, lanes: u32, end: u32) {
        while index != end && index != NONE {
            let meeting = &mut self.meetings[index as usize];
            let parent = meeting.parent;
            meeting.expected &= !lanes;
            if let Some(together) = self.complete(index) {
                self.settle(together);
            }
            index = parent;
        }
    }
}
