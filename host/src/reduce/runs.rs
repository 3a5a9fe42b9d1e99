//! Runs of equal keys, for reductions by key.

use super::segments::Segments;
use crate::device::{Buffer, Device, Pod, Slice};
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

/// Room for runs at the first attempt: for all of fewer keys, and for this part of more.
const FEWEST: usize = 1 << 16;
const PART: usize = 16;

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
#[derive(Debug)]
pub struct Runs<K> {
    starts: Buffer<u64>,
    keys: Buffer<K>,
    /// How many runs.
    count: usize,
    /// How many keys.
    length: usize,
}

impl<K: Key> Runs<K> {
    /// Finds the runs of keys on the device; waits for them. Keys that are not neighbours make runs of their own: sort them before if each
    /// is to have one.
    ///
    /// One launch, and a second one if there are many runs. For n keys with r runs it allocates room for n ∕ 16 or r of them.
    ///
    /// # Errors
    /// The keys are in the memory of another device, the device has no room, or it fails.
    pub fn of<'a>(device: &Device, keys: impl Into<Slice<'a, K>>) -> Result<Self, Error> {
        let keys = keys.into();
        keys.check_device(device)?;
        if keys.is_empty() {
            return Ok(Self {
                starts: device.upload(&[0])?,
                keys: device.allocate(0)?,
                count: 0,
                length: 0,
            });
        }
        let room = keys.len().min(FEWEST.max(keys.len() / PART));
        let found = Self::with_room(device, keys, room)?;
        if found.count <= room {
            return Ok(found);
        }
        let room = found.count;
        drop(found);
        Self::with_room(device, keys, room)
    }

    fn with_room(device: &Device, keys: Slice<'_, K>, room: usize) -> Result<Self, Error> {
        let element = match size_of::<K>() {
            1 => "u8",
            2 => "u16",
            4 => "u32",
            _ => "u64",
        };
        let tiles = tiles(keys.len(), tile::<K>());
        let needs = Needs::to_look_back("", workspace_words(tiles, 0_u64));
        let mut found = Self {
            starts: device.allocate(room + 1)?,
            keys: device.allocate(room)?,
            count: 0,
            length: keys.len(),
        };
        let count = device.upload(&[0_u64])?;
        Attached::with(device, format!("runs_{element}"), element, |family| {
            family.prepare(device, &needs)?;
            let mut arguments = vec![keys.argument(), keys.len().into()];
            arguments.extend([found.starts.argument(), found.keys.argument()]);
            arguments.extend([room.into(), count.argument()]);
            arguments.push(family.words());
            let shape = one_pass(device, tiles);
            // SAFETY: all buffers are as long as the kernel is told, and the workspace's words are 0; it waits for its end.
            let launch = || unsafe { family.launch(None, needs.suffix, &shape, &arguments) };
            let launched = keys.read_by(device, None, launch);
            if launched.is_err() {
                family.forget_words(device)?;
            }
            Ok(launched?)
        })?;
        found.count = count.read()?[0] as usize;
        Ok(found)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The key of each run, copied to the host.
    ///
    /// # Errors
    /// The device fails.
    pub fn keys(&self) -> Result<Vec<K>, Error> {
        let mut keys = self.keys.read()?;
        keys.truncate(self.count);
        Ok(keys)
    }

    /// The key of each run, on the device.
    pub fn keys_on_device(&self) -> Slice<'_, K> {
        self.keys.slice(..self.count)
    }

    /// The runs as segments of an array with as many values as there are keys.
    pub fn segments(&self) -> Segments<'_> {
        let starts = self.starts.slice(..=self.count);
        // SAFETY: the kernel writes places that increase, up to the number of keys, and nobody else can write them.
        let segments = unsafe { Segments::on_device(starts, self.length) };
        segments.expect("there is one place at least")
    }
}
