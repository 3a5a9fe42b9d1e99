//! A reduction without its types: kernels by their names, and values, states and results by their sizes.

use super::choice::{Gpu, Work};
use super::segments::Segments;
use super::table::{FormOfSegments, Launch, Problem, Room, Way, choose_for_segments};
use crate::device::{Argument, Device, DeviceError, Kernel, Shape, Slice, Stream};
use crate::family::{Family, Needs, Source};
use crate::kernels::Error;
use crate::matrix::{Along, Batch, Matrix};
use crate::sum::Mode;
use warpfold_device::columns::{Layout, Limits};
use warpfold_device::fixed;
use warpfold_device::operator::Operator;
use warpfold_device::rows::are_aligned;
use warpfold_device::segments;
use warpfold_device::slots::most_words;
use warpfold_device::vector::Loaded;
use warpfold_reductions::Text;

/// The most values for one result. No memory holds more; only rows that are no distance apart, which repeat the same values, could have more.
/// Sizes that are computed from the number of values stay in their range.
const MOST_VALUES: u64 = 1 << 44;

/// What the launches of an operator over a type depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Bytes of a result.
    pub result_bytes: usize,
    state_bytes: usize,
    work: Work,
    words_of_slot: usize,
    most_values: u64,
    order_matters: bool,
    lanes: usize,
    limits: Limits,
    segments: FormOfSegments,
}

impl Form {
    /// That of an operator over a type.
    pub const fn of<T: Loaded, O: Operator<T>>() -> Self {
        Self {
            value_bytes: size_of::<T>(),
            result_bytes: size_of::<O::Output>(),
            state_bytes: size_of::<O::State>(),
            work: if O::PICKS_VALUES {
                Work::Place
            } else if size_of::<O::State>() <= size_of::<T>() || size_of::<O::State>() <= 4 {
                Work::Little
            } else {
                Work::Much
            },
            words_of_slot: most_words::<O::State>(1),
            most_values: if O::MOST_VALUES < MOST_VALUES {
                O::MOST_VALUES
            } else {
                MOST_VALUES
            },
            order_matters: O::ORDER_MATTERS,
            lanes: T::LANES,
            limits: Limits::of::<T, O>(),
            segments: FormOfSegments {
                tile: segments::tile::<T>(),
                most_warps: segments::threads::<T, O>() / 32,
                bytes: segments::bytes::<T, O>(),
            },
        }
    }
}

impl Form {
    /// Bytes of a state.
    pub(crate) fn state_bytes(&self) -> usize {
        self.state_bytes
    }

    /// Words of 8 bytes for the slots of this many states.
    pub(crate) fn slots(&self, states: usize) -> usize {
        states.saturating_mul(self.words_of_slot)
    }

    /// Refuses more values for one result than the operator takes.
    ///
    /// # Errors
    /// [`Error::TooManyValues`].
    pub(crate) fn check_count(&self, values: u64) -> Result<(), Error> {
        let most = self.most_values;
        if values <= most {
            Ok(())
        } else {
            Err(Error::TooManyValues { values, most })
        }
    }

    /// The shape of a launch for so many matrices.
    fn shape(&self, launch: Launch, matrices: usize) -> Shape {
        let shape = Shape::linear(launch.blocks, launch.block);
        match launch.way {
            Way::Segments => {
                let (of_block, of_warp) = self.segments.bytes;
                shape.with_dynamic_shared_bytes(of_block + launch.block / 32 * of_warp)
            }
            Way::Columns(_) | Way::FixedColumns(_) => shape,
            _ => Shape {
                grid: [launch.blocks, matrices as u32, 1],
                ..shape
            },
        }
    }

    /// The launch for values that begin at this address, which decides whether rows are aligned.
    fn launch_from(&self, launch: Launch, parts: Parts<'_>, address: u64) -> Launch {
        match parts {
            Parts::Of(Batch {
                matrix:
                    Matrix {
                        rows,
                        columns,
                        stride,
                    },
                matrices,
                ..
            }) => {
                let are_aligned = are_aligned(self.lanes, address as usize, (columns, stride));
                launch.of_rows(rows, are_aligned && matrices == 1)
            }
            Parts::Segments(_) => launch,
        }
    }

    /// Whether the result depends on the order and the grouping.
    pub(crate) fn order_matters(&self) -> bool {
        self.order_matters
    }

