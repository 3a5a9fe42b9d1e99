//! The judge: is a solution right, is it sound in any order, and what does it cost beside the reference.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;
use warpfold_emulator::{Measurements, Metric, Module};

use crate::costs::costs;
use crate::exercise::{Better, Exercise};
use crate::run::{Fault, Solution, measure, picture, run};
use crate::source;
use crate::stage::Stage;
use warpfold_workshop::{Messages, NvvmArch, Source, Workshop, WorkshopError};

/// The architecture that solutions are compiled for.
pub const ARCH: NvvmArch = NvvmArch::Compute80;

/// How many schedules a solution has to be sound under.
pub const SCHEDULES: u64 = 32;

/// How far above the reference's a counter may be for two stars, and for three.
pub const TWO_STARS: f64 = 1.10;
/// For three stars.
pub const THREE_STARS: f64 = 1.02;

/// Room for the rounding of ratios.
const ROUNDING: f64 = 1e-9;

/// What the judge says.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// 0 to 3.
    pub stars: u32,
    /// The first stage that convicts the solution; of the last two stages it leaves a star or two.
    pub conviction: Option<Conviction>,
    /// The counter that gives stars, where the solution is right.
    pub counter: Option<Comparison>,
    /// What must not be paid elsewhere.
    pub gates: Vec<Comparison>,
    /// Launches that were run.
    pub launches: usize,
    /// How long the compiler took.
    pub compiled_in_ms: f64,
    /// How long the launches took.
    pub judged_in_ms: f64,
    /// What was judged, where it compiles.
    #[serde(skip)]
    pub ptx: Option<Compiled>,
}

/// A solution and its reference as PTX.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The solution.
    pub yours: String,
    /// The reference.
    pub reference: String,
}

/// Why a solution does not get three stars.
#[derive(Clone, Debug, Serialize)]
pub struct Conviction {
    /// The stage.
    pub stage: Stage,
    /// In one sentence.
    pub headline: String,
    /// The compiler's messages, or the threads and lines that have to do with it; may be empty.
    pub details: String,
    /// The line of the solution.
    pub line: Option<u32>,
    /// The launch.
    pub launch: Option<LaunchFigures>,
    /// The launch in words: the numbers that the kernel gets, its blocks, and which arrays begin past a 256-byte boundary; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub given: String,
    /// The step that went wrong, drawn as text, or the lines that cost most of the counter; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub picture: String,
}

/// A launch of the judge's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LaunchFigures {
    /// Number of elements.
    pub n: usize,
    /// How many elements past a 256-byte boundary the arrays begin.
    pub offset: usize,
    /// The seed of its schedule; `None` in the usual order.
    pub seed: Option<u64>,
}

