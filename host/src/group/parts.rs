//! The reduction of parts, without its types.

use super::devices::Group;
use super::queueing::{Graph, Key, PartLaunch, Queueing, Threads};
use super::streams::{On, OwnStreams};
use crate::chunks;
use crate::device::{
    Argument, Buffer, Device, DeviceError, Event, HostBuffer, HostMemory, Shape, Slice, Stream,
    StreamOrder,
};
use crate::family::{Family, Needs, Source};
use crate::kernels::Error;
use crate::matrix::{Along, Matrix};
use crate::reduce::Form;
use crate::reduce::table::choose_for_part;
use crate::sum::Mode;
use warpfold_device::fixed::CHUNK;
use warpfold_reductions::Text;

/// The kernels of an operator over a type on each device of a group, and the memory where their states meet.
#[doc(hidden)]
pub struct UntypedGroup {
    members: Vec<Member>,
    /// On the first device: [`SETS`] sets of slots for the states of all devices, and of one more, which are empty between the reductions.
    pub(super) slots: Buffer<u64>,
    /// The set of the last reduction on streams of each device.
    last_set: usize,
    /// The states of the chunks of all devices, there too.
    states: Buffer<u8>,
    /// The end of a reduction, on the first device.
    ended: Event,
    /// Whether the devices meet in the memory of the first.
    in_peer_memory: bool,
    /// Words for all slots, as if states were there, and the stream that they come by, beside a kernel that waits: for when a device fails.
    filled: (HostBuffer<u64>, Stream),
    queueing: Queueing,
    threads: Option<Threads>,
    graph: Option<Graph>,
    /// That of the reductions, which share the slots and the states.
    order: StreamOrder,
    /// Where the kernels are.
    text: &'static Text,
    /// The kernels' last argument, if they take one more.
    parameter: Option<u64>,
    form: Form,
}

/// Sets of slots. Set 0 is for reductions whose other devices wait for the first; the others take turns for those on streams of each device.
pub(super) const SETS: usize = 33;

/// What a device keeps.
struct Member {
    family: Family,
    streams: OwnStreams,
    /// Where the devices meet on the host: slots of its own, in the fast order.
    slots: Buffer<u64>,
    /// There too, in the fixed order: its states.
    states: Buffer<u8>,
    /// An event that tells of nothing but faults of its device.
    unrecorded: Event,
}

impl UntypedGroup {
    /// The kernels of an operator, by its name there, in a text of the library. None is loaded yet.
    ///
    /// # Errors
    /// A device fails.
    ///
    /// # Safety
    /// The form is that of the operator and the text's type, with its accumulator.
    pub unsafe fn of_library(
        group: &Group,
        operator: &str,
        text: &'static Text,
        parameter: Option<u64>,
        form: Form,
    ) -> Result<Self, Error> {
        let member = |device: &Device| {
            let name = format!("{operator}_{}", text.name());
            Ok::<Member, DeviceError>(Member {
                family: Family::new(device, Source::of_library(text), name)?,
                streams: OwnStreams::new(device.stream()?)?,
                slots: device.allocate(0)?,
                states: device.allocate(0)?,
                unrecorded: device.event()?,
            })
        };
        let members: Result<Vec<Member>, DeviceError> =
            group.devices().iter().map(member).collect();
        let first = &group.devices()[0];
        let count = group.devices().len();
        let words = SETS * form.slots(count + 1);
        let mut filled = first.allocate_on_host(HostMemory::PageLocked, words)?;
        filled.write(&vec![u64::MAX; words])?;
        Ok(Self {
            members: members?,
            slots: first.upload(&vec![0; words])?,
            last_set: 0,
            states: first.allocate(0)?,
            ended: first.event()?,
            in_peer_memory: group.has_peer_access(),
            filled: (filled, first.non_blocking_stream()?),
            queueing: Queueing::InTurn,
            threads: None,
            graph: None,
            order: StreamOrder::default(),
            text,
            parameter,
            form,
        })
    }

    /// As [`GroupReduction::of`](super::GroupReduction::of), from the bytes of the values, to the bytes of a result in the memory of the
    /// first device.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// - The values and the result are at addresses for their types.
    /// - Nothing else reads or writes the result meanwhile.
    pub unsafe fn reduce(
        &mut self,
        group: &Group,
        mode: Mode,
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        self.check(group, parts, result)?;
        // SAFETY: the caller's contract is the same.
        let reduced = unsafe {
            match mode {
                Mode::Fast => self.reduce_fast(group, parts, result),
                Mode::Deterministic => self.launch_in_order(group, On::Own, parts, result),
            }
        };
        // Whatever has been queued is over before the memory is used again.
        let waited = self.wait(None);
        reduced?;
        Ok(waited?)
    }

