//! Chunks of values, on all cores. Rayon's part of it is compiled once here, and not again for each type of value.

use rayon::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What the function gives for each chunk, in their order.
pub(crate) fn map<T: Sync, R: Send + Sync>(
    values: &[T],
    size: usize,
    of: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    let chunks: Vec<&[T]> = values.chunks(size).collect();
    let results: Vec<OnceLock<R>> = chunks.iter().map(|_| OnceLock::new()).collect();
    for_each(chunks.len(), &|number| {
        results[number].get_or_init(|| of(chunks[number]));
    });
    let all = results.into_iter().map(OnceLock::into_inner);
    all.map(|result| result.expect("the function was called with each chunk"))
        .collect()
}

/// Calls the function with each chunk and the index of its first value.
pub(crate) fn fill<T: Send>(values: &mut [T], size: usize, fill: impl Fn(usize, &mut [T]) + Sync) {
    let chunks: Vec<Mutex<&mut [T]>> = values.chunks_mut(size).map(Mutex::new).collect();
    for_each(chunks.len(), &|number| {
        let mut chunk = chunks[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        fill(number * size, &mut chunk);
    });
}

fn for_each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}
