//! A reduction over ranks without its types: kernels by their names, and values, states and results by their sizes.

use super::error::RankError;
use super::hash::hash;
use super::transport::Memory;
use super::way::Way;
use super::world::Ranks;
use crate::device::{Argument, Buffer, Device, DeviceError, Shape, Slice, Stream};
use crate::family::{Family, Needs, Source};
use crate::kernels::Error;
use crate::matrix::{Along, Matrix};
use crate::reduce::{Form, Untyped, check_inside};
use crate::sum::Mode;
use std::ops::Range;
use warpfold_device::fixed::{BLOCK, CHUNK};

/// The most blocks of a grid; they go on from chunk to chunk.
const MOST_BLOCKS: usize = 1 << 20;

const OF_A_PART: Needs = needs("_chunks");
const OF_ALL: Needs = needs("_of_chunks");

const fn needs(suffix: &'static str) -> Needs {
    Needs {
        suffix,
        states: 0,
        words: 0,
        registers: None,
    }
}

/// The kernels of an operator over a type, and what the ranks have told each other.
pub struct UntypedRanks<'r, 'd> {
    ranks: &'r Ranks<'d>,
    /// The operator and the type, as in the kernels' names.
    operator: String,
    element: String,
    parameter: Option<u64>,
    form: Form,
    mode: Mode,
    whole: Untyped,
    chunks: Family,
    prepared: Option<Prepared>,
}

/// What all ranks know of each other's values, and memory for what they hand each other.
struct Prepared {
    what: What,
    /// How many values, or rows, each rank has.
    lengths: Vec<u64>,
    own: u64,
    /// The states or results of all ranks, or this rank's own that are to be combined.
    all: Buffer<u8>,
}

/// What becomes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// All values.
    Values,
    /// Each of so many columns, for all ranks.
    Columns(usize),
    /// Each of so many columns, for one of the ranks.
    Scattered(usize),
}

impl What {
    fn columns(self) -> usize {
        match self {
            Self::Values => 1,
            Self::Columns(columns) | Self::Scattered(columns) => columns,
        }
    }
}

impl<'r, 'd> UntypedRanks<'r, 'd> {
    /// The library's kernels of an operator and a type, by their names there. None is loaded yet.
    ///
    /// # Errors
    /// The device fails.
    ///
    /// # Safety
    /// The form is that of the operator and the type.
    pub unsafe fn of_library(
        ranks: &'r Ranks<'d>,
        operator: &str,
        element: &str,
        parameter: Option<u64>,
        form: Form,
    ) -> Result<Self, RankError> {
        let device = ranks.device();
        // SAFETY: the caller's contract.
        let whole = unsafe { Untyped::of_library(device, operator, element, parameter, form) };
        let name = format!("{operator}_{element}");
        Ok(Self {
            ranks,
            operator: operator.to_owned(),
            element: element.to_owned(),
            parameter,
            form,
            mode: Mode::Fast,
            whole: whole?,
            chunks: Family::new(device, Source::of_library(element), name)?,
            prepared: None,
        })
    }

