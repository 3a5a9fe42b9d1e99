//! Where segments begin and end, on a device.

use crate::device::{Argument, Buffer, Device, DeviceError, Slice, Stream};
use crate::kernels::Error;
use crate::offsets::{Offset, OffsetsError};

/// Segments of an array, one after another: segment k is the values from offset k to offset k + 1. There is one offset more than there are
/// segments. Segments may be empty; values before the first offset and after the last belong to none.
///
/// ```
/// # use warpfold::{Device, DeviceChoice, Reduction, Segments, operator::Sum};
/// let device = Device::open(&DeviceChoice::Emulator)?;
/// let values = device.upload(&[3_i32, 1, 2, -7, -5, -6])?;
/// let segments = Segments::new(&device, &[0_u32, 2, 2, 6])?;
/// assert_eq!(Reduction::new(&device, Sum)?.segments(&values, &segments)?, [4, 0, -16]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Segments<'a> {
    offsets: Offsets<'a>,
    /// Bytes of an offset: 4 or 8.
    width: usize,
    /// How many there are; at most, if their number is counted on the device.
    count: usize,
    counted: Option<Slice<'a, u64>>,
    /// Where the last segment ends.
    end: usize,
    /// How many values they have together.
    values: usize,
}

#[derive(Debug)]
enum Offsets<'a> {
    Own(Buffer<u8>),
    Others(Slice<'a, u8>),
}

impl Segments<'static> {
    /// Uploads offsets, which waits.
    ///
    /// # Errors
    /// [`Error::Offsets`] where there are none or they decrease; the device has no room.
    pub fn new<I: Offset>(device: &Device, offsets: &[I]) -> Result<Self, Error> {
        let place = |index: usize| -> u64 { offsets[index].into() };
        let problem = |problem| Err(Error::Offsets(problem));
        let Some(count) = offsets.len().checked_sub(1) else {
            return problem(OffsetsError::NoOffsets);
        };
        if let Some(segment) = (0..count).find(|&segment| place(segment) > place(segment + 1)) {
            return problem(OffsetsError::Decreasing {
                segment,
                start: place(segment),
                end: place(segment + 1),
            });
        }
        let fits = |place: u64| {
            usize::try_from(place).map_err(|_| Error::Offsets(OffsetsError::TooFar(place)))
        };
        let (start, end) = (fits(place(0))?, fits(place(count))?);
        Ok(Self {
            offsets: Offsets::Own(device.upload(bytemuck::cast_slice(offsets))?),
            width: size_of::<I>(),
            count,
            counted: None,
            end,
            values: end - start,
        })
    }
}

impl<'a> Segments<'a> {
    /// Offsets that are on the device already. The last is `end`; nothing is copied or read here.
    ///
    /// # Errors
    /// [`Error::Offsets`] where there are none.
    ///
    /// # Safety
    /// As long as reductions of these segments are under way, the offsets do not decrease, and none is greater than `end`.
    pub unsafe fn on_device<I: Offset>(
        offsets: impl Into<Slice<'a, I>>,
        end: usize,
    ) -> Result<Self, Error> {
        let offsets = offsets.into();
        let no_offsets = Error::Offsets(OffsetsError::NoOffsets);
        Ok(Self {
            count: offsets.len().checked_sub(1).ok_or(no_offsets)?,
            counted: None,
            offsets: Offsets::Others(offsets.bytes()),
            width: size_of::<I>(),
            end,
            values: end,
        })
    }

    /// As many of these segments, from the first on, as the one word says that is on the device when they are reduced or scanned, or all of
    /// them if it says more: another kernel may have counted them. The results of the others are left as they were. Offsets after the last
    /// of these segments may be anything.
    ///
    /// # Errors
    /// There is not one word.
    ///
    /// # Safety
    /// The promise of [`Self::on_device`] holds for the offsets of these segments, and the word does not change as long as work on them
    /// is under way.
    pub unsafe fn counted_by(self, count: impl Into<Slice<'a, u64>>) -> Result<Self, Error> {
        let count = count.into();
        DeviceError::check_length(count.len(), 1)?;
        Ok(Self {
            counted: Some(count),
            ..self
        })
    }

    /// How many, or how many at most if they are [counted on the device](Self::counted_by).
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Where the last one ends.
    pub fn end(&self) -> usize {
        self.end
    }

    /// How many values they have together, at most.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    /// What kernels take: the address, whether offsets are `u64`, how many segments there are at most, and where their number is, if
    /// that is on the device.
    pub(crate) fn arguments(&self) -> [Argument; 4] {
        let counted = self.counted.map(|count| count.argument());
        [
            self.offsets().argument(),
            u32::from(self.width == size_of::<u64>()).into(),
            self.count.into(),
            counted.unwrap_or(Argument::Address(0)),
        ]
    }

    pub(crate) fn check(&self, device: &Device, given: usize) -> Result<(), Error> {
        self.offsets().check_device(device)?;
        if let Some(count) = self.counted {
            count.check_device(device)?;
        }
        if self.end > given {
            return Err(Error::Offsets(OffsetsError::Outside {
                end: self.end,
                given,
            }));
        }
        Ok(())
    }

    /// Runs `queue`, which queues a kernel that reads these offsets, as [`Slice::read_by`] does.
    pub(crate) fn read_by(
        &self,
        device: &Device,
        stream: Option<&Stream>,
        queue: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        self.offsets()
            .read_by(device, stream, || match self.counted {
                Some(count) => count.read_by(device, stream, queue),
                None => queue(),
            })
    }

    fn offsets(&self) -> Slice<'_, u8> {
        match &self.offsets {
            Offsets::Own(buffer) => buffer.into(),
            Offsets::Others(slice) => *slice,
        }
    }
}
