//! What the driver tells about a GPU.

use crate::device::DeviceError;
use std::{ffi::CStr, fmt};
use warpfold_driver::sys::{self, CUdevice, CUdevice_attribute};

/// What the driver tells about a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GpuInformation {
    /// The index by which `--device gpu:N` names it.
    pub index: u32,
    /// `NVIDIA H200`
    pub name: String,
    /// The compute capability: 90 for sm_90.
    pub sm: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// All of its memory, free or not.
    pub memory_bytes: u64,
    /// The most that its memory can transfer: clock × bus width × 2. `None` where the driver does not tell the clock.
    pub memory_bytes_per_second: Option<u64>,
    /// The L2 cache.
    pub l2_bytes: u64,
}

impl GpuInformation {
    pub(super) fn of(index: u32, device: CUdevice) -> Result<Self, DeviceError> {
        let attribute = |which| attribute(device, which);
        let mut name = [0_u8; 128];
        let mut memory_bytes = 0;
        // SAFETY: both may be written, the name as far as it is told; and the device is one that the driver has counted.
        unsafe {
            sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32, device)?;
            sys::cuDeviceTotalMem_v2(&raw mut memory_bytes, device)?;
        }
        Ok(Self {
            index,
            name: CStr::from_bytes_until_nul(&name)
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            sm: 10 * attribute(CUdevice_attribute::COMPUTE_CAPABILITY_MAJOR)?
                + attribute(CUdevice_attribute::COMPUTE_CAPABILITY_MINOR)?,
            multiprocessors: attribute(CUdevice_attribute::MULTIPROCESSOR_COUNT)?,
            memory_bytes: memory_bytes as u64,
            memory_bytes_per_second: bytes_per_second(
                attribute(CUdevice_attribute::MEMORY_CLOCK_RATE)?,
                attribute(CUdevice_attribute::GLOBAL_MEMORY_BUS_WIDTH)?,
            ),
            l2_bytes: u64::from(attribute(CUdevice_attribute::L2_CACHE_SIZE)?),
        })
    }
}

/// What the driver answers is not negative.
pub(super) fn attribute(device: CUdevice, which: CUdevice_attribute) -> Result<u32, DeviceError> {
    let mut value = 0;
    // SAFETY: `value` may be written, and the device is one that the driver has counted.
    unsafe { sys::cuDeviceGetAttribute(&raw mut value, which, device) }?;
    Ok(value.unsigned_abs())
}

/// Both edges of the memory's clock transfer data. A driver that does not tell the clock says 0.
fn bytes_per_second(clock_khz: u32, bus_bits: u32) -> Option<u64> {
    let peak = u64::from(clock_khz) * 1000 * 2 * u64::from(bus_bits / 8);
    (peak > 0).then_some(peak)
}

impl fmt::Display for GpuInformation {
    /// `GPU 0: NVIDIA H200, sm_90, 132 SMs, 139.8 GiB, 4.9 TB/s`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "GPU {}: {}, sm_{}, {} SMs, {:.1} GiB",
            self.index,
            self.name,
            self.sm,
            self.multiprocessors,
            self.memory_bytes as f64 / f64::from(1 << 30),
        )?;
        match self.memory_bytes_per_second.map(|peak| peak as f64) {
            Some(peak) if peak >= 1e12 => write!(formatter, ", {:.1} TB/s", peak / 1e12),
            Some(peak) => write!(formatter, ", {:.0} GB/s", peak / 1e9),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(memory_bytes_per_second: Option<u64>) -> GpuInformation {
        GpuInformation {
            index: 1,
            name: "NVIDIA Example".to_owned(),
            sm: 86,
            multiprocessors: 82,
            memory_bytes: 24 << 30,
            memory_bytes_per_second,
            l2_bytes: 6 << 20,
        }
    }

    #[test]
    fn the_peak_is_clock_times_width_times_two() {
        assert_eq!(bytes_per_second(9_751_000, 384), Some(936_096_000_000));
        assert_eq!(bytes_per_second(0, 384), None);
    }

    #[test]
    fn one_line_describes_it() {
        assert_eq!(
            gpu(Some(936_096_000_000)).to_string(),
            "GPU 1: NVIDIA Example, sm_86, 82 SMs, 24.0 GiB, 936 GB/s"
        );
        assert_eq!(
            gpu(Some(4_917_000_000_000)).to_string(),
            "GPU 1: NVIDIA Example, sm_86, 82 SMs, 24.0 GiB, 4.9 TB/s"
        );
        assert_eq!(
            gpu(None).to_string(),
            "GPU 1: NVIDIA Example, sm_86, 82 SMs, 24.0 GiB"
        );
    }
}
