//! Running one lesson on a device: launch, put the results together, compare with the CPU.

use crate::case::{Case, CaseArgument, LoadedCase, Measured, Outputs};
use crate::number::Number;
use crate::oracle::Oracle;
use crate::reducible::{Partial, Plain, Reducible};
use std::collections::TryReserveError;
use warpfold::device::{DeviceError, Shape, Timing, Watch};
use warpfold::sum::{Mode, Summable};
use warpfold::{Device, Error};
use warpfold_kernels::catalogue::flagship::{MODULE, choose};
use warpfold_kernels::catalogue::{
    BLOCK_SIZES, ElementType, Finish, Geometry, Lesson, Operator, Parameter, PtxText, Reduction,
    Role, Variant,
};

/// What came of one reduction of one input.
#[derive(Clone, Debug)]
pub struct LessonRun<T: Reducible> {
    /// Number of blocks launched; 0 where there was nothing to reduce and nothing was launched.
    pub blocks: u32,
    /// What the kernel and the host's last steps give.
    pub result: T::Result,
    /// What the kernel has left that the next launch cannot begin with: the rest of a sentence on the kernel.
    pub leftover: Option<String>,
    /// What the CPU makes of the same values.
    pub oracle: T::Oracle,
    /// The most roundings that one value goes through, if its type rounds at all.
    pub roundings: u32,
    /// What was measured on the way.
    pub measured: Measured,
}

impl<T: Reducible> LessonRun<T> {
    /// The right result, as exactly as the CPU knows it.
    pub fn expected(&self) -> Number {
        self.oracle.expected()
    }

    /// How far from it the result may be; `None` where it must be exact.
    pub fn tolerance(&self) -> Option<f64> {
        self.oracle.tolerance(self.roundings)
    }

    /// Whether the lesson gives the result of the CPU, but for the rounding it may have, and is ready for the next launch.
    pub fn is_right(&self) -> bool {
        self.oracle.accepts(self.result, self.roundings) && self.leftover.is_none()
    }
}

/// Why a lesson could not be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LessonError {
    /// The lesson is not built for this block size.
    #[error("`{lesson}` is not built for blocks of {block} threads; use one of {}", BLOCK_SIZES.map(|size| size.to_string()).join(", "))]
    BlockSize {
        /// The lesson's id.
        lesson: &'static str,
        /// The block size asked for.
        block: u32,
    },
    /// The lesson's parameter has no such value.
    #[error("`{lesson}` has no {name} of {value}; use one of {}", list(.values))]
    Parameter {
        /// The lesson's id.
        lesson: &'static str,
        /// The parameter's name.
        name: &'static str,
        /// The value asked for.
        value: u32,
        /// Those that there are.
        values: &'static [u32],
    },
    /// The lesson is not built for elements of this type.
    #[error("`{lesson}` is built for {}, not for {}", types(.built_for), types(.given))]
    ElementType {
        /// The lesson's id.
        lesson: &'static str,
        /// The types it is built for: of elements, of partial results and of the result.
        built_for: [ElementType; 3],
        /// The types that it was asked for.
        given: [ElementType; 3],
    },
    /// The lesson is no reduction.
    #[error("`{lesson}` reduces nothing; `warpfold run {lesson}` shows what it does")]
    NoReduction {
        /// The lesson's id.
        lesson: &'static str,
    },
    /// Other data for a lesson that makes its own.
    #[error("`{lesson}` makes its own data; leave --data out")]
    OwnData {
        /// The lesson's id.
        lesson: &'static str,
    },
    /// The lesson counts no images.
    #[error("`{lesson}` counts no images; `warpfold run {lesson}` shows what it does")]
    NoHistogram {
        /// The lesson's id.
        lesson: &'static str,
    },
    /// The device, or the PTX that there is for it, is too old for the lesson.
    #[error(
        "`{lesson}` needs sm_{least_sm} or later, and the GPU or the PTX for it is sm_{sm}; use --device emulator, with PTX for \
         sm_{least_sm}"
    )]
    TooOld {
        /// The lesson's id.
        lesson: &'static str,
        /// The least compute capability it needs.
        least_sm: u32,
        /// That of the device, or of the PTX.
        sm: u32,
    },
    /// More elements than a grid has blocks for.
    #[error(
        "{n} elements are more than one launch of `{lesson}` takes with blocks of {block} threads; use larger blocks or fewer elements"
    )]
    TooManyElements {
        /// The lesson's id.
        lesson: &'static str,
        /// The block size asked for.
        block: u32,
        /// The number of elements.
        n: usize,
    },
    /// More elements than the lesson's one block takes.
    #[error(
        "{n} elements are too many for `{lesson}`, whose one block of {block} threads takes {most} at most; use -n {most} or fewer"
    )]
    MoreThanOneBlock {
        /// The lesson's id.
        lesson: &'static str,
        /// The block size asked for.
        block: u32,
        /// The number of elements.
        n: usize,
        /// The most that it takes.
        most: u64,
    },
    /// There is no room for the input on the host.
    #[error("there is not enough memory for {n} elements; ask for fewer")]
    HostMemory {
        /// The number of elements.
        n: usize,
    },
    /// There is no PTX for the device.
    #[error(transparent)]
    Ptx(#[from] warpfold::ptx::PtxError),
    /// The library refuses.
    #[error(transparent)]
    Library(Error),
    /// The device has too little memory, refuses the launch, or the kernel faults.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl LessonError {
    /// For want of memory for `n` elements.
    pub(crate) fn host_memory(n: usize) -> impl FnOnce(TryReserveError) -> Self {
        move |_| Self::HostMemory { n }
    }
}

