//! One launch of a solution, watched by the sanitizers, and its result compared with the oracle's.

use std::sync::Arc;

use warpfold_emulator::{
    Finding, Initcheck, Kernel, Launch, LaunchError, Memory, MemoryError, Module, Profile, Program,
    Racecheck, Synccheck, Watch, launch, launch_scheduled,
};

use crate::case::{After, Argument, Array, Case, Contents, Mismatch};
use crate::picture::{Focus, Shown, Window, draw};
use crate::record::Record;
use crate::source::{self, line_in};
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
    /// What a picture of it is of.
    pub(crate) focus: Option<Focus>,
}

/// A solution whose kernel can be launched.
#[derive(Clone, Copy)]
pub(crate) struct Solution<'a> {
    pub(crate) module: &'a Arc<Module>,
    /// The name of the kernel.
    pub(crate) kernel: &'a str,
    /// The name of its file in the PTX.
    pub(crate) file: &'a str,
    /// What its parameters are called.
    pub(crate) parameters: &'a [String],
}

impl Solution<'_> {
    /// Says which line of the solution a line of the PTX comes from.
    pub(crate) fn lines(&self) -> impl Fn(u32) -> Option<u32> {
        let mut memory = Memory::new();
        let program = Program::load(Arc::clone(self.module), &mut memory);
        let kernel = program.and_then(|program| program.kernel(self.kernel)).ok();
        move |line| line_in(self.file, kernel.as_ref()?.origin(line).as_ref())
    }
}

/// A launch that is prepared.
struct LoadedCase<'a> {
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
    solution: Solution<'_>,
    case: &Case,
    seed: Option<u64>,
) -> Result<Option<Fault>, LaunchError> {
    let file = solution.file;
    let prepared = prepare(solution.module, solution.kernel, case)?;
    let of_finding = |finding: &Finding| of_finding(finding, &prepared, solution);
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
            Some(finding) => of_finding(&finding),
            None => Fault {
                stage: Stage::Steps,
                headline: format!("the kernel does not end: {}", trap.fault),
                details: format!("  {trap}"),
                line: line_in(file, trap.origin.as_ref()),
                focus: Some(Focus::Lanes {
                    block: trap.block,
                    place: None,
                }),
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
        return Ok(Some(of_finding(&finding)));
    }
    let wrong = prepared.judge()?.map(|(argument, mismatch)| Fault {
        stage: if seed.is_some() {
            Stage::Schedules
        } else {
            Stage::Result
        },
        headline: format!(
            "the result is wrong: in {}, {mismatch}",
            source::shown(solution.parameters, argument)
        ),
        details: prepared.inputs_of(argument, mismatch.index, solution.parameters),
        line: None,
        focus: Some(Focus::Element {
            argument,
            index: mismatch.index,
        }),
    });
    Ok(wrong)
}

/// Runs the kernel once more and draws the step that went wrong; `None` where there is nothing to be seen.
pub(crate) fn picture(
    solution: Solution<'_>,
    case: &Case,
    seed: Option<u64>,
    focus: &Focus,
) -> Result<Option<String>, LaunchError> {
    let prepared = prepare(solution.module, solution.kernel, case)?;
    let before = prepared.shown(solution.parameters)?;
    let window = Window::of(focus, &before);
    let mut record = Record::new(window.map(|window| window.watched()));
    match prepared.launch(seed, &mut record) {
        // What has happened up to there is the picture.
        Ok(()) | Err(LaunchError::Trap(_)) => {}
        Err(error) => return Err(error),
    }
    let after = prepared.shown(solution.parameters)?;
    let window = Window::of(focus, &after);
    Ok(draw(
        focus,
        window.as_ref(),
        &record,
        &prepared.kernel,
        solution.file,
    ))
}

/// Counts everything in one launch.
pub(crate) fn measure(
    module: &Arc<Module>,
    kernel: &str,
    case: &Case,
) -> Result<Profile, LaunchError> {
    let prepared = prepare(module, kernel, case)?;
    let mut profile = Profile::default();
    prepared.launch(None, &mut profile)?;
    Ok(profile)
}

