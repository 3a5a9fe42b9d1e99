//! How a thread writes the results of neighbouring columns.

use super::layout::MOST_LANES;
use crate::opaque::keep_apart;
use crate::operator::Operator;
use crate::unroll::each;
use crate::vector::{Loaded, Quad};
use core::mem::MaybeUninit;

/// The results of the columns of a vector, aligned, so that 16 bytes can be copied at a time.
#[repr(C, align(16))]
struct Finished<R>([R; MOST_LANES]);

/// The most vectors of results: those that are written out one by one.
const MOST_QUADS: usize = 16;

/// Writes the results of the columns that a vector covers to `results` and the places after it: 16 bytes at a time if they begin at a multiple of
/// 16 bytes.
///
/// # Safety
/// `results` points to a result for each lane of a vector, which nothing else touches.
#[inline(always)]
pub(super) unsafe fn write_columns<T: Loaded, O: Operator<T>>(
    operator: O,
    states: [O::State; MOST_LANES],
    rows: usize,
    results: *mut O::Output,
) {
    let bytes = T::LANES * size_of::<O::Output>();
    // A lane that there is not gets the result of the first.
    let mut finished = Finished([operator.finish(states[0], rows as u64); MOST_LANES]);
    each(
        T::LANES - 1,
        #[inline(always)]
        |before| finished.0[before + 1] = operator.finish(states[before + 1], rows as u64),
    );
    // SAFETY: the caller's promise. Bytes are copied as they are, also those between the fields of a result.
    unsafe {
        if bytes <= MOST_QUADS * size_of::<Quad>()
            && bytes.is_multiple_of(size_of::<Quad>())
            && (results as usize).is_multiple_of(size_of::<Quad>())
        {
            let (from, to) = (
                (&raw const finished.0).cast::<MaybeUninit<Quad>>(),
                results.cast::<MaybeUninit<Quad>>(),
            );
            keep_apart();
            each(
                bytes / size_of::<Quad>(),
                #[inline(always)]
                |quad| *to.add(quad) = *from.add(quad),
            );
            keep_apart();
        } else {
            each(
                T::LANES,
                #[inline(always)]
                |lane| *results.add(lane) = finished.0[lane],
            );
        }
    }
}
