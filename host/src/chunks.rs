//! The launches of the fixed order, for values that are in several parts: a state for each chunk of a part, and the result of all states.

use crate::device::{Argument, Device, Shape, Slice, Stream};
use crate::family::{Family, Needs};
use crate::kernels::Error;
use warpfold_device::fixed::{BLOCK, CHUNK};

/// The most blocks of a grid; they go on from chunk to chunk.
const MOST_BLOCKS: usize = 1 << 20;

/// The kernel of a part's chunks.
pub(crate) const OF_A_PART: Needs = Needs::kernel("_chunks");
/// The kernel of all states.
pub(crate) const OF_ALL: Needs = Needs::kernel("_of_chunks");

/// Queues the states of the chunks of a part: `n` values, the first of which has the index `before`.
///
/// # Safety
/// - The part has as many values, at an address for their type.
/// - `states` has room for a state for each chunk, which nothing else touches until the kernel has ended.
pub(crate) unsafe fn queue_part(
    family: &mut Family,
    (device, stream): (&Device, &Stream),
    part: Slice<'_, u8>,
    (n, before): (usize, u64),
    states: Argument,
    parameter: Option<u64>,
) -> Result<(), Error> {
    family.prepare_on(device, Some(stream), &OF_A_PART)?;
    let mut arguments = vec![part.argument(), n.into(), before.into(), states];
    arguments.extend(parameter.map(Argument::from));
    let blocks = n.div_ceil(CHUNK).min(MOST_BLOCKS);
    let shape = Shape::linear(blocks as u32, BLOCK);
    // SAFETY: the caller's promise. Memory of buffers is freed when the device has done what is queued; `read_by` keeps the order of other
    // memory, or who has made the slice has promised it.
    part.read_by(device, Some(stream), || unsafe {
        family.launch(Some(stream), OF_A_PART.suffix, &shape, &arguments)
    })?;
    Ok(())
}

/// Queues the result of `total` values from the states of their `chunks`; without a stream it waits.
///
/// # Safety
/// - `states` has as many states, and nothing writes them until the kernel has ended.
/// - `result` is a result, at an address for its type, which nothing else touches until then.
pub(crate) unsafe fn queue_all(
    family: &mut Family,
    (device, stream): (&Device, Option<&Stream>),
    (states, chunks): (Slice<'_, u8>, usize),
    total: usize,
    result: Slice<'_, u8>,
    parameter: Option<u64>,
) -> Result<(), Error> {
    family.prepare_on(device, stream, &OF_ALL)?;
    let mut arguments = vec![states.argument(), chunks.into()];
    arguments.extend([total.into(), result.argument()]);
    arguments.extend(parameter.map(Argument::from));
    // SAFETY: the caller's promise.
    unsafe { family.launch(stream, OF_ALL.suffix, &Shape::linear(1, BLOCK), &arguments)? };
    Ok(())
}