    /// The same in this order. What was prepared has to be prepared again.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        let prepared = None;
        Self {
            mode,
            prepared,
            ..self
        }
    }

    /// The ranks.
    pub(super) fn ranks(&self) -> &'r Ranks<'d> {
        self.ranks
    }

    fn way(&self) -> Way {
        Way::of(&self.operator, &self.element, self.mode)
    }

    /// What it is called in sentences.
    pub(super) fn name(&self, what: What) -> String {
        let (operator, element) = (&self.operator, &self.element);
        match what {
            What::Values => format!("{operator} of {element}"),
            What::Columns(_) | What::Scattered(_) => format!("columns' {operator} of {element}"),
        }
    }

    /// Lets the ranks tell each other how many values they have, loads the kernels and allocates what is needed. All ranks call it; waits for
    /// them. How many values there are on all ranks.
    ///
    /// # Errors
    /// A rank does not come in time or makes another call, the device has no room, or [`RankError::NotWhole`].
    pub fn prepare(&mut self, stream: &Stream, n: u64) -> Result<u64, RankError> {
        self.prepare_for(stream, What::Values, n)
    }

    pub(super) fn prepare_for(
        &mut self,
        stream: &Stream,
        what: What,
        own: u64,
    ) -> Result<u64, RankError> {
        let operation = self.name(what);
        let way = self.way();
        if what != What::Values && way == Way::Chunks {
            let fast = Way::of(&self.operator, &self.element, Mode::Fast);
            let is_order = fast != Way::Chunks;
            return Err(RankError::NoColumns {
                operation,
                is_order,
            });
        }
        let call = format!("{operation} {:?} {:?} {what:?}", self.parameter, self.mode);
        let mine = [own, hash(call.as_bytes())];
        let told = self.ranks.by(stream, &operation, |transport, on| {
            transport.exchange(on, bytemuck::bytes_of(&mine))
        })?;
        let told: Vec<[u64; 2]> = told
            .chunks_exact(size_of_val(&mine))
            .map(bytemuck::pod_read_unaligned)
            .collect();
        if let Some(other) = told.iter().position(|[_, call]| *call != mine[1]) {
            return Err(RankError::Different {
                rank: self.ranks.rank(),
                operation,
                other: other as u32,
            });
        }
        let lengths: Vec<u64> = told.iter().map(|[length, _]| *length).collect();
        if way == Way::Chunks && self.mode == Mode::Deterministic && self.form.order_matters() {
            check_whole(&lengths)?;
        }
        let all = lengths
            .iter()
            .try_fold(0, |sum: u64, &length| sum.checked_add(length));
        let Some(all) = all else {
            return Err(DeviceError::TooLarge { length: usize::MAX }.into());
        };
        let device = self.ranks.device();
        let (size, rank) = (self.ranks.size() as usize, self.ranks.rank() as usize);
        let results = what.columns() * self.form.result_bytes;
        let bytes = match (way, what) {
            (Way::AllReduce(..), What::Scattered(columns)) => {
                size * share(columns, size) * self.form.result_bytes
            }
            (Way::AllReduce(..), _) => results,
            (Way::Again, _) => size * results,
            (Way::Chunks, _) => places(&lengths, self.form.state_bytes())
                .pop()
                .map_or(0, |last| last.end),
        };
        match way {
            Way::Chunks => {
                self.chunks.prepare(device, &OF_A_PART)?;
                self.chunks.prepare(device, &OF_ALL)?;
            }
            Way::AllReduce(..) | Way::Again => {
                self.whole
                    .prepare(device, part(what, own as usize), Mode::Fast)?;
                if way == Way::Again {
                    self.whole
                        .prepare(device, again(what, size, rank), Mode::Fast)?;
                }
            }
        }
        self.prepared = Some(Prepared {
            what,
            lengths,
            own,
            all: device.upload(&vec![0; bytes])?,
        });
        Ok(all)
    }

    /// Queues the reduction of all ranks' values, whose bytes these are of this rank, to the bytes of a result on every rank.
    ///
    /// # Errors
    /// It was not prepared, or for another number of values; the values or the result are of another device; a rank or the device fails.
    ///
    /// # Safety
    /// - The values and the result are at addresses for their types.
    /// - Nothing else reads or writes the result meanwhile.
    pub unsafe fn queue(
        &mut self,
        stream: &Stream,
        values: Slice<'_, u8>,
        result: &mut dyn Memory,
    ) -> Result<(), RankError> {
        let n = values.len() / self.form.value_bytes;
        // SAFETY: the caller's contract is the same.
        unsafe {
            self.queue_for(
                stream,
                What::Values,
                values,
                Matrix::contiguous(1, n),
                result,
            )
        }
    }

    /// As [`Self::queue`]; for columns with a matrix of this rank's rows.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn queue_for(
        &mut self,
        stream: &Stream,
        what: What,
        values: Slice<'_, u8>,
        matrix: Matrix,
        result: &mut dyn Memory,
    ) -> Result<(), RankError> {
        let (ranks, form) = (self.ranks, self.form);
        let (device, size, rank) = (ranks.device(), ranks.size() as usize, ranks.rank() as usize);
        let (way, operation) = (self.way(), self.name(what));
        let Some(prepared) = self
            .prepared
            .as_mut()
            .filter(|prepared| prepared.what == what)
        else {
            return Err(RankError::Unprepared { operation });
        };
        let given = match what {
            What::Values => matrix.columns,
            What::Columns(_) | What::Scattered(_) => matrix.rows,
        };
        if given as u64 != prepared.own {
            return Err(RankError::OtherLength {
                rank: ranks.rank(),
                operation,
                given: given as u64,
                prepared: prepared.own,
            });
        }
        values.check_device(device)?;
        result.slice().check_device(device)?;
        let expected = match what {
            What::Scattered(columns) => share(columns, size),
            _ => what.columns(),
        };
        DeviceError::check_length(result.slice().len(), expected * form.result_bytes)?;
        let along = part(what, given).0;
        let results = what.columns() * form.result_bytes;
        match way {
            Way::AllReduce(number, fold) => {
                let mine = Slice::from(&prepared.all).slice(..results);
                // SAFETY: the caller's contract, and there is room for the results.
                unsafe {
                    self.whole.queue(
                        device,
                        Some(stream),
                        Mode::Fast,
                        values,
                        (along, matrix),
                        mine,
                    )?;
                }
                ranks.by(stream, &operation, |transport, on| match what {
                    What::Scattered(_) => {
                        transport.reduce_scatter(on, (number, fold), &prepared.all, result)
                    }
                    _ => transport.all_reduce(on, (number, fold), &prepared.all, result),
                })
            }
            Way::Again => {
                let places: Vec<Range<usize>> = (0..size)
                    .map(|rank| rank * results..(rank + 1) * results)
                    .collect();
                let mine = Slice::from(&prepared.all).slice(places[rank].clone());
                // SAFETY: as above.
                unsafe {
                    self.whole.queue(
                        device,
                        Some(stream),
                        Mode::Fast,
                        values,
                        (along, matrix),
                        mine,
                    )?;
                }
                ranks.by(stream, &operation, |transport, on| {
                    transport.gather(on, &mut prepared.all, &places)
                })?;
                let mut all = Slice::from(&prepared.all);
                let again = again(what, size, rank);
                let columns = again.1.columns;
                let mut to = result.slice();
                if let What::Scattered(_) = what {
                    let first = (rank * expected).min(what.columns());
                    all = all.slice(first * form.result_bytes..);
                    to = to.slice(..columns * form.result_bytes);
                }
                // SAFETY: as above. The results are values of the same type, a row of them for each rank.
                unsafe {
                    self.whole
                        .queue(device, Some(stream), Mode::Fast, all, again, to)?
                };
                Ok(())
            }
            Way::Chunks => {
                let places = places(&prepared.lengths, form.state_bytes());
                let before: u64 = prepared.lengths[..rank].iter().sum();
                let n: u64 = prepared.lengths.iter().sum();
                let mine = Slice::from(&prepared.all).slice(places[rank].clone());
                let parameter = || self.parameter.map(Argument::from);
                self.chunks.prepare_on(device, Some(stream), &OF_A_PART)?;
                self.chunks.prepare_on(device, Some(stream), &OF_ALL)?;
                if given > 0 {
                    let mut arguments = vec![
                        values.argument(),
                        given.into(),
                        before.into(),
                        mine.argument(),
                    ];
                    arguments.extend(parameter());
                    let shape = Shape::linear(given.div_ceil(CHUNK).min(MOST_BLOCKS) as u32, BLOCK);
                    // SAFETY: there are as many values, and there is a state for each chunk of them. Memory of buffers is freed when the
                    // device has done what is queued; `read_by` keeps the order of other memory, or who has made the slice has promised it.
                    values.read_by(device, Some(stream), || unsafe {
                        self.chunks
                            .launch(Some(stream), OF_A_PART.suffix, &shape, &arguments)
                    })?;
                }
                ranks.by(stream, &operation, |transport, on| {
                    transport.gather(on, &mut prepared.all, &places)
                })?;
                let chunks = prepared.all.len() / form.state_bytes();
                let mut arguments =
                    vec![prepared.all.argument(), chunks.into(), (n as usize).into()];
                arguments.push(result.slice().argument());
                arguments.extend(parameter());
                // SAFETY: there are as many states, and there is one result.
                unsafe {
                    self.chunks.launch(
                        Some(stream),
                        OF_ALL.suffix,
                        &Shape::linear(1, BLOCK),
                        &arguments,
                    )?;
                }
                Ok(())
            }
        }
    }
}

