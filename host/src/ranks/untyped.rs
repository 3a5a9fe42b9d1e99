//! A reduction over ranks without its types: kernels by their names, and values, states and results by their sizes.

use super::cut::{Part, Shared, cut, places};
use super::error::RankError;
use super::hash::hash;
use super::transport::Memory;
use super::way::Way;
use super::world::Ranks;
use crate::chunks::{self, OF_A_PART, OF_ALL};
use crate::device::{Buffer, Device, DeviceError, Shape, Slice, Stream, StreamOrder};
use crate::family::{Family, Needs, Source};
use crate::kernels::Error;
use crate::matrix::{Along, Matrix};
use crate::reduce::{Form, Untyped, check_inside};
use crate::sum::Mode;
use std::ops::Range;
use warpfold_device::fixed::CHUNK;
use warpfold_reductions::Text;

/// The maxima of rows of one value each are these values.
const COPY: Needs = Needs::kernel("_short_rows");
const COPIER: &str = "max";
/// Threads of a block that copies.
const OF_COPY: u32 = 256;

/// The kernels of an operator over a type, and what the ranks have told each other.
pub struct UntypedRanks<'r, 'd> {
    ranks: &'r Ranks<'d>,
    /// The operator, as in the kernels' names, and their text.
    operator: String,
    text: &'static Text,
    parameter: Option<u64>,
    form: Form,
    mode: Mode,
    whole: Untyped,
    chunks: Family,
    copier: Family,
    prepared: Option<Exchange>,
    /// That of the reductions, which share what is prepared.
    order: StreamOrder,
}

/// What all ranks know of each other's values, and memory for what they hand each other.
struct Exchange {
    what: What,
    /// This rank's values, or rows.
    matrix: Matrix,
    /// How many there are on all ranks.
    n: u64,
    /// Each rank's part, in chunks.
    parts: Vec<Part>,
    /// The values by which each rank completes a chunk that another has begun, and a chunk of this rank that others complete.
    heads: Buffer<u8>,
    shared: Buffer<u8>,
    /// The states or results of all ranks, or this rank's own that are to be combined.
    all: Buffer<u8>,
}

/// What becomes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// All values.
    Values,
    /// Each of this many columns, for all ranks.
    Columns(usize),
    /// Each of this many columns, for one of the ranks.
    Scattered(usize),
}

impl What {
    fn columns(self) -> usize {
        match self {
            Self::Values => 1,
            Self::Columns(columns) | Self::Scattered(columns) => columns,
        }
    }

    fn along(self) -> Along {
        match self {
            Self::Values => Along::Rows,
            Self::Columns(_) | Self::Scattered(_) => Along::Columns,
        }
    }

    /// How many values, or rows, a rank has whose matrix this is.
    fn own(self, matrix: Matrix) -> u64 {
        match self {
            Self::Values => matrix.columns as u64,
            Self::Columns(_) | Self::Scattered(_) => matrix.rows as u64,
        }
    }
}

