//! Running what is to be profiled.

use super::Arguments;
use crate::cli::emulate::Shape;
use crate::cli::failure::Failure;
use crate::cli::show;
use crate::cli::suggest::did_you_mean;
use crate::cli::workload::parse_block;
use std::sync::Arc;
use std::time::Instant;
use warpfold::device::{Device, DeviceChoice, Module};
use warpfold::element::ElementType;
use warpfold::lesson;
use warpfold::reducible::Reducible;
use warpfold_emulator::{Kernel, Measurements, Memory, Profile, Program};
use warpfold_kernels::catalogue::{self, LESSONS, Lesson};

/// Threads of a block unless told otherwise.
const USUAL_BLOCK: Shape = Shape([512, 1, 1]);

/// One kernel, profiled.
pub struct Profiled {
    /// The kernel, for its text.
    pub kernel: Arc<Kernel>,
    /// What it worked on, where it is a lesson.
    pub workload: Option<Workload>,
    /// Blocks.
    pub grid: Shape,
    /// Threads of a block.
    pub block: Shape,
    /// Whether it gave the result of the CPU; `None` where nobody knows what it should give.
    pub is_right: Option<bool>,
    /// The whole launch.
    pub total: Measurements,
    /// The lines that were executed, in their order.
    pub lines: Vec<(u32, Measurements)>,
    /// How long it took on this computer.
    pub profiled_in_ms: f64,
}

/// Random elements.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Their number.
    pub n: usize,
    /// Their type.
    pub element_type: ElementType,
    /// The seed that they come from.
    pub seed: u64,
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
        .map(|id| find(id))
        .collect::<Result<Vec<_>, _>>()?;

    let ptx = arguments.kernels.read()?;
    let device = Device::open(&DeviceChoice::Emulator)?;
    let text = ptx.newest_for(&device)?;
    let bench = Bench {
        module: device.load(text)?,
        device,
        program: warpfold_emulator::Module::parse(text)
            .map_err(Failure::input)
            .and_then(|module| Program::load(module, &mut Memory::new()).map_err(Failure::input))?,
    };
    let mut profiles = Vec::new();
    for lesson in lessons {
        for &block in &blocks {
            profiles.push(match lesson.element_type {
                catalogue::ElementType::I32 => bench.profile::<i32>(lesson, block, arguments)?,
                catalogue::ElementType::F32 => bench.profile::<f32>(lesson, block, arguments)?,
            });
        }
    }
    Ok(profiles)
}

fn find(id: &str) -> Result<&'static Lesson, Failure> {
    catalogue::find(id).ok_or_else(|| {
        let known = LESSONS.iter().map(|lesson| lesson.id);
        Failure::Input(format!(
            "there is no lesson `{id}`{}",
            did_you_mean(id, known)
        ))
    })
}

/// The emulator with the kernels loaded.
struct Bench {
    device: Device,
    module: Module,
    /// The kernels once more, for their text.
    program: Program,
}

impl Bench {
    fn profile<T: Reducible>(
        &self,
        lesson: &'static Lesson,
        block: u32,
        arguments: &Arguments,
    ) -> Result<Profiled, Failure> {
        let workload = Workload {
            n: arguments.n,
            element_type: T::ELEMENT_TYPE.into(),
            seed: arguments.seed,
        };
        let values = T::random(workload.n, workload.seed).map_err(|_| {
            Failure::Input(format!(
                "there is not enough memory for {} {} elements; ask for fewer with -n",
                workload.n, workload.element_type
            ))
        })?;
        let mut profile = Profile::default();
        let start = Instant::now();
        let run = lesson::observe(
            &self.device,
            &self.module,
            lesson,
            block,
            &values,
            &mut profile,
        )?;
        let profiled_in_ms = start.elapsed().as_secs_f64() * 1e3;
        // The run has found the entry, or it would have failed.
        let entry = lesson.entry(block).unwrap_or(lesson.id);
        Ok(Profiled {
            kernel: self.program.kernel(entry).map_err(Failure::input)?,
            workload: Some(workload),
            grid: Shape([run.blocks, 1, 1]),
            block: Shape([block, 1, 1]),
            is_right: Some(run.is_right()),
            total: profile.total(),
            lines: profile.lines(),
            profiled_in_ms,
        })
    }
}

/// The kernel of `--ptx`, if it is given.
fn of_file(arguments: &Arguments) -> Result<Option<Profiled>, Failure> {
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
    let mut profile = Profile::default();
    let start = Instant::now();
    prepared.launch(&mut profile)?;
    let profiled_in_ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(Some(Profiled {
        kernel: Arc::clone(prepared.kernel()),
        workload: None,
        grid: prepared.grid(),
        block,
        is_right: None,
        total: profile.total(),
        lines: profile.lines(),
        profiled_in_ms,
    }))
}

impl Profiled {
    /// One line on what was profiled.
    pub fn describe(&self) -> String {
        let workload = self.workload.map_or_else(String::new, |workload| {
            format!(
                " · n = {} random {} (seed {})",
                show::count(workload.n as u64),
                workload.element_type,
                workload.seed
            )
        });
        let verdict = match self.is_right {
            Some(true) => " · right",
            Some(false) => " · WRONG",
            None => "",
        };
        format!(
            "{}{workload} · grid {} · block {}{verdict} · profiled in {}",
            self.kernel.name(),
            self.grid,
            self.block,
            show::milliseconds(self.profiled_in_ms)
        )
    }
}
