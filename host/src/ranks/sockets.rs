//! The transport for ranks that cannot use NCCL: through the host's memory and the connections with rank 0.

use super::error::RankError;
use super::meeting::Meeting;
use super::transport::{Fold, Memory, Number, On, Transport};
use crate::device::{Buffer, Pod};
use std::ops::Range;
use warpfold_device::number::Number as Arithmetic;

/// The ranks' connections, as a transport. It waits where it queues, and nothing of it can be captured.
pub(super) struct Sockets {
    meeting: Meeting,
    rank: usize,
    size: usize,
}

impl Sockets {
    pub(super) fn new(meeting: Meeting, rank: u32, size: u32) -> Self {
        Self {
            meeting,
            rank: rank as usize,
            size: size as usize,
        }
    }

    /// Waits for what is queued on the stream.
    fn settle(on: On<'_>) -> Result<(), RankError> {
        if on.stream.is_capturing()? {
            return Err(RankError::Captured);
        }
        Ok(on.stream.synchronize()?)
    }

    /// The numbers of all ranks combined in the order of the ranks.
    fn folded(
        &mut self,
        on: On<'_>,
        (number, fold): (Number, Fold),
        mine: &Buffer<u8>,
    ) -> Result<Vec<u8>, RankError> {
        Self::settle(on)?;
        let mine = mine.read()?;
        let all = self
            .meeting
            .gather(on.operation, &mine, &vec![mine.len(); self.size])?;
        Ok(folded(number, fold, &all, mine.len()))
    }
}

impl Transport for Sockets {
    fn describe(&self) -> String {
        "sockets".to_owned()
    }

    fn exchange(&mut self, on: On<'_>, mine: &[u8]) -> Result<Vec<u8>, RankError> {
        self.meeting
            .gather(on.operation, mine, &vec![mine.len(); self.size])
    }

    fn gather(
        &mut self,
        on: On<'_>,
        all: &mut Buffer<u8>,
        places: &[Range<usize>],
    ) -> Result<(), RankError> {
        Self::settle(on)?;
        let lengths: Vec<usize> = places.iter().map(Range::len).collect();
        let own = all.read()?;
        let gathered =
            self.meeting
                .gather(on.operation, &own[places[self.rank].clone()], &lengths)?;
        Ok(all.write(&gathered)?)
    }

    fn all_reduce(
        &mut self,
        on: On<'_>,
        numbers: (Number, Fold),
        mine: &Buffer<u8>,
        result: &mut dyn Memory,
    ) -> Result<(), RankError> {
        let folded = self.folded(on, numbers, mine)?;
        Ok(result.write_bytes(&folded)?)
    }

    fn reduce_scatter(
        &mut self,
        on: On<'_>,
        numbers: (Number, Fold),
        mine: &Buffer<u8>,
        result: &mut dyn Memory,
    ) -> Result<(), RankError> {
        let folded = self.folded(on, numbers, mine)?;
        let share = result.slice().len();
        Ok(result.write_bytes(&folded[self.rank * share..][..share])?)
    }

    fn wait(&mut self, on: On<'_>) -> Result<(), RankError> {
        // What has been queued here has been done; what else is on the stream depends on no other rank.
        Ok(on.stream.synchronize()?)
    }
}

/// The numbers at each place of several parts of `each` bytes combined, the first part's first.
fn folded(number: Number, fold: Fold, all: &[u8], each: usize) -> Vec<u8> {
    macro_rules! integers {
        ($number:ty) => {
            folded_by(
                all,
                each,
                match fold {
                    Fold::Sum => <$number>::wrapping_add,
                    Fold::Product => <$number>::wrapping_mul,
                    Fold::Min => Ord::min,
                    Fold::Max => Ord::max,
                },
            )
        };
    }
    macro_rules! floats {
        ($number:ty) => {
            folded_by::<$number>(
                all,
                each,
                match fold {
                    Fold::Sum => Arithmetic::plus,
                    Fold::Product => Arithmetic::times,
                    Fold::Min => Arithmetic::lesser,
                    Fold::Max => Arithmetic::greater,
                },
            )
        };
    }
    match number {
        Number::I8 => integers!(i8),
        Number::U8 => integers!(u8),
        Number::I32 => integers!(i32),
        Number::U32 => integers!(u32),
        Number::I64 => integers!(i64),
        Number::U64 => integers!(u64),
        Number::F32 => floats!(f32),
        Number::F64 => floats!(f64),
    }
}

fn folded_by<N: Pod>(all: &[u8], each: usize, combine: fn(N, N) -> N) -> Vec<u8> {
    let mut folded = all[..each].to_vec();
    for part in all[each..].chunks_exact(each.max(1)) {
        let places = folded.chunks_exact_mut(size_of::<N>());
        for (place, other) in places.zip(part.chunks_exact(size_of::<N>())) {
            let (left, right) = (
                bytemuck::pod_read_unaligned(place),
                bytemuck::pod_read_unaligned(other),
            );
            place.copy_from_slice(bytemuck::bytes_of(&combine(left, right)));
        }
    }
    folded
}
