//! The reduction of parts, without its types.

use super::devices::Group;
use super::queueing::{Graphs, Key, Prepared, Queueing, Threads};
use crate::chunks;
use crate::device::{
    Argument, Buffer, Device, DeviceError, HostBuffer, HostMemory, Shape, Slice, Stream,
};
use crate::family::{Family, Needs, Source};
use crate::kernels::Error;
use crate::matrix::{Along, Matrix};
use crate::reduce::Form;
use crate::reduce::table::choose_for_part;
use crate::sum::Mode;
use warpfold_device::fixed::CHUNK;
use warpfold_device::meeting::GIVEN_UP;

/// The kernels of an operator over a type on each device of a group, and the memory where their states meet.
#[doc(hidden)]
pub struct UntypedGroup {
    members: Vec<Member>,
    /// States on the first device: of its own chunks and of those of all others, or a slot for each device.
    meeting: Buffer<u8>,
    /// A word for each device, there too, which holds the number of the last round that it handed in in.
    pub(super) flags: Buffer<u32>,
    round: u32,
    /// Whether the devices meet in the memory of the first.
    in_peer_memory: bool,
    /// [`GIVEN_UP`] for each flag, and the stream that it comes by, beside a kernel that waits: for when a device fails.
    given_up: (HostBuffer<u32>, Stream),
    queueing: Queueing,
    threads: Option<Threads>,
    graphs: Option<Graphs>,
    /// The type, as in the kernels' names.
    element: String,
    /// The kernels' last argument, if they take one more.
    parameter: Option<u64>,
    form: Form,
}

/// What a device keeps.
struct Member {
    family: Family,
    stream: Stream,
    /// Where the devices meet on the host: its states.
    states: Buffer<u8>,
    flags: Buffer<u32>,
}

