//! Where the elements of an array lie, and how they come side by side.

use crate::failed::Failed;
use crate::operation::name_of;
use bytemuck::Zeroable;
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use rayon::prelude::*;
use std::ops::Range;
use warpfold_dynamic::TypeName;

/// The elements of an array in memory.
#[derive(Clone, Debug)]
pub struct View {
    /// Where the element is that has index 0 along every axis.
    pub address: u64,
    /// What the elements are.
    pub element: TypeName,
    /// The axes, from the first.
    pub axes: Vec<Axis>,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its length.
    pub length: usize,
    /// The distance of two neighbours along it, in elements.
    pub stride: isize,
}

impl View {
    /// Checks that an array lies in memory as it says.
    ///
    /// # Errors
    /// A negative length, lengths or strides that are not of one array, more elements or bytes than any memory has, an address that
    /// elements cannot have, or none.
    pub fn checked(
        address: u64,
        element: TypeName,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> PyResult<Self> {
        let refused = |reason: String| Err(PyValueError::new_err(reason));
        if let Some(strides) = strides
            && strides.len() != shape.len()
        {
            return refused(format!(
                "the array has {} axes and {} strides: give one that has as many",
                shape.len(),
                strides.len()
            ));
        }
        let mut axes = Vec::with_capacity(shape.len());
        let mut side_by_side = Some(1_usize);
        for (axis, &length) in shape.iter().enumerate().rev() {
            let Ok(length) = usize::try_from(length) else {
                return refused(format!(
                    "axis {axis} of the array has length {length}: a length is 0 or more"
                ));
            };
            let stride = match strides {
                Some(strides) => signed(strides[axis], element.bytes()) as isize,
                None => side_by_side.unwrap_or(0) as isize,
            };
            side_by_side = side_by_side.and_then(|below| below.checked_mul(length.max(1)));
            axes.push(Axis { length, stride });
        }
        axes.reverse();
        let bytes = element.bytes();
        // Also of an empty array: nothing below multiplies lengths that it does not have.
        let all = side_by_side.and_then(|count| count.checked_mul(bytes));
        let extent = axes.iter().try_fold(1_usize, |extent, axis| {
            let steps = axis.length.saturating_sub(1);
            extent.checked_add(steps.checked_mul(axis.stride.unsigned_abs())?)
        });
        let fits = |bytes: Option<usize>| bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok());
        if !fits(all) || !fits(extent.and_then(|extent| extent.checked_mul(bytes))) {
            return refused(format!(
                "an array of shape {shape:?} with these strides is larger than any memory"
            ));
        }
        let view = Self {
            address,
            element,
            axes,
        };
        if view.count() > 0 {
            if address == 0 {
                return refused("the array has elements and no memory".to_owned());
            }
            if !address.is_multiple_of(bytes as u64) {
                return refused(format!(
                    "the array begins at {address:#x}, which is no address for {}: copy it",
                    name_of(element)
                ));
            }
            let (low, high) = view.reach();
            let ends =
                [low, high + 1].map(|place| i128::from(address) + place as i128 * bytes as i128);
            if ends[0] <= 0 || ends[1] > i128::from(u64::MAX) {
                return refused("the array goes beyond the addresses that there are".to_owned());
            }
        }
        Ok(view)
    }

    /// How many elements there are.
    pub fn count(&self) -> usize {
        count(&self.axes)
    }

    /// The places of the first and the last element in memory, counted from the address.
    pub fn reach(&self) -> (isize, isize) {
        let mut reach = (0, 0);
        for axis in &self.axes {
            let last = axis.length.saturating_sub(1) as isize * axis.stride;
            reach = (reach.0 + last.min(0), reach.1 + last.max(0));
        }
        reach
    }
}

/// Memory for so many numbers, each 0.
///
/// # Errors
/// There is none.
pub fn zeroed<T: Zeroable>(count: usize) -> Result<Vec<T>, Failed> {
    bytemuck::allocation::try_zeroed_vec(count).map_err(|()| Failed::NoMemory {
        bytes: count.saturating_mul(size_of::<T>()),
    })
}