    /// What the choice of a launch depends on.
    pub(crate) fn problem(
        &self,
        device: &Device,
        along: Along,
        batch: impl Into<Batch>,
        mode: Mode,
    ) -> Problem {
        let Batch {
            matrix, matrices, ..
        } = batch.into();
        Problem {
            matrix,
            matrices: matrices.max(1),
            along,
            mode,
            value_bytes: self.value_bytes,
            work: self.work,
            lanes: self.lanes,
            limits: self.limits,
            gpu: Gpu::of(device),
            l2_bytes: device.l2_bytes(),
        }
    }
}

/// Which values become one result each.
#[derive(Clone, Copy)]
pub(super) enum Parts<'a> {
    /// The rows or the columns of a batch, as the launch says.
    Of(Batch),
    Segments(&'a Segments<'a>),
}

impl Parts<'_> {
    /// How many results a launch makes.
    fn results(self, way: Way) -> usize {
        match (self, way) {
            (Self::Of(batch), Way::Columns(_) | Way::FixedColumns(_)) => {
                batch.matrices.saturating_mul(batch.matrix.columns)
            }
            (Self::Of(batch), _) => batch.matrices.saturating_mul(batch.matrix.rows),
            (Self::Segments(segments), _) => segments.len(),
        }
    }

    /// How many values a result is of; of segments, of which only the device may know it, no more than these.
    fn values_of_each(self, way: Way) -> usize {
        match (self, way) {
            (Self::Of(batch), Way::Columns(_) | Way::FixedColumns(_)) => batch.matrix.rows,
            (Self::Of(batch), _) => batch.matrix.columns,
            (Self::Segments(segments), _) => segments.values(),
        }
    }

    fn check(self, device: &Device, given: usize) -> Result<(), Error> {
        match self {
            Self::Of(batch) => check_inside(batch, given),
            Self::Segments(segments) => segments.check(device, given),
        }
    }

    /// What kernels take to find them.
    fn arguments(self) -> Vec<Argument> {
        match self {
            Self::Of(Batch {
                matrix:
                    Matrix {
                        rows,
                        columns,
                        stride,
                    },
                ..
            }) => vec![rows.into(), columns.into(), stride.into()],
            Self::Segments(segments) => segments.arguments().into(),
        }
    }

    /// The matrices of a batch, and how far apart they are; segments are like one.
    fn batch(self) -> (usize, usize) {
        match self {
            Self::Of(Batch {
                matrices, distance, ..
            }) => (matrices, distance),
            Self::Segments(_) => (1, 0),
        }
    }
}

/// The most blocks that a grid may have along its first dimension, and along its second.
const MOST_OF_GRID: usize = i32::MAX as usize;
const MOST_ROWS_OF_GRID: usize = u16::MAX as usize;

/// Bytes of the values of a matrix from which on its rows have a launch of their own, by any of the kernels: to reduce them takes several times as
/// long as to launch it.
const LARGE_MATRIX: usize = 1 << 24;

/// The kernels of an operator over a type, and the memory that they need.
pub struct Untyped {
    family: Family,
    /// The kernels' last argument, if they take one more.
    parameter: Option<u64>,
    form: Form,
}

/// What a reduction of some rows takes besides the values and the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bytes of the device's memory that the [`Reduction`](super::Reduction) keeps for it.
    pub workspace_bytes: usize,
    launch: Launch,
    needs: Needs,
    /// What it takes instead if the rows turn out to be aligned.
    of_aligned: Option<Needs>,
}

impl Untyped {
    /// The kernels of an operator, by its name there, in a text of the library. None is loaded yet.
    ///
    /// # Errors
    /// The device fails.
    ///
    /// # Safety
    /// The form is that of the operator and the text's type, with its accumulator.
    pub unsafe fn of_library(
        device: &Device,
        operator: &str,
        text: &'static Text,
        parameter: Option<u64>,
        form: Form,
    ) -> Result<Self, Error> {
        let name = format!("{operator}_{}", text.name());
        Self::new(device, Source::of_library(text), name, parameter, form)
    }

    pub(super) fn new(
        device: &Device,
        ptx: Source,
        name: String,
        parameter: Option<u64>,
        form: Form,
    ) -> Result<Self, Error> {
        Ok(Self {
            family: Family::new(device, ptx, name)?,
            parameter,
            form,
        })
    }

    pub(super) fn name(&self) -> &str {
        self.family.name()
    }

    pub(super) fn with_parameter_of(self, other: &Self) -> Self {
        let parameter = other.parameter;
        Self { parameter, ..self }
    }

