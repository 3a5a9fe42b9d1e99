//! Running what is to be profiled.

use super::arguments::{Arguments, By};
use super::residency::Residency;
use crate::device::program;
use crate::emulate::Extents;
use crate::failure::Failure;
use crate::lookup;
use crate::progress;
use crate::show;
use crate::workload::parse_block;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;
use warpfold::Device;
use warpfold::device::Emulator;
use warpfold_course::data::Data;
use warpfold_course::element::ElementType;
use warpfold_course::prepared::PreparedLesson;
use warpfold_emulator::{Kernel, Measurements, Multiprocessor, Profile, Program, Step};
use warpfold_kernels::catalogue::{Lesson, Variant};

/// Threads of a block unless told otherwise.
const USUAL_BLOCK: Extents = Extents([512, 1, 1]);

/// Elements of a lesson unless told otherwise.
const USUAL_N: usize = 1 << 20;

/// One kernel, profiled.
pub struct Profiled {
    /// The kernel, for its text.
    pub kernel: Arc<Kernel>,
    /// What it worked on, where it is a lesson.
    pub workload: Option<Workload>,
    /// The name and the value of the lesson's parameter, if it has one.
    pub parameter: Option<(&'static str, u32)>,
    /// Blocks.
    pub grid: Extents,
    /// Threads of a block.
    pub block: Extents,
    /// Whether its result was right; `None` where that is not known.
    pub is_right: Option<bool>,
    /// The whole launch.
    pub total: Measurements,
    /// The lines that were executed, in their order.
    pub lines: Vec<(u32, Measurements)>,
    /// The steps between barriers, if they are asked for.
    pub steps: Option<Vec<Step>>,
    /// How long it took on this computer.
    pub profiled_in_ms: f64,
    /// Its occupancy on each architecture that was asked for.
    pub residencies: Vec<Residency>,
}

/// Elements.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Their number.
    pub n: usize,
    /// Their type, if the lesson does not make its own elements.
    pub element_type: Option<ElementType>,
    /// What they are.
    pub data: Data,
}

