//! Work on all cores. Rayon's part of it is compiled once here, and not again for each operator of each type, by this crate and those that
//! use it.

use rayon::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Calls two functions, on two threads if one is idle.
pub(super) fn both(left: &mut (dyn FnMut() + Send), right: &mut (dyn FnMut() + Send)) {
    rayon::join(left, right);
}

/// What the function gives for each number below `count`.
pub fn map<R: Send + Sync>(count: usize, of: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let results: Vec<OnceLock<R>> = (0..count).map(|_| OnceLock::new()).collect();
    for_each(count, &|number| {
        results[number].get_or_init(|| of(number));
    });
    let all = results.into_iter().map(OnceLock::into_inner);
    all.map(|result| result.expect("the function was called for each number"))
        .collect()
}

/// What the function gives for each part of this many values, the last of which may be shorter, in their order.
pub fn map_parts<T: Sync, R: Send + Sync>(
    values: &[T],
    size: usize,
    of: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    map(values.len().div_ceil(size), |number| {
        let rest = &values[number * size..];
        of(&rest[..size.min(rest.len())])
    })
}

/// Calls the function with each part of this many values, the last of which may be shorter, and its number.
pub fn for_each_part<T: Send>(
    values: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    let parts: Vec<Mutex<&mut [T]>> = values.chunks_mut(size).map(Mutex::new).collect();
    for_each(parts.len(), &|number| {
        let mut part = parts[number].lock().unwrap_or_else(PoisonError::into_inner);
        work(number, &mut part);
    });
}

fn for_each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}
