//! A reduction over ranks.

use super::error::RankError;
use super::untyped::{UntypedRanks, What, check_matrix, own_stream, share};
use super::world::Ranks;
use crate::device::{Buffer, Slice, Stream};
use crate::matrix::Matrix;
use crate::reduce::{BuiltIn, Form, Reducible};
use crate::sum::Mode;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A reduction of the values of all ranks by an operator of the library, which can be made again and again. Each rank has a part of the values,
/// which may be empty, and gets the result on its device. The parts follow each other in the order of the ranks; the indices that an operator
/// like `ArgMax` gives count through all parts.
///
/// All ranks make the same calls in the same order. Reductions of one `RankReduction` follow one another, on whichever
/// streams they are queued.
pub struct RankReduction<'r, 'd, T, O> {
    untyped: UntypedRanks<'r, 'd>,
    types: PhantomData<(T, O)>,
}

impl<'r, 'd, T: Reducible, O: BuiltIn<T>> RankReduction<'r, 'd, T, O> {
    /// Prepares for reductions. No kernel is loaded yet, and the other ranks are not waited for.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(ranks: &'r Ranks<'d>, operator: O) -> Result<Self, RankError> {
        let (name, parameter) = operator.kernels();
        let form = Form::of::<T, O>();
        // SAFETY: the form is that of this operator and this type.
        let untyped = unsafe {
            UntypedRanks::of_library(ranks, name, O::KERNELS, T::KERNELS, parameter, form)
        };
        Ok(Self {
            untyped: untyped?,
            types: PhantomData,
        })
    }

    /// The same reduction in this order. [`Mode::Deterministic`] gives the bits of a [`Reduction`](crate::Reduction) in the same mode, whatever
    /// the number of ranks and however many values each has. Where ranks do not have whole chunks, as [`Ranks::part`] makes them, they first
    /// hand each other the few values that complete chunks.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        let untyped = self.untyped.with_mode(mode);
        Self { untyped, ..self }
    }

    /// The reduction of the values of all ranks, of which these are this rank's; waits for it, and for the other ranks.
    ///
    /// # Errors
    /// The values are in the memory of another device, which fails or has no room; or a rank does not come in time,
    /// has ended, or makes another call.
    pub fn of<'a>(&mut self, values: impl Into<Slice<'a, T>>) -> Result<O::Output, RankError> {
        let values = values.into();
        let ranks = self.untyped.ranks();
        let stream = own_stream(ranks.device())?;
        let mut result = ranks.device().allocate(1)?;
        self.untyped.prepare(&stream, values.len())?;
        self.queue(&stream, values, &mut result)?;
        ranks.wait(&stream)?;
        Ok(result.read()?[0])
    }

    /// Lets the ranks tell each other how many values they have, this one `n`, loads the kernels and allocates what is needed: then
    /// [`Self::queue`] does neither, and may be captured into a graph where the ranks use NCCL. All ranks call it; waits for them,
    /// and for the device.
    ///
    /// Keep this value as long as such a graph is launched, and do not prepare it for more values meanwhile.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn prepare(&mut self, n: usize) -> Result<(), RankError> {
        let stream = own_stream(self.untyped.ranks().device())?;
        self.untyped.prepare(&stream, n).map(drop)
    }

    /// Queues the reduction on a stream, which writes it to `result`, a buffer of one element, on every rank. As many values have been
    /// [prepared](Self::prepare) for. By NCCL it does not wait for other ranks' values; sockets wait here, for the stream and the ranks.
    ///
    /// [`Ranks::wait`] waits for it and ends the wait where a rank has ended. [`Stream::synchronize`], reading the result and dropping a buffer
    /// wait as well, and would not end.
    ///
    /// # Errors
    /// As [`Self::of`]; [`RankError::Unprepared`], [`RankError::OtherLength`], and [`RankError::Captured`] of sockets.
    pub fn queue<'a>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        result: &mut Buffer<O::Output>,
    ) -> Result<(), RankError> {
        // SAFETY: buffers and slices are at addresses for their types, and the result is borrowed; buffers are freed when the device has
        // done what is queued.
        unsafe { self.untyped.queue(stream, values.into().bytes(), result) }
    }

    /// The reduction of each column of a matrix whose rows the ranks share out. The values are those of this rank's rows, of which there may be
    /// none. Waits for the results, which every rank gets.
    ///
    /// # Errors
    /// As [`Self::of`]; [`Error::Outside`](crate::Error::Outside); and [`RankError::NoColumns`] of operators other than sum, product, min, max, any, all
    /// and count_nonzero, and of sums and products of floats in the deterministic mode.
    pub fn columns<'a>(
        &mut self,
        values: impl Into<Slice<'a, T>>,
        matrix: Matrix,
    ) -> Result<Vec<O::Output>, RankError> {
        let what = What::Columns(matrix.columns);
        self.columns_for(what, values.into(), matrix, matrix.columns)
    }

    /// As [`Self::columns`], where each rank gets its share of the results, [`Self::columns_of_rank`].
    ///
    /// # Errors
    /// As there.
    pub fn scatter_columns<'a>(
        &mut self,
        values: impl Into<Slice<'a, T>>,
        matrix: Matrix,
    ) -> Result<Vec<O::Output>, RankError> {
        let what = What::Scattered(matrix.columns);
        let each = share(matrix.columns, self.untyped.ranks().size() as usize);
        let mut results = self.columns_for(what, values.into(), matrix, each)?;
        results.truncate(self.columns_of_rank(matrix.columns).len());
        Ok(results)
    }

    /// Which of this many columns are this rank's: the same number for each rank, rounded up, and fewer for the last ones.
    pub fn columns_of_rank(&self, columns: usize) -> Range<usize> {
        let ranks = self.untyped.ranks();
        let each = share(columns, ranks.size() as usize);
        let begin = |rank: u32| columns.min(rank as usize * each);
        begin(ranks.rank())..begin(ranks.rank() + 1)
    }

    /// As [`Self::prepare`], for [`Self::queue_columns`].
    ///
    /// # Errors
    /// As [`Self::columns`].
    pub fn prepare_columns(&mut self, matrix: Matrix) -> Result<(), RankError> {
        let stream = own_stream(self.untyped.ranks().device())?;
        let what = What::Columns(matrix.columns);
        self.untyped.prepare_for(&stream, what, matrix).map(drop)
    }

    /// As [`Self::prepare`], for [`Self::queue_scatter_columns`].
    ///
    /// # Errors
    /// As [`Self::columns`].
    pub fn prepare_scatter_columns(&mut self, matrix: Matrix) -> Result<(), RankError> {
        let stream = own_stream(self.untyped.ranks().device())?;
        let what = What::Scattered(matrix.columns);
        self.untyped.prepare_for(&stream, what, matrix).map(drop)
    }

    /// As [`Self::queue`], of each column, whose results are written to a buffer of as many elements on every rank.
    ///
    /// # Errors
    /// As [`Self::queue`] and [`Self::columns`].
    pub fn queue_columns<'a>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        matrix: Matrix,
        results: &mut Buffer<O::Output>,
    ) -> Result<(), RankError> {
        self.queue_for(
            stream,
            What::Columns(matrix.columns),
            values.into(),
            matrix,
            results,
        )
    }

    /// As [`Self::queue_columns`], where each rank gets its share: the buffer has as many elements as the number of columns divided by that of
    /// ranks, rounded up, on every rank, of which those past [`Self::columns_of_rank`] mean nothing.
    ///
    /// # Errors
    /// As there.
    pub fn queue_scatter_columns<'a>(
        &mut self,
        stream: &Stream,
        values: impl Into<Slice<'a, T>>,
        matrix: Matrix,
        results: &mut Buffer<O::Output>,
    ) -> Result<(), RankError> {
        self.queue_for(
            stream,
            What::Scattered(matrix.columns),
            values.into(),
            matrix,
            results,
        )
    }

    fn queue_for(
        &mut self,
        stream: &Stream,
        what: What,
        values: Slice<'_, T>,
        matrix: Matrix,
        results: &mut Buffer<O::Output>,
    ) -> Result<(), RankError> {
        check_matrix(matrix, values.len())?;
        // SAFETY: as in `queue`.
        unsafe {
            self.untyped
                .queue_for(stream, what, values.bytes(), matrix, results)
        }
    }

    fn columns_for(
        &mut self,
        what: What,
        values: Slice<'_, T>,
        matrix: Matrix,
        results: usize,
    ) -> Result<Vec<O::Output>, RankError> {
        let ranks = self.untyped.ranks();
        check_matrix(matrix, values.len())?;
        let stream = own_stream(ranks.device())?;
        let mut results = ranks.device().allocate(results)?;
        self.untyped.prepare_for(&stream, what, matrix)?;
        self.queue_for(&stream, what, values, matrix, &mut results)?;
        ranks.wait(&stream)?;
        Ok(results.read()?)
    }
}

impl<T, O> fmt::Debug for RankReduction<'_, '_, T, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RankReduction")
            .field("ranks", self.untyped.ranks())
            .finish_non_exhaustive()
    }
}
