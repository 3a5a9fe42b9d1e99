//! How fast a kernel that only reads gets its bytes from memory.

use super::{HostLessonError, Setting};
use warpfold::device::{DeviceError, Shape, Timing};
use warpfold_kernels::catalogue::BLOCK_SIZES;

/// `read_all(input, folds, n)`: see there.
const PTX: &str = include_str!("read_all.ptx");
/// Elements in a word of 16 bytes.
const WORD: usize = 4;
/// Words that each thread reads.
const WORDS: usize = 4;
/// Threads of a warp.
const WARP: usize = 32;

/// What the memory gives.
pub(super) struct Yardstick {
    /// Bytes read.
    pub(super) bytes: usize,
    /// The median time with the best block size, on a GPU.
    pub(super) elapsed_ms: Option<f64>,
    /// Whether every bit has been read with every block size: their exclusive or is that of the CPU.
    pub(super) is_right: bool,
}

impl Yardstick {
    /// Reads as many of the values as fill whole words; on a GPU again and again, as `timing` asks.
    pub(super) fn measure(
        setting: &Setting<'_>,
        values: &[i32],
        timing: Option<Timing>,
    ) -> Result<Self, HostLessonError> {
        let values = &values[..values.len() / WORD * WORD];
        if values.is_empty() {
            return Err(HostLessonError::Unsuitable(format!(
                "`roofline` reads words of {WORD} elements; ask for at least as many with -n"
            )));
        }
        let device = setting.device;
        let kernel = device.load(PTX)?.kernel("read_all")?;
        let input = device.upload(values)?;
        let expected = values.iter().fold(0, |fold, value| fold ^ value);
        let mut yardstick = Self {
            bytes: size_of_val(values),
            elapsed_ms: None,
            is_right: true,
        };
        for block in BLOCK_SIZES {
            let threads = block as usize;
            let blocks = values.len().div_ceil(threads * WORDS * WORD);
            let too_large = |_| DeviceError::TooLarge {
                length: values.len(),
            };
            let shape = Shape::linear(u32::try_from(blocks).map_err(too_large)?, block);
            // Words that no few of them cancel out: a fold that is left out is found out.
            let unwritten = (1..=blocks * threads / WARP)
                .map(|warp| (warp as u32).wrapping_mul(0x9e37_79b9))
                .collect::<Vec<_>>();
            let folds = device.upload(&unwritten)?;
            let n = values.len() / WORD;
            let arguments = [input.argument(), folds.argument(), n.into()];
            // SAFETY: the kernel reads n words of the input, which has them, and writes a word for each warp of the grid, for which `folds` has
            // room.
            unsafe { kernel.launch(&shape, &arguments)? };
            let fold = folds.read()?.into_iter().fold(0, |fold, word| fold ^ word);
            yardstick.is_right &= fold == expected.cast_unsigned();
            if let Some(timing) = &timing {
                // SAFETY: as above.
                let times = unsafe { kernel.time(&shape, &arguments, timing, || Ok(()))? };
                let fastest = yardstick.elapsed_ms.unwrap_or(f64::INFINITY);
                yardstick.elapsed_ms = Some(fastest.min(times.median_ms()));
            }
        }
        Ok(yardstick)
    }
}
