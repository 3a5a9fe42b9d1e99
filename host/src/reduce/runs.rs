//! Runs of equal keys, for reductions by key.

mod found;
mod key;
mod queued;

use super::segments::Segments;
use crate::device::{Device, Slice};
use crate::kernels::Error;
use found::Found;
pub use key::Key;
pub use queued::QueuedRuns;

/// Room for runs at the first attempt where keys are few, and what is added to an estimate.
const FEWEST: usize = 1 << 16;
/// Keys of each of the two samples by which the runs of more than four times as many keys are estimated.
const SAMPLE: usize = 1 << 18;

/// Where runs of equal neighbours begin among keys, and which keys they have, on a device: what several reductions by the same keys
/// share.
///
/// ```
/// use warpfold::operator::{Max, Mean};
/// use warpfold::{Device, DeviceChoice, Reduction, Runs};
///
/// let device = Device::open(&DeviceChoice::Emulator)?;
/// let keys = device.upload(&[7_u32, 7, 9, 9, 9, 7])?;
/// let values = device.upload(&[1.0_f32, 3.0, 2.0, 8.0, 5.0, 6.0])?;
/// let runs = Runs::of(&device, &keys)?;
/// assert_eq!(runs.keys()?, [7, 9, 7]);
/// assert_eq!(Reduction::new(&device, Mean)?.segments(&values, &runs.segments())?, [2.0, 5.0, 6.0]);
/// assert_eq!(Reduction::new(&device, Max)?.segments(&values, &runs.segments())?, [3.0, 8.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Runs::find`] finds the runs of other keys in the same memory. [`QueuedRuns`] does not wait for their number.
#[derive(Debug)]
pub struct Runs<K> {
    found: Found<K>,
    /// How many runs.
    count: usize,
    /// How many keys.
    length: usize,
}

impl<K: Key> Runs<K> {
    /// Finds the runs of keys on the device; waits for them. Keys that are not neighbours make runs of their own: sort them before if each
    /// is to have one.
    ///
    /// Of more than 2^20 keys it first counts the runs of two samples, to estimate the room. One launch then finds the runs; if there are more
    /// than there is room for, it allocates again and launches once more. [`find`](Self::find) uses the memory again.
    ///
    /// # Errors
    /// The keys are in the memory of another device, the device has no room, or it fails.
    pub fn of<'a>(device: &Device, keys: impl Into<Slice<'a, K>>) -> Result<Self, Error> {
        let keys = keys.into();
        keys.check_device(device)?;
        let mut runs = Self::with_room(device, 0)?;
        let room = runs.room_for(device, keys)?;
        runs.found.make_room(device, room, keys.len())?;
        runs.find(device, keys)?;
        Ok(runs)
    }

    /// No runs, and room for this many: 4 bytes and a key for each. Waits until the few words that it uploads are there.
    ///
    /// # Errors
    /// The device has no room, or it fails.
    pub fn with_room(device: &Device, room: usize) -> Result<Self, Error> {
        Ok(Self {
            found: Found::with_room(device, room)?,
            count: 0,
            length: 0,
        })
    }

    /// Finds the runs of other keys in the same memory. It first waits for all that is queued on the device, which may still read the old
    /// runs, and then for the new ones. It allocates, and launches a second time, only if there are more runs than there has ever been room
    /// for. A captured graph that reads the old runs must not be launched again.
    ///
    /// # Errors
    /// As for [`of`](Self::of). There are no runs then.
    pub fn find<'a>(
        &mut self,
        device: &Device,
        keys: impl Into<Slice<'a, K>>,
    ) -> Result<(), Error> {
        let keys = keys.into();
        (self.count, self.length) = (0, 0);
        self.found.counted.slice(..).check_device(device)?;
        // A copy to the host waits for all streams.
        self.found.counted.read()?;
        let room = self.found.keys.len();
        self.found.make_room(device, room, keys.len())?;
        let mut count = self.look(device, keys, room)?;
        if count > room {
            self.found.make_room(device, count, keys.len())?;
            count = self.look(device, keys, count)?;
        }
        (self.count, self.length) = (count, keys.len());
        Ok(())
    }

    /// An estimate of the number of runs, and a sixteenth and 2^16 more; of few keys no estimate.
    fn room_for(&mut self, device: &Device, keys: Slice<'_, K>) -> Result<usize, Error> {
        let n = keys.len();
        if n <= 4 * SAMPLE {
            return Ok(n.min(FEWEST));
        }
        let mut seen = 0;
        for first in [0, n / 2] {
            seen += self.look(device, keys.slice(first..first + SAMPLE), 0)?;
        }
        let of_all = seen as u128 * n as u128 / (2 * SAMPLE) as u128;
        Ok((of_all as usize + of_all as usize / 16 + FEWEST).min(n))
    }

    /// How many runs keys have; the first of them are found, as many as `room` says.
    fn look(&mut self, device: &Device, keys: Slice<'_, K>, room: usize) -> Result<usize, Error> {
        let found = &mut self.found;
        Found::<K>::with_kernels(device, |family| {
            found.look(family, device, None, keys, room)
        })?;
        Ok(self.found.counted.read()?[0] as usize)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The key of each run, copied to the host, which waits.
    ///
    /// # Errors
    /// The device fails.
    pub fn keys(&self) -> Result<Vec<K>, Error> {
        Ok(self.found.keys.read_first(self.count)?)
    }

    /// The key of each run, on the device.
    pub fn keys_on_device(&self) -> Slice<'_, K> {
        self.found.keys.slice(..self.count)
    }

    /// The runs as segments of an array with as many values as there are keys.
    pub fn segments(&self) -> Segments<'_> {
        // SAFETY: the kernel has written places that increase, up to the number of keys, and nobody else can write them.
        unsafe { self.found.segments(self.count, self.length) }
    }
}
