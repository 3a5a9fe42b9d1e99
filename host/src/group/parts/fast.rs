//! The fast order: each device hands in one state.

use super::super::devices::Group;
use super::super::queueing::{Graph, Key, PartLaunch, Queueing, Threads};
use super::super::streams::On;
use super::{Member, SETS, UntypedGroup, launch_of_part};
use crate::device::{Device, Slice};
use crate::kernels::Error;

impl UntypedGroup {
    /// # Safety
    /// As for [`Self::reduce`]; all that it asks has been checked.
    pub(super) unsafe fn reduce_fast(
        &mut self,
        group: &Group,
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let are_gpus = group.devices().iter().all(Device::is_gpu);
        match self.queueing {
            // The driver might put two launches on one GPU one after another, of which the first would wait for the second.
            // SAFETY: the caller's contract is the same.
            Queueing::AsGraph if self.in_peer_memory && group.has_each_once() => unsafe {
                return self.reduce_as_graph(group, parts, result);
            },
            // So might it with those of two threads.
            // SAFETY: the caller's contract is the same.
            Queueing::ByThreads if self.in_peer_memory && are_gpus && group.has_each_once() => unsafe {
                return self.reduce_by_threads(group, parts, result);
            },
            _ => {}
        }
        // SAFETY: the caller's contract is the same.
        unsafe { self.launch_fast(group, On::Own, parts, result)? };
        if self.in_peer_memory {
            return Ok(());
        }
        // Each has left the slots of the others empty.
        let mut words = vec![0; self.form.slots(parts.len() + 1)];
        for member in &self.members {
            let of_member = member.slots.read()?;
            words
                .iter_mut()
                .zip(of_member)
                .for_each(|(word, of_member)| *word |= of_member);
        }
        // SAFETY: the caller's contract for the result.
        unsafe { self.meet_in_slots(group, &words, parts, result) }
    }

