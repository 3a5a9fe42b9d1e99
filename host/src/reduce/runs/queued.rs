//! Runs of equal keys that nobody waits for.

use super::found::Found;
use super::key::Key;
use crate::device::{Device, Slice, Stream};
use crate::family::Family;
use crate::kernels::Error;
use crate::reduce::segments::Segments;
use std::fmt;

/// The runs of equal neighbours among keys, for reductions by key that are queued: how many there are stays on the device, where the
/// reductions read it. Nothing waits or allocates, so that all of it may be captured into a graph, which then reduces whatever keys and
/// values are in the memory when it is launched.
///
/// ```
/// use warpfold::operator::Sum;
/// use warpfold::{Device, DeviceChoice, QueuedRuns, Reduction};
///
/// let device = Device::open(&DeviceChoice::Emulator)?;
/// let mut keys = device.upload(&[7_u32, 7, 9, 9, 9, 7])?;
/// let values = device.upload(&[1_i32, 3, 2, 8, 5, 6])?;
/// let mut results = device.upload(&[0_i32; 4])?;
///
/// let mut runs = QueuedRuns::with_room(&device, results.len())?;
/// runs.prepare(keys.len())?;
/// let mut sum = Reduction::new(&device, Sum)?;
/// // SAFETY: it is only prepared for.
/// sum.prepare_segments(&unsafe { runs.segments() })?;
/// let stream = device.stream()?;
/// let graph = stream.capture(|stream| {
///     runs.queue(stream, &keys).expect("it is prepared");
///     // SAFETY: the runs of these keys are found before, on the same stream.
///     let segments = unsafe { runs.segments() };
///     sum.queue_segments(stream, &values, &segments, &mut results)
///         .expect("it is prepared");
///     Ok(())
/// })?;
/// let graph = graph.instantiate()?;
/// // SAFETY: the memory, the runs and the reduction live, and have not been prepared for more.
/// unsafe { graph.launch(&stream)? };
/// assert_eq!((runs.count()?, results.read()?), (3, vec![4, 15, 6, 0]));
/// keys.write(&[1, 1, 1, 1, 1, 5])?;
/// // SAFETY: as above.
/// unsafe { graph.launch(&stream)? };
/// assert_eq!((runs.count()?, results.read()?), (2, vec![19, 6, 6, 0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Runs`](super::Runs) waits for the number of runs, and makes room for as many.
pub struct QueuedRuns<'d, K> {
    device: &'d Device,
    found: Found<K>,
    /// How many runs there is to be room for.
    room: usize,
    family: Family,
    /// How many keys they are of.
    length: usize,
}

impl<'d, K: Key> QueuedRuns<'d, K> {
    /// Room for this many runs: 4 bytes and a key for each, or 8 of 2^32 keys and more. Loads the kernel. There are none until some are
    /// queued.
    ///
    /// # Errors
    /// The device refuses the kernel, has no room, or fails.
    pub fn with_room(device: &'d Device, room: usize) -> Result<Self, Error> {
        let family = Found::<K>::with_kernels(device, |kept| {
            kept.prepare(device, &Found::<K>::needs(0))?;
            Ok(kept.with_own_workspace(device)?)
        })?;
        Ok(Self {
            device,
            found: Found::with_room(device, room)?,
            room,
            family,
            length: 0,
        })
    }

    /// The bytes of workspace that finding the runs of this many keys takes, besides the room for them.
    pub fn plan(&self, keys: usize) -> usize {
        Found::<K>::needs(keys).bytes()
    }

    /// Allocates what this many keys need, so that queueing them does not: it may then be captured into a graph. Waits if there is anything
    /// to allocate. Returns what [`Self::plan`] says. [`Self::segments`] are those of this many keys from now on, which
    /// [`Reduction::prepare_segments`](crate::Reduction::prepare_segments) takes.
    ///
    /// Whoever launches such a graph keeps this value, and has not prepared it for more since.
    ///
    /// # Errors
    /// The device has no room.
    pub fn prepare(&mut self, keys: usize) -> Result<usize, Error> {
        let needs = Found::<K>::needs(keys);
        self.found.make_room(self.device, self.room, keys)?;
        self.family.prepare(self.device, &needs)?;
        self.length = keys;
        Ok(needs.bytes())
    }

    /// Queues a launch on a stream that finds the runs of keys, as many as there is room for: keys that are not neighbours make runs of
    /// their own. What is queued on the stream after it, or waits for it, finds them. Does not wait, except for memory of `cust`.
    ///
    /// A call with more keys than those before allocates, which waits; [`Self::prepare`] does that before.
    ///
    /// # Errors
    /// The stream or the keys are of another device, which has no room or fails; [`Error::Unprepared`].
    pub fn queue<'a>(
        &mut self,
        stream: &Stream,
        keys: impl Into<Slice<'a, K>>,
    ) -> Result<(), Error> {
        let (keys, room) = (keys.into(), self.room);
        keys.check_device(self.device)?;
        stream.check_device(self.device)?;
        if !self.found.has_room(room, keys.len()) {
            if stream.is_capturing()? {
                return Err(Error::Unprepared);
            }
            self.found.make_room(self.device, room, keys.len())?;
        }
        self.found
            .look(&mut self.family, self.device, Some(stream), keys, room)?;
        self.length = keys.len();
        Ok(())
    }

    /// How many runs there is room for.
    pub fn room(&self) -> usize {
        self.room
    }

    /// The number of runs of the keys that were queued last. If they are more than there is room for, only the first are found. Waits for the
    /// device.
    ///
    /// # Errors
    /// The device fails.
    pub fn count(&self) -> Result<usize, Error> {
        Ok(self.found.counted.read()?[0] as usize)
    }

    /// The keys of those that are found, copied to the host, which waits.
    ///
    /// # Errors
    /// The device fails.
    pub fn keys(&self) -> Result<Vec<K>, Error> {
        let found = self.count()?.min(self.found.keys.len());
        Ok(self.found.keys.read_first(found)?)
    }

    /// The device.
    pub fn device(&self) -> &'d Device {
        self.device
    }

    /// How many runs there are, on the device.
    pub fn count_on_device(&self) -> Slice<'_, u64> {
        self.found.counted.slice(..)
    }

    /// The key of each run, on the device. After those of the runs that there are comes what was there before.
    pub fn keys_on_device(&self) -> Slice<'_, K> {
        self.found.keys.slice(..)
    }

    /// The runs as segments of an array with as many values as keys have been queued or prepared for. They are as many as there is room for,
    /// of which work that is queued later takes those that there are, and leaves the results of the others as they were.
    ///
    /// # Safety
    /// Work on these segments is queued, or captured, after [`Self::queue`] of as many keys, and runs after that launch, in the order of its
    /// stream or because its stream waits for that one. Nothing finds other runs until it has ended.
    pub unsafe fn segments(&self) -> Segments<'_> {
        let room = self.found.keys.len();
        // SAFETY: the kernel writes the starts of the runs that it counts, up to the room, and where the last of those ends; the caller's
        // promise is that it has.
        let segments = unsafe {
            self.found
                .segments(room, self.length)
                .counted_by(self.count_on_device())
        };
        segments.expect("it is one word")
    }
}

impl<K> fmt::Debug for QueuedRuns<'_, K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("QueuedRuns")
            .field("kernel", &self.family.name())
            .field("keys", &self.length)
            .finish_non_exhaustive()
    }
}