    /// What the choice of a launch depends on.
    pub(super) fn problem(
        &self,
        device: &Device,
        along: Along,
        batch: impl Into<Batch>,
        mode: Mode,
    ) -> Problem {
        self.form.problem(device, along, batch, mode)
    }

    /// The launch for segments.
    pub(super) fn choose_for_segments(
        &self,
        device: &Device,
        segments: &Segments<'_>,
        mode: Mode,
    ) -> Launch {
        let work = (segments.len(), segments.values());
        choose_for_segments(mode, work, self.form.segments, Room::of(device))
    }

    pub(super) fn plan(&self, parts: Parts<'_>, launch: Launch) -> Plan {
        let (rows, columns, matrices, windows) = match parts {
            Parts::Of(Batch {
                matrix, matrices, ..
            }) => (matrix.rows, matrix.columns, matrices, 0),
            Parts::Segments(segments) => (0, 0, 0, segments.values().div_ceil(fixed::CHUNK)),
        };
        // In words of 8 bytes, after the states: how many segments end in a strip and before.
        let mut ends = 0;
        let mut slots = 0;
        let (states, counters) = match launch.way {
            Way::Segments => {
                ends = launch.warps();
                (2 * ends, 1)
            }
            Way::Blocks(parts) if parts > 1 => {
                slots = self.form.slots(rows.saturating_mul(parts as usize));
                (0, rows)
            }
            Way::Large(_) => {
                slots = self.form.slots(launch.blocks as usize);
                (0, 1)
            }
            Way::FixedBlocks if columns > fixed::CHUNK => {
                let chunks = columns.div_ceil(fixed::CHUNK);
                (rows.saturating_mul(chunks), rows)
            }
            Way::FixedColumns(strips) if rows > fixed::CHUNK => {
                let states = columns.saturating_mul(rows.div_ceil(fixed::CHUNK));
                let strips = matrices.saturating_mul(strips.count(columns));
                (matrices.saturating_mul(states), strips)
            }
            Way::FixedSegments => (2 * windows, windows),
            Way::Columns(layout) if layout.slices > 1 => (
                matrices.saturating_mul(layout.states(self.form.lanes, columns)),
                matrices.saturating_mul(layout.strips(self.form.lanes, columns)),
            ),
            _ => (0, 0),
        };
        let needs = Needs {
            suffix: suffix(launch.way),
            states: self.words(states).saturating_add(ends),
            slots,
            words: counters,
            registers: None,
        };
        // It may be either kernel until the address is known.
        let aligned = self.form.launch_from(launch, parts, 0).way;
        let may_be_aligned = matches!(launch.way, Way::Whole(_)) && aligned == Way::Aligned;
        Plan {
            workspace_bytes: needs.bytes(),
            launch,
            needs,
            of_aligned: may_be_aligned.then(|| Needs::kernel(suffix(aligned))),
        }
    }

    /// The words of 8 bytes that have room for this many states.
    fn words(&self, states: usize) -> usize {
        let bytes = states.saturating_mul(self.form.state_bytes);
        bytes.div_ceil(size_of::<u64>())
    }

    pub(super) fn prepare_for(&mut self, device: &Device, plan: &Plan) -> Result<(), Error> {
        for needs in plan.of_aligned.iter().chain([&plan.needs]) {
            self.family.prepare(device, needs)?;
        }
        Ok(())
    }

    /// What a reduction of a batch takes, by as many launches as it takes.
    pub(super) fn plan_of(&self, device: &Device, along: Along, batch: Batch, mode: Mode) -> Plan {
        let (batch, launch) = self.first_launch(device, along, batch, batch.matrices, mode);
        self.plan(Parts::Of(batch), launch)
    }

    /// The first matrices of a batch that one launch reduces, and that launch: as many as a grid has blocks for, but one of rows that several blocks
    /// share, and of rows of a large matrix. `all` is how many there were at first. The launches are alike, so that what is prepared for one of them is enough for all.
    pub(super) fn first_launch(
        &self,
        device: &Device,
        along: Along,
        batch: Batch,
        all: usize,
        mode: Mode,
    ) -> (Batch, Launch) {
        let of = |matrices: usize| {
            let batch = Batch { matrices, ..batch };
            let launch = self.problem(device, along, batch, mode).choose();
            (batch, launch)
        };
        if along == Along::Rows {
            let Matrix { rows, columns, .. } = batch.matrix;
            let bytes = rows
                .saturating_mul(columns)
                .saturating_mul(self.form.value_bytes);
            let (_, launch) = of(all);
            if all == 1 || bytes >= LARGE_MATRIX || !launch.takes_matrices(columns) {
                return of(batch.matrices.min(1));
            }
            let matrices = batch.matrices.min(MOST_ROWS_OF_GRID);
            // The kernel for aligned rows takes those of one matrix.
            let launch = launch.of_rows(rows, false);
            return (Batch { matrices, ..batch }, launch);
        }
        let mut found = of(batch.matrices.min(MOST_OF_GRID));
        while found.1.blocks as usize > MOST_OF_GRID && found.0.matrices > 1 {
            found = of(found.0.matrices / 2);
        }
        found
    }