impl From<Error> for LessonError {
    fn from(error: Error) -> Self {
        match error {
            Error::Ptx(error) => Self::Ptx(error),
            Error::Device(error) => Self::Device(error),
            error => Self::Library(error),
        }
    }
}

fn types(&[element, partial, result]: &[ElementType; 3]) -> String {
    let name = ElementType::name;
    match (name(element), name(partial), name(result)) {
        (element, partial, result) if partial == result && element == result => {
            format!("{element} elements")
        }
        (element, partial, result) => {
            format!("{element} elements with partial results of {partial} and a result of {result}")
        }
    }
}

fn list(values: &[u32]) -> String {
    let values: Vec<String> = values.iter().map(u32::to_string).collect();
    values.join(", ")
}

/// Reduces `values` by a lesson and verifies the result.
///
/// On a GPU a right kernel is launched again and timed, where `timing` asks for it; on the emulator it is launched once
/// and counted. The sum of nothing is 0, for which nothing is launched.
///
/// # Errors
/// A variant, a type or a number of elements that the lesson does not take; a device without the memory; a kernel that
/// faults. A wrong result is no error: it is in the run.
pub fn run<T: Reducible>(
    device: &Device,
    lesson: &Lesson,
    variant: Variant,
    values: &[T],
    timing: Option<Timing>,
) -> Result<LessonRun<T>, LessonError> {
    LoadedLesson::new(device, lesson, variant, values)?.run(timing)
}

/// Reduces `values` by a lesson on the emulator while `observer` watches, and verifies the result. For no values nothing is
/// launched, and there is nothing to see.
///
/// # Errors
/// As [`run`], and a device that is a GPU.
pub fn observe<T: Reducible>(
    device: &Device,
    lesson: &Lesson,
    variant: Variant,
    values: &[T],
    observer: &mut dyn Watch,
) -> Result<LessonRun<T>, LessonError> {
    let mut loaded = LoadedLesson::new(device, lesson, variant, values)?;
    if let Some(launch) = &mut loaded.launch {
        launch.observe(observer)?;
        loaded.take()?;
    }
    Ok(loaded.run)
}

/// A reduction with its input on a device, to be launched again and again.
#[derive(Debug)]
pub struct LoadedLesson<T: Reducible> {
    reduction: Reduction,
    /// `None` where there is nothing to launch.
    launch: Option<LoadedCase>,
    is_gpu: bool,
    run: LessonRun<T>,
}

impl<T: Reducible> LoadedLesson<T> {
    /// Puts the values on the device, for this lesson.
    ///
    /// # Errors
    /// A variant, a type or a number of elements that the lesson does not take; a device without the memory.
    pub fn new(
        device: &Device,
        lesson: &Lesson,
        variant: Variant,
        values: &[T],
    ) -> Result<Self, LessonError> {
        let reduction = reduction_of::<T>(lesson)?;
        check_device(lesson, device)?;
        let case = case(lesson, variant, values, device.multiprocessors())?;
        // SAFETY: every reduction of the catalogue takes the arguments that `case` makes for its finish, over its element type, which
        // is `T`, and, launched with the catalogue's geometry, keeps to them; the tests hold each to it on the emulator.
        unsafe { Self::of_case(device, lesson.module, reduction, variant, case, values) }
    }

