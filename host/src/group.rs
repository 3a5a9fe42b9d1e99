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
//! The order is the deterministic one of [`warpfold_device::fixed`]: each device reduces the chunks of its part, all at the same time; the
//! states of the chunks go through the host's memory to the first device, which combines them. So the result has the same bits for any
//! number of devices, GPUs or emulated ones, and as a [`Reduction`](crate::Reduction) in its deterministic mode, as long as each part but the
//! last with values has whole chunks, as [`Group::upload`] makes them.

use crate::device::{Buffer, Device, DeviceChoice, DeviceError, Pod, Shape, Slice, Stream};
use crate::family::{Family, Needs, Source};
use crate::kernels::Error;
use crate::reduce::{BuiltIn, Form, Reducible};
use std::fmt;
use std::marker::PhantomData;
use warpfold_device::fixed::{BLOCK, CHUNK};

/// The most blocks of a grid; they go on from chunk to chunk.
const MOST_BLOCKS: usize = 1 << 20;

/// Devices that work together.
#[derive(Debug)]
pub struct Group {
    devices: Vec<Device>,
}

impl Group {
    /// Opens the devices. The same GPU may be there more than once, and any number of emulators.
    ///
    /// # Errors
    /// [`DeviceError`] where one cannot be opened; [`Error::NoDevices`] where none is named.
    pub fn open(choices: &[DeviceChoice]) -> Result<Self, Error> {
        let devices: Result<Vec<Device>, DeviceError> = choices.iter().map(Device::open).collect();
        Self::new(devices?)
    }

    /// A group of devices that are open already.
    ///
    /// # Errors
    /// [`Error::NoDevices`]
    pub fn new(devices: Vec<Device>) -> Result<Self, Error> {
        if devices.is_empty() {
            return Err(Error::NoDevices);
        }
        Ok(Self { devices })
    }

    /// The devices, in their order.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Uploads a part of the values to each device: neighbouring ones, as many to each as whole chunks allow.
    ///
    /// # Errors
    /// A device has no room for its part.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Vec<Buffer<T>>, DeviceError> {
        self.upload_in(values, 1)
    }

    /// As [`Self::upload`], of values of so many elements each.
    #[doc(hidden)]
    pub fn upload_in<T: Pod>(
        &self,
        values: &[T],
        each: usize,
    ) -> Result<Vec<Buffer<T>>, DeviceError> {
        let chunk = CHUNK * each;
        let chunks = values.len().div_ceil(chunk);
        let begin = |device: usize| {
            let before = chunks as u128 * device as u128 / self.devices.len() as u128;
            values.len().min(before as usize * chunk)
        };
        let devices = self.devices.iter().enumerate();
        devices
            .map(|(number, device)| device.upload(&values[begin(number)..begin(number + 1)]))
            .collect()
    }
}

/// A reduction by an operator of the library of arrays that a group has parts of, again and again.
pub struct GroupReduction<'g, T, O: BuiltIn<T>>
where
    T: Reducible,
{
    group: &'g Group,
    untyped: UntypedGroup,
    types: PhantomData<(T, O)>,
}

impl<'g, T: Reducible, O: BuiltIn<T>> GroupReduction<'g, T, O> {
    /// Prepares for reductions. No kernel is loaded yet.
    ///
    /// # Errors
    /// A device fails.
    pub fn new(group: &'g Group, operator: O) -> Result<Self, Error> {
        let (name, parameter) = operator.kernels();
        let form = Form::of::<T, O>();
        // SAFETY: the form is that of this operator and this type.
        let untyped = unsafe { UntypedGroup::of_library(group, name, T::NAME, parameter, form) };
        Ok(Self {
            group,
            untyped: untyped?,
            types: PhantomData,
        })
    }

