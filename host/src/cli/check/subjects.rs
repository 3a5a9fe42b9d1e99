//! What is to be checked: a lesson in each of its block sizes, an exhibit, or a kernel of a PTX file.

use super::Arguments;
use crate::cli::emulate::{Prepared, Shape, parse_argument};
use crate::cli::failure::Failure;
use crate::cli::show;
use crate::cli::suggest::did_you_mean;
use crate::cli::workload::parse_block;
use std::path::Path;
use warpfold::check::{Subject, SubjectError};
use warpfold::device::{Device, DeviceChoice};
use warpfold::element::ElementType;
use warpfold::ptx::EXHIBITS_PTX;
use warpfold::reducible::Reducible;
use warpfold_emulator::{Launch, LaunchError};
use warpfold_exhibits::catalogue::{self as exhibits, EXHIBITS, Exhibit};
use warpfold_kernels::catalogue::{self, BLOCK_SIZES, LESSONS, Lesson};

/// Elements of a lesson unless told otherwise: several blocks of every size, the last of which is cut short.
const USUAL_N: usize = 12_345;
/// Seed of the elements.
const DATA_SEED: u64 = 42;

/// One launch after the other, each made when it is its turn.
type Launches = Box<dyn Iterator<Item = Result<Subject, Failure>>>;

/// What the command was asked to check.
pub struct Subjects {
    /// Its name.
    pub name: String,
    /// What it works on, for the first line of output.
    pub on: String,
    /// The launches.
    pub subjects: Launches,
}

impl Subjects {
    /// What the arguments ask for.
    pub fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let Some(id) = &arguments.id else {
            return Self::of_file(arguments);
        };
        if let Some(lesson) = catalogue::find(id) {
            return match lesson.element_type {
                catalogue::ElementType::I32 => Self::of_lesson::<i32>(lesson, arguments),
                catalogue::ElementType::F32 => Self::of_lesson::<f32>(lesson, arguments),
            };
        }
        match exhibits::find(id) {
            Some(exhibit) => Self::of_exhibit(exhibit, arguments),
            None => {
                let lessons = LESSONS.iter().map(|lesson| lesson.id);
                let known = lessons.chain(EXHIBITS.iter().map(|exhibit| exhibit.id));
                Err(Failure::Input(format!(
                    "there is no lesson or exhibit `{id}`{}",
                    did_you_mean(id, known)
                )))
            }
        }
    }

    fn of_lesson<T: Reducible>(
        lesson: &'static Lesson,
        arguments: &Arguments,
    ) -> Result<Self, Failure> {
        let blocks = match arguments.blocks.as_slice() {
            [] => BLOCK_SIZES.to_vec(),
            blocks => blocks
                .iter()
                .map(|block| parse_block(&block.to_string()).map_err(Failure::Input))
                .collect::<Result<_, _>>()?,
        };
        let n = arguments.n.unwrap_or(USUAL_N);
        if n == 0 {
            return Err(SubjectError::NothingToLaunch.into());
        }
        let values = T::random(n, DATA_SEED).map_err(|_| {
            Failure::Input(format!(
                "there is not enough memory for {n} elements; ask for fewer with -n"
            ))
        })?;
        let ptx = arguments.kernels.read()?;
        let device = Device::open(&DeviceChoice::Emulator)?;
        let text = ptx.newest_for(&device)?.to_owned();
        let launches = blocks
            .into_iter()
            .map(move |block| Ok(Subject::of_lesson(&text, lesson, block, &values)?));
        Ok(Self {
            name: lesson.id.to_owned(),
            on: format!(
                " · n = {} random {} (seed {DATA_SEED})",
                show::count(n as u64),
                ElementType::from(T::ELEMENT_TYPE)
            ),
            subjects: Box::new(launches),
        })
    }

    fn of_exhibit(exhibit: &'static Exhibit, arguments: &Arguments) -> Result<Self, Failure> {
        if arguments.n.is_some() || !arguments.blocks.is_empty() {
            return Err(Failure::Input(format!(
                "the exhibit `{}` has a launch of its own; leave out -n and --block",
                exhibit.id
            )));
        }
        let values = exhibit
            .arguments
            .iter()
            .map(|text| parse_argument(text).map_err(Failure::Input))
            .collect::<Result<Vec<_>, _>>()?;
        let launch = Launch {
            grid: [exhibit.grid, 1, 1],
            block: [exhibit.block, 1, 1],
            dynamic_shared_bytes: 0,
            threads: 0,
            max_steps: 0,
            cooperative: false,
        };
        let file = Path::new("kernels/ptx/exhibits.sm_80.ptx");
        let prepared = Prepared::from_text(file, EXHIBITS_PTX, exhibit.id, launch, &values)?;
        Ok(Self {
            name: exhibit.id.to_owned(),
            on: format!(" · {}, in {}", exhibit.title, exhibit.file),
            subjects: one(prepared),
        })
    }

    fn of_file(arguments: &Arguments) -> Result<Self, Failure> {
        let block = match arguments.blocks.as_slice() {
            &[block] => block,
            _ => {
                return Err(Failure::input(
                    "--ptx takes one --block, the shape of the launch",
                ));
            }
        };
        let prepared = arguments.file.prepare(block)?.ok_or_else(|| {
            Failure::input("nothing to check: name a lesson, an exhibit or a --ptx file")
        })?;
        Ok(Self {
            name: prepared.kernel().name().to_owned(),
            on: String::new(),
            subjects: one(prepared),
        })
    }
}

fn one(prepared: Prepared) -> Launches {
    Box::new(std::iter::once(Ok(prepared.into_subject())))
}

impl From<SubjectError> for Failure {
    fn from(error: SubjectError) -> Self {
        match error {
            SubjectError::Launch(LaunchError::Trap(trap)) => Self::finding(trap),
            error => Self::input(error),
        }
    }
}

/// The shape in words: `4 blocks of 256 threads`.
pub fn describe_launch(launch: &Launch) -> String {
    let [grid, block] = [launch.grid, launch.block].map(|extents| Shape(extents).to_string());
    format!("blocks {grid:>5} of {block:>4} threads")
}
