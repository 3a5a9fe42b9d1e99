//! Offsets of segments, on the host.

use crate::device::Pod;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// An offset: `u32` or `u64`.
pub trait Offset: Pod + Into<u64> + Send + Sync + sealed::Sealed {}

impl Offset for u32 {}
impl Offset for u64 {}

/// Offsets that are none of segments, or not of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OffsetsError {
    /// No offset at all.
    #[error("there are no offsets: give one more than there are segments")]
    NoOffsets,
    /// A segment that ends before it begins.
    #[error("segment {segment} goes from element {start} to {end}: offsets must not decrease")]
    Decreasing {
        /// Its number, from 0.
        segment: usize,
        /// Its offset.
        start: u64,
        /// The next offset.
        end: u64,
    },
    /// An offset that no array reaches here.
    #[error("the last offset is {0}, and no array has that many elements on this system")]
    TooFar(u64),
    /// The segments go beyond the values.
    #[error("the last segment ends at element {end} of {given}: give as many, or fewer segments")]
    Outside {
        /// Where the last segment ends.
        end: usize,
        /// How many elements there are.
        given: usize,
    },
}
