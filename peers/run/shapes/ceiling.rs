//! Kernels that only read, and write as many bytes as results have: no reduction can be faster, but for the last per cent.

use super::contender::{Queue, Queued};
use crate::clock::Clock;
use crate::error::PeersError;
use crate::record::{Finds, Maker};
use warpfold::device::{Argument, Buffer, Device, Shape, Stream};

/// `read_and_write(input, results, n, m)`: see there.
const READ_AND_WRITE: &str = include_str!("../read_and_write.ptx");
/// Threads of its blocks, of which the fastest is taken.
const BLOCKS: [u32; 3] = [128, 256, 512];
/// `read_all(input, folds, n)`: see there.
const READ_ALL: &str = include_str!("../../../course/src/host_lesson/roofline/read_all.ptx");
const READ_ALL_BLOCK: u32 = 512;
const READ_ALL_TILE: usize = 4 * READ_ALL_BLOCK as usize;
/// Launches of each size of block before it is chosen.
const TRIES: usize = 3;

/// What reads a number of bytes from one address on, and writes a number from another on.
///
/// # Errors
/// The device refuses the kernel.
///
/// # Safety
/// There are as many bytes at either address, in memory of this device that lives as long as the contender.
pub unsafe fn read_and_write<'a>(
    device: &'a Device,
    clock: &Clock,
    (from, bytes_read): (u64, usize),
    (to, bytes_written): (u64, usize),
) -> Result<Queued<'a>, PeersError> {
    let (vectors, words) = (bytes_read / 16, (bytes_written / 4).max(1));
    let mut best: Option<(f64, Queue<'a>)> = None;
    for block in BLOCKS {
        let kernel = device.load(READ_AND_WRITE)?.kernel("read_and_write")?;
        let blocks = vectors.div_ceil(4 * block as usize).max(1);
        let shape = Shape::linear(blocks as u32, block);
        let arguments = [
            Argument::Address(from),
            Argument::Address(to),
            vectors.into(),
            words.into(),
        ];
        let mut queue: Queue<'a> = Box::new(move |stream: &Stream| {
            // SAFETY: the caller's promise; it reads and writes no more bytes.
            Ok(unsafe { stream.launch(&kernel, &shape, &arguments) }?)
        });
        let mut fastest = f64::INFINITY;
        for _ in 0..TRIES {
            clock.prepare(Finds::Cold)?;
            fastest = fastest.min(clock.elapsed_ms(&mut queue)?);
        }
        if best.as_ref().is_none_or(|(ms, _)| fastest < *ms) {
            best = Some((fastest, queue));
        }
    }
    let (_, queue) = best.ok_or_else(|| PeersError::Contender {
        name: "read_and_write".to_owned(),
        n: vectors,
        message: "no size of blocks was tried".to_owned(),
    })?;
    Ok(ceiling("read_and_write", queue))
}

/// What reads the first n values.
///
/// # Errors
/// The device refuses the kernel, or has no room.
pub fn read_all<'a>(
    device: &'a Device,
    values: &'a Buffer<f32>,
    n: usize,
) -> Result<Queued<'a>, PeersError> {
    let kernel = device.load(READ_ALL)?.kernel("read_all")?;
    let words = n * size_of::<f32>() / 16;
    let blocks = words.div_ceil(READ_ALL_TILE).max(1);
    // A word for each warp.
    let folds: Buffer<u32> = device.allocate(blocks * READ_ALL_BLOCK as usize / 32)?;
    let shape = Shape::linear(blocks as u32, READ_ALL_BLOCK);
    let queue: Queue<'a> = Box::new(move |stream: &Stream| {
        let arguments = [values.argument(), folds.argument(), words.into()];
        // SAFETY: the values are at least as many, and there is a fold for each warp.
        Ok(unsafe { stream.launch(&kernel, &shape, &arguments) }?)
    });
    Ok(ceiling("read_all", queue))
}

fn ceiling<'a>(name: &str, queue: Queue<'a>) -> Queued<'a> {
    Queued {
        maker: Maker::Ceiling,
        name: name.to_owned(),
        queue,
        results: None,
        launches: 1,
        finds: Finds::Cold,
    }
}