    /// As [`Reduction::prepare`](super::Reduction::prepare), in this order.
    pub(crate) fn prepare(
        &mut self,
        device: &Device,
        (along, matrix): (Along, Matrix),
        mode: Mode,
    ) -> Result<(), Error> {
        let plan = self.plan_of(device, along, matrix.into(), mode);
        self.prepare_for(device, &plan)
    }

    /// Whether nothing would be loaded or allocated for it.
    #[cfg(test)]
    pub(crate) fn is_prepared(
        &self,
        device: &Device,
        (along, matrix): (Along, Matrix),
        mode: Mode,
    ) -> bool {
        let plan = self.plan_of(device, along, matrix.into(), mode);
        self.family.is_prepared(&plan.needs)
    }

    /// The reduction of each row or column of a matrix or a batch in the fastest order, by launches of the table's choice; waits for them. The slices
    /// hold the bytes of the values and of the results.
    ///
    /// # Errors
    /// As [`Reduction::rows`](super::Reduction::rows).
    ///
    /// # Safety
    /// - The values and the results are at addresses for their types.
    /// - Nothing else reads or writes the results meanwhile.
    pub unsafe fn reduce(
        &mut self,
        device: &Device,
        values: Slice<'_, u8>,
        along: Along,
        batch: impl Into<Batch>,
        results: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let what = (along, batch.into());
        // SAFETY: the caller's contract is the same.
        unsafe { self.queue(device, None, Mode::Fast, values, what, results) }
    }

    /// As [`Self::reduce`], in this order, queued on a stream; without one it waits.
    ///
    /// # Errors
    /// As [`Reduction::queue_rows`](super::Reduction::queue_rows).
    ///
    /// # Safety
    /// As for [`Self::reduce`], until the kernel has ended.
    pub unsafe fn queue(
        &mut self,
        device: &Device,
        stream: Option<&Stream>,
        mode: Mode,
        values: Slice<'_, u8>,
        (along, batch): (Along, impl Into<Batch>),
        results: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let mut left: Batch = batch.into();
        check_inside(left, values.len() / self.form.value_bytes)?;
        let of_each = match along {
            Along::Rows => left.matrix.rows,
            Along::Columns => left.matrix.columns,
        };
        let expected = left.matrices.saturating_mul(of_each);
        DeviceError::check_length(results.len() / self.form.result_bytes, expected)?;
        let (mut first, mut made, all) = (0_usize, 0, left.matrices);
        while left.matrices > 0 {
            let (batch, launch) = self.first_launch(device, along, left, all, mode);
            // A matrix without elements may begin after the last value.
            let start = first.saturating_mul(self.form.value_bytes);
            let values = values.slice(values.len().min(start)..);
            let bytes = batch.matrices * of_each * self.form.result_bytes;
            let (parts, results) = (Parts::Of(batch), results.slice(made..made + bytes));
            // SAFETY: it is the choice for these matrices, and the rest is the caller's contract.
            unsafe { self.launch_by(device, stream, values, parts, results, launch)? };
            left.matrices -= batch.matrices;
            let distance = batch.matrices.saturating_mul(left.distance);
            (first, made) = (first.saturating_add(distance), made + bytes);
        }
        Ok(())
    }

