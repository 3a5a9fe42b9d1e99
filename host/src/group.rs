//! Several devices that reduce an array together, each the part that is in its memory.
//!
//! ```
//! use warpfold::operator::{ArgMax, Mean};
//! use warpfold::{DeviceChoice, Group, GroupReduction};
//!
//! let group = Group::open(&[DeviceChoice::Emulator; 2])?;
//! let values: Vec<f32> = (0..10_000).map(|value| value as f32).collect();
//! let parts = group.upload(&values)?;
//! let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
//! assert_eq!(GroupReduction::new(&group, Mean)?.of(&parts)?, 4999.5);
//! assert_eq!(GroupReduction::new(&group, ArgMax::FIRST)?.of(&parts)?, 9999);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The two orders
//!
//! In [`Mode::Fast`] each device reduces its part by one launch to one state, and hands that in to a slot of its own in the memory of the
//! first device, which combines the states in the order of the devices. In [`Mode::Deterministic`] the order is that of
//! [`warpfold_device::fixed`]: each device writes the states of the chunks of its part into the memory of the first, and another kernel there
//! combines them all. The result then has the same bits for any number of devices, GPUs or emulated ones, and as a
//! [`Reduction`](crate::Reduction) in its deterministic mode, as long as each part but the last with values has whole chunks, as
//! [`Group::upload`] makes them.
//!
//! # How the states come together
//!
//! Where every device reaches the memory of the first ([`Group::has_peer_access`]), the host takes no part in it.
//!
//! - Fast: the last block of each device stores its state, each word with a flag beside it. The last block of the first device waits for all
//!   words, empties their slots, and goes on ([`warpfold_device::meeting`]). A second kernel that waits for events of the other streams would
//!   do as well, but it would cost a launch and the driver's events after the slowest device, where the words cost one store over the link.
//!   The first device is launched last, so that it never waits for a launch that is not queued. If another device fails, the host fills the
//!   slots, and the launch ends.
//! - Deterministic: the stream of the first device waits for those of the others, because every block of them has something to hand in.
//!
//! Plain stores over the link are enough: no atomic goes from one device to another, which PCIe does not always carry out.
//!
//! Elsewhere the states go through the host's memory, with the same result.
//!
//! # Who queues
//!
//! The calling thread queues the launches one after another, unless [`GroupReduction::with_queueing`] asks for another way. Each takes the
//! driver a few microseconds, which is most of the time where many devices have little to do. In the fast order, where the devices meet in
//! peer memory, a thread for each device can queue them at the same time, or one graph across the devices can hold them all. On two H100, a
//! sum of 2^10 values took 32 µs in turn, 36 to 42 by threads and 34 to 37 as a graph, until the host had it (measured when a state and its
//! flag were still two stores): `warpfold host-lesson group_sum -n 2^10 --device all` compares them.
//!
//! [`GroupReduction::queue`] and [`GroupReduction::queue_on`] queue in turn. The first takes one stream, which the other devices wait for by the
//! driver's events; the second takes a stream of each device, and needs no event.

mod devices;
mod parts;
mod queueing;
mod streams;
#[cfg(test)]
mod tests;

use crate::device::{Buffer, Slice, Stream};
use crate::kernels::Error;
use crate::reduce::{BuiltIn, Form, Reducible};
use crate::sum::Mode;
pub use devices::Group;
pub use parts::UntypedGroup;
pub use queueing::Queueing;
use std::fmt;
use std::marker::PhantomData;
use streams::On;

/// A reduction by an operator of the library, of an array whose parts are on the devices of a group. It can be made again and again.
pub struct GroupReduction<'g, T, O: BuiltIn<T>>
where
    T: Reducible,
{
    group: &'g Group,
    untyped: UntypedGroup,
    mode: Mode,
    /// On the first device; kept, because graphs have its address.
    result: Buffer<O::Output>,
    types: PhantomData<(T, O)>,
}

impl<'g, T: Reducible, O: BuiltIn<T>> GroupReduction<'g, T, O> {
    /// Prepares for reductions. No kernel is loaded yet. Waits until the empty slots are there: some ten kilobytes on the first device, and as
    /// many of page-locked memory.
    ///
    /// # Errors
    /// A device fails.
    pub fn new(group: &'g Group, operator: O) -> Result<Self, Error> {
        let (name, parameter) = operator.kernels();
        let form = Form::of::<T, O>();
        // SAFETY: the form is that of this operator and this type.
        let untyped = unsafe { UntypedGroup::of_library(group, name, O::KERNELS, parameter, form) };
        Ok(Self {
            group,
            untyped: untyped?,
            mode: Mode::Fast,
            result: group.devices()[0].allocate(1)?,
            types: PhantomData,
        })
    }

    /// The same reduction in this order: see [the module](self).
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// The same reduction, whose states meet on the host even where the devices reach each other.
    #[must_use]
    pub fn meeting_on_host(mut self) -> Self {
        self.untyped.meet_on_host_always();
        self
    }

