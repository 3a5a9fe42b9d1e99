//! The fixed order: each device hands in the states of its chunks.

use super::super::devices::Group;
use super::super::streams::On;
use super::{Member, UntypedGroup};
use crate::chunks;
use crate::device::{Buffer, Device, DeviceError, Slice};
use crate::kernels::Error;
use warpfold_device::fixed::CHUNK;

impl UntypedGroup {
    /// Room on the first device for the states of all chunks.
    pub(super) fn allocate_states(
        &mut self,
        group: &Group,
        lengths: &[usize],
        is_capturing: bool,
    ) -> Result<(), Error> {
        let chunks: usize = lengths.iter().map(|n| n.div_ceil(CHUNK)).sum();
        let bytes = chunks * self.form.state_bytes();
        if self.states.len() < bytes {
            if is_capturing {
                return Err(Error::Unprepared);
            }
            self.states = group.devices()[0].allocate(bytes)?;
        }
        Ok(())
    }

    /// Launches on all devices in the fixed order. Where they meet on the host, it waits.
    ///
    /// # Safety
    /// As for [`Self::launch_fast`].
    pub(super) unsafe fn launch_in_order(
        &mut self,
        group: &Group,
        on: On<'_>,
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let (devices, state_bytes) = (group.devices(), self.form.state_bytes());
        let lengths = self.lengths(parts);
        let total: usize = lengths.iter().sum();
        if self.in_peer_memory {
            self.allocate_states(group, &lengths, on.is_captured())?;
        }
        self.begin(on)?;
        // All devices begin before the first is waited for.
        let (mut before, mut chunks_before) = (0, 0);
        let members = self.members.iter_mut().zip(devices).zip(parts);
        for (rank, (((member, device), part), &n)) in members.zip(&lengths).enumerate() {
            let count = n.div_ceil(CHUNK);
            let states = if self.in_peer_memory {
                self.states.slice(chunks_before * state_bytes..).argument()
            } else {
                resize(&mut member.states, device, count * state_bytes)?;
                member.states.argument()
            };
            if count > 0 {
                let Member {
                    family, streams, ..
                } = member;
                let on = (device, on.of(rank, streams));
                // SAFETY: the part has as many values, and there is a state for each chunk of them, in this device's memory or in that of the
                // first, which it reaches.
                unsafe {
                    chunks::queue_part(family, on, *part, (n, before), states, self.parameter)?;
                };
            }
            before += n as u64;
            chunks_before += count;
        }
        if !self.in_peer_memory {
            let mut states = Vec::new();
            for member in &self.members {
                states.append(&mut member.states.read()?);
            }
            // SAFETY: there are the states of all chunks, and the caller's contract for the result.
            return unsafe { self.meet_on_host(group, &states, total, result) };
        }
        self.end(on)?;
        let Member {
            family, streams, ..
        } = &mut self.members[0];
        let on = (&devices[0], Some(on.of(0, streams)));
        let states = (self.states.slice(..), chunks_before);
        // SAFETY: there are as many states, all of them written before this stream goes on, and there is one result.
        unsafe { chunks::queue_all(family, on, states, total, result, self.parameter)? };
        Ok(())
    }

    /// Combines states from the host on the first device.
    ///
    /// # Safety
    /// The bytes are those of states, and the result is as [`Self::reduce`] asks.
    unsafe fn meet_on_host(
        &mut self,
        group: &Group,
        states: &[u8],
        total: usize,
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let first = &group.devices()[0];
        resize(&mut self.states, first, states.len())?;
        self.states.write(states)?;
        let count = states.len() / self.form.state_bytes();
        let (family, states) = (&mut self.members[0].family, self.states.slice(..));
        // SAFETY: there are as many states, and there is one result; it waits for its end.
        unsafe {
            chunks::queue_all(
                family,
                (first, None),
                (states, count),
                total,
                result,
                self.parameter,
            )?;
        };
        Ok(())
    }
}

/// Makes the buffer one of this many elements.
fn resize<T: crate::device::Pod>(
    buffer: &mut Buffer<T>,
    device: &Device,
    length: usize,
) -> Result<(), DeviceError> {
    if buffer.len() != length {
        *buffer = device.upload(&vec![T::zeroed(); length])?;
    }
    Ok(())
}
