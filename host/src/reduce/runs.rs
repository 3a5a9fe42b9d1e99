//! Runs of equal keys, for reductions by key.

use super::segments::Segments;
use crate::device::{Argument, Buffer, Device, Pod, Slice};
use crate::family::{Attached, Needs, one_pass};
use crate::kernels::Error;
use warpfold_device::half::Bool;
use warpfold_device::look_back::{tiles, workspace_words};
use warpfold_device::runs::tile;

mod sealed {
    pub trait Sealed {}
}

/// A type of keys: the integers of up to 64 bits, and `Bool`. Keys are equal if all their bits are.
pub trait Key: Pod + sealed::Sealed {}

macro_rules! keys {
    ($($key:ty)*) => {$(
        impl sealed::Sealed for $key {}
        impl Key for $key {}
    )*};
}

keys! { i8 u8 i16 u16 i32 u32 i64 u64 Bool }

/// Room for runs at the first attempt where keys are few, and what is added to an estimate.
const FEWEST: usize = 1 << 16;
/// Keys of each of the two samples by which the runs of more than four times as many keys are estimated.
const SAMPLE: usize = 1 << 18;

/// Where runs begin, on the device: in 64 bits only where 32 are not enough.
#[derive(Debug)]
enum Starts {
    Narrow(Buffer<u32>),
    Wide(Buffer<u64>),
}

impl Starts {
    /// Whether the places of as many keys need 64 bits.
    fn are_wide(keys: usize) -> bool {
        u32::try_from(keys).is_err()
    }

    /// Room for this many, of this width.
    fn with_room(device: &Device, are_wide: bool, room: usize) -> Result<Self, Error> {
        Ok(if are_wide {
            Self::Wide(device.allocate(room)?)
        } else {
            Self::Narrow(device.allocate(room)?)
        })
    }

    fn argument(&self) -> Argument {
        match self {
            Self::Narrow(starts) => starts.argument(),
            Self::Wide(starts) => starts.argument(),
        }
    }
}

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
/// [`Runs::find`] finds the runs of other keys in the same memory.
#[derive(Debug)]
pub struct Runs<K> {
    starts: Starts,
    keys: Buffer<K>,
    /// How many runs, on the device.
    counted: Buffer<u64>,
    /// The one offset of no segments: 0.
    zero: Buffer<u32>,
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
        runs.make_room(device, room, keys.len())?;
        runs.find(device, keys)?;
        Ok(runs)
    }

    /// No runs, and room for this many: 4 bytes and a key for each. Waits until the few words that it uploads are there.
    ///
    /// # Errors
    /// The device has no room, or it fails.
    pub fn with_room(device: &Device, room: usize) -> Result<Self, Error> {
        let mut runs = Self {
            starts: Starts::with_room(device, false, 0)?,
            keys: device.allocate(0)?,
            counted: device.upload(&[0])?,
            zero: device.upload(&[0])?,
            count: 0,
            length: 0,
        };
        runs.make_room(device, room, 0)?;
        Ok(runs)
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
        self.counted.slice(..).check_device(device)?;
        // A copy to the host waits for all streams.
        self.counted.read()?;
        self.make_room(device, self.keys.len(), keys.len())?;
        let mut count = self.look(device, keys, self.keys.len())?;
        if count > self.keys.len() {
            self.make_room(device, count, keys.len())?;
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

    /// Makes room for this many runs of as many keys, and has none now.
    fn make_room(&mut self, device: &Device, room: usize, keys: usize) -> Result<(), Error> {
        let are_wide = matches!(self.starts, Starts::Wide(_));
        let must_be_wide = Starts::are_wide(keys);
        if room > self.keys.len() || must_be_wide && !are_wide {
            // The old memory goes before the new comes.
            self.starts = Starts::with_room(device, false, 0)?;
            self.keys = device.allocate(0)?;
            self.starts = Starts::with_room(device, must_be_wide, room.saturating_add(1))?;
            self.keys = device.allocate(room)?;
        }
        Ok(())
    }

    /// How many runs keys have; the first of them are found, as many as `room` says.
    fn look(&mut self, device: &Device, keys: Slice<'_, K>, room: usize) -> Result<usize, Error> {
        keys.check_device(device)?;
        if keys.is_empty() {
            return Ok(0);
        }
        let element = match size_of::<K>() {
            1 => "u8",
            2 => "u16",
            4 => "u32",
            _ => "u64",
        };
        let tiles = tiles(keys.len(), tile::<K>());
        let needs = Needs::to_look_back("", workspace_words(tiles, 0_u64));
        Attached::with(device, format!("runs_{element}"), element, |family| {
            family.prepare(device, &needs)?;
            let mut arguments = vec![keys.argument(), keys.len().into()];
            let are_wide = matches!(self.starts, Starts::Wide(_));
            arguments.extend([self.starts.argument(), u32::from(are_wide).into()]);
            arguments.extend([self.keys.argument(), room.into(), self.counted.argument()]);
            arguments.push(family.words());
            let shape = one_pass(device, tiles);
            // SAFETY: all buffers are as long as the kernel is told, and the workspace's words are 0; it waits for its end.
            let launch = || unsafe { family.launch(None, needs.suffix, &shape, &arguments) };
            Ok(keys.read_by(device, None, launch)?)
        })?;
        Ok(self.counted.read()?[0] as usize)
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
        Ok(self.keys.read_first(self.count)?)
    }

    /// The key of each run, on the device.
    pub fn keys_on_device(&self) -> Slice<'_, K> {
        self.keys.slice(..self.count)
    }

    /// The runs as segments of an array with as many values as there are keys.
    pub fn segments(&self) -> Segments<'_> {
        // SAFETY: the kernel writes places that increase, up to the number of keys, and nobody else can write them.
        let segments = unsafe {
            match (&self.starts, self.count) {
                (_, 0) => Segments::on_device(self.zero.slice(..), self.length),
                (Starts::Narrow(starts), count) => {
                    Segments::on_device(starts.slice(..=count), self.length)
                }
                (Starts::Wide(starts), count) => {
                    Segments::on_device(starts.slice(..=count), self.length)
                }
            }
        };
        segments.expect("there is one place at least")
    }
}