    /// Launches on all devices, one after another.
    ///
    /// # Safety
    /// As for [`Self::reduce_fast`], until the stream has done it.
    pub(super) unsafe fn launch_fast(
        &mut self,
        group: &Group,
        on: On<'_>,
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let set = match on {
            On::Each(_) => self.last_set % (SETS - 1) + 1,
            On::Own | On::First(_) | On::Captured(_) => 0,
        };
        let prepared = self.prepare_fast(group, (on.is_captured(), set), parts, result)?;
        if set == 0 {
            self.begin(on)?;
        } else {
            self.begin_apart(on, set)?;
        }
        // The first device last: it waits for the others.
        let mut launches = parts.iter().zip(&prepared).enumerate().rev();
        let launched = launches.try_for_each(|(rank, (part, launch))| {
            let (member, device) = (&self.members[rank], &group.devices()[rank]);
            let stream = on.of(rank, &member.streams);
            let PartLaunch {
                suffix,
                shape,
                arguments,
            } = launch;
            // SAFETY: the part has as many values, and `prepare_fast` has allocated what the kernel takes besides. Those who hand in reach
            // the slots, of the first device or their own, which are empty. Memory of buffers is freed when the device has done what is queued;
            // `read_by` keeps the order of other memory, or who has made the slice has promised it.
            part.read_by(device, Some(stream), || unsafe {
                let family = &member.family;
                family.launch(Some(stream), suffix, shape, arguments)
            })
        });
        if let Err(error) = launched {
            if !on.is_captured() {
                // Those that have been launched hand in, and nobody takes it.
                self.wait(on.callers(0))?;
                self.give_up(on.callers(0))?;
            }
            return Err(error.into());
        }
        // The first device has waited for all states: the event of another one's end would come later, and tell nothing more. A capture
        // needs it.
        if on.is_captured() {
            self.end(on)?;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Self::reduce_fast`].
    unsafe fn reduce_by_threads(
        &mut self,
        group: &Group,
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        self.wait_for_other_streams()?;
        let prepared = self.prepare_fast(group, (false, 0), parts, result)?;
        let devices = group.devices().iter();
        for ((part, device), member) in parts.iter().zip(devices).zip(&self.members) {
            part.wait_for_owner(device, &member.streams.usual)?;
        }
        let Member {
            family, streams, ..
        } = &self.members[0];
        let threads = self
            .threads
            .get_or_insert_with(|| Threads::new(group, self.text, family.name()));
        for (rank, launch) in prepared.iter().enumerate().skip(1) {
            // SAFETY: as in `launch_fast`; all of it is waited for here.
            unsafe { threads.launch(rank, launch) };
        }
        let own = &prepared[0];
        // Who has failed hands nothing in: then the first device is not launched.
        let launched = threads.wait_until_loaded().and_then(|()| {
            // SAFETY: as in `launch_fast`.
            let launched = unsafe {
                family.launch(Some(&streams.usual), own.suffix, &own.shape, &own.arguments)
            };
            Ok(launched?)
        });
        let waited = threads.wait();
        if launched.is_err() || waited.is_err() {
            self.give_up(None)?;
        }
        launched.and(waited)
    }

    /// # Safety
    /// As for [`Self::reduce_fast`].
    unsafe fn reduce_as_graph(
        &mut self,
        group: &Group,
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        self.wait_for_other_streams()?;
        let key = |members: &[Member]| -> Key {
            let all = parts.iter().chain([&result]);
            let places = all.flat_map(|slice| [slice.address(), slice.len() as u64]);
            let workspaces = members.iter().flat_map(|member| member.family.addresses());
            places.chain(workspaces).collect()
        };
        let is_of_these = |graph: &Graph| graph.key == key(&self.members);
        if !self.graph.as_ref().is_some_and(is_of_these) {
            self.graph = None;
            let prepared = self.prepare_fast(group, (false, 0), parts, result)?;
            let members = self.members.iter().zip(&prepared);
            let launches: Vec<_> = members
                .map(|(member, launch)| (member.family.kernel(launch.suffix), launch))
                .collect();
            self.graph = Some(Graph::new(group, key(&self.members), &launches)?);
        }
        let devices = group.devices().iter();
        for ((part, device), member) in parts.iter().zip(devices).zip(&self.members) {
            part.wait_for_owner(device, &member.streams.usual)?;
        }
        let Some(graph) = &self.graph else {
            return Ok(());
        };
        // SAFETY: as in `launch_fast`; the parts, the result and the workspaces, all of which are at the addresses that the graph has, are
        // kept until it has ended: the caller waits for that.
        unsafe { graph.executable.launch(&self.members[0].streams.usual)? };
        Ok(())
    }

    /// Prepares each device's launch in the fast order, with a set of slots; allocates nothing during a capture.
    pub(in super::super) fn prepare_fast(
        &mut self,
        group: &Group,
        (is_capturing, set): (bool, usize),
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<Vec<PartLaunch>, Error> {
        let devices = group.devices();
        let of = devices.len();
        let lengths = self.lengths(parts);
        let all = self.of_all(&lengths, result);
        let mut before = 0;
        let mut prepared = Vec::with_capacity(of);
        for (rank, &n) in lengths.iter().enumerate() {
            let (member, device) = (&mut self.members[rank], &devices[rank]);
            let (needs, shape) = launch_of_part(self.form, device, n);
            if !member.family.is_prepared(&needs) {
                if is_capturing {
                    return Err(Error::Unprepared);
                }
                member.family.prepare(device, &needs)?;
            }
            let slots = self.form.slots(of + 1);
            // Who cannot reach the first device hands in to a slot of its own, as if there were one device more, which then takes them all.
            let (slots, rank, of) = if self.in_peer_memory {
                (self.slots.slice(set * slots..).argument(), rank, of)
            } else {
                member.slots = device.upload(&vec![0; slots])?;
                (member.slots.argument(), rank + 1, of + 1)
            };
            let part = [parts[prepared.len()].argument(), n.into(), before.into()];
            let mut arguments = Vec::from(part);
            arguments.extend(member.family.slots(&needs));
            arguments.extend([slots, (rank as u32).into(), (of as u32).into()]);
            arguments.extend(all.iter().cloned());
            prepared.push(PartLaunch {
                suffix: needs.suffix,
                shape,
                arguments,
            });
            before += n as u64;
        }
        Ok(prepared)
    }

    /// Takes the states of all devices out of slots, which come from the host, on the first device: as one that has no values.
    ///
    /// # Safety
    /// The words are those of slots with a state of each device, and the result is as [`Self::reduce`] asks.
    unsafe fn meet_in_slots(
        &mut self,
        group: &Group,
        words: &[u64],
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let (needs, shape) = launch_of_part(self.form, &group.devices()[0], 0);
        let all = self.of_all(&self.lengths(parts), result);
        let of = parts.len() as u32 + 1;
        let Member { family, slots, .. } = &mut self.members[0];
        slots.write(words)?;
        let mut arguments = vec![parts[0].argument(), 0_usize.into(), 0_u64.into()];
        arguments.extend(family.slots(&needs));
        arguments.extend([slots.argument(), 0_u32.into(), of.into()]);
        arguments.extend(all);
        // SAFETY: it reads no values, and there is a state for it in each slot but its own; it waits for its end.
        unsafe { Ok(family.launch(None, needs.suffix, &shape, &arguments)?) }
    }
}