    /// As [`GroupReduction::queue`](super::GroupReduction::queue), from bytes to bytes.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As for [`Self::reduce`], until the stream has done it.
    pub(super) unsafe fn queue(
        &mut self,
        group: &Group,
        mode: Mode,
        on: On<'_>,
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        self.check(group, parts, result)?;
        let devices = group.devices();
        match on {
            On::Own | On::Captured(_) => {}
            On::First(stream) => stream.check_device(&devices[0])?,
            On::Each(streams) => {
                if streams.len() != devices.len() {
                    return Err(Error::Streams {
                        streams: streams.len(),
                        devices: devices.len(),
                    });
                }
                let mut pairs = streams.iter().zip(devices);
                pairs.try_for_each(|(stream, device)| stream.check_device(device))?;
            }
        }
        if !self.in_peer_memory {
            return Err(Error::NoPeerAccess);
        }
        let captured = on.captured(devices.len())?;
        let on = captured.as_deref().map_or(on, On::Captured);
        // SAFETY: the caller's contract is the same.
        unsafe {
            match mode {
                Mode::Fast => self.launch_fast(group, on, parts, result),
                Mode::Deterministic => self.launch_in_order(group, on, parts, result),
            }
        }
    }

    /// Loads the kernels and allocates what [`Self::queue`] needs for parts of these lengths.
    pub(super) fn prepare(
        &mut self,
        group: &Group,
        mode: Mode,
        lengths: &[usize],
    ) -> Result<(), Error> {
        let devices = group.devices();
        if lengths.len() != devices.len() {
            return Err(Error::Parts {
                parts: lengths.len(),
                devices: devices.len(),
            });
        }
        self.check_count(lengths)?;
        if mode == Mode::Fast {
            for ((member, device), &n) in self.members.iter_mut().zip(devices).zip(lengths) {
                let (needs, _) = launch_of_part(self.form, device, n);
                member.family.prepare(device, &needs)?;
            }
            return Ok(());
        }
        for (member, device) in self.members.iter_mut().zip(devices) {
            member.family.prepare(device, &chunks::OF_A_PART)?;
        }
        self.members[0]
            .family
            .prepare(&devices[0], &chunks::OF_ALL)?;
        self.allocate_states(group, lengths, false)
    }

    pub(super) fn meet_on_host_always(&mut self) {
        self.in_peer_memory = false;
    }

    pub(super) fn queue_by(&mut self, queueing: Queueing) {
        self.queueing = queueing;
    }

    fn check(
        &self,
        group: &Group,
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        if parts.len() != group.devices().len() {
            return Err(Error::Parts {
                parts: parts.len(),
                devices: group.devices().len(),
            });
        }
        for (part, device) in parts.iter().zip(group.devices()) {
            part.check_device(device)?;
        }
        result.check_device(&group.devices()[0])?;
        self.check_count(&self.lengths(parts))?;
        Ok(DeviceError::check_length(
            result.len(),
            self.form.result_bytes,
        )?)
    }

    /// Refuses parts that have more values together than the operator takes.
    fn check_count(&self, lengths: &[usize]) -> Result<(), Error> {
        let lengths = lengths.iter().map(|&length| length as u64);
        self.form.check_count(lengths.fold(0, u64::saturating_add))
    }

