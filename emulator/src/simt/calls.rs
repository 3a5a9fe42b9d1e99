//! Function calls: a frame for the callee, a reconvergence point for its return.

use std::sync::atomic::{AtomicU64, Ordering};

use super::block::Block;
use super::site::Faulty;
use super::warp::{Fragment, Frame, NONE, Reconvergence, State};
use crate::code::*;
use crate::error::Fault;
use crate::lower::MAX_LOCAL_BYTES;
use crate::observer::{CallEvent, Observer};
use crate::registers::{LANES, each_lane};

/// Calls may nest so deep.
const DEPTH_LIMIT: u32 = 1024;

impl<O: Observer> Block<'_, '_, O> {
    /// Sends the lanes into the function, or, through a pointer, into each of the functions.
    pub(super) fn call(
        &mut self,
        number: usize,
        fragment: &Fragment,
        call: &Call,
        lanes: u32,
    ) -> Faulty<()> {
        let after = fragment.pc + 1;
        let rest = fragment.lanes & !lanes;
        let groups = self.callees(number, fragment, call.callee, lanes)?;
        let mut reconvergence = fragment.reconvergence;
        if rest != 0 || groups.len() > 1 {
            reconvergence = self.warps[number].reconvergence_of_split(fragment, after);
            if rest != 0 {
                self.warps[number].settle(Fragment {
                    pc: after,
                    lanes: rest,
                    reconvergence,
                    ..*fragment
                });
            }
        }
        for (function, lanes) in groups {
            self.enter(
                number,
                &Fragment {
                    lanes,
                    reconvergence,
                    ..*fragment
                },
                call,
                function,
            )?;
        }
        Ok(())
    }

    /// The functions called, with the lanes that call each.
    fn callees(
        &self,
        number: usize,
        fragment: &Fragment,
        callee: Callee,
        lanes: u32,
    ) -> Faulty<Vec<(u32, u32)>> {
        let row = match callee {
            Callee::Function(function) => return Ok(vec![(function, lanes)]),
            Callee::Pointer(row) => row,
        };
        let addresses = self.warps[number].frames[fragment.frame as usize]
            .registers
            .wide[row as usize];
        let mut groups = Vec::new();
        let mut left = lanes;
        while left != 0 {
            let lane = left.trailing_zeros();
            let address = addresses[lane as usize];
            let Some(&function) = self.code.by_address.get(&address) else {
                return Err((
                    Fault::BadOperand(format!("call of {address:#x}, which is no function")),
                    lane,
                ));
            };
            let mut same = 0;
            each_lane(left, |other| {
                same |= u32::from(addresses[other] == address) << other
            });
            groups.push((function, same));
            left &= !same;
        }
        Ok(groups)
    }

    fn enter(
        &mut self,
        number: usize,
        fragment: &Fragment,
        call: &Call,
        function: u32,
    ) -> Faulty<()> {
        let code = &self.code.functions[function as usize];
        let caller_code = self.warps[number].frames[fragment.frame as usize].code as usize;
        let fits = call.arguments.len() == code.parameters.len()
            && call.results.len() == code.returns.len()
            && call
                .arguments
                .iter()
                .zip(&code.parameters)
                .all(|(given, wanted)| given.bytes == wanted.bytes)
            && call
                .results
                .iter()
                .zip(&code.returns)
                .all(|(given, wanted)| given.bytes == wanted.bytes);
        let lane = fragment.lanes.trailing_zeros();
        if !fits {
            let message = format!(
                "call of `{}` with arguments that do not fit its declaration",
                code.name
            );
            return Err((Fault::BadOperand(message), lane));
        }
        let caller = &self.warps[number].frames[fragment.frame as usize];
        let depth = caller.depth + 1;
        let local_base = (caller.local_base + self.code.functions[caller_code].local_bytes)
            .next_multiple_of(code.local_align);
        let local_bytes = local_base + code.local_bytes;
        if depth > DEPTH_LIMIT || u64::from(local_bytes) > MAX_LOCAL_BYTES {
            return Err((Fault::StackOverflow(depth as usize - 1), lane));
        }
        let index = match self.warps[number].free_frames.pop() {
            Some(index) => index,
            None => {
                self.warps[number].frames.push(Frame::default());
                self.warps[number].frames.len() as u32 - 1
            }
        };
        let mut frame = std::mem::take(&mut self.warps[number].frames[index as usize]);
        frame.code = function;
        frame.caller = fragment.frame;
        frame.depth = depth;
        self.prepare_frame(number as u32, &mut frame, local_base);
        let warp = &mut self.warps[number];
        if local_bytes > warp.local_bytes {
            let enough = local_bytes.max(2 * warp.local_bytes);
            grow_local(&mut warp.local, warp.local_bytes, enough);
            warp.local_bytes = enough;
        }
        let caller = &warp.frames[fragment.frame as usize];
        for (from, to) in call.arguments.iter().zip(&code.parameters) {
            copy_slices(
                &caller.parameters,
                *from,
                &frame.parameters,
                *to,
                fragment.lanes,
            );
        }
        for copy in &code.copies {
            let to = Slice {
                offset: local_base + copy.local,
                bytes: copy.from.bytes,
            };
            copy_slices(
                &frame.parameters,
                copy.from,
                &warp.local,
                to,
                fragment.lanes,
            );
        }
        warp.frames[index as usize] = frame;
        if self.observer.wants().accesses && code.local_bytes != 0 {
            let range = |copy: &ParameterCopy| {
                let start = u64::from(local_base + copy.local);
                start..start + u64::from(copy.from.bytes)
            };
            self.observer.call(CallEvent {
                warp: number as u32,
                lanes: fragment.lanes,
                local: local_base.into()..local_bytes.into(),
                copies: &code.copies.iter().map(range).collect::<Vec<_>>(),
            });
        }
        let warp = &mut self.warps[number];
        let reconvergence = warp.new_reconvergence(Reconvergence {
            pc: fragment.pc + 1,
            frame: fragment.frame,
            expected: fragment.lanes,
            arrived: 0,
            since: 0,
            parent: fragment.reconvergence,
            callee: index,
        });
        warp.fragments.push(Fragment {
            pc: 0,
            frame: index,
            reconvergence,
            lanes: fragment.lanes,
            state: State::Ready,
        });
        Ok(())
    }