    /// The reduction of the values of all parts, one after another; waits for it. There is a part for each device, in its memory, which may
    /// be empty.
    ///
    /// # Errors
    /// [`Error::Parts`] for another number of parts; a part is in the memory of another device, a device has no room for the states of its
    /// chunks, or it fails.
    pub fn of(&mut self, parts: &[Slice<'_, T>]) -> Result<O::Output, Error> {
        let parts: Vec<Slice<'_, u8>> = parts.iter().map(|part| part.bytes()).collect();
        let result = self.group.devices[0].allocate::<O::Output>(1)?;
        let bytes = Slice::from(&result).bytes();
        // SAFETY: buffers and slices are at addresses for their types, and the result is this call's own.
        unsafe { self.untyped.reduce(self.group, &parts, bytes)? };
        Ok(result.read()?[0])
    }
}

impl<T: Reducible, O: BuiltIn<T>> fmt::Debug for GroupReduction<'_, T, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GroupReduction")
            .field("devices", &self.group.devices.len())
            .finish_non_exhaustive()
    }
}

/// The same without its types.
#[doc(hidden)]
pub struct UntypedGroup {
    members: Vec<Member>,
    /// The kernels' last argument, if they take one more.
    parameter: Option<u64>,
    form: Form,
}

/// What a device keeps.
struct Member {
    family: Family,
    stream: Stream,
    /// The states of its chunks; on the first device also of all.
    states: Buffer<u8>,
    all: Buffer<u8>,
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
                all: device.allocate(0)?,
            })
        };
        let members: Result<Vec<Member>, DeviceError> = group.devices.iter().map(member).collect();
        Ok(Self {
            members: members?,
            parameter,
            form,
        })
    }

    /// As [`GroupReduction::of`], from the bytes of the values, to the bytes of a result in the memory of the first device.
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
        parts: &[Slice<'_, u8>],
        result: Slice<'_, u8>,
    ) -> Result<(), Error> {
        if parts.len() != group.devices.len() {
            return Err(Error::Parts {
                parts: parts.len(),
                devices: group.devices.len(),
            });
        }
        result.check_device(&group.devices[0])?;
        DeviceError::check_length(result.len(), self.form.result_bytes)?;
        let state_bytes = self.form.state_bytes();
        // All devices begin before the first is waited for.
        let mut first = 0_u64;
        for ((member, device), part) in self.members.iter_mut().zip(&group.devices).zip(parts) {
            part.check_device(device)?;
            let n = part.len() / self.form.value_bytes;
            let chunks = n.div_ceil(CHUNK);
            resize(&mut member.states, device, chunks * state_bytes)?;
            if chunks > 0 {
                let needs = needs("_chunks");
                let Member { family, stream, .. } = member;
                family.prepare_on(device, Some(stream), &needs)?;
                let mut arguments = vec![part.argument(), n.into(), first.into()];
                arguments.push(member.states.argument());
                arguments.extend(self.parameter.map(Into::into));
                let blocks = chunks.min(MOST_BLOCKS) as u32;
                let shape = Shape::linear(blocks, BLOCK);
                // SAFETY: the part has as many values, and there is a state for each chunk of them. Memory of buffers is freed when the
                // device has done what is queued; `read_by` keeps the order of other memory, or who has made the slice has promised it.
                part.read_by(device, Some(stream), || unsafe {
                    family.launch(Some(stream), needs.suffix, &shape, &arguments)
                })?;
            }
            first += n as u64;
        }
        let mut states = Vec::new();
        for member in &self.members {
            states.append(&mut member.states.read()?);
        }
        let (device, meeting) = (&group.devices[0], &mut self.members[0]);
        resize(&mut meeting.all, device, states.len())?;
        meeting.all.write(&states)?;
        let needs = needs("_of_chunks");
        meeting.family.prepare(device, &needs)?;
        let chunks = states.len() / state_bytes;
        let mut arguments = vec![meeting.all.argument(), chunks.into()];
        arguments.extend([(first as usize).into(), result.argument()]);
        arguments.extend(self.parameter.map(Into::into));
        let shape = Shape::linear(1, BLOCK);
        // SAFETY: there are as many states, and there is one result; it waits for its end.
        unsafe {
            meeting
                .family
                .launch(None, needs.suffix, &shape, &arguments)?;
        }
        Ok(())
    }
}

fn needs(suffix: &'static str) -> Needs {
    Needs {
        suffix,
        states: 0,
        words: 0,
        registers: None,
    }
}