/// How many columns of all each rank gets, those past the last of them included.
pub(super) fn share(columns: usize, size: usize) -> usize {
    columns.div_ceil(size)
}

/// The reduction of a rank's own values or rows.
fn part(what: What, own: usize) -> (Along, Matrix) {
    match what {
        What::Values => (Along::Rows, Matrix::contiguous(1, own)),
        What::Columns(columns) | What::Scattered(columns) => {
            (Along::Columns, Matrix::contiguous(own, columns))
        }
    }
}

/// The reduction of the results of all ranks, of which each has a row.
fn again(what: What, size: usize, rank: usize) -> (Along, Matrix) {
    let all = what.columns();
    let columns = match what {
        What::Values | What::Columns(_) => all,
        What::Scattered(_) => {
            let each = share(all, size);
            all.min((rank + 1) * each) - all.min(rank * each)
        }
    };
    let matrix = Matrix {
        rows: size,
        columns,
        stride: all,
    };
    (Along::Columns, matrix)
}

/// Where the states of the chunks of each rank are, one rank's after another's.
fn places(lengths: &[u64], state_bytes: usize) -> Vec<Range<usize>> {
    let mut end = 0;
    let place = |&length: &u64| {
        let begin = end;
        end += (length as usize).div_ceil(CHUNK) * state_bytes;
        begin..end
    };
    lengths.iter().map(place).collect()
}