    /// Brings lanes back from their function; when all that entered are back, they go on in the caller.
    pub(super) fn return_from(&mut self, number: usize, fragment: &Fragment, lanes: u32) {
        let warp = &mut self.warps[number];
        let mut home = fragment.reconvergence;
        while warp.reconvergences[home as usize].callee == NONE {
            home = warp.reconvergences[home as usize].parent;
        }
        warp.leave(fragment.reconvergence, lanes, home);
        let reconvergence = warp.reconvergences[home as usize];
        let caller = &warp.frames[reconvergence.frame as usize];
        let callee = &warp.frames[fragment.frame as usize];
        let caller_code = &self.code.functions[caller.code as usize];
        if let Op::Call(call) = &caller_code.instructions[reconvergence.pc as usize - 1].op {
            let returns = &self.code.functions[callee.code as usize].returns;
            for (from, to) in returns.iter().zip(&call.results) {
                copy_slices(&callee.parameters, *from, &caller.parameters, *to, lanes);
            }
        }
        if let Some(together) = warp.arrive(home, lanes) {
            warp.settle(together);
        }
    }
}

/// Copies a slice of parameter memory for each of the lanes.
fn copy_slices(
    from: &[AtomicU64],
    from_slice: Slice,
    to: &[AtomicU64],
    to_slice: Slice,
    lanes: u32,
) {
    let (from_bytes, to_bytes) = (from.len() / LANES * 8, to.len() / LANES * 8);
    each_lane(lanes, |lane| {
        for byte in 0..from_slice.bytes as usize {
            let value = get_byte(from, lane * from_bytes + from_slice.offset as usize + byte);
            set_byte(to, lane * to_bytes + to_slice.offset as usize + byte, value);
        }
    });
}

fn get_byte(words: &[AtomicU64], at: usize) -> u8 {
    (words[at / 8].load(Ordering::Relaxed) >> (at % 8 * 8)) as u8
}

fn set_byte(words: &[AtomicU64], at: usize, value: u8) {
    let shift = at % 8 * 8;
    let old = words[at / 8].load(Ordering::Relaxed);
    words[at / 8].store(
        old & !(0xff << shift) | u64::from(value) << shift,
        Ordering::Relaxed,
    );
}

/// Gives every thread more local memory and keeps what it holds.
fn grow_local(local: &mut Vec<AtomicU64>, old_bytes: u32, new_bytes: u32) {
    let (old, new) = (old_bytes as usize / 8, new_bytes as usize / 8);
    let mut grown: Vec<AtomicU64> = Vec::new();
    grown.resize_with(new * LANES, AtomicU64::default);
    for lane in 0..LANES {
        for word in 0..old {
            *grown[lane * new + word].get_mut() = *local[lane * old + word].get_mut();
        }
    }
    *local = grown;
}
