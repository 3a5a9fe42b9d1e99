//! Values that come piece by piece, on one or several devices: more of them than there is memory for.

use crate::names::{Named, TypeName};
use crate::on_device::Pair;
use crate::results::Results;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use warpfold::device::{Event, Stream};
use warpfold::pieces::UntypedPieces;
use warpfold::{Buffer, Device, Error};

/// How many pieces a device has at once: while one is reduced the next one is copied, and one more waits.
const LANES: usize = 3;

/// Bytes of states that are copied without a wait.
const MOST_COPYING: usize = 1 << 20;

/// One device's part in a reduction of values that come piece by piece.
///
/// The order of the operations follows from the number of values alone: a result has the same bits however the pieces are shared out among
/// devices, and as the deterministic one of all values in memory. Sums of integers wrap around.
pub struct Pieces {
    operators: Vec<One>,
    lanes: Vec<Lane>,
    /// The lane of the next piece.
    next: usize,
    /// The lanes whose copies may be under way, the oldest first.
    copying: VecDeque<usize>,
    /// The numbers of the pieces that were queued.
    queued: Vec<u64>,
    value_bytes: usize,
    // Dropped last.
    device: Device,
}

struct One {
    untyped: UntypedPieces,
    results: fn(&[u8]) -> Box<dyn Results>,
}

/// Room for a piece, and the stream that copies and reduces it.
struct Lane {
    stream: Stream,
    values: Buffer<u8>,
    copied: Event,
}

/// States of an operator, on their way to the device where they meet.
pub struct States {
    operator: usize,
    /// The place of the first byte among the states of all chunks.
    place: usize,
    bytes: Vec<u8>,
}