/// Checks that every rank but the last with values has whole chunks.
fn check_whole(lengths: &[u64]) -> Result<(), RankError> {
    let last = lengths.iter().rposition(|&length| length > 0).unwrap_or(0);
    let chunk = CHUNK as u64;
    let broken = lengths[..last]
        .iter()
        .position(|length| !length.is_multiple_of(chunk));
    match broken {
        None => Ok(()),
        Some(rank) => Err(RankError::NotWhole {
            rank: rank as u32,
            length: lengths[rank],
            chunk,
        }),
    }
}

/// Checks that a matrix lies in the values.
pub(super) fn check_matrix(matrix: Matrix, values: usize) -> Result<(), Error> {
    check_inside(matrix, values)
}

/// The stream of a device for what waits.
pub(super) fn own_stream(device: &Device) -> Result<Stream, RankError> {
    Ok(device.stream()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_lie_one_rank_s_after_another_s() {
        let chunk = CHUNK as u64;
        assert_eq!(
            places(&[0, 1, chunk, chunk + 1], 8),
            [0..0, 0..8, 8..16, 16..32]
        );
        assert_eq!(places(&[], 8), []);
    }

    #[test]
    fn all_parts_but_the_last_are_whole() {
        let chunk = CHUNK as u64;
        for lengths in [
            &[0, 0][..],
            &[5],
            &[chunk, 5],
            &[chunk, 0, 2 * chunk, 1, 0],
            &[0, 7, 0],
        ] {
            assert_eq!(check_whole(lengths), Ok(()));
        }
        let error = check_whole(&[chunk, 5, 1]).expect_err("the second is none");
        assert_eq!(
            error.to_string(),
            "rank 1 has 5 values: for the same bits as on one device every rank but the last with values has a multiple of 4096, as `part` shares them out"
        );
    }

    #[test]
    fn columns_are_shared_out() {
        let columns = |size: usize| -> Vec<usize> {
            let of = |rank| again(What::Scattered(7), size, rank).1.columns;
            (0..size).map(of).collect()
        };
        assert_eq!(columns(3), [3, 3, 1]);
        assert_eq!(columns(9), [1, 1, 1, 1, 1, 1, 1, 0, 0]);
    }
}