    /// As [`Reduction::launch_by`](super::Reduction::launch_by).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there, and as for [`Self::reduce`].
    pub(super) unsafe fn launch_by(
        &mut self,
        device: &Device,
        stream: Option<&Stream>,
        values: Slice<'_, u8>,
        parts: Parts<'_>,
        results: Slice<'_, u8>,
        launch: Launch,
    ) -> Result<(), Error> {
        values.check_device(device)?;
        results.check_device(device)?;
        parts.check(device, values.len() / self.form.value_bytes)?;
        self.form
            .check_count(parts.values_of_each(launch.way) as u64)?;
        let expected = parts.results(launch.way);
        DeviceError::check_length(results.len() / self.form.result_bytes, expected)?;
        let launch = self.form.launch_from(launch, parts, values.address());
        let needs = self.plan(parts, launch).needs;
        if expected == 0 {
            return Ok(());
        }
        self.family.prepare_on(device, stream, &needs)?;
        let (_, shape, arguments) = self.arguments(values, parts, results, launch);
        // SAFETY: `arguments` says so. Memory of buffers is freed when the device has done what is queued; `read_by` keeps the order of
        // other memory, or who has made the slice has promised it.
        let launch = || unsafe { self.family.launch(stream, needs.suffix, &shape, &arguments) };
        let launched = values.read_by(device, stream, || match parts {
            Parts::Of(_) => launch(),
            Parts::Segments(segments) => segments.read_by(device, stream, launch),
        });
        Ok(launched?)
    }

    /// As [`Reduction::arguments`](super::Reduction::arguments).
    pub(super) fn arguments(
        &self,
        values: Slice<'_, u8>,
        parts: Parts<'_>,
        results: Slice<'_, u8>,
        launch: Launch,
    ) -> (&Kernel, Shape, Vec<Argument>) {
        let launch = self.form.launch_from(launch, parts, values.address());
        let needs = self.plan(parts, launch).needs;
        let mut arguments = vec![values.argument()];
        arguments.extend(parts.arguments());
        let workspace = self.family.workspace();
        let (matrices, distance) = parts.batch();
        match launch.way {
            Way::Blocks(parts) => {
                arguments.extend([distance.into(), parts.into()]);
                arguments.extend(self.family.slots(&needs));
            }
            Way::Large(kept) => {
                // Of a single row only the columns matter.
                let columns = arguments.swap_remove(2);
                arguments.truncate(1);
                arguments.extend([columns, kept.into()]);
                arguments.extend(self.family.slots(&needs));
            }
            Way::Whole(_) => unreachable!("the address says which kernel it is"),
            Way::Aligned => {}
            Way::Lanes(lanes) | Way::FixedLanes(lanes) => {
                arguments.extend([distance.into(), lanes.into()]);
            }
            Way::Columns(Layout {
                width,
                fold,
                slices,
            }) => {
                let blocks_of_each = launch.blocks / matrices as u32;
                arguments.extend([blocks_of_each.into(), distance.into()]);
                arguments.extend([width.into(), fold.into(), slices.into()]);
                arguments.extend(workspace);
            }
            Way::FixedBlocks => {
                arguments.push(distance.into());
                arguments.extend(workspace);
            }
            Way::FixedSegments => arguments.extend(workspace),
            Way::FixedColumns(strips) => {
                arguments.extend([(matrices as u32).into(), distance.into()]);
                arguments.push(strips.width.into());
                arguments.extend(workspace);
            }
            // Packed rows have no distance of their own.
            Way::Packed => arguments.truncate(3),
            Way::Segments => {
                let ends = self.words(2 * launch.warps());
                let [states, counters] = workspace;
                arguments.extend([states, self.family.states_from(ends), counters]);
            }
        }
        arguments.push(results.argument());
        arguments.extend(self.parameter.map(Argument::from));
        let kernel = self.family.kernel(suffix(launch.way));
        (kernel, self.form.shape(launch, matrices), arguments)
    }
}

/// What the kernel's name ends with.
fn suffix(way: Way) -> &'static str {
    match way {
        Way::Blocks(_) | Way::Whole(_) => "_rows",
        Way::Large(_) => "_large_array",
        Way::Aligned => "_aligned_rows",
        Way::Lanes(_) => "_short_rows",
        Way::Packed => "_packed_rows",
        Way::Columns(_) => "_columns",
        Way::FixedBlocks => "_fixed_rows",
        Way::FixedLanes(_) => "_fixed_short_rows",
        Way::FixedColumns(_) => "_fixed_columns",
        Way::Segments => "_segments",
        Way::FixedSegments => "_fixed_segments",
    }
}

pub(crate) fn check_inside(batch: impl Into<Batch>, given: usize) -> Result<(), Error> {
    let batch = batch.into();
    match batch.span() {
        Some(span) if span <= given => Ok(()),
        // What is left for the last matrix.
        _ => Err(Error::Outside {
            matrix: batch.matrix,
            given: given.saturating_sub((batch.matrices - 1).saturating_mul(batch.distance)),
        }),
    }
}