/// How many elements these axes have.
pub fn count(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.length).product()
}

/// The fewest axes that go through the same places in the same order. Axes of length 1 are left out.
pub fn merged(axes: impl IntoIterator<Item = Axis>) -> Vec<Axis> {
    let mut merged: Vec<Axis> = Vec::new();
    for axis in axes.into_iter().filter(|axis| axis.length != 1) {
        match merged.last_mut() {
            Some(outer) if outer.stride == axis.stride * axis.length as isize => {
                outer.length *= axis.length;
                outer.stride = axis.stride;
            }
            _ => merged.push(axis),
        }
    }
    merged
}

/// Axes that go through the same places from the lowest to the highest, where they can, and the first place.
pub fn ascending(axes: impl IntoIterator<Item = Axis>) -> (Vec<Axis>, isize) {
    let (mut ascending, mut first) = (Vec::new(), 0);
    for axis in axes {
        if axis.stride < 0 {
            first += axis.length.saturating_sub(1) as isize * axis.stride;
        }
        ascending.push(Axis {
            stride: axis.stride.abs(),
            ..axis
        });
    }
    ascending.sort_by_key(|axis| std::cmp::Reverse(axis.stride));
    (merged(ascending), first)
}

/// Rows of elements that lie anywhere: a result for each of the kept axes' places.
#[derive(Clone, Debug)]
pub struct Rows {
    kept: Vec<Axis>,
    reduced: Vec<Axis>,
}

impl Rows {
    /// Those of these axes.
    pub fn new(kept: &[Axis], reduced: &[Axis]) -> Self {
        Self {
            kept: merged(kept.iter().copied()),
            reduced: merged(reduced.iter().copied()),
        }
    }

    /// The axes that go through all elements, row by row.
    pub fn axes(&self) -> Vec<Axis> {
        self.kept.iter().chain(&self.reduced).copied().collect()
    }

    /// How many elements a row has.
    pub fn length(&self) -> usize {
        count(&self.reduced)
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        count(&self.kept)
    }

    /// Copies the elements of some rows side by side.
    ///
    /// # Errors
    /// There is no memory for the copy.
    ///
    /// # Safety
    /// From `address` on, there are the elements of all rows, of `bytes` each, and nothing writes them meanwhile.
    pub unsafe fn gather(
        &self,
        address: u64,
        bytes: usize,
        rows: Range<usize>,
    ) -> Result<Vec<u64>, Failed> {
        let copied_bytes = rows.len() * self.length() * bytes;
        let mut words = zeroed::<u64>(copied_bytes.div_ceil(size_of::<u64>()))?;
        let copied = &mut bytemuck::cast_slice_mut(&mut words)[..copied_bytes];
        // SAFETY: the caller's promise.
        unsafe { self.gather_into(address, bytes, rows, copied) };
        Ok(words)
    }

    /// The same into other memory, for as many.
    ///
    /// # Safety
    /// As for [`Self::gather`].
    pub unsafe fn gather_into(
        &self,
        address: u64,
        bytes: usize,
        rows: Range<usize>,
        copied: &mut [u8],
    ) {
        let length = self.length();
        // Of few long rows, parts of a row.
        let part = length.div_ceil(length.div_ceil(1 << 16).max(1)).max(1);
        let address = address as usize;
        let parts_of_row = length.div_ceil(part);
        if parts_of_row > 1 {
            for (row, copied) in rows.zip(copied.chunks_mut(length * bytes)) {
                let start = offset(&self.kept, row);
                copied
                    .par_chunks_mut(part * bytes)
                    .enumerate()
                    // SAFETY: the caller's promise.
                    .for_each(|(index, copied)| unsafe {
                        gather(address, bytes, start, &self.reduced, index * part, copied);
                    });
            }
        } else {
            for (row, copied) in rows.zip(copied.chunks_mut((length * bytes).max(1))) {
                // SAFETY: the caller's promise.
                unsafe {
                    gather(
                        address,
                        bytes,
                        offset(&self.kept, row),
                        &self.reduced,
                        0,
                        copied,
                    )
                };
            }
        }
    }
}

