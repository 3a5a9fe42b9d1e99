//! Values to be reduced, on the host or on a device.

use crate::device::{Buffer, Device, DeviceError, Pod, Slice};

/// Values on the host or on a device: what `&[T]`, `&Vec<T>`, `&[T; N]`, [`&Buffer<T>`](Buffer) and [`Slice<T>`](Slice) become.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a, T: Pod> {
    /// In the host's memory.
    OnHost(&'a [T]),
    /// In a device's.
    OnDevice(Slice<'a, T>),
}

impl<'a, T: Pod> Values<'a, T> {
    /// The values on this device: where they are, or in `uploaded`.
    pub(crate) fn on<'b>(
        self,
        device: &Device,
        uploaded: &'b mut Option<Buffer<T>>,
    ) -> Result<Slice<'b, T>, DeviceError>
    where
        'a: 'b,
    {
        match self {
            Self::OnDevice(slice) => Ok(slice),
            Self::OnHost(values) => Ok(uploaded.insert(device.upload(values)?).slice(..)),
        }
    }
}

impl<'a, T: Pod> From<&'a [T]> for Values<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Self::OnHost(values)
    }
}

impl<'a, T: Pod, const N: usize> From<&'a [T; N]> for Values<'a, T> {
    fn from(values: &'a [T; N]) -> Self {
        Self::OnHost(values)
    }
}

impl<'a, T: Pod> From<&'a Vec<T>> for Values<'a, T> {
    fn from(values: &'a Vec<T>) -> Self {
        Self::OnHost(values)
    }
}

impl<'a, T: Pod> From<Slice<'a, T>> for Values<'a, T> {
    fn from(slice: Slice<'a, T>) -> Self {
        Self::OnDevice(slice)
    }
}

macro_rules! from_memory_of_devices {
    ($($memory:ty $(, $bound:path)?;)*) => {$(
        impl<'a, T: Pod $(+ $bound)?> From<&'a $memory> for Values<'a, T> {
            fn from(memory: &'a $memory) -> Self {
                Self::OnDevice(memory.into())
            }
        }
    )*};
}

from_memory_of_devices! { Buffer<T>; }
#[cfg(feature = "cudarc")]
from_memory_of_devices! { cudarc::driver::CudaSlice<T>; cudarc::driver::CudaView<'a, T>; }
#[cfg(feature = "cust")]
from_memory_of_devices! { cust::memory::DeviceBuffer<T>, cust::memory::DeviceCopy; }