    fn lengths(&self, parts: &[Slice<'_, u8>]) -> Vec<usize> {
        let length = |part: &Slice<'_, u8>| part.len() / self.form.value_bytes;
        parts.iter().map(length).collect()
    }

    /// Waits for the stream of the first device (the caller's, or one of its own), which may wait for the others itself. Where one of those has
    /// failed, the host fills the slots.
    pub(super) fn wait(&mut self, stream: Option<&Stream>) -> Result<(), DeviceError> {
        let first = stream.unwrap_or(&self.members[0].streams.usual);
        let others = &self.members[1..];
        // What waits for a device that fails would not end by itself, and the launches of a graph are on none of these streams.
        let has_failed = |member: &Member| member.unrecorded.is_reached().map(drop);
        let wait = || {
            for other in others {
                other.streams.usual.synchronize()?;
            }
            first.record(&self.ended)?;
            while !self.ended.is_reached()? {
                others.iter().try_for_each(has_failed)?;
            }
            Ok(())
        };
        let waited = wait();
        if waited.is_err() {
            self.give_up(stream)?;
        }
        waited
    }

    /// Ends the kernels that may be waiting for states, and leaves everything as before a reduction.
    fn give_up(&mut self, stream: Option<&Stream>) -> Result<(), DeviceError> {
        for member in &self.members {
            member.family.spoil();
        }
        self.graph = None;
        let (filled, beside) = &self.filled;
        stream
            .unwrap_or(&self.members[0].streams.usual)
            .record(&self.ended)?;
        // Each kernel empties the slots, for which another may be waiting.
        loop {
            beside.upload(filled, &mut self.slots)?;
            beside.synchronize()?;
            if self.ended.is_reached()? {
                break;
            }
        }
        for member in &self.members[1..] {
            // Who has failed hands nothing in any more; the others might do so later.
            let _ = member.streams.usual.wait_for_device();
        }
        self.slots.write(&vec![0; filled.len()])
    }

    /// # Safety
    /// As for [`Self::reduce`]; all that it asks has been checked.
    unsafe fn reduce_fast(
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
    unsafe fn launch_fast(
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

    /// The streams of the other devices wait for that of the first, and all of them for the reduction before, on whichever streams that was.
    fn begin(&self, on: On<'_>) -> Result<(), DeviceError> {
        let first = on.of(0, &self.members[0].streams);
        let has_changed = self.order.continue_on(first)?;
        if matches!(on, On::Own) && !has_changed {
            return Ok(());
        }
        self.others(on).try_for_each(|other| other.follow(first))
    }

    /// The streams of the other devices wait for none, but for all reductions that have had the sets before the first is taken again.
    fn begin_apart(&mut self, on: On<'_>, set: usize) -> Result<(), DeviceError> {
        let first = on.of(0, &self.members[0].streams);
        self.order.continue_on(first)?;
        if set == 1 {
            self.others(on).try_for_each(|other| other.follow(first))?;
        }
        self.last_set = set;
        Ok(())
    }

    /// The stream of the first device waits for those of the others.
    fn end(&self, on: On<'_>) -> Result<(), DeviceError> {
        let first = on.of(0, &self.members[0].streams);
        self.others(on).try_for_each(|other| first.follow(other))
    }

    /// The streams of all devices but the first.
    fn others<'s>(&'s self, on: On<'s>) -> impl Iterator<Item = &'s Stream> {
        let members = self.members.iter().enumerate().skip(1);
        members.map(move |(rank, member)| on.of(rank, &member.streams))
    }

    /// Before launches that no stream of a member orders: waits for those before, if they were on other streams.
    fn wait_for_other_streams(&self) -> Result<(), DeviceError> {
        if self.order.continue_on(&self.members[0].streams.usual)? {
            self.members[0].streams.usual.synchronize()?;
            let mut others = self.members[1..].iter();
            others.try_for_each(|member| member.streams.usual.wait_for_device())?;
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
    pub(super) fn prepare_fast(
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

    /// What the kernels of all devices take last.
    fn of_all(&self, lengths: &[usize], result: Slice<'_, u8>) -> Vec<Argument> {
        let total: usize = lengths.iter().sum();
        let mut all = vec![total.into(), result.argument()];
        all.extend(self.parameter.map(Argument::from));
        all
    }

    /// Room on the first device for the states of all chunks.
    fn allocate_states(
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
    unsafe fn launch_in_order(
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

    /// The kernel that has been prepared on each device, with its launch.
    #[cfg(test)]
    pub(super) fn launches<'a>(
        &'a self,
        prepared: &'a [PartLaunch],
    ) -> Vec<crate::device::peer::LaunchOn<'a>> {
        let members = self.members.iter().zip(prepared);
        members
            .map(|(member, launch)| {
                let kernel = member.family.kernel(launch.suffix);
                (kernel, &launch.shape, &launch.arguments[..])
            })
            .collect()
    }
}

/// What a device needs to reduce a part of `n` values in the fast order, and the launch.
fn launch_of_part(form: Form, device: &Device, n: usize) -> (Needs, Shape) {
    let matrix = Matrix::contiguous(1, n);
    let grid = choose_for_part(&form.problem(device, Along::Rows, matrix, Mode::Fast));
    let needs = Needs {
        slots: form.slots(grid.blocks as usize),
        words: 1,
        ..Needs::kernel("_part")
    };
    (needs, Shape::linear(grid.blocks, grid.block))
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