impl Rows {
    /// Copies some elements of a row to the beginning of the memory.
    ///
    /// # Safety
    /// As for [`Self::gather`].
    pub unsafe fn bring(
        &self,
        address: u64,
        bytes: usize,
        row: usize,
        elements: Range<usize>,
        memory: &mut Vec<u64>,
    ) {
        let copied_bytes = elements.len() * bytes;
        memory.resize(copied_bytes.div_ceil(size_of::<u64>()), 0);
        let copied = &mut bytemuck::cast_slice_mut::<u64, u8>(memory)[..copied_bytes];
        let start = offset(&self.kept, row);
        // SAFETY: the caller's promise.
        unsafe {
            gather(
                address as usize,
                bytes,
                start,
                &self.reduced,
                elements.start,
                copied,
            )
        };
    }
}

/// How far the element of this number, in the order of C, lies from the first.
pub fn offset(axes: &[Axis], number: usize) -> isize {
    let (mut rest, mut offset) = (number, 0);
    for axis in axes.iter().rev() {
        offset += (rest % axis.length) as isize * axis.stride;
        rest /= axis.length;
    }
    offset
}

/// Copies elements from the one of this number on.
///
/// # Safety
/// As for [`Rows::gather`]; the elements are `start` elements away from the address.
unsafe fn gather(
    address: usize,
    bytes: usize,
    start: isize,
    axes: &[Axis],
    first: usize,
    copied: &mut [u8],
) {
    // SAFETY: the caller's promise, with the type of elements of this size.
    unsafe {
        match bytes {
            1 => gather_words::<u8>(
                address,
                start,
                axes,
                first,
                bytemuck::cast_slice_mut(copied),
            ),
            2 => gather_words::<u16>(
                address,
                start,
                axes,
                first,
                bytemuck::cast_slice_mut(copied),
            ),
            4 => gather_words::<u32>(
                address,
                start,
                axes,
                first,
                bytemuck::cast_slice_mut(copied),
            ),
            _ => gather_words::<u64>(
                address,
                start,
                axes,
                first,
                bytemuck::cast_slice_mut(copied),
            ),
        }
    }
}

/// A stride as its exporter meant it. CuPy divides strides in bytes by the size of an element without regard to their sign: −4 bytes of 4
/// become 2⁶² − 1 elements, which are no memory's.
fn signed(stride: i64, bytes: usize) -> i64 {
    let in_bytes = u64::try_from(stride)
        .ok()
        .and_then(|stride| stride.checked_mul(bytes as u64));
    match in_bytes {
        Some(in_bytes) if in_bytes > i64::MAX as u64 => in_bytes as i64 / bytes as i64,
        _ => stride,
    }
}

/// # Safety
/// As for [`gather`]; the elements have this type's size, and their addresses are its multiples.
unsafe fn gather_words<W: bytemuck::Pod>(
    address: usize,
    start: isize,
    axes: &[Axis],
    first: usize,
    copied: &mut [W],
) {
    let base = (address as *const W).wrapping_offset(start);
    let Some((inner, outer)) = axes.split_last() else {
        for word in copied {
            // SAFETY: the caller's promise.
            *word = unsafe { *base };
        }
        return;
    };
    let (mut row, mut column, mut place) = (first / inner.length, first % inner.length, 0);
    while place < copied.len() {
        let taken = (inner.length - column).min(copied.len() - place);
        let from = base
            .wrapping_offset(offset(outer, row))
            .wrapping_offset(column as isize * inner.stride);
        let to = &mut copied[place..place + taken];
        if inner.stride == 1 {
            // SAFETY: the caller's promise.
            to.copy_from_slice(unsafe { std::slice::from_raw_parts(from, taken) });
        } else {
            for (index, word) in to.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                *word = unsafe { *from.wrapping_offset(index as isize * inner.stride) };
            }
        }
        (row, column, place) = (row + 1, 0, place + taken);
    }
}