impl UntypedGroup {
    /// The library's kernels of an operator and a type, by their names there. None is loaded yet.
    ///
    /// # Errors
    /// A device fails.
    ///
    /// # Safety
    /// The form is that of the operator and the type.
    pub unsafe fn of_library(
        group: &Group,
        operator: &str,
        element: &str,
        parameter: Option<u64>,
        form: Form,
    ) -> Result<Self, Error> {
        let member = |device: &Device| {
            let name = format!("{operator}_{element}");
            Ok::<Member, DeviceError>(Member {
                family: Family::new(device, Source::of_library(element), name)?,
                stream: device.stream()?,
                states: device.allocate(0)?,
                flags: device.allocate(0)?,
            })
        };
        let members: Result<Vec<Member>, DeviceError> =
            group.devices().iter().map(member).collect();
        let first = &group.devices()[0];
        let count = group.devices().len();
        let mut given_up = first.allocate_on_host(HostMemory::PageLocked, count)?;
        given_up.write(&vec![GIVEN_UP; count])?;
        Ok(Self {
            members: members?,
            meeting: first.allocate(0)?,
            flags: first.upload(&vec![0; count])?,
            round: 0,
            in_peer_memory: group.has_peer_access(),
            given_up: (given_up, first.non_blocking_stream()?),
            queueing: Queueing::InTurn,
            threads: None,
            graphs: None,
            element: element.to_owned(),
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
        let lengths: Vec<usize> = parts
            .iter()
            .map(|part| part.len() / self.form.value_bytes)
            .collect();
        // SAFETY: the caller's contract is the same.
        let reduced = unsafe {
            match mode {
                Mode::Fast => self.reduce_fast(group, parts, &lengths, result),
                Mode::Deterministic => self.reduce_in_order(group, parts, &lengths, result),
            }
        };
        // Whatever has been queued is over before the memory is used again.
        let waited = self.wait(group);
        reduced?;
        Ok(waited?)
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
        Ok(DeviceError::check_length(
            result.len(),
            self.form.result_bytes,
        )?)
    }

    /// Waits for the streams, that of the first device last: it may wait for the others itself. Where one has failed, the host raises the
    /// flags in their place.
    fn wait(&mut self, group: &Group) -> Result<(), DeviceError> {
        let others = self.members[1..].iter();
        let waited: Result<Vec<()>, DeviceError> =
            others.map(|member| member.stream.synchronize()).collect();
        if waited.is_err() {
            self.give_up(&group.devices()[0])?;
        }
        self.members[0].stream.synchronize()?;
        waited.map(drop)
    }

    /// Ends the kernel that may be waiting for flags.
    fn give_up(&mut self, first: &Device) -> Result<(), DeviceError> {
        let (given_up, stream) = &self.given_up;
        stream.upload(given_up, &mut self.flags)?;
        stream.synchronize()?;
        self.members[0].stream.synchronize()?;
        self.graphs = None;
        self.flags = first.upload(&vec![0; given_up.len()])?;
        Ok(())
    }

    /// # Safety
    /// As for [`Self::reduce`]; all that it asks has been checked.
    unsafe fn reduce_fast(
        &mut self,
        group: &Group,
        parts: &[Slice<'_, u8>],
        lengths: &[usize],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let are_gpus = group.devices().iter().all(Device::is_gpu);
        match self.queueing {
            // The driver might put two launches on one GPU one after another, of which the first would wait for the second.
            // SAFETY: the caller's contract is the same.
            Queueing::AsGraph if self.in_peer_memory && group.has_each_once() => unsafe {
                return self.reduce_as_graph(group, parts, lengths, result);
            },
            // So might it with those of two threads.
            // SAFETY: the caller's contract is the same.
            Queueing::ByThreads if self.in_peer_memory && are_gpus && group.has_each_once() => unsafe {
                return self.reduce_by_threads(group, parts, lengths, result);
            },
            _ => {}
        }
        let prepared = self.prepare_fast(group, parts, lengths, result)?;
        // The first device last: it waits for the others.
        for (rank, launch) in prepared.iter().enumerate().rev() {
            let Member { family, stream, .. } = &self.members[rank];
            let Prepared {
                suffix,
                shape,
                arguments,
            } = launch;
            // SAFETY: the part has as many values, and `prepare_fast` has allocated what the kernel takes besides. Those who hand in reach
            // the memory of the first device, and no flag holds the number of this round. Memory of buffers is freed when the device has
            // done what is queued; `read_by` keeps the order of other memory, or who has made the slice has promised it.
            let launched = parts[rank].read_by(&group.devices()[rank], Some(stream), || unsafe {
                family.launch(Some(stream), suffix, shape, arguments)
            });
            if launched.is_err() {
                self.members[rank]
                    .family
                    .forget_words(&group.devices()[rank])?;
            }
            launched?;
        }
        if self.in_peer_memory {
            return Ok(());
        }
        let mut states = Vec::new();
        for member in &self.members {
            let slots = member.states.read()?;
            states.extend_from_slice(&slots[slots.len() - self.form.state_bytes()..]);
        }
        let total = lengths.iter().sum();
        // SAFETY: there is a state for each device, and the caller's contract for the result.
        unsafe { self.meet_on_host(group, &states, total, result) }
    }

    /// # Safety
    /// As for [`Self::reduce_fast`].
    unsafe fn reduce_by_threads(
        &mut self,
        group: &Group,
        parts: &[Slice<'_, u8>],
        lengths: &[usize],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let prepared = self.prepare_fast(group, parts, lengths, result)?;
        let devices = group.devices().iter();
        for ((part, device), member) in parts.iter().zip(devices).zip(&self.members) {
            part.wait_for_owner(device, &member.stream)?;
        }
        let Member { family, stream, .. } = &self.members[0];
        let threads = self
            .threads
            .get_or_insert_with(|| Threads::new(group, &self.element, family.name()));
        for (rank, launch) in prepared.iter().enumerate().skip(1) {
            // SAFETY: as in `reduce_fast`; all of it is waited for here.
            unsafe { threads.launch(rank, launch) };
        }
        let own = &prepared[0];
        // Who has failed hands nothing in: then the first device is not launched.
        let launched = threads.wait_until_loaded().and_then(|()| {
            // SAFETY: as in `reduce_fast`.
            let launched =
                unsafe { family.launch(Some(stream), own.suffix, &own.shape, &own.arguments) };
            Ok(launched?)
        });
        let waited = threads.wait();
        if launched.is_err() || waited.is_err() {
            for (member, device) in self.members.iter_mut().zip(group.devices()) {
                member.family.forget_words(device)?;
            }
            self.give_up(&group.devices()[0])?;
        }
        launched.and(waited)
    }

    /// # Safety
    /// As for [`Self::reduce_fast`].
    unsafe fn reduce_as_graph(
        &mut self,
        group: &Group,
        parts: &[Slice<'_, u8>],
        lengths: &[usize],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let all = parts.iter().chain([&result]);
        let key: Key = all.map(|slice| (slice.address(), slice.len())).collect();
        if self.graphs.as_ref().is_none_or(|graphs| graphs.key != key) {
            self.graphs = None;
            let mut prepare = || self.prepare_fast(group, parts, lengths, result);
            let rounds = [prepare()?, prepare()?];
            let launches = rounds.each_ref().map(|prepared| -> Vec<_> {
                let members = self.members.iter().zip(prepared);
                members
                    .map(|(member, launch)| (member.family.kernel(launch.suffix), launch))
                    .collect()
            });
            let graphs = Graphs::new(group, key, [&launches[0], &launches[1]])?;
            self.graphs = Some(graphs);
        }
        let devices = group.devices().iter();
        for ((part, device), member) in parts.iter().zip(devices).zip(&self.members) {
            part.wait_for_owner(device, &member.stream)?;
        }
        let Some(graphs) = &mut self.graphs else {
            return Ok(());
        };
        // SAFETY: as in `reduce_fast`: the two graphs have rounds of their own, so that no flag holds the number of this one.
        let run = unsafe { graphs.run(&self.members[0].stream) };
        if run.is_err() {
            for (member, device) in self.members.iter_mut().zip(group.devices()) {
                member.family.forget_words(device)?;
            }
            self.give_up(&group.devices()[0])?;
        }
        Ok(run?)
    }

    /// Prepares each device's launch in the fast order.
    pub(super) fn prepare_fast(
        &mut self,
        group: &Group,
        parts: &[Slice<'_, u8>],
        lengths: &[usize],
        result: Slice<'_, u8>,
    ) -> Result<Vec<Prepared>, Error> {
        let devices = group.devices();
        let (of, state_bytes) = (devices.len(), self.form.state_bytes());
        let total: usize = lengths.iter().sum();
        // 0 is in the flags from the beginning.
        self.round = if self.round >= GIVEN_UP - 1 {
            1
        } else {
            self.round + 1
        };
        resize(&mut self.meeting, &devices[0], of * state_bytes)?;
        let mut before = 0;
        let mut prepared = Vec::with_capacity(of);
        for (rank, member) in self.members.iter_mut().enumerate() {
            let (device, n) = (&devices[rank], lengths[rank]);
            let matrix = Matrix::contiguous(1, n);
            let grid = choose_for_part(&self.form.problem(device, Along::Rows, matrix, Mode::Fast));
            let states = (grid.blocks as usize * state_bytes).div_ceil(size_of::<u64>());
            let needs = Needs {
                suffix: "_part",
                states,
                words: 1,
                registers: None,
            };
            let Member { family, stream, .. } = member;
            family.prepare_on(device, Some(stream), &needs)?;
            // Who cannot reach the first device hands in to a slot of its own, which the host reads.
            let (slots, flags, rank) = if self.in_peer_memory {
                (self.meeting.argument(), self.flags.argument(), rank)
            } else {
                resize(&mut member.states, device, 2 * state_bytes)?;
                resize(&mut member.flags, device, 2)?;
                (member.states.argument(), member.flags.argument(), 1)
            };
            let mut arguments = vec![parts[prepared.len()].argument(), n.into(), before.into()];
            arguments.extend(member.family.workspace());
            arguments.extend([slots, flags, (rank as u32).into(), (of as u32).into()]);
            arguments.extend([self.round.into(), total.into(), result.argument()]);
            arguments.extend(self.parameter.map(Argument::from));
            prepared.push(Prepared {
                suffix: needs.suffix,
                shape: Shape::linear(grid.blocks, grid.block),
                arguments,
            });
            before += n as u64;
        }
        Ok(prepared)
    }

    /// # Safety
    /// As for [`Self::reduce_fast`].
    unsafe fn reduce_in_order(
        &mut self,
        group: &Group,
        parts: &[Slice<'_, u8>],
        lengths: &[usize],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let (devices, state_bytes) = (group.devices(), self.form.state_bytes());
        let total: usize = lengths.iter().sum();
        let chunks: usize = lengths.iter().map(|n| n.div_ceil(CHUNK)).sum();
        if self.in_peer_memory {
            resize(&mut self.meeting, &devices[0], chunks * state_bytes)?;
        }
        // All devices begin before the first is waited for.
        let (mut before, mut chunks_before) = (0, 0);
        let members = self.members.iter_mut().zip(devices).zip(parts);
        for (((member, device), part), &n) in members.zip(lengths) {
            let count = n.div_ceil(CHUNK);
            let states = if self.in_peer_memory {
                self.meeting.slice(chunks_before * state_bytes..).argument()
            } else {
                resize(&mut member.states, device, count * state_bytes)?;
                member.states.argument()
            };
            if count > 0 {
                let Member { family, stream, .. } = member;
                let on = (device, &*stream);
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
        let (first, others) = self.members.split_at_mut(1);
        for other in others {
            first[0].stream.follow(&other.stream)?;
        }
        let Member { family, stream, .. } = &mut first[0];
        let on = (&devices[0], Some(&*stream));
        let states = (self.meeting.slice(..), chunks);
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
        resize(&mut self.meeting, first, states.len())?;
        self.meeting.write(states)?;
        let count = states.len() / self.form.state_bytes();
        let (family, states) = (&mut self.members[0].family, self.meeting.slice(..));
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
        prepared: &'a [Prepared],
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

/// Makes the buffer one of so many elements.
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
