//! The kernel that reads an input and writes the bytes of results, and nothing else: the ceiling of what is timed beside it.

use std::error::Error;
use warpfold::Device;
use warpfold::device::{Argument, Kernel, Pod, Shape, Slice};

const PTX: &str = include_str!("read_and_write.ptx");

/// The kernel, and a launch of it by blocks of this many threads, which has been made once.
///
/// # Errors
/// The device refuses the kernel or fails.
pub fn launched<T: Pod, R: Pod>(
    device: &Device,
    input: Slice<'_, T>,
    results: Slice<'_, R>,
    block: u32,
) -> Result<(Kernel, Shape, [Argument; 4]), Box<dyn Error>> {
    let kernel = device.load(PTX)?.kernel("read_and_write")?;
    let vectors = input.len() * size_of::<T>() / 16;
    let words = results.len() * size_of::<R>() / 4;
    let blocks = vectors.div_ceil(4 * block as usize).max(1);
    let shape = Shape::linear(blocks.try_into()?, block);
    let arguments = [
        input.argument(),
        results.argument(),
        vectors.into(),
        words.into(),
    ];
    // SAFETY: it reads as many vectors as the input has, and writes as many words as the results have.
    unsafe { kernel.launch(&shape, &arguments) }?;
    Ok((kernel, shape, arguments))
}