/// A counter beside the reference's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Comparison {
    /// The counter.
    pub metric: &'static str,
    /// The solution's; `None` where it has none, as a ratio to nothing.
    pub yours: Option<f64>,
    /// What is allowed, for two stars or at all.
    pub gate: Option<f64>,
    /// What is allowed for three stars, where the counter gives stars.
    pub three_stars: Option<f64>,
    /// The reference's.
    pub reference: Option<f64>,
    /// Whether the gate lets it pass.
    pub passes: bool,
    /// Whether it is good enough for three stars; a gate is where it passes.
    #[serde(skip)]
    pub has_three_stars: bool,
}

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The workshop cannot compile anything.
    #[error(transparent)]
    Workshop(#[from] WorkshopError),
    /// The reference cannot be compared with: a mistake in the exercise.
    #[error("exercise {id}: the reference {problem}; mend the exercise")]
    Reference {
        /// The exercise.
        id: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// Judges a solution under 32 schedules, or under that of one seed alone.
///
/// # Errors
/// There is no compiler, or the exercise itself is wrong.
pub fn judge(
    workshop: &mut Workshop,
    exercise: &Exercise,
    source: Source<'_>,
    seed: Option<u64>,
) -> Result<Judgement, JudgeError> {
    let start = Instant::now();
    let compiled = match source {
        Source::File(_) => workshop.compile(source, ARCH, Messages::Kept),
        Source::Text { name, text } => workshop.compile_once(name, text, ARCH),
    };
    let compiled_in_ms = start.elapsed().as_secs_f64() * 1e3;
    let mut judgement = Judgement {
        stars: 0,
        conviction: None,
        counter: None,
        gates: Vec::new(),
        launches: 0,
        compiled_in_ms,
        judged_in_ms: 0.0,
        ptx: None,
    };
    let ptx = match compiled {
        Ok(ptx) => ptx,
        Err(WorkshopError::DoesNotCompile(messages)) => {
            judgement.conviction = Some(Conviction::of_build("it does not compile", messages));
            return Ok(judgement);
        }
        Err(error) => return Err(error.into()),
    };
    let name = match source {
        Source::File(path) => file_name(path),
        Source::Text { name, .. } => name.to_owned(),
    };
    let text = match source {
        // It was there when it was compiled; without it, parameters have numbers.
        Source::File(path) => Cow::Owned(fs::read_to_string(path).unwrap_or_default()),
        Source::Text { text, .. } => Cow::Borrowed(text),
    };
    let parameters = source::parameter_names(&text, exercise.kernel);
    let reference = workshop.compile_once("reference.rs", exercise.reference(), ARCH)?;

    let start = Instant::now();
    match parse(exercise, &ptx) {
        Err(problem) => {
            judgement.conviction = Some(Conviction::of_build(&problem, String::new()));
        }
        Ok(module) => {
            let solution = Solution {
                module: &module,
                kernel: exercise.kernel,
                file: &name,
                parameters: &parameters,
            };
            judgement.conviction = forbidden(exercise, &ptx, solution)
                .or_else(|| judge_launches(exercise, solution, seed, &mut judgement.launches));
            if judgement.conviction.is_none() {
                compare(exercise, solution, &text, &reference, &mut judgement)?;
            }
        }
    }
    judgement.judged_in_ms = start.elapsed().as_secs_f64() * 1e3;
    judgement.ptx = Some(Compiled {
        yours: ptx,
        reference,
    });
    Ok(judgement)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

impl Conviction {
    fn of_build(headline: &str, details: String) -> Self {
        Self {
            stage: Stage::Build,
            headline: headline.to_owned(),
            details,
            line: None,
            launch: None,
            given: String::new(),
            picture: String::new(),
        }
    }
}

/// Whether a solution is right and sound.
fn judge_launches(
    exercise: &Exercise,
    solution: Solution<'_>,
    seed: Option<u64>,
    launches: &mut usize,
) -> Option<Conviction> {
    let usual = exercise.sizes().into_iter().flat_map(|n| {
        let launch = move |&offset| LaunchFigures {
            n,
            offset,
            seed: None,
        };
        exercise.offsets.iter().map(launch)
    });
    let seeds = match seed {
        Some(seed) => seed..=seed,
        None => 0..=SCHEDULES - 1,
    };
    let scheduled = seeds.map(|seed| LaunchFigures {
        n: exercise.many(),
        offset: exercise.offsets[seed as usize % exercise.offsets.len()],
        seed: Some(seed),
    });
    let all: Vec<LaunchFigures> = match seed {
        None => usual.chain(scheduled).collect(),
        Some(_) => scheduled.collect(),
    };
    *launches = all.len();
    let found = all.par_iter().find_map_first(|&launch| {
        let case = (exercise.case)(launch.n, launch.offset);
        match run(solution, &case, launch.seed) {
            Ok(fault) => fault.map(|fault| Ok((fault, launch))),
            Err(error) => Some(Err((error, launch))),
        }
    });
    let given = |launch: LaunchFigures| {
        (exercise.case)(launch.n, launch.offset).in_words(solution.parameters)
    };
    let (fault, launch) = match found? {
        Ok(found) => found,
        // A launch that no device would take.
        Err((error, launch)) => {
            return Some(Conviction {
                launch: Some(launch),
                given: given(launch),
                ..Conviction::of_build(&error.to_string(), String::new())
            });
        }
    };
    let picture = draw(exercise, solution, &all, &fault, launch);
    Some(Conviction {
        stage: fault.stage,
        headline: fault.headline,
        details: fault.details,
        line: fault.line,
        launch: Some(launch),
        given: given(launch),
        picture,
    })
}

/// The step that went wrong: in the launch that showed it, or in a larger one in which the same goes wrong, since a single element shows
/// little. Empty where there is nothing to be seen.
fn draw(
    exercise: &Exercise,
    solution: Solution<'_>,
    launches: &[LaunchFigures],
    fault: &Fault,
    launch: LaunchFigures,
) -> String {
    let few = launch.n < exercise.block / 2;
    let larger = launches.iter().filter(|other| {
        few && other.seed == launch.seed
            && other.offset == launch.offset
            && other.n >= exercise.block / 2
    });
    let larger = larger.filter_map(|&other| {
        let case = (exercise.case)(other.n, other.offset);
        let found = run(solution, &case, other.seed).ok()??;
        let is_same = found.stage == fault.stage && found.line == fault.line;
        is_same.then_some((found, other))
    });
    let (fault, launch) = match larger.take(1).next() {
        Some((found, other)) => (Cow::Owned(found), other),
        None => (Cow::Borrowed(fault), launch),
    };
    let Some(focus) = &fault.focus else {
        return String::new();
    };
    let case = (exercise.case)(launch.n, launch.offset);
    // It ran a moment ago.
    match picture(solution, &case, launch.seed, focus) {
        Ok(Some(picture)) => format!("With n = {}: {picture}", launch.n),
        _ => String::new(),
    }
}

/// The first instruction that is forbidden.
fn forbidden(exercise: &Exercise, ptx: &str, solution: Solution<'_>) -> Option<Conviction> {
    let instructions = ptx.lines().map(str::trim_start).map(|line| {
        // A predicate comes first.
        match line.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
            Some((_, instruction)) => instruction.trim_start(),
            None => line,
        }
    });
    let mut found = instructions.zip(1..).filter_map(|(line, number)| {
        let forbidden = exercise.forbidden.iter();
        let mut those = forbidden.filter(|forbidden| {
            let rest = line.strip_prefix(forbidden.instruction);
            rest.is_some_and(|rest| rest.starts_with(['.', ' ', '\t', ';']))
        });
        those.next().map(|forbidden| (line, number, forbidden))
    });
    let (line, number, forbidden) = found.next()?;
    Some(Conviction {
        stage: Stage::Forbidden,
        line: solution.lines()(number),
        ..Conviction::of_build(
            &format!(
                "`{}` is forbidden here: {}",
                forbidden.instruction, forbidden.because
            ),
            format!("the PTX has `{}`", line.trim_end()),
        )
    })
}

/// The module, if it has the kernel with the right parameters.
fn parse(exercise: &Exercise, ptx: &str) -> Result<Arc<Module>, String> {
    let name = exercise.kernel;
    let module = Module::parse(ptx).map_err(|error| error.to_string())?;
    if !module.entries().any(|entry| entry == name) {
        return Err(format!(
            "there is no kernel `{name}`: keep the name, and `#[kernel]` above it"
        ));
    }
    Ok(Arc::new(module))
}

/// Compares the counters with the reference's, and gives the stars.
fn compare(
    exercise: &Exercise,
    solution: Solution<'_>,
    text: &str,
    reference: &str,
    judgement: &mut Judgement,
) -> Result<(), JudgeError> {
    let wrong = |problem: String| JudgeError::Reference {
        id: exercise.id,
        problem,
    };
    let case = (exercise.case)(exercise.counter.n, exercise.offsets[0]);
    // The step limit, at a size that has not been run yet, is what remains.
    let profile = match measure(solution.module, exercise.kernel, &case) {
        Ok(profile) => profile,
        Err(problem) => {
            judgement.stars = 1;
            judgement.conviction = Some(Conviction {
                stage: Stage::Counter,
                ..Conviction::of_build(&format!("it cannot be measured: {problem}"), String::new())
            });
            return Ok(());
        }
    };
    let yours = profile.total();
    let reference = parse(exercise, reference).map_err(wrong)?;
    let reference = measure(&reference, exercise.kernel, &case);
    let reference = reference.map_err(|error| wrong(error.to_string()))?.total();

    let counter = exercise.counter;
    let comparison = |metric, better, factor| {
        Comparison::new(metric, better, factor, &yours, &reference)
            .ok_or_else(|| wrong(format!("is measured by `{metric}`, which does not exist")))
    };
    let two = comparison(counter.metric, counter.better, TWO_STARS)?;
    let three = comparison(counter.metric, counter.better, THREE_STARS)?;
    for gate in exercise.gates {
        let gate = comparison(gate.metric, Better::Less, gate.factor)?;
        judgement.gates.push(gate);
    }
    judgement.counter = Some(Comparison {
        three_stars: three.gate,
        has_three_stars: three.passes,
        ..two
    });
    let paid_elsewhere = judgement.gates.iter().find(|gate| !gate.passes);
    judgement.stars = match (paid_elsewhere, three.passes, two.passes) {
        (Some(_), ..) | (None, false, false) => 1,
        (None, false, true) => 2,
        (None, true, _) => 3,
    };
    let (stage, comparison) = match (paid_elsewhere, three.passes, &judgement.counter) {
        (_, false, Some(counter)) => (Stage::Counter, counter),
        (Some(gate), true, _) => (Stage::Gate, gate),
        _ => return Ok(()),
    };
    judgement.conviction = Some(Conviction {
        stage,
        picture: costs(solution, text, &profile, comparison.metric),
        ..Conviction::of_build(&comparison.to_string(), String::new())
    });
    Ok(())
}

impl Comparison {
    fn new(
        metric: &'static str,
        better: Better,
        factor: f64,
        yours: &Measurements,
        reference: &Measurements,
    ) -> Option<Self> {
        let of = Metric::find(metric)?;
        let (yours, reference) = (of.value(yours), of.value(reference));
        let gate = reference.map(|reference| match better {
            Better::Less => reference * factor,
            Better::More => reference / factor,
        });
        let passes = match (yours, gate, better) {
            (Some(yours), Some(gate), Better::Less) => yours <= gate + ROUNDING,
            (Some(yours), Some(gate), Better::More) => yours + ROUNDING >= gate,
            // A solution without what the counter is a ratio to has nothing of what it counts either.
            (None, ..) => better == Better::Less,
            (Some(_), None, _) => false,
        };
        Some(Self {
            metric,
            yours,
            gate,
            three_stars: None,
            reference,
            passes,
            has_three_stars: passes,
        })
    }
}

impl std::fmt::Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = |value: Option<f64>| match value {
            None | Some(0.0) => "none".to_owned(),
            // Limits are products, which rounding may leave beside a whole number.
            Some(value) if (value - value.round()).abs() < 1e-6 => format!("{value:.0}"),
            Some(value) => format!("{value:.1}"),
        };
        write!(
            f,
            "{}: yours {} · gate {}",
            self.metric.replace('_', " "),
            number(self.yours),
            number(self.gate)
        )?;
        if self.three_stars.is_some() && self.three_stars != self.gate {
            write!(f, ", for ★★★ {}", number(self.three_stars))?;
        }
        write!(f, " · reference {}", number(self.reference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_names_every_limit_and_says_none_for_nothing() {
        let counter = Comparison {
            metric: "global_load_sectors_per_request",
            yours: Some(32.0),
            gate: Some(4.4),
            three_stars: Some(4.08),
            reference: Some(4.0),
            passes: false,
            has_three_stars: false,
        };
        assert_eq!(
            counter.to_string(),
            "global load sectors per request: yours 32 · gate 4.4, for ★★★ 4.1 · reference 4"
        );
        let gate = Comparison {
            metric: "barriers",
            yours: Some(8.000_000_000_1),
            gate: Some(0.0),
            three_stars: None,
            reference: Some(0.0),
            passes: false,
            has_three_stars: false,
        };
        assert_eq!(
            gate.to_string(),
            "barriers: yours 8 · gate none · reference none"
        );
    }
}