/// Makes the buffer one of so many bytes.
fn resize(buffer: &mut Buffer<u8>, device: &Device, bytes: usize) -> Result<(), DeviceError> {
    if buffer.len() != bytes {
        *buffer = device.allocate(bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sum::Mode;
    use crate::{Reduction, operator::*};
    use proptest::prelude::{ProptestConfig, proptest};
    use std::fmt::Debug;
    use warpfold_device::half::Bf16;

    fn emulators(count: usize) -> Group {
        Group::open(&vec![DeviceChoice::Emulator; count]).expect("there is always an emulator")
    }

    /// Every number of devices gives the bits that one device gives, and the GPUs too, where there are some.
    fn agrees<T: Reducible, O: BuiltIn<T>>(operator: O, values: &[T])
    where
        O::Output: Debug,
    {
        let alone = emulators(1);
        let device = &alone.devices()[0];
        let buffer = device.upload(values).expect("it fits");
        let reduction = Reduction::new(device, operator).expect("it is prepared");
        let mut reduction = reduction.with_mode(Mode::Deterministic);
        let expected = format!("{:?}", reduction.of(&buffer).expect("it runs"));
        let gpus = [DeviceChoice::Gpu(0), DeviceChoice::Gpu(1)];
        let gpus = (1..=2).filter_map(|count| Group::open(&gpus[..count]).ok());
        for group in [1, 2, 3, 4, 8].map(emulators).into_iter().chain(gpus) {
            let parts = group.upload(values).expect("it fits");
            let parts: Vec<_> = parts.iter().map(|part| part.slice(..)).collect();
            let mut reduction = GroupReduction::new(&group, operator).expect("it is prepared");
            for _ in 0..2 {
                let found = reduction.of(&parts).expect("it runs");
                assert_eq!(format!("{found:?}"), expected, "{} devices", parts.len());
            }
        }
    }

    fn floats(n: usize, seed: u32) -> Vec<f32> {
        let number = |place: u32| (place ^ seed).wrapping_mul(2_654_435_761) >> 8;
        (0..n as u32)
            .map(|place| number(place) as f32 / 1e6 - 7.0)
            .collect()
    }

    #[test]
    fn any_number_of_devices_gives_the_same_bits() {
        for n in [0, 1, CHUNK, CHUNK + 1, 9 * CHUNK + 77] {
            agrees(Sum, &floats(n, 1));
            agrees(StdDev { ddof: 1 }, &floats(n, 2));
            agrees(ArgMax::LAST, &floats(n, 3));
        }
        let values = floats(5 * CHUNK + 3, 4);
        agrees(LogSumExp, &values);
        agrees(MinMax, &values);
        let small: Vec<i8> = values.iter().map(|&value| value as i8).collect();
        agrees(Mean, &small);
        let narrow: Vec<Bf16> = values.iter().map(|&value| Bf16::from_f32(value)).collect();
        agrees(Norm2, &narrow);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn any_values(n in 0_usize..40_000, seed: u32) {
            agrees(Sum, &floats(n, seed));
        }
    }

    #[test]
    fn parts_of_any_length_are_taken_in_their_order() {
        let group = emulators(3);
        let values: Vec<i64> = (0..1000).collect();
        let lengths = [[0, 1000, 0], [1, 0, 999], [0, 0, 1000], [333, 333, 334]];
        for [a, b, _] in lengths {
            let parts = [&values[..a], &values[a..a + b], &values[a + b..]];
            let buffers: Vec<Buffer<i64>> = parts
                .iter()
                .zip(group.devices())
                .map(|(part, device)| device.upload(part).expect("it fits"))
                .collect();
            let parts: Vec<_> = buffers.iter().map(|part| part.slice(..)).collect();
            let mut argmax = GroupReduction::new(&group, ArgMax::FIRST).expect("it is prepared");
            assert_eq!(argmax.of(&parts), Ok(999));
            let mut sum = GroupReduction::new(&group, Sum).expect("it is prepared");
            assert_eq!(sum.of(&parts), Ok(499_500));
            let of_two = sum.of(&parts[..2]).expect_err("there are three devices");
            assert_eq!(
                of_two.to_string(),
                "2 parts for 3 devices: give one for each, which may be empty"
            );
            let swapped = [parts[1], parts[0], parts[2]];
            assert_eq!(sum.of(&swapped), Err(DeviceError::OtherDevice.into()));
        }
        assert_eq!(Group::open(&[]).map(drop), Err(Error::NoDevices));
    }
}
