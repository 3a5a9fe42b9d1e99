//! One launch of a solution, watched by the sanitizers, and its result compared with the oracle's.

use std::sync::Arc;

use warpfold_emulator::{
    Finding, Initcheck, Kernel, Launch, LaunchError, Measurements, Memory, MemoryError, Module,
    Origin, Profile, Program, Racecheck, Synccheck, Watch, launch, launch_scheduled,
};

use crate::case::{Argument, Array, Case, Contents, Mismatch};
use crate::stage::Stage;

/// Warp instructions after which a launch counts as endless.
const MAX_STEPS: u64 = 1_000_000;

/// What is wrong in a launch.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) stage: Stage,
    /// In one sentence.
    pub(crate) headline: String,
    /// The threads, lines and addresses; may be empty.
    pub(crate) details: String,
    /// The line of the solution.
    pub(crate) line: Option<u32>,
}

/// A launch that is prepared.
struct Prepared<'a> {
    kernel: Arc<Kernel>,
    memory: Memory,
    shape: Launch,
    parameters: Vec<Vec<u8>>,
    arrays: Vec<Placed<'a>>,
}

/// An array on the device.
struct Placed<'a> {
    argument: usize,
    array: &'a Array,
    base: u64,
}

impl Placed<'_> {
    fn lead(&self) -> usize {
        self.array.offset * self.array.values().size()
    }
}

/// Runs the kernel in the fixed order, or in that of a seed, and says what is wrong with it.
pub(crate) fn run(
    module: &Arc<Module>,
    kernel: &str,
    file: &str,
    case: &Case,
    seed: Option<u64>,
) -> Result<Option<Fault>, LaunchError> {
    let prepared = prepare(module, kernel, case)?;
    let mut tools = (
        Initcheck::new(&prepared.memory),
        (Synccheck::new(), Racecheck::new()),
    );
    let ended = prepared.launch(seed, &mut tools);
    let kernel = &prepared.kernel;
    let (initcheck, (synccheck, racecheck)) = tools;
    if let Err(error) = ended {
        let LaunchError::Trap(trap) = error else {
            return Err(error);
        };
        return Ok(Some(match Finding::of_trap(&trap, kernel) {
            Some(finding) => of_finding(&finding, file),
            None => Fault {
                stage: Stage::Steps,
                headline: format!("the kernel does not end: {}", trap.fault),
                details: trap.to_string(),
                line: line_in(file, trap.origin.as_ref()),
            },
        }));
    }
    // A random order parts lanes that the kernel has not parted.
    let of_barriers = match seed {
        None => synccheck.findings(kernel),
        Some(_) => Vec::new(),
    };
    // Whoever does not wait for others may read what they have not written yet: the race is the cause.
    let findings = of_barriers
        .into_iter()
        .chain(racecheck.findings(kernel))
        .chain(initcheck.findings(kernel));
    if let Some(finding) = findings.into_iter().next() {
        return Ok(Some(of_finding(&finding, file)));
    }
    let wrong = prepared.judge()?.map(|(argument, mismatch)| Fault {
        stage: if seed.is_some() {
            Stage::Schedules
        } else {
            Stage::Result
        },
        headline: format!(
            "the result is wrong: in argument {argument}, counted from 0, {mismatch}"
        ),
        details: String::new(),
        line: None,
    });
    Ok(wrong)
}

/// Counts everything in one launch.
pub(crate) fn measure(
    module: &Arc<Module>,
    kernel: &str,
    case: &Case,
) -> Result<Measurements, LaunchError> {
    let prepared = prepare(module, kernel, case)?;
    let mut profile = Profile::default();
    prepared.launch(None, &mut profile)?;
    Ok(profile.total())
}

fn prepare<'a>(
    module: &Arc<Module>,
    kernel: &str,
    case: &'a Case,
) -> Result<Prepared<'a>, LaunchError> {
    let mut memory = Memory::new();
    let kernel = Program::load(Arc::clone(module), &mut memory)?.kernel(kernel)?;
    let mut parameters = Vec::new();
    let mut arrays = Vec::new();
    for (index, argument) in case.arguments.iter().enumerate() {
        parameters.push(match argument {
            Argument::Number(value) => value.bytes(),
            Argument::Array(array) => {
                let values = array.values();
                let bytes = values.bytes();
                let lead = array.offset * values.size();
                let base = memory.allocate(lead + bytes.len())?;
                if let Contents::Written(_) = array.before {
                    memory.write(base + lead as u64, &bytes)?;
                }
                arrays.push(Placed {
                    argument: index,
                    array,
                    base,
                });
                (base + lead as u64).to_le_bytes().to_vec()
            }
        });
    }
    Ok(Prepared {
        kernel,
        memory,
        shape: Launch {
            grid: [case.grid, 1, 1],
            block: [case.block, 1, 1],
            dynamic_shared_bytes: case.shared_bytes,
            cooperative: case.cooperative,
            max_steps: MAX_STEPS,
            // Launches run beside each other.
            threads: 1,
            ..Launch::default()
        },
        parameters,
        arrays,
    })
}

impl Prepared<'_> {
    fn launch(&self, seed: Option<u64>, observer: &mut dyn Watch) -> Result<(), LaunchError> {
        let (kernel, memory) = (&self.kernel, &self.memory);
        let (shape, parameters) = (&self.shape, &self.parameters);
        match seed {
            None => launch(kernel, memory, shape, parameters, observer),
            Some(seed) => launch_scheduled(kernel, memory, shape, parameters, seed, observer),
        }
    }

    /// The first array that is not what it has to be.
    fn judge(&self) -> Result<Option<(usize, Mismatch)>, MemoryError> {
        for placed in &self.arrays {
            let lead = placed.lead();
            let mut bytes = vec![0; lead + placed.array.values().bytes().len()];
            self.memory.read(placed.base, &mut bytes)?;
            if let Some(mismatch) = placed.array.judge(&bytes[lead..]) {
                return Ok(Some((placed.argument, mismatch)));
            }
            if bytes[..lead].iter().any(|&byte| byte != 0) {
                let mismatch = Mismatch {
                    index: 0,
                    found: "right, but what lies before it has been written to".to_owned(),
                    expected: "all that is written".to_owned(),
                    wrong: 1,
                    of: placed.array.values().len().max(1),
                };
                return Ok(Some((placed.argument, mismatch)));
            }
        }
        Ok(None)
    }
}

fn of_finding(finding: &Finding, file: &str) -> Fault {
    let text = finding.to_string();
    let (headline, details) = text.split_once('\n').unwrap_or((&text, ""));
    let place = finding.places.iter();
    let line = place
        .filter_map(|place| line_in(file, place.origin.as_ref()))
        .next();
    Fault {
        stage: finding.tool.into(),
        headline: headline.to_owned(),
        details: details.trim_end().to_owned(),
        line,
    }
}

/// The line of the solution among the places that an instruction comes from.
fn line_in(file: &str, origin: Option<&Origin>) -> Option<u32> {
    let origin = origin?;
    let places = origin.inlined.iter().chain([&origin.own]);
    let mut own = places.filter(|place| place.file.ends_with(file));
    own.next().map(|place| place.line)
}
