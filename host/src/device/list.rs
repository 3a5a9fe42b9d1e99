//! What devices there are.

use super::{DeviceError, GpuInformation, emulator, gpu};

/// Everything that kernels can run on here.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DeviceList {
    /// The CUDA version that the NVIDIA driver supports (`13.0`), where there is a driver and a GPU.
    pub driver: Option<String>,
    /// The GPUs as the driver counts them.
    pub gpus: Vec<GpuInformation>,
    /// Why there are no GPUs, where there are none.
    pub why_no_gpu: Option<String>,
    /// How many cores the emulator uses.
    pub emulator_cores: usize,
}

/// Asks the driver for its GPUs.
///
/// # Errors
/// The driver starts, but a question about one of its GPUs fails.
pub fn list() -> Result<DeviceList, DeviceError> {
    let emulator_cores = emulator::cores();
    match warpfold_driver::available() {
        Ok(version) => Ok(DeviceList {
            driver: Some(version.to_string()),
            gpus: gpu::all()?,
            why_no_gpu: None,
            emulator_cores,
        }),
        Err(reason) => Ok(DeviceList {
            driver: None,
            gpus: Vec::new(),
            why_no_gpu: Some(reason.to_string()),
            emulator_cores,
        }),
    }
}