    /// Puts the values on the device, for this launch of a kernel of the module.
    ///
    /// # Errors
    /// There is no such kernel for the device, or the device has too little memory.
    ///
    /// # Safety
    /// As [`Case::load`].
    pub(crate) unsafe fn of_case(
        device: &Device,
        module: PtxText,
        reduction: &Reduction,
        variant: Variant,
        case: Option<Case<'_>>,
        values: &[T],
    ) -> Result<Self, LessonError> {
        let blocks = case.as_ref().map_or(0, |case| case.shape.grid[0]);
        let launch = match case {
            None => None,
            Some(case) => {
                let kernel = device.kernel(module, case.entry)?;
                // SAFETY: as the caller promises.
                Some(unsafe { case.load(device, kernel)? })
            }
        };
        Ok(Self {
            launch,
            is_gpu: device.is_gpu(),
            run: LessonRun {
                blocks,
                result: T::finish(reduction.operator, &[]),
                leftover: None,
                oracle: T::oracle(reduction, variant, values),
                roundings: roundings::<T>(reduction, variant, values.len(), blocks),
                measured: Measured::Nothing,
            },
            reduction: *reduction,
        })
    }

    /// The first launch and, on a GPU, timed ones after it, if it was right and `timing` asks for them; the last of those must be
    /// right as well.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn run(mut self, timing: Option<Timing>) -> Result<LessonRun<T>, LessonError> {
        self.launch()?;
        self.run_again(timing)
    }

    /// What comes after the first launch in [`Self::run`].
    pub(crate) fn run_again(mut self, timing: Option<Timing>) -> Result<LessonRun<T>, LessonError> {
        if let (Some(timing), true) = (timing, self.is_gpu && self.run.is_right()) {
            self.time(&timing)?;
        }
        Ok(self.run)
    }

    /// One launch: counted on the emulator, without times on a GPU.
    ///
    /// # Errors
    /// A launch that the device refuses, or a fault of the kernel.
    pub fn launch(&mut self) -> Result<&LessonRun<T>, LessonError> {
        if let Some(launch) = &mut self.launch {
            self.run.measured = launch.launch()?;
            self.take()?;
        }
        Ok(&self.run)
    }

    /// Timed launches on a GPU, each on fresh input where the kernel works in place; the result of the last is in the run.
    ///
    /// # Errors
    /// As [`Self::launch`], and a device that is no GPU.
    pub fn time(&mut self, timing: &Timing) -> Result<&LessonRun<T>, LessonError> {
        if let Some(launch) = &mut self.launch {
            self.run.measured = Measured::Times(launch.time(timing)?);
            self.take()?;
        }
        Ok(&self.run)
    }

    /// Takes over what the last launch has left.
    fn take(&mut self) -> Result<(), LessonError> {
        if let Some(launch) = &self.launch {
            (self.run.result, self.run.leftover) = result::<T>(&self.reduction, &launch.outputs())?;
        }
        Ok(())
    }
}

/// What [`warpfold::sum()`] launches for these values on the device, ready to be counted or timed and verified as a lesson is; the
/// order of additions is that of [`Mode::Fast`].
///
/// # Errors
/// There is no PTX for the device, or it has too little memory.
pub fn of_sum<T: Plain>(device: &Device, values: &[T]) -> Result<LoadedLesson<T>, LessonError> {
    let launch = choose(T::ADDEND, Mode::Fast.into(), values.len());
    let reduction = Reduction {
        operator: Operator::Sum,
        element_type: T::ELEMENT_TYPE,
        partial_type: T::ELEMENT_TYPE,
        result_type: T::ELEMENT_TYPE,
        // Of one tile: eight loads of 16 bytes at most.
        geometry: Geometry::Tiles {
            elements_per_thread: 128 / size_of::<T>() as u32,
        },
        finish: Finish::TotalInTurns,
        in_place: false,
        shared_bytes_per_thread: 0,
    };
    let variant = Variant {
        block: launch.block,
        parameter: None,
    };
    let case = (!values.is_empty()).then(|| Case {
        entry: launch.entry,
        shape: Shape::linear(launch.blocks, launch.block),
        arguments: arguments(&reduction, variant, values, launch.blocks),
    });
    // SAFETY: as in `Sum`: the launches of `Mode::Fast` take `TotalInTurns`, whose arguments these are.
    unsafe { LoadedLesson::of_case(device, MODULE, &reduction, variant, case, values) }
}

