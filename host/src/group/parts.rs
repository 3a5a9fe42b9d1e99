//! The reduction of parts, without its types.

mod fast;
mod in_order;

use super::devices::Group;
use super::queueing::{Graph, Queueing, Threads};
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

    /// What the kernels of all devices take last.
    fn of_all(&self, lengths: &[usize], result: Slice<'_, u8>) -> Vec<Argument> {
        let total: usize = lengths.iter().sum();
        let mut all = vec![total.into(), result.argument()];
        all.extend(self.parameter.map(Argument::from));
        all
    }

    /// The kernel that has been prepared on each device, with its launch.
    #[cfg(test)]
    pub(super) fn launches<'a>(
        &'a self,
        prepared: &'a [super::queueing::PartLaunch],
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