/// Profiles everything that was asked for.
pub fn profiles(arguments: &Arguments) -> Result<Vec<Profiled>, Failure> {
    if let Some(profile) = of_file(arguments)? {
        return Ok(vec![profile]);
    }
    let blocks = match arguments.blocks.as_slice() {
        [] => &[USUAL_BLOCK],
        blocks => blocks,
    };
    let blocks = blocks
        .iter()
        .map(|block| parse_block(&block.to_string()).map_err(Failure::Input))
        .collect::<Result<Vec<u32>, _>>()?;
    let lessons = arguments
        .ids
        .iter()
        .map(|id| lookup::lesson(id))
        .collect::<Result<Vec<_>, _>>()?;
    let emulator = Emulator::of_multiprocessors(arguments.multiprocessors);
    let emulator = if arguments.in_order {
        emulator.with_cores(NonZeroUsize::MIN)
    } else {
        emulator
    };
    let device = Device::from(emulator).with_ptx(arguments.kernels.read()?);
    let mut profiles = Vec::new();
    let progress = progress::bar((lessons.len() * blocks.len()) as u64)?;
    for lesson in lessons {
        progress.set_message(lesson.id);
        let program = program(&device, lesson)?;
        for &block in &blocks {
            let variants: Vec<Variant> = if arguments.parameter.is_given() {
                vec![arguments.parameter.variant(lesson, block)?]
            } else {
                lesson.variants_of(block).collect()
            };
            for variant in variants {
                profiles.push(of_lesson(&device, &program, lesson, variant, arguments)?);
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Ok(profiles)
}

fn of_lesson(
    device: &Device,
    program: &Program,
    lesson: &'static Lesson,
    variant: Variant,
    arguments: &Arguments,
) -> Result<Profiled, Failure> {
    let reduction = lesson.reduction();
    let most = reduction.and_then(|reduction| reduction.most_elements(variant));
    let n = arguments
        .n
        .unwrap_or_else(|| most.map_or(USUAL_N, |most| USUAL_N.min(most as usize)));
    let multiprocessors = device.multiprocessors();
    let data = arguments.data.data()?;
    let prepared = PreparedLesson::new(lesson, variant, n, data, multiprocessors)?;
    let case = prepared.case().ok_or_else(|| {
        Failure::Input(format!(
            "nothing to profile: `{}` launches nothing for {n} elements",
            lesson.id
        ))
    })?;
    let mut profile = new_profile(arguments);
    let start = Instant::now();
    let verdict = prepared.observe(device, &mut profile)?;
    let profiled_in_ms = start.elapsed().as_secs_f64() * 1e3;
    let name = lesson.parameter.map(|parameter| parameter.name);
    let kernel = program.kernel(case.entry).map_err(Failure::input)?;
    let (block, shared) = (case.shape.block, case.shape.dynamic_shared_bytes);
    let residency = |multiprocessor: &Multiprocessor| {
        let registers = device.recorded_registers(lesson.module, case.entry, multiprocessor.sm);
        Residency::of(
            multiprocessor,
            &kernel.block_needs(block, shared, registers),
        )
    };
    Ok(Profiled {
        residencies: arguments.sm.iter().map(residency).collect(),
        kernel,
        workload: Some(Workload {
            n,
            element_type: reduction.map(|reduction| reduction.element_type.into()),
            data,
        }),
        parameter: name.zip(variant.parameter),
        grid: Extents(case.shape.grid),
        block: Extents(case.shape.block),
        is_right: Some(verdict.mistake.is_none()),
        total: profile.total(),
        lines: profile.lines(),
        steps: profile.steps(),
        profiled_in_ms,
    })
}

fn new_profile(arguments: &Arguments) -> Profile {
    match arguments.by {
        Some(By::Step) => Profile::with_steps(),
        Some(By::Line) | None => Profile::default(),
    }
}

/// The kernel of `--ptx`, if it is given.
fn of_file(arguments: &Arguments) -> Result<Option<Profiled>, Failure> {
    if arguments.file.is_given() && arguments.data.is_given() {
        return Err(Failure::input(
            "--data and --seed are for lessons; with --ptx, --arg says what the kernel gets",
        ));
    }
    let block = match arguments.blocks.as_slice() {
        [] => USUAL_BLOCK,
        [block] => *block,
        _ if arguments.file.is_given() => {
            return Err(Failure::input(
                "--ptx takes one --block; profile each shape by itself",
            ));
        }
        _ => return Ok(None),
    };
    let Some(prepared) = arguments.file.prepare(block)? else {
        return Ok(None);
    };
    let mut profile = new_profile(arguments);
    let start = Instant::now();
    let name = prepared.kernel().name().to_owned();
    progress::during(name, || prepared.launch(&mut profile))??;
    let profiled_in_ms = start.elapsed().as_secs_f64() * 1e3;
    let kernel = prepared.kernel();
    let needs = kernel.block_needs(block.0, prepared.dynamic_shared_bytes(), None);
    let residency = |multiprocessor: &Multiprocessor| Residency::of(multiprocessor, &needs);
    Ok(Some(Profiled {
        residencies: arguments.sm.iter().map(residency).collect(),
        kernel: Arc::clone(kernel),
        workload: None,
        parameter: None,
        grid: prepared.grid(),
        block,
        is_right: None,
        total: profile.total(),
        lines: profile.lines(),
        steps: profile.steps(),
        profiled_in_ms,
    }))
}

impl Profiled {
    /// One line on what was profiled.
    pub fn describe(&self) -> String {
        let workload = self.workload.map_or_else(String::new, |workload| {
            let n = show::count(workload.n as u64);
            let values = workload
                .element_type
                .map_or_else(String::new, |element_type| {
                    format!(" {}", workload.data.describe(element_type.name()))
                });
            let seed = workload.data.seed().map(|seed| format!(" (seed {seed})"));
            format!(" · n = {n}{values}{}", seed.unwrap_or_default())
        });
        let parameter = self
            .parameter
            .map_or_else(String::new, |(name, value)| format!(" · {name} {value}"));
        let verdict = match self.is_right {
            Some(true) => " · right",
            Some(false) => " · WRONG",
            None => "",
        };
        format!(
            "{}{workload}{parameter} · grid {} · block {}{verdict} · profiled in {}",
            self.kernel.name(),
            self.grid,
            self.block,
            show::milliseconds(self.profiled_in_ms)
        )
    }
}
