//! Launches the kernels, on a GPU or on the emulator.

use warpfold::device::Shape;
use warpfold::{Device, DeviceError};

/// The kernels as PTX.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

/// Threads of a block.
const BLOCK: u32 = 256;
/// Enough blocks to keep a large GPU at work; beyond that each thread takes several values.
const MOST_BLOCKS: usize = 1024;

/// The sum of the squared differences of two vectors.
///
/// # Errors
/// The device has no memory left, or the launch fails.
///
/// # Panics
/// The vectors differ in length.
pub fn squared_distance(device: &Device, left: &[f32], right: &[f32]) -> Result<f32, DeviceError> {
    assert_eq!(left.len(), right.len(), "the lengths of the vectors");
    let kernel = device.load(PTX)?.kernel("squared_distance")?;
    let n = left.len();
    let blocks = n.div_ceil(BLOCK as usize).clamp(1, MOST_BLOCKS) as u32;
    let (left, right) = (device.upload(left)?, device.upload(right)?);
    let parts = device.upload(&vec![0.0_f32; blocks as usize])?;
    let arguments = [
        left.argument(),
        right.argument(),
        n.into(),
        parts.argument(),
    ];
    // SAFETY: the arguments are those of the kernel: n values, n values, n, and a part for each block.
    unsafe { kernel.launch(&Shape::linear(blocks, BLOCK), &arguments)? };
    Ok(parts.read()?.iter().sum())
}
