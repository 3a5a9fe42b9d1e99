//! How states and results get from rank to rank.

use super::error::RankError;
use crate::device::{Buffer, Device, DeviceError, Pod, Slice, Stream};
use std::ops::Range;

/// Memory of a device that a transport reads and writes, whatever its elements are.
pub trait Memory {
    /// Where it is.
    fn slice(&self) -> Slice<'_, u8>;
    /// Its bytes, when everything that is queued has been done.
    ///
    /// # Errors
    /// As [`Buffer::read`].
    fn read_bytes(&self) -> Result<Vec<u8>, DeviceError>;
    /// Writes its bytes, when everything that is queued has been done.
    ///
    /// # Errors
    /// As [`Buffer::write`].
    fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), DeviceError>;
}

impl<T: Pod> Memory for Buffer<T> {
    fn slice(&self) -> Slice<'_, u8> {
        Slice::from(self).bytes()
    }

    fn read_bytes(&self) -> Result<Vec<u8>, DeviceError> {
        let mut elements = vec![T::zeroed(); self.len()];
        self.read_into(&mut elements)?;
        Ok(bytemuck::cast_slice(&elements).to_vec())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        let elements = bytes.chunks_exact(size_of::<T>().max(1));
        let elements: Vec<T> = elements.map(bytemuck::pod_read_unaligned).collect();
        self.write(&elements)
    }
}

/// How numbers of all ranks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Product,
    Min,
    Max,
}

/// Numbers that transports combine themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    I8,
    U8,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Number {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// Where an operation is queued, and what it is called in sentences.
#[derive(Clone, Copy)]
pub(super) struct On<'a> {
    pub(super) device: &'a Device,
    pub(super) stream: &'a Stream,
    pub(super) operation: &'a str,
}

/// What brings states and results from rank to rank. All ranks make the same calls in the same order.
pub(super) trait Transport {
    /// What it is, in a few words: `NCCL 2.27.3`.
    fn describe(&self) -> String;

    /// The bytes of all ranks, one after another, from the host to the host; every rank gives the same number. Waits.
    fn exchange(&mut self, on: On<'_>, mine: &[u8]) -> Result<Vec<u8>, RankError>;

    /// Queues a gather: each rank gets the bytes of all. A rank's own are put in their place by what is queued on the stream before.
    fn gather(
        &mut self,
        on: On<'_>,
        all: &mut Buffer<u8>,
        places: &[Range<usize>],
    ) -> Result<(), RankError>;

    /// Queues an all-reduce: each rank gets the numbers of all combined, place by place.
    fn all_reduce(
        &mut self,
        on: On<'_>,
        numbers: (Number, Fold),
        mine: &Buffer<u8>,
        result: &mut dyn Memory,
    ) -> Result<(), RankError>;

    /// The same, where each rank gets only as many as `result` has, the first rank the first of them.
    fn reduce_scatter(
        &mut self,
        on: On<'_>,
        numbers: (Number, Fold),
        mine: &Buffer<u8>,
        result: &mut dyn Memory,
    ) -> Result<(), RankError>;

    /// Waits for the stream, but no longer than the patience allows.
    fn wait(&mut self, on: On<'_>) -> Result<(), RankError>;
}