impl Pieces {
    /// Prepares a device for pieces of this many values, but for the last: loads the kernels and allocates room for a few pieces.
    ///
    /// # Errors
    /// The device has no room, or it fails.
    ///
    /// # Panics
    /// A piece is no whole number of [chunks](warpfold_device::fixed::CHUNK).
    pub fn new(
        device: Device,
        element: TypeName,
        operators: &[Named],
        values: usize,
    ) -> Result<Self, Error> {
        let one = |&operator: &Named| {
            let Pair {
                kernels: (name, parameter),
                text,
                form,
                results,
            } = Pair::of(element, operator);
            // SAFETY: the form is that of the pair.
            let untyped =
                unsafe { UntypedPieces::of_library(&device, name, text, parameter, form, values) };
            let untyped = untyped?;
            Ok(One { untyped, results })
        };
        let operators = operators
            .iter()
            .map(one)
            .collect::<Result<Vec<One>, Error>>()?;
        let lane = |_| {
            Ok(Lane {
                stream: device.stream()?,
                values: device.allocate(values * element.bytes())?,
                copied: device.event()?,
            })
        };
        Ok(Self {
            operators,
            lanes: (0..LANES).map(lane).collect::<Result<Vec<Lane>, Error>>()?,
            next: 0,
            copying: VecDeque::new(),
            queued: Vec::new(),
            value_bytes: element.bytes(),
            device,
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Queues the copy and the reduction of the piece of this number. On the emulator both are done when this returns.
    ///
    /// # Errors
    /// The device fails.
    ///
    /// # Panics
    /// The piece is too long, or its bytes are no whole number of values.
    ///
    /// # Safety
    /// The bytes stay allocated and unchanged until [`Self::wait_for_copy`] has returned for them, or this value has been dropped.
    pub unsafe fn queue(&mut self, number: u64, values: &[u8]) -> Result<(), Error> {
        assert!(
            values.len().is_multiple_of(self.value_bytes),
            "values are whole"
        );
        while self.copying.len() >= LANES {
            self.wait_for_copy()?;
        }
        let place = self.next;
        self.next = (place + 1) % LANES;
        let Lane {
            stream,
            values: room,
            copied,
        } = &mut self.lanes[place];
        // SAFETY: the caller's promise. What the lane's kernels still read comes first in the order of its stream.
        unsafe { stream.upload_part(values, room, 0)? };
        self.copying.push_back(place);
        stream.record(copied)?;
        for One { untyped, .. } in &mut self.operators {
            let values = room.slice(..values.len());
            // SAFETY: a device allocates at addresses for any type, and what writes the lane next comes later in the order of its stream.
            unsafe { untyped.queue((&self.device, stream), number, values)? };
        }
        self.queued.push(number);
        Ok(())
    }

    /// Waits for the oldest copy that has not been waited for; `false` where there is none.
    ///
    /// # Errors
    /// A kernel has faulted.
    pub fn wait_for_copy(&mut self) -> Result<bool, Error> {
        let Some(lane) = self.copying.pop_front() else {
            return Ok(false);
        };
        self.lanes[lane].copied.synchronize()?;
        Ok(true)
    }

    /// How many copies have not been waited for.
    pub fn copying(&self) -> usize {
        self.copying.len()
    }

    /// Whether the oldest copy that has not been waited for is done.
    ///
    /// # Errors
    /// As for [`Self::wait_for_copy`].
    pub fn is_copied(&self) -> Result<bool, Error> {
        match self.copying.front() {
            Some(&lane) => Ok(self.lanes[lane].copied.is_reached()?),
            None => Ok(false),
        }
    }

    /// Waits for everything that is queued.
    ///
    /// # Errors
    /// A kernel has faulted.
    pub fn wait(&mut self) -> Result<(), Error> {
        self.copying.clear();
        for lane in &self.lanes {
            lane.stream.synchronize()?;
        }
        Ok(())
    }

    /// How long a copy of all these pieces takes, one after another as in the reduction, at least so long all in all; bytes and seconds.
    ///
    /// # Errors
    /// The device fails.
    ///
    /// # Panics
    /// A piece is too long.
    pub fn measure_copy(
        &mut self,
        pieces: &[&[u8]],
        at_least: Duration,
    ) -> Result<(u64, Duration), Error> {
        let mut bytes = 0;
        let start = Instant::now();
        while start.elapsed() < at_least {
            for (number, piece) in pieces.iter().enumerate() {
                let lane = &mut self.lanes[number % LANES];
                // SAFETY: the bytes are borrowed until the streams have been waited for.
                let queued = unsafe { lane.stream.upload_part(piece, &mut lane.values, 0) };
                if let Err(error) = queued {
                    self.wait()?;
                    return Err(error.into());
                }
                bytes += piece.len() as u64;
            }
            self.wait()?;
        }
        Ok((bytes, start.elapsed()))
    }

    /// Hands over the states of all pieces that were queued here; waits for them.
    ///
    /// # Errors
    /// A kernel has faulted, or those of `take`.
    pub fn hand_in<E: From<Error>>(
        &mut self,
        mut take: impl FnMut(States) -> Result<(), E>,
    ) -> Result<(), E> {
        self.wait()?;
        self.queued.sort_unstable();
        for (operator, one) in self.operators.iter().enumerate() {
            one.untyped.states(&self.queued, |place, bytes| {
                take(States {
                    operator,
                    place,
                    bytes: bytes.to_vec(),
                })
            })?;
        }
        Ok(())
    }

    /// The results of the first `n` values, whose states come from all devices: this one's from here, and those that the others
    /// [hand in](Self::hand_in). `None` if some are missing.
    ///
    /// # Errors
    /// The device has no room for the states, or it fails.
    pub fn finish(
        &mut self,
        n: u64,
        others: impl IntoIterator<Item = States>,
    ) -> Result<Option<Vec<Box<dyn Results>>>, Error> {
        let chunks = (n as usize).div_ceil(warpfold_device::fixed::CHUNK);
        let room = |one: &One| {
            let bytes = chunks * one.untyped.state_bytes();
            Ok((self.device.allocate::<u8>(bytes)?, 0))
        };
        let all: Result<Vec<_>, Error> = self.operators.iter().map(room).collect();
        let mut all = all?;
        let stream = self.device.stream()?;
        // States whose copies may be under way: there may be thousands of a few bytes each.
        let mut copying = Vec::new();
        let mut put = |states: States| -> Result<(), Error> {
            let (room, filled) = &mut all[states.operator];
            // Of values that are not to be counted there are no states to be combined.
            let place = states.place.min(room.len());
            let bytes = &states.bytes[..states.bytes.len().min(room.len() - place)];
            *filled += bytes.len();
            // SAFETY: the bytes are kept until the copy is done.
            let queued = unsafe { stream.upload_part(bytes, room, place) };
            copying.push(states.bytes);
            let bytes: usize = copying.iter().map(Vec::len).sum();
            if queued.is_err() || bytes > MOST_COPYING {
                stream.synchronize()?;
                copying.clear();
            }
            Ok(queued?)
        };
        let put_all = self
            .hand_in(&mut put)
            .and_then(|()| others.into_iter().try_for_each(&mut put));
        stream.synchronize()?;
        put_all?;
        if all.iter().any(|(states, filled)| *filled != states.len()) {
            return Ok(None);
        }
        let finished = self.operators.iter_mut().zip(&all);
        let results = finished.map(|(one, (states, _))| {
            // SAFETY: the states of all chunks are there.
            let result = unsafe { one.untyped.finish(&self.device, states, n)? };
            Ok((one.results)(&result))
        });
        results.collect::<Result<Vec<_>, Error>>().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::sum::Mode;
    use warpfold::{DeviceChoice, Group};

    const PIECE: usize = 2 * warpfold_device::fixed::CHUNK;

    fn device() -> Device {
        Device::open(&DeviceChoice::Emulator).expect("there is always one")
    }

    /// The emulator, and a GPU, where there is one.
    fn kinds() -> Vec<DeviceChoice> {
        let gpu = DeviceChoice::Gpu(0);
        if Device::open(&gpu).is_err() {
            eprintln!("There is no GPU here: the emulator alone is tested.");
            return vec![DeviceChoice::Emulator];
        }
        vec![DeviceChoice::Emulator, gpu]
    }

    /// The results, where the pieces are dealt to this many devices in turn, the last of them first.
    fn in_pieces(
        kind: DeviceChoice,
        devices: usize,
        operators: &[Named],
        values: &[f32],
    ) -> Vec<String> {
        let element = "f32".parse().expect("it is a type");
        let open = |_| {
            let device = Device::open(&kind).expect("it has been opened before");
            Pieces::new(device, element, operators, PIECE).expect("there is room")
        };
        let mut all: Vec<Pieces> = (0..devices).map(open).collect();
        let pieces: Vec<&[f32]> = values.chunks(PIECE).collect();
        for (number, piece) in pieces.iter().enumerate().rev() {
            // SAFETY: the values outlive the devices' parts.
            let queued =
                unsafe { all[number % devices].queue(number as u64, bytemuck::cast_slice(piece)) };
            queued.expect("it runs");
        }
        let mut states = Vec::new();
        let (first, others) = all.split_first_mut().expect("there is one");
        for other in others {
            let handed = other.hand_in(|more| {
                states.push(more);
                Ok::<(), Error>(())
            });
            handed.expect("they are there");
        }
        let results = first.finish(values.len() as u64, states);
        let results = results.expect("it runs").expect("no piece is missing");
        results.iter().map(|it| it.value(0).to_string()).collect()
    }

    #[test]
    fn any_devices_give_the_bits_of_all_values_in_memory() {
        let names = ["sum", "std", "argmax", "logsumexp", "minmax"];
        let operators = names.map(|name| name.parse().expect("it is an operator"));
        for n in [0, 1, 4095, PIECE, PIECE + 1, 5 * PIECE - 7] {
            let values: Vec<f32> = (0..n)
                .map(|place| (place * 7919 % 1013) as f32 / 7.0)
                .collect();
            let group = Group::new(vec![device()]).expect("there is one");
            let element = "f32".parse().expect("it is a type");
            let bytes = bytemuck::cast_slice(&values);
            let mode = Mode::Deterministic;
            let expected = crate::reduce_on_group(&group, mode, element, &operators, bytes);
            let expected: Vec<String> = expected
                .expect("it runs")
                .iter()
                .map(|it| it.value(0).to_string())
                .collect();
            for kind in kinds() {
                for devices in 1..4 {
                    let found = in_pieces(kind, devices, &operators, &values);
                    assert_eq!(found, expected, "{n} on {kind:?}");
                }
            }
        }
    }
}