/// The launch by which a lesson reduces `values` on a device with this many multiprocessors; `None` for no values.
///
/// # Errors
/// A variant, a type or a number of elements that the lesson does not take.
pub fn case<'a, T: Reducible>(
    lesson: &Lesson,
    variant: Variant,
    values: &'a [T],
    multiprocessors: u32,
) -> Result<Option<Case<'a>>, LessonError> {
    let entry = entry(lesson, variant)?;
    case_of_entry(lesson, entry, variant, values, multiprocessors)
}

/// As [`case`], for an entry of the lesson that takes the variant, whether or not the catalogue offers it.
pub(crate) fn case_of_entry<'a, T: Reducible>(
    lesson: &Lesson,
    entry: &'static str,
    variant: Variant,
    values: &'a [T],
    multiprocessors: u32,
) -> Result<Option<Case<'a>>, LessonError> {
    let reduction = reduction_of::<T>(lesson)?;
    let n = values.len();
    let blocks = blocks(lesson, reduction, variant, n, multiprocessors)?;
    if blocks == 0 {
        return Ok(None);
    }
    let shape = Shape::linear(blocks, variant.block)
        .with_dynamic_shared_bytes(reduction.dynamic_shared_bytes(variant))
        .with_cooperative(lesson.cooperative)
        .with_pending_grids(pending_grids(reduction, blocks));
    Ok(Some(Case {
        entry,
        shape,
        arguments: arguments(reduction, variant, values, blocks),
    }))
}

/// The arguments of a launch of this many blocks that reduces the values.
pub(crate) fn arguments<'a, T: Reducible>(
    reduction: &Reduction,
    variant: Variant,
    values: &'a [T],
    blocks: u32,
) -> Vec<CaseArgument<'a>> {
    let argument = |role: &Role| match role {
        Role::Input if reduction.in_place => CaseArgument::rewritten(values),
        Role::Input => CaseArgument::input(values),
        Role::Partials => CaseArgument::output(blocks as usize, T::Partial::NO_PARTIAL),
        Role::Count => CaseArgument::scalar(values.len()),
        Role::Total => match reduction.finish {
            Finish::Total => {
                CaseArgument::rewritten(vec![T::Partial::finish(reduction.operator, &[])])
            }
            Finish::TotalInTurns => CaseArgument::rewritten(vec![T::Partial::IDENTITY]),
            _ => CaseArgument::output(1, T::Partial::NO_PARTIAL),
        },
        Role::NextTotal => CaseArgument::output(1, Turns::<T>::NO_PARTIAL),
        Role::Counter => CaseArgument::rewritten(vec![0_u64]),
        Role::Tile => {
            let tile = reduction.elements_per_thread(variant) as u32 * variant.block;
            CaseArgument::scalar(tile)
        }
        Role::Status => CaseArgument::rewritten(vec![0_u32]),
    };
    reduction.finish.roles().iter().map(argument).collect()
}

/// The most grids that a reduction has launched and that wait or run, at any time: of every launching block one that runs, and one that it
/// launches.
fn pending_grids(reduction: &Reduction, blocks: u32) -> u64 {
    match reduction.finish {
        Finish::Nested {
            by_every_block: true,
        } => 2 * u64::from(blocks),
        Finish::Nested { .. } => 2,
        _ => 0,
    }
}

/// The entry of a lesson for a variant.
///
/// # Errors
/// The lesson has no such variant.
pub fn entry(lesson: &Lesson, variant: Variant) -> Result<&'static str, LessonError> {
    lesson.entry(variant).ok_or_else(|| match lesson.parameter {
        Some(Parameter { name, values, .. })
            if !variant
                .parameter
                .is_some_and(|value| values.contains(&value)) =>
        {
            LessonError::Parameter {
                lesson: lesson.id,
                name,
                value: variant.parameter.unwrap_or_default(),
                values,
            }
        }
        _ => LessonError::BlockSize {
            lesson: lesson.id,
            block: variant.block,
        },
    })
}

/// Whether a lesson runs on the device: neither that nor its PTX is older than the lesson needs.
pub fn runs(lesson: &Lesson, device: &Device) -> bool {
    lesson.least_sm <= device.sm_of(lesson.module)
}

/// Whether the device is new enough for the lesson.
pub(crate) fn check_device(lesson: &Lesson, device: &Device) -> Result<(), LessonError> {
    if runs(lesson, device) {
        return Ok(());
    }
    Err(LessonError::TooOld {
        lesson: lesson.id,
        least_sm: lesson.least_sm,
        sm: device.sm_of(lesson.module),
    })
}