    /// The same reduction, whose launches are queued in this way.
    #[must_use]
    pub fn with_queueing(mut self, queueing: Queueing) -> Self {
        self.untyped.queue_by(queueing);
        self
    }

    /// Loads the kernels for parts of these lengths, one for each device, and allocates what is needed: then [`Self::queue`] does
    /// neither, and may be captured into a graph. Waits if there is anything to load or to allocate.
    ///
    /// Whoever launches such a graph keeps this value, and has not prepared it for more since. No other reduction of this value is under way
    /// meanwhile: they share the workspace.
    ///
    /// # Errors
    /// [`Error::Parts`]; a device refuses the kernels, or has no room.
    pub fn prepare(&mut self, lengths: &[usize]) -> Result<(), Error> {
        self.untyped.prepare(self.group, self.mode, lengths)
    }

    /// Queues the reduction on a stream of the first device, which writes it to `result`, a buffer of one element there. The other devices
    /// begin when the stream has come to it, and the stream goes on when all values have been read. Does not wait.
    ///
    /// Reductions of one value follow one another, on whichever streams they are queued.
    ///
    /// While the stream is being captured into a graph, the launches of the other devices become part of that graph.
    ///
    /// [`Self::wait`] waits for it even if a device has failed. [`Stream::synchronize`] and reading the result would not end then, because
    /// the first device waits for the others.
    ///
    /// # Errors
    /// As [`Self::of`]; the stream or the buffer is of another device, or the buffer's length is not 1; [`Error::NoPeerAccess`];
    /// [`Error::Unprepared`].
    pub fn queue(
        &mut self,
        stream: &Stream,
        parts: &[Slice<'_, T>],
        result: &mut Buffer<O::Output>,
    ) -> Result<(), Error> {
        self.queue_where(On::First(stream), parts, result)
    }

    /// As [`Self::queue`], on a stream of each device, in their order. In the fast order a device reads its part when its own stream has come
    /// to it, whatever the others do, as with the calls of NCCL: a reduction then costs hardly more than that of one part alone, where the
    /// driver's events between the devices cost several microseconds. The first device waits for the states of the others within its
    /// launch, and the result is there for what follows on its stream. Whatever the other streams have to do first must be able to run beside
    /// the block of the first device that waits.
    ///
    /// In the deterministic mode, while the first stream is being captured into a graph, and once in 32 calls, the other devices begin when
    /// the first stream has come to it, too. In a capture all launches become part of the graph. Another stream that has no part in it gets
    /// none: what the caller queues there next runs as usual.
    ///
    /// # Errors
    /// As [`Self::queue`]; [`Error::Streams`] for another number of streams; another stream is being captured, and the first is not.
    pub fn queue_on(
        &mut self,
        streams: &[&Stream],
        parts: &[Slice<'_, T>],
        result: &mut Buffer<O::Output>,
    ) -> Result<(), Error> {
        self.queue_where(On::Each(streams), parts, result)
    }

    fn queue_where(
        &mut self,
        on: On<'_>,
        parts: &[Slice<'_, T>],
        result: &mut Buffer<O::Output>,
    ) -> Result<(), Error> {
        let parts: Vec<Slice<'_, u8>> = parts.iter().map(|part| part.bytes()).collect();
        let bytes = Slice::from(&*result).bytes();
        // SAFETY: buffers and slices are at addresses for their types, and the result is borrowed; buffers are freed when their devices have
        // done what is queued.
        unsafe { self.untyped.queue(self.group, self.mode, on, &parts, bytes) }
    }

    /// Waits for what was queued on this stream of the first device, and watches the other devices for faults.
    ///
    /// # Errors
    /// A device has failed.
    pub fn wait(&mut self, stream: &Stream) -> Result<(), Error> {
        stream.check_device(&self.group.devices()[0])?;
        Ok(self.untyped.wait(Some(stream))?)
    }

    /// The reduction of the values of all parts, one after another; waits for it. There is a part for each device, in its memory, which may
    /// be empty.
    ///
    /// # Errors
    /// [`Error::Parts`] for another number of parts; a part is in the memory of another device, a device has no room for its states, or it
    /// fails.
    pub fn of(&mut self, parts: &[Slice<'_, T>]) -> Result<O::Output, Error> {
        let parts: Vec<Slice<'_, u8>> = parts.iter().map(|part| part.bytes()).collect();
        let bytes = Slice::from(&self.result).bytes();
        // SAFETY: buffers and slices are at addresses for their types, and the result is this call's own.
        unsafe { self.untyped.reduce(self.group, self.mode, &parts, bytes)? };
        Ok(self.result.read()?[0])
    }
}

impl<T: Reducible, O: BuiltIn<T>> fmt::Debug for GroupReduction<'_, T, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GroupReduction")
            .field("devices", &self.group.devices().len())
            .finish_non_exhaustive()
    }
}
