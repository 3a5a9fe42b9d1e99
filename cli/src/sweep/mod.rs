//! `warpfold sweep`: kernels over a range of sizes, or one over the values of its parameter, as a table, CSV, JSON and a picture.

mod contender;
mod files;
mod measure;
mod measured;
mod outcome;
mod parameter;
mod table;
#[cfg(test)]
mod tests;

use super::device::Machines;
use super::failure::Failure;
use super::footnotes;
use super::output::{JsonArguments, Output, check_folder, write_file};
use super::recorded;
use super::size::parse_sizes;
use super::workload::{MeasuringArguments, describe_timing};
use contender::{Contender, Field};
use measure::{Plan, measure};
use measured::{LeftOut, Measured, Stop};
use outcome::Sweep;
use std::path::PathBuf;
use warpfold_course::demonstration::is_swept;
use warpfold_course::element::ElementType;
use warpfold_course::operator::Operator;
use warpfold_course::size::short;
use warpfold_kernels::catalogue::{self, Lesson, PtxText};
use warpfold_ptx::header::Header;

const EXAMPLES: &str = "\
Examples:
  warpfold sweep
  warpfold sweep --sizes 2^16..2^28*4 --cold --svg sweep.svg --csv sweep.csv
  warpfold sweep shuffle vectorized sum --sizes 1M,10_000_000
  warpfold sweep --op max --type f32 --json -
  warpfold sweep copy_offset --svg offset.svg

Sizes are a list; a range A..B doubles from A up to B, and A..B*4 multiplies by four. A size that a kernel does not take \
or that does not fit the device's memory is left out, and the output says so.

copy_offset, copy_stride and bank_stride, each by itself, are swept over their offset or stride instead, with one number of \
elements [default: 2^26 on a GPU, 2^16 on the emulator]: GB/s on a GPU, sectors or bank conflicts per request on the emulator.";

/// The sizes that are swept by default.
const GPU_SIZES: &str = "2^10..2^28";
const EMULATOR_SIZES: &str = "2^10..2^20";

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Lessons that reduce, and `sum` for what the library launches, in blocks of its own choice; or one lesson to sweep over its offset
    /// or stride [default: the ladder and sum]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Numbers of elements: 2^10..2^28, 2^10..2^28*4, 1K,1M [default: 2^10..2^28 on a GPU, 2^10..2^20 on the emulator]
    #[arg(long, value_parser = Sizes::parse)]
    sizes: Option<Sizes>,
    /// Type of the elements [default: that of the first ID, or i32]
    #[arg(long = "type", value_name = "TYPE")]
    element_type: Option<ElementType>,
    /// Operator [default: that of the first ID, or sum]
    #[arg(long = "op", value_name = "OPERATOR")]
    operator: Option<Operator>,
    #[command(flatten)]
    measuring: MeasuringArguments,
    /// Show what a GPU measured once, and run nothing
    #[arg(long)]
    recorded: bool,
    /// Also write a line for each kernel and size as CSV to FILE
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also draw a line for each kernel as SVG to FILE: GB/s on a GPU, instructions on the emulator
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArguments,
}

/// The value of `--sizes`: to clap a vector would be an option that is given several times.
#[derive(Clone, Debug)]
struct Sizes(Vec<usize>);

impl Sizes {
    fn parse(text: &str) -> Result<Self, String> {
        parse_sizes(text).map(Self)
    }
}

impl Arguments {
    /// The lesson that is to be swept over its parameter, if one is.
    fn swept_over_parameter(&self) -> Result<Option<&'static Lesson>, Failure> {
        let lessons = self.ids.iter().filter_map(|id| catalogue::find(id));
        let Some(lesson) = lessons.into_iter().find(|lesson| is_swept(lesson)) else {
            return Ok(None);
        };
        let refuse = |what: &str| {
            Err(Failure::Input(format!(
                "`{}` is swept over its parameter; {what}",
                lesson.id
            )))
        };
        if self.ids.len() > 1 {
            return refuse("sweep it by itself");
        }
        if self.operator.is_some() || self.element_type.is_some() {
            return refuse("leave --op and --type out");
        }
        Ok(Some(lesson))
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Output::new(&arguments.json)?;
    if arguments.recorded {
        return output.print(match &arguments.ids[..] {
            [] => recorded::ladder(),
            ids => {
                let texts = ids.iter().map(|id| recorded::text("sweep", id));
                texts.collect::<Result<Vec<_>, _>>()?.join("\n\n")
            }
        });
    }
    for path in arguments.csv.iter().chain(&arguments.svg) {
        check_folder(path)?;
    }
    if let Some(lesson) = arguments.swept_over_parameter()? {
        let plan = parameter::Plan {
            lesson,
            sizes: arguments.sizes.as_ref().map(|Sizes(sizes)| &sizes[..]),
            measuring: &arguments.measuring,
        };
        return parameter::run(
            plan,
            &output,
            arguments.csv.as_deref(),
            arguments.svg.as_deref(),
        );
    }
    let field = Field::new(&arguments.ids, arguments.operator, arguments.element_type)?;
    let machines = arguments.measuring.device.open_all()?;
    let device = machines.first();
    let usual = if device.is_gpu() {
        GPU_SIZES
    } else {
        EMULATOR_SIZES
    };
    let sizes = match &arguments.sizes {
        Some(Sizes(sizes)) => sizes.clone(),
        None => parse_sizes(usual).map_err(Failure::Input)?,
    };
    let plan = Plan {
        sizes: &sizes,
        measuring: &arguments.measuring,
        data: arguments.measuring.data.data()?,
    };
    // Before the measurements, because a device may not answer after a kernel has faulted.
    let mut sweep = sweep(arguments, &machines, &field, &plan)?;
    sweep.measured = measure(&machines, &field, &plan)?;
    check_some(&sweep.measured)?;
    output.print(machines.describe())?;
    output.print(describe(&field, &plan))?;
    output.print("")?;
    print(&sweep, &output)?;
    output.write_json(&sweep)?;
    if let Some(path) = &arguments.csv {
        write_file(path, &files::csv(&sweep)?)?;
    }
    if let Some(path) = &arguments.svg {
        write_file(path, files::svg(&sweep)?.as_bytes())?;
    }
    judge(&sweep.measured)
}