fn reduction_of<T: Reducible>(lesson: &Lesson) -> Result<&Reduction, LessonError> {
    let reduction = lesson
        .reduction()
        .ok_or(LessonError::NoReduction { lesson: lesson.id })?;
    let types = [
        T::ELEMENT_TYPE,
        T::Partial::ELEMENT_TYPE,
        T::Result::ELEMENT_TYPE,
    ];
    if reduction.types() != types {
        return Err(LessonError::ElementType {
            lesson: lesson.id,
            built_for: reduction.types(),
            given: types,
        });
    }
    Ok(reduction)
}

fn blocks(
    lesson: &Lesson,
    reduction: &Reduction,
    variant: Variant,
    n: usize,
    multiprocessors: u32,
) -> Result<u32, LessonError> {
    if let Some(most) = reduction.most_elements(variant)
        && n as u64 > most
    {
        return Err(LessonError::MoreThanOneBlock {
            lesson: lesson.id,
            block: variant.block,
            n,
            most,
        });
    }
    let blocks = reduction.blocks(n as u64, variant, multiprocessors);
    extent(lesson, variant, blocks, n)
}

/// That many blocks of a launch over `n` elements, as the extent of a grid.
///
/// # Errors
/// A grid cannot have that many.
pub(crate) fn extent(
    lesson: &Lesson,
    variant: Variant,
    blocks: u64,
    n: usize,
) -> Result<u32, LessonError> {
    u32::try_from(blocks)
        .ok()
        .filter(|&blocks| blocks <= Shape::MAX_BLOCKS)
        .ok_or(LessonError::TooManyElements {
            lesson: lesson.id,
            block: variant.block,
            n,
        })
}

/// The result of a launch, and what it has left that the next one cannot begin with.
pub(crate) fn result<T: Reducible>(
    reduction: &Reduction,
    outputs: &Outputs<'_>,
) -> Result<(T::Result, Option<String>), DeviceError> {
    let place = |role| reduction.finish.place(role);
    let finish = |partials: &[T::Partial]| T::finish(reduction.operator, partials);
    Ok(match reduction.finish {
        Finish::PartialPerBlock => (finish(&outputs.read(place(Role::Partials))?), None),
        Finish::Total => (finish(&outputs.read(place(Role::Total))?), None),
        Finish::TotalInTurns => {
            let nothing = T::Partial::IDENTITY;
            let next = outputs.read::<Turns<T>>(place(Role::NextTotal))?[0];
            let leftover = (next != nothing).then(|| {
                let (next, nothing) = (next.into(), nothing.into());
                format!("leaves {next} in the total of the next launch, which should be {nothing}")
            });
            let total = outputs.read::<Turns<T>>(place(Role::Total))?[0];
            (finish(&[T::Partial::of_total(total)]), leftover)
        }
        Finish::OneLaunch => {
            let counter = outputs.read::<u64>(place(Role::Counter))?[0];
            let leftover = (counter != 0)
                .then(|| format!("leaves its counter at {counter}, which should be 0"));
            (finish(&outputs.read(place(Role::Total))?), leftover)
        }
        Finish::Nested { .. } => {
            let code = outputs.read::<u32>(place(Role::Status))?[0];
            if code != 0 {
                return Err(DeviceError::GridRefused { code });
            }
            (finish(&outputs.read(place(Role::Partials))?), None)
        }
    })
}

/// What blocks add up in where they do so in turns.
pub(crate) type Turns<T> = <<T as Reducible>::Partial as Summable>::Total;

/// The most roundings that one value goes through: those of its thread, those of the tree, and those of the finish. The host
/// puts the partials of floats together without rounding them, but for the last time.
pub(crate) fn roundings<T: Reducible>(
    reduction: &Reduction,
    variant: Variant,
    n: usize,
    blocks: u32,
) -> u32 {
    let block = u64::from(variant.block);
    let tree = u64::from(variant.block.ilog2());
    let of_thread = (n as u64)
        .div_ceil((u64::from(blocks) * block).max(1))
        .next_multiple_of(reduction.elements_per_thread(variant));
    let of_finish = match reduction.finish {
        Finish::PartialPerBlock | Finish::Nested { .. } => 1,
        // A wider total rounds by far less than its values do, and then once.
        Finish::TotalInTurns if size_of::<Turns<T>>() > size_of::<T::Partial>() => 2,
        Finish::Total | Finish::TotalInTurns => u64::from(blocks),
        Finish::OneLaunch => u64::from(blocks).div_ceil(block) + tree,
    };
    u32::try_from(of_thread + tree + of_finish).unwrap_or(u32::MAX)
}
