//! What is to be checked: a lesson in each of its block sizes, an exhibit, or a kernel of a PTX file.

use super::Arguments;
use crate::emulate::{EmulatedLaunch, Extents, parse_argument};
use crate::failure::Failure;
use crate::lookup;
use crate::names::Kind;
use crate::show;
use crate::workload::parse_block;
use std::path::Path;
use std::sync::Arc;
use warpfold::device::Emulator;
use warpfold_course::check::Subject;
use warpfold_course::element::ElementType;
use warpfold_course::prepared::PreparedLesson;
use warpfold_emulator::{Launch, LaunchError, Module};
use warpfold_exhibits::catalogue::{self as exhibits, Exhibit};
use warpfold_kernels::catalogue::{self, BLOCK_SIZES, Lesson, Variant};

/// Elements of a lesson unless told otherwise: several blocks of every size, the last of which is cut short.
const USUAL_N: usize = 12_345;
/// Seed of the elements.
const DATA_SEED: u64 = 42;

/// The launches, each of which is prepared when its turn comes.
type Launches = Box<dyn ExactSizeIterator<Item = Result<ToCheck, Failure>>>;

/// A launch, and the name and the value of the lesson's parameter, if it has one.
pub struct ToCheck {
    pub subject: Subject,
    pub parameter: Option<(&'static str, u32)>,
}

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
            return Self::of_lesson(lesson, arguments);
        }
        match exhibits::find(id) {
            Some(exhibit) => Self::of_exhibit(exhibit, arguments),
            None => Err(lookup::no_such(id, &[Kind::Lesson, Kind::Exhibit], &[])),
        }
    }

    fn of_lesson(lesson: &'static Lesson, arguments: &Arguments) -> Result<Self, Failure> {
        let blocks = match arguments.blocks.as_slice() {
            [] => BLOCK_SIZES.to_vec(),
            blocks => blocks
                .iter()
                .map(|block| parse_block(&block.to_string()).map_err(Failure::Input))
                .collect::<Result<_, _>>()?,
        };
        let mut variants: Vec<Variant> = Vec::new();
        for block in blocks {
            if arguments.parameter.is_given() {
                variants.push(arguments.parameter.variant(lesson, block)?);
            } else {
                variants.extend(lesson.variants_of(block));
            }
        }
        if arguments.n == Some(0) {
            return Err(nothing_to_launch());
        }
        let ptx = arguments.kernels.read()?;
        let text = ptx
            .newest_for(lesson.module, Emulator::SM)
            .map_err(Failure::input)?;
        let module = Module::parse(text)
            .map(Arc::new)
            .map_err(LaunchError::from)?;
        let n_asked = arguments.n;
        let launches = variants.into_iter().map(move |variant| {
            let n = n_asked.unwrap_or_else(|| usual_n(lesson, variant));
            let multiprocessors = Emulator::MULTIPROCESSORS;
            let prepared = PreparedLesson::new(lesson, variant, n, DATA_SEED, multiprocessors)?;
            let case = prepared.case().ok_or_else(nothing_to_launch)?;
            let name = lesson.parameter.map(|parameter| parameter.name);
            Ok(ToCheck {
                subject: Subject::of_case(&module, case)?
                    .with_results_in_any_order(lesson.results_in_any_order()),
                parameter: name.zip(variant.parameter),
            })
        });
        let n = n_asked.unwrap_or(USUAL_N);
        Ok(Self {
            name: lesson.id.to_owned(),
            on: match lesson.reduction() {
                Some(reduction) => format!(
                    " · n = {} random {} (seed {DATA_SEED})",
                    show::count(n as u64),
                    ElementType::from(reduction.element_type)
                ),
                None => format!(
                    " · n = {} (seed {DATA_SEED}){}",
                    show::count(n as u64),
                    if lesson.results_in_any_order() {
                        " · its results may differ from order to order, and are not compared"
                    } else {
                        ""
                    }
                ),
            },
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
            ..Launch::default()
        };
        let file = Path::new("kernels/ptx/exhibits.sm_80.ptx");
        let prepared =
            EmulatedLaunch::from_text(file, warpfold_ptx::EXHIBITS, exhibit.id, launch, &values)?;
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

fn one(prepared: EmulatedLaunch) -> Launches {
    Box::new(std::iter::once(Ok(ToCheck {
        subject: prepared.into_subject(),
        parameter: None,
    })))
}

/// The usual number of elements, or as many as the lesson takes.
fn usual_n(lesson: &Lesson, variant: Variant) -> usize {
    let reduction = lesson.reduction();
    let most = reduction.and_then(|reduction| reduction.most_elements(variant));
    most.map_or(USUAL_N, |most| USUAL_N.min(most as usize))
}

fn nothing_to_launch() -> Failure {
    Failure::input("without elements there is no launch to check; use -n 1 or more")
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Trap(trap) => Self::finding(trap),
            error => Self::input(error),
        }
    }
}

/// The shape in words: `4 blocks of 256 threads`.
pub fn describe_launch(launch: &Launch) -> String {
    let [grid, block] = [launch.grid, launch.block].map(|extents| Extents(extents).to_string());
    format!("blocks {grid:>5} of {block:>4} threads")
}