/// Whether there is something to show.
fn check_some(measured: &Measured) -> Result<(), Failure> {
    if !measured.rows.is_empty() {
        return Ok(());
    }
    match (&measured.stopped, measured.left_out.first()) {
        (Some(stop), _) => Err(Failure::input(&stop.reason)),
        (None, Some(first)) => Err(Failure::Input(format!(
            "nothing to sweep: {}",
            first.describe()
        ))),
        (None, None) => Ok(()),
    }
}

fn describe(field: &Field, plan: &Plan<'_>) -> String {
    let first = plan.sizes.first().copied().unwrap_or_default();
    let sizes = match plan.sizes.last() {
        Some(&last) if last != first => format!("n from {} to {}", short(first), short(last)),
        _ => format!("n = {}", short(first)),
    };
    let seed = plan.data.seed().map(|seed| format!(" (seed {seed})"));
    format!(
        "{sizes} {}{} · {} · block {}",
        plan.data.describe(field.element_type.name()),
        seed.unwrap_or_default(),
        field.operator,
        plan.measuring.block
    )
}

/// What is known before anything is measured.
fn sweep(
    arguments: &Arguments,
    machines: &Machines,
    field: &Field,
    plan: &Plan<'_>,
) -> Result<Sweep, Failure> {
    let device = machines.first();
    let gpu = device.gpu_information().cloned();
    let driver = match gpu {
        Some(_) => warpfold::device::list()?.driver,
        None => None,
    };
    let modules = field.contenders.iter().filter_map(Contender::lesson);
    let module = modules.map(|lesson| lesson.module).next();
    let module = module.unwrap_or(PtxText::Kernels);
    let ptx = device.ptx(module).map_err(Failure::input)?;
    Ok(Sweep {
        device: machines.describe(),
        on_gpu: device.is_gpu(),
        repeat: gpu.is_some().then_some(arguments.measuring.repeat),
        cold: gpu.is_some().then_some(arguments.measuring.cold),
        gpu,
        driver,
        ptx_compiler: Header::parse(&ptx).map(|header| header.compiler),
        ptx_sm: device.sm_of(module),
        operator: field.operator.name(),
        element_type: field.element_type.into(),
        block: arguments.measuring.block,
        data: plan.data,
        seed: plan.data.seed(),
        sizes: plan.sizes.to_vec(),
        measured: Measured::default(),
        contenders: field.contenders.clone(),
    })
}

fn print(sweep: &Sweep, output: &Output) -> Result<(), Failure> {
    output.print(table::text(sweep))?;
    output.print("")?;
    let measured = &sweep.measured;
    for row in measured.rows.iter().filter(|row| !row.is_right()) {
        let what = match (&row.fault, &row.figures) {
            (Some(fault), _) => format!("`{}` at {}: {fault}", row.id, short(row.n)),
            (None, Some(figures)) => {
                format!(
                    "`{}` at {} {}",
                    row.id,
                    short(row.n),
                    figures.wrong_result()
                )
            }
            (None, None) => continue,
        };
        output.print(what)?;
    }
    let left_out = measured.left_out.iter().map(LeftOut::describe);
    for sentence in left_out.chain(measured.stopped.as_ref().map(Stop::describe)) {
        output.print(sentence)?;
    }
    for note in footnotes::exhibits(sweep.contenders.iter().filter_map(Contender::lesson)) {
        output.print(note)?;
    }
    output.print(match (sweep.repeat, sweep.cold) {
        (Some(repeat), Some(cold)) => format!(
            "{}\nA kernel that works in place gets fresh input before each launch{}, outside the timed region.\nWith few elements, most of the time is that of the launch.",
            describe_timing(repeat, cold),
            if cold {
                " and before the cache is overwritten"
            } else {
                ", which warms the cache as well"
            }
        ),
        _ => footnotes::NO_TIMES.to_owned(),
    })
}

/// Whether everything was measured and right.
fn judge(measured: &Measured) -> Result<(), Failure> {
    let wrong: Vec<String> = measured
        .rows
        .iter()
        .filter(|row| !row.is_right())
        .map(|row| format!("`{}` at {}", row.id, short(row.n)))
        .collect();
    let message = match &measured.stopped {
        Some(Stop { id, n, reason }) => {
            format!("the sweep ended with `{id}` at {}: {reason}", short(*n))
        }
        None => format!(
            "{} of {} measurements did not give the right result: {}",
            wrong.len(),
            measured.rows.len(),
            wrong.join(", ")
        ),
    };
    match (&measured.stopped, wrong.is_empty()) {
        (None, true) => Ok(()),
        (Some(_), true) => Err(Failure::Input(message)),
        (_, false) => Err(Failure::Finding(message)),
    }
}
