//! What is found of runs, on a device, and the launch that finds it.

use super::key::Key;
use crate::device::{Argument, Buffer, Device, Slice, Stream};
use crate::family::{Attached, Family, Needs, one_pass};
use crate::kernels::Error;
use crate::reduce::Reducible;
use crate::reduce::segments::Segments;
use warpfold_device::look_back::{tiles, workspace_words};
use warpfold_device::runs::tile;

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

    /// Room for the starts of this many runs and the end of the last, of this width.
    fn with_room(device: &Device, are_wide: bool, room: usize) -> Result<Self, Error> {
        let places = room.saturating_add(1);
        Ok(if are_wide {
            Self::Wide(device.allocate(places)?)
        } else {
            Self::Narrow(device.allocate(places)?)
        })
    }

    fn argument(&self) -> Argument {
        match self {
            Self::Narrow(starts) => starts.argument(),
            Self::Wide(starts) => starts.argument(),
        }
    }
}

/// Where runs begin, their keys, and how many they are.
#[derive(Debug)]
pub(super) struct Found<K> {
    starts: Starts,
    pub(super) keys: Buffer<K>,
    pub(super) counted: Buffer<u64>,
}

impl<K: Key> Found<K> {
    /// Room for this many runs.
    pub(super) fn with_room(device: &Device, room: usize) -> Result<Self, Error> {
        Ok(Self {
            starts: Starts::with_room(device, false, room)?,
            keys: device.allocate(room)?,
            counted: device.upload(&[0])?,
        })
    }

    /// Whether there is room for this many runs of as many keys.
    pub(super) fn has_room(&self, room: usize, keys: usize) -> bool {
        room <= self.keys.len()
            && (matches!(self.starts, Starts::Wide(_)) || !Starts::are_wide(keys))
    }

    /// Makes room for this many runs of as many keys.
    pub(super) fn make_room(
        &mut self,
        device: &Device,
        room: usize,
        keys: usize,
    ) -> Result<(), Error> {
        if !self.has_room(room, keys) {
            // The old memory goes before the new comes. If there is none, there is room for no runs.
            self.starts = Starts::with_room(device, false, 0)?;
            self.keys = device.allocate(0)?;
            self.starts = Starts::with_room(device, Starts::are_wide(keys), room)?;
            self.keys = device.allocate(room)?;
            // Nothing is found in the new memory yet.
            self.counted.write(&[0])?;
        }
        Ok(())
    }

    /// The kernels for these keys that are kept with the device.
    pub(super) fn with_kernels<R>(
        device: &Device,
        function: impl FnOnce(&mut Family) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // Constant, so that a program has no other text, however it is compiled.
        let text = const {
            match size_of::<K>() {
                1 => u8::KERNELS,
                2 => u16::KERNELS,
                4 => u32::KERNELS,
                _ => u64::KERNELS,
            }
        };
        Attached::with(device, format!("runs_{}", text.name()), text, function)
    }

    /// What the launch for as many keys needs.
    pub(super) fn needs(keys: usize) -> Needs {
        let tiles = tiles(keys, tile::<K>());
        Needs::to_look_back("", workspace_words(tiles, 0_u64))
    }

    /// Queues the launch that finds the runs of these keys, of which the first are written, as many as `room` says; without a stream it
    /// waits. There is that much room.
    pub(super) fn look(
        &mut self,
        family: &mut Family,
        device: &Device,
        stream: Option<&Stream>,
        keys: Slice<'_, K>,
        room: usize,
    ) -> Result<(), Error> {
        keys.check_device(device)?;
        let needs = Self::needs(keys.len());
        family.prepare_on(device, stream, &needs)?;
        let mut arguments = vec![keys.argument(), keys.len().into()];
        let are_wide = matches!(self.starts, Starts::Wide(_));
        arguments.extend([self.starts.argument(), u32::from(are_wide).into()]);
        arguments.extend([self.keys.argument(), room.into(), self.counted.argument()]);
        arguments.push(family.words());
        let shape = one_pass(device, tiles(keys.len(), tile::<K>()));
        // SAFETY: all buffers are as long as the kernel is told, and the workspace's words are 0. Memory of buffers is freed when the device
        // has done what is queued; `read_by` keeps the order of other memory, or who has made the slice has promised it.
        let launch = || unsafe { family.launch(stream, needs.suffix, &shape, &arguments) };
        Ok(keys.read_by(device, stream, launch)?)
    }

    /// The first runs of `length` keys as segments, this many at most.
    ///
    /// # Safety
    /// As for [`Segments::on_device`], or the segments are counted by what has counted the runs.
    pub(super) unsafe fn segments(&self, count: usize, length: usize) -> Segments<'_> {
        // SAFETY: the caller's promise; the kernel writes places that increase, up to the number of keys.
        let segments = unsafe {
            match &self.starts {
                Starts::Narrow(starts) => Segments::on_device(starts.slice(..=count), length),
                Starts::Wide(starts) => Segments::on_device(starts.slice(..=count), length),
            }
        };
        segments.expect("there is one place at least")
    }
}
