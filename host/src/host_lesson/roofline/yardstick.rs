//! How fast a kernel that only reads gets its bytes from memory.

use super::super::stopwatch::Stopwatch;
use super::{HostLessonError, Setting};
use crate::device::Shape;

/// `read_all(input, folds, n)`: see there.
const PTX: &str = include_str!("read_all.ptx");
/// Threads of a block.
const BLOCK: u32 = 512;
/// Elements that a block reads: four 16-byte words by each thread.
const TILE: usize = 16 * BLOCK as usize;
/// Warps of a block, each of which leaves a word.
const WARPS: usize = BLOCK as usize / 32;
/// Elements in a word of 16 bytes.
const WORD: usize = 4;

/// What the memory gives.
pub(super) struct Yardstick {
    /// Bytes read.
    pub(super) bytes: usize,
    /// The median time, on a GPU.
    pub(super) elapsed_ms: Option<f64>,
    /// Whether every bit has been read: their exclusive or is that of the CPU.
    pub(super) is_right: bool,
}

impl Yardstick {
    /// Reads as many of the values as fill whole words.
    pub(super) fn measure(setting: &Setting<'_>, values: &[i32]) -> Result<Self, HostLessonError> {
        let values = &values[..values.len() / WORD * WORD];
        if values.is_empty() {
            return Err(HostLessonError::Unsuitable(format!(
                "`roofline` reads words of {WORD} elements; ask for at least as many with -n"
            )));
        }
        let device = setting.device();
        let kernel = device.load(PTX)?.kernel("read_all")?;
        let input = device.upload(values)?;
        let blocks = values.len().div_ceil(TILE);
        // No partial fold is likely to be this one; a kernel that leaves some out is found out.
        let folds = device.upload(&vec![0x5eed_bad0_u32; blocks * WARPS])?;
        let grid = u32::try_from(blocks).map_err(|_| {
            HostLessonError::Unsuitable(format!(
                "{} elements are more than one launch reads; ask for fewer with -n",
                values.len()
            ))
        })?;
        let arguments = [
            input.argument(),
            folds.argument(),
            (values.len() / WORD).into(),
        ];
        let stream = device.stream()?;
        let elapsed_ms = Stopwatch::new(setting)?.device_ms(
            &stream,
            || Ok(()),
            // SAFETY: the kernel reads n words of the input and writes a word for each warp of the grid, of which there are so many.
            || unsafe { stream.launch(&kernel, &Shape::linear(grid, BLOCK), &arguments) },
        )?;
        let fold = folds.read()?.into_iter().fold(0, |fold, word| fold ^ word);
        let expected = values.iter().fold(0, |fold, value| fold ^ value);
        Ok(Self {
            bytes: size_of_val(values),
            elapsed_ms,
            is_right: fold == expected.cast_unsigned(),
        })
    }
}