impl<'r, 'd> UntypedRanks<'r, 'd> {
    /// The kernels of an operator, by its name there, in a text of the library; `of_values` is that of the type with its usual accumulator. None
    /// is loaded yet.
    ///
    /// # Errors
    /// The device fails.
    ///
    /// # Safety
    /// The form is that of the operator and the text's type, with its accumulator, and `of_values` is the text of the same type.
    pub unsafe fn of_library(
        ranks: &'r Ranks<'d>,
        operator: &str,
        text: &'static Text,
        of_values: &'static Text,
        parameter: Option<u64>,
        form: Form,
    ) -> Result<Self, RankError> {
        let device = ranks.device();
        // SAFETY: the caller's contract.
        let whole = unsafe { Untyped::of_library(device, operator, text, parameter, form) };
        let name = format!("{operator}_{}", text.name());
        Ok(Self {
            ranks,
            operator: operator.to_owned(),
            text,
            parameter,
            form,
            mode: Mode::Fast,
            whole: whole?,
            chunks: Family::new(device, Source::of_library(text), name)?,
            copier: Family::new(
                device,
                Source::of_library(of_values),
                format!("{COPIER}_{}", of_values.name()),
            )?,
            prepared: None,
            order: StreamOrder::default(),
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
        Way::of(&self.operator, self.text.name(), self.mode)
    }

    /// What it is called in sentences.
    pub(super) fn name(&self, what: What) -> String {
        let (operator, element) = (&self.operator, self.text.name());
        match what {
            What::Values => format!("{operator} of {element}"),
            What::Columns(_) | What::Scattered(_) => format!("columns' {operator} of {element}"),
        }
    }

    /// Lets the ranks tell each other how many values they have, loads the kernels and allocates what is needed. All ranks call it; waits for
    /// them. How many values there are on all ranks.
    ///
    /// # Errors
    /// A rank does not come in time or makes another call, or the device has no room.
    pub fn prepare(&mut self, stream: &Stream, n: usize) -> Result<u64, RankError> {
        self.prepare_for(stream, What::Values, Matrix::contiguous(1, n))
    }

    pub(super) fn prepare_for(
        &mut self,
        stream: &Stream,
        what: What,
        matrix: Matrix,
    ) -> Result<u64, RankError> {
        let operation = self.name(what);
        let way = self.way();
        if what != What::Values && way == Way::Chunks {
            let fast = Way::of(&self.operator, self.text.name(), Mode::Fast);
            let is_order = fast != Way::Chunks;
            return Err(RankError::NoColumns {
                operation,
                is_order,
            });
        }
        let call = format!("{operation} {:?} {:?} {what:?}", self.parameter, self.mode);
        let mine = [what.own(matrix), hash(call.as_bytes())];
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
        let all = lengths
            .iter()
            .try_fold(0, |sum: u64, &length| sum.checked_add(length));
        let Some(all) = all else {
            return Err(DeviceError::TooLarge { length: usize::MAX }.into());
        };
        self.form.check_count(all)?;
        let are_fixed = self.mode == Mode::Deterministic && self.form.order_matters();
        let parts = cut(&lengths, are_fixed);
        let heads: usize = parts
            .iter()
            .map(|part| part.head * self.form.value_bytes)
            .sum();
        let device = self.ranks.device();
        let (size, rank) = (self.ranks.size() as usize, self.ranks.rank() as usize);
        let results = what.columns() * self.form.result_bytes;
        let bytes = match (way, what) {
            (Way::AllReduce(..), What::Scattered(columns)) => {
                size * share(columns, size) * self.form.result_bytes
            }
            (Way::AllReduce(..), _) => results,
            (Way::Again, _) => size * results,
            (Way::Chunks, _) => {
                let chunks: usize = parts.iter().map(Part::chunks).sum();
                chunks * self.form.state_bytes()
            }
        };
        match way {
            Way::Chunks => {
                self.chunks.prepare(device, &OF_A_PART)?;
                self.chunks.prepare(device, &OF_ALL)?;
                if heads > 0 {
                    self.copier.prepare(device, &COPY)?;
                }
            }
            Way::AllReduce(..) | Way::Again => {
                self.whole
                    .prepare(device, (what.along(), matrix), Mode::Fast)?;
                if way == Way::Again {
                    self.whole
                        .prepare(device, again(what, size, rank), Mode::Fast)?;
                }
            }
        }
        self.prepared = Some(Exchange {
            what,
            matrix,
            n: all,
            heads: device.upload(&vec![0; heads])?,
            shared: device.allocate(CHUNK * self.form.value_bytes)?,
            parts,
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
        let [given, own] = [matrix, prepared.matrix].map(|matrix| what.own(matrix));
        if given != own {
            return Err(RankError::OtherLength {
                rank: ranks.rank(),
                operation,
                given,
                prepared: own,
            });
        }
        stream.check_device(device)?;
        self.order.continue_on(stream)?;
        values.check_device(device)?;
        result.slice().check_device(device)?;
        let expected = match what {
            What::Scattered(columns) => share(columns, size),
            _ => what.columns(),
        };
        DeviceError::check_length(result.slice().len(), expected * form.result_bytes)?;
        let along = what.along();
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
            // SAFETY: the caller's contract.
            Way::Chunks => unsafe { self.queue_chunks(stream, &operation, values, result) },
        }
    }

    /// Lets each rank make the states of its chunks, hands them to all, and has each combine them.
    ///
    /// # Safety
    /// As for [`Self::queue`], after its checks.
    unsafe fn queue_chunks(
        &mut self,
        stream: &Stream,
        operation: &str,
        values: Slice<'_, u8>,
        result: &mut dyn Memory,
    ) -> Result<(), RankError> {
        let (ranks, form) = (self.ranks, self.form);
        let (device, rank) = (ranks.device(), ranks.rank() as usize);
        let Some(prepared) = &mut self.prepared else {
            let operation = operation.to_owned();
            return Err(RankError::Unprepared { operation });
        };
        let (bytes, state_bytes) = (form.value_bytes, form.state_bytes());
        let part = prepared.parts[rank];
        if !prepared.heads.is_empty() {
            let heads = places(prepared.parts.iter().map(|part| part.head * bytes));
            let copier = &self.copier;
            let copy = |from: Slice<'_, u8>, to: Slice<'_, u8>| {
                let rows = to.len() / bytes;
                if rows == 0 {
                    return Ok(());
                }
                let mut arguments = vec![from.argument(), rows.into(), 1_usize.into()];
                arguments.extend([1_usize.into(), 0_usize.into(), 1_u32.into(), to.argument()]);
                let shape = Shape::linear((rows as u32).div_ceil(OF_COPY), OF_COPY);
                // SAFETY: both have as many values, which are rows of one value each, and results of their type. Memory of buffers is freed
                // when the device has done what is queued; `read_by` keeps the order of other memory, or who has made the slice has promised it.
                from.read_by(device, Some(stream), || unsafe {
                    copier.launch(Some(stream), COPY.suffix, &shape, &arguments)
                })
            };
            let own = Slice::from(&prepared.heads).slice(heads[rank].clone());
            copy(values.slice(..own.len()), own)?;
            ranks.by(stream, operation, |transport, on| {
                transport.gather(on, &mut prepared.heads, &heads)
            })?;
            if let Some(Shared { own, more }) = part.shared {
                let (own, more) = (own * bytes, more * bytes);
                let shared = Slice::from(&prepared.shared);
                copy(values.slice(values.len() - own..), shared.slice(..own))?;
                let after = heads[rank].end;
                let others = Slice::from(&prepared.heads).slice(after..after + more);
                copy(others, shared.slice(own..own + more))?;
            }
        }
        let states = places(
            prepared
                .parts
                .iter()
                .map(|part| part.chunks() * state_bytes),
        );
        let mine = Slice::from(&prepared.all).slice(states[rank].clone());
        let begin = part.first + part.head as u64;
        let body = values.slice(part.head * bytes..(part.head + part.body) * bytes);
        let shared = part.shared.map_or(0, |shared| shared.own + shared.more);
        let shared = Slice::from(&prepared.shared).slice(..shared * bytes);
        let after = part.body.div_ceil(CHUNK) * state_bytes;
        for (values, first, states) in [
            (body, begin, mine),
            (shared, begin + part.body as u64, mine.slice(after..)),
        ] {
            let n = values.len() / bytes;
            if n == 0 {
                continue;
            }
            // SAFETY: there are as many values, and there is a state for each chunk of them.
            unsafe {
                chunks::queue_part(
                    &mut self.chunks,
                    (device, stream),
                    values,
                    (n, first),
                    states.argument(),
                    self.parameter,
                )?;
            }
        }
        ranks.by(stream, operation, |transport, on| {
            transport.gather(on, &mut prepared.all, &states)
        })?;
        let chunks = prepared.all.len() / state_bytes;
        // SAFETY: there are as many states, and there is one result.
        unsafe {
            chunks::queue_all(
                &mut self.chunks,
                (device, Some(stream)),
                (Slice::from(&prepared.all), chunks),
                prepared.n as usize,
                result.slice(),
                self.parameter,
            )?;
        }
        Ok(())
    }
}

/// How many of the columns each rank gets, counting those past the last column.
pub(super) fn share(columns: usize, size: usize) -> usize {
    columns.div_ceil(size)
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
    use crate::device::DeviceChoice;
    use crate::ranks::{Options, Place};
    use crate::reduce::Reducible;
    use warpfold_device::operator::Sum;

    /// Rows that lie side by side are folded, and others are not, so that they need other workspaces.
    #[test]
    fn columns_are_prepared_with_the_distance_of_their_rows() {
        let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
        let place = Place::new(0, 1).expect("there is such a rank");
        let ranks = Ranks::join(&device, &place, Options::default()).expect("it waits for nobody");
        let stream = own_stream(&device).expect("it is made");
        let form = Form::of::<f32, Sum>();
        let matrices = [3, 4, 40].map(|stride| Matrix {
            rows: 1 << 20,
            columns: 3,
            stride,
        });
        for matrix in matrices {
            // SAFETY: the form is that of the operator and the type.
            let made = unsafe {
                UntypedRanks::of_library(&ranks, "sum", f32::KERNELS, f32::KERNELS, None, form)
            };
            let mut reduction = made.expect("it is made");
            let prepared = reduction.prepare_for(&stream, What::Columns(3), matrix);
            assert_eq!(prepared.ok(), Some(1 << 20));
            let is_prepared = |matrix| {
                let whole = &reduction.whole;
                whole.is_prepared(&device, (Along::Columns, matrix), Mode::Fast)
            };
            assert!(is_prepared(matrix), "{matrix:?}");
            assert_eq!(is_prepared(matrices[1]), matrix.stride > 3);
        }
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