fn prepare<'a>(
    module: &Arc<Module>,
    kernel: &str,
    case: &'a Case,
) -> Result<LoadedCase<'a>, LaunchError> {
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
    Ok(LoadedCase {
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

impl LoadedCase<'_> {
    /// The arrays with what they hold now.
    fn shown<'a>(&'a self, parameters: &'a [String]) -> Result<Vec<Shown<'a>>, MemoryError> {
        let shown = |placed: &'a Placed<'_>| {
            let address = placed.base + placed.lead() as u64;
            let mut bytes = vec![0; placed.array.values().bytes().len()];
            self.memory.read(address, &mut bytes)?;
            Ok(Shown {
                name: source::shown(parameters, placed.argument),
                argument: placed.argument,
                array: placed.array,
                address,
                bytes,
            })
        };
        self.arrays.iter().map(shown).collect()
    }

    fn launch(&self, seed: Option<u64>, observer: &mut dyn Watch) -> Result<(), LaunchError> {
        let (kernel, memory) = (&self.kernel, &self.memory);
        let (shape, parameters) = (&self.shape, &self.parameters);
        match seed {
            None => launch(kernel, memory, shape, parameters, observer),
            Some(seed) => launch_scheduled(kernel, memory, shape, parameters, seed, observer),
        }
    }

    /// What the kernel gets where an element of its result comes from, a line for each array.
    fn inputs_of(&self, argument: usize, index: usize, parameters: &[String]) -> String {
        let wrong = self
            .arrays
            .iter()
            .find(|placed| placed.argument == argument);
        let sources = wrong.and_then(|placed| placed.array.sources.as_ref());
        let source = match sources {
            Some(sources) => sources.get(index).copied(),
            None => Some(index),
        };
        let mut lines = Vec::new();
        for placed in &self.arrays {
            let (place, before) = match (&placed.array.before, &placed.array.after) {
                (Contents::Written(_), After::Unchanged) => (source, ""),
                (Contents::Written(_), After::Exactly(_)) if placed.argument == argument => {
                    (Some(index), " before the launch")
                }
                _ => continue,
            };
            let name = source::shown(parameters, placed.argument);
            let shown = place.and_then(|place| placed.array.values().around(place));
            lines.extend(shown.map(|(range, values)| {
                format!("  {name}[{}..{}]{before}: {values}", range.start, range.end)
            }));
        }
        lines.join("\n")
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

fn of_finding(finding: &Finding, prepared: &LoadedCase<'_>, solution: Solution<'_>) -> Fault {
    let text = finding.to_string();
    let (headline, details) = text.split_once('\n').unwrap_or((&text, ""));
    let mut details = details.trim_end().to_owned();
    let focus = Focus::of_finding(finding);
    // Memory that cannot be read has no words either.
    if let Some(focus) = &focus
        && let Ok(arrays) = prepared.shown(solution.parameters)
        && let Some(words) = Window::of(focus, &arrays).and_then(|window| window.words())
    {
        details += &format!("\n  the address is that of {words}");
    }
    let place = finding.places.iter();
    let line = place
        .filter_map(|place| line_in(solution.file, place.origin.as_ref()))
        .next();
    Fault {
        stage: finding.tool.into(),
        headline: headline.to_owned(),
        details,
        line,
        focus,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thread stores its number in shared memory and writes that of the next; between the two there is nothing, or a barrier to
    /// which the first 40 threads come.
    fn kernel(between: &str) -> Arc<Module> {
        let ptx = format!(
            ".version 7.0
             .target sm_80
             .address_size 64
             .visible .entry next(.param .u64 output) {{
                 .reg .pred %p<2>;
                 .reg .b32 %r<6>;
                 .reg .b64 %rd<4>;
                 .shared .align 4 .b8 tile[260];
                 .loc 1 3 0
                 mov.u32 %r1, %tid.x;
                 setp.ge.u32 %p1, %r1, 40;
                 shl.b32 %r2, %r1, 2;
                 mov.u32 %r3, tile;
                 add.u32 %r3, %r3, %r2;
                 .loc 1 5 0
                 st.shared.u32 [%r3], %r1;
                 {between}
                 .loc 1 7 0
                 ld.shared.u32 %r4, [%r3+4];
                 ld.param.u64 %rd1, [output];
                 mul.wide.u32 %rd2, %r1, 4;
                 add.u64 %rd1, %rd1, %rd2;
                 st.global.u32 [%rd1], %r4;
                 ret;
             }}
             .file 1 \"mine.rs\"
            "
        );
        Arc::new(Module::parse(&ptx).expect("the PTX is right"))
    }

    /// The headline, the details and the picture of a launch over `threads` elements, the last of which nothing is written for.
    fn judged(module: &Arc<Module>, threads: u32, expected: Vec<u32>) -> (String, String) {
        let parameters = ["output".to_owned()];
        let solution = Solution {
            module,
            kernel: "next",
            file: "mine.rs",
            parameters: &parameters,
        };
        let case = Case::new(1, threads, vec![Argument::output(expected, 0)]);
        let fault = run(solution, &case, None).expect("it can be launched");
        let fault = fault.expect("it is wrong");
        let focus = fault.focus.expect("there is something to be seen");
        let drawn = picture(solution, &case, None, &focus).expect("it can be launched");
        (
            format!("{}\n{}", fault.headline, fault.details),
            drawn.expect("there is a picture"),
        )
    }

    #[test]
    fn a_race_shows_who_touches_the_word_and_its_neighbours() {
        let (text, picture) = judged(&kernel(""), 64, (1..65).collect());
        assert!(text.contains("racecheck"), "{text}");
        assert_eq!(
            picture,
            "\
shared memory in the block, before its first barrier

shared memory           0      [1]      2       3       4       5       6
line 5 writes ✗         0       1       2       3       4       5       6
line 7 reads ✗          ·       0       1       2       3       4       5

A cell names the thread, · means none; ✗ marks what is reported.
"
        );
    }

    #[test]
    fn an_access_past_the_end_has_the_parameters_name() {
        let (text, picture) = judged(&kernel("bar.sync 0;"), 64, (1..61).collect());
        let words = "the address is that of output[60], past the end: output has 60 elements";
        assert!(text.contains(words), "{text}");
        assert!(picture.contains("│ [60]"), "{picture}");
        assert!(picture.contains("line 7 writes ✗"), "{picture}");
    }

    #[test]
    fn a_barrier_shows_where_every_lane_stands() {
        let (text, picture) = judged(&kernel("@%p1 bar.sync 0;"), 64, (1..65).collect());
        assert!(text.contains("synccheck"), "{text}");
        assert!(picture.contains("lanes of block 0"), "{picture}");
        assert!(picture.contains("warp 1          "), "{picture}");
    }
}
