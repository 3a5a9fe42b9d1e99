//! `warpfold exercise`: kernels to be written or mended, judged on the emulator.

mod gpu;
mod grade;
mod progress;
mod task;
mod verdict;

use super::failure::Failure;
use super::lookup;
use super::names::Kind;
use super::output::{JsonArguments, Output, print, write_file};
use super::progress::during;
use super::show;
use super::watch::watch;
use comfy_table::CellAlignment::{Left, Right};
use gpu::Gpu;
use grade::Verdict;
use progress::Progress;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use task::{functions_text, task};
use verdict::{describe, stars};
use warpfold_exercises::{
    EXERCISES, Exercise, JudgeError, Judgement, Source, Stage, Workshop, find, judge, verify,
};

const EXAMPLES: &str = "\
Examples:
  warpfold exercise                     # what there is, and how far you are
  warpfold exercise guard               # writes the starter, shows the task, judges your solution
  warpfold exercise watch               # the first that has no star yet, again whenever you save
  warpfold exercise hint guard
  warpfold exercise hint guard --run    # the picture of your run, as often as you like
  warpfold exercise task guard          # the task again
  warpfold exercise functions           # what a kernel may call, and how
  warpfold exercise functions ballot    # all about one of these
  warpfold exercise solution guard      # once you have a star, or with --give-up
  warpfold exercise grade ada/ alan/ --json sheet.json

Your solutions are in the folder `warpfold-exercises`, beside a file with your progress. The first star is for a solution that \
is right for every size, and sound under 32 orders of its threads. The others are for a counter near the reference's.";

/// The folder of the solutions, unless another one is named.
const FOLDER: &str = "warpfold-exercises";

/// The command's arguments.
#[derive(clap::Args, Debug, Default)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// The exercise, by its id or number [default: list them]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Judge again whenever the solution is saved, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Run in the order of this seed alone, as a verdict names it
    #[arg(long, conflicts_with = "watch")]
    seed: Option<u64>,
    /// The folder of your solutions
    #[arg(long, value_name = "FOLDER", default_value = FOLDER)]
    dir: PathBuf,
    #[command(flatten)]
    json: JsonArguments,
    #[command(subcommand)]
    action: Option<Action>,
}

/// What else can be done.
#[derive(clap::Subcommand, Debug)]
enum Action {
    /// List the exercises, and the stars you have
    List {
        /// The folder of your solutions
        #[arg(long, value_name = "FOLDER", default_value = FOLDER)]
        dir: PathBuf,
    },
    /// Show the task: what is wanted, how to read the lessons, what the counters count
    Task(One),
    /// List the functions that a kernel may call, or tell all about one
    Functions {
        /// A function [default: list them all]
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Judge a solution again whenever it is saved, until Ctrl-C
    Watch {
        /// The exercise, by its id or number [default: the first that has no star yet]
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// The folder of your solutions
        #[arg(long, value_name = "FOLDER", default_value = FOLDER)]
        dir: PathBuf,
    },
    /// Show the next hint: first what your own run shows, then a question, then a skeleton
    Hint {
        #[command(flatten)]
        one: One,
        /// What your own run shows, again, however many hints you have had
        #[arg(long)]
        run: bool,
    },
    /// Put the starter back in the place of your solution, which is kept beside it
    Reset(One),
    /// Show the reference, once you have a star
    Solution {
        #[command(flatten)]
        one: One,
        /// Show it without a star
        #[arg(long)]
        give_up: bool,
    },
    /// Judge everything that comes with the exercises: starters, references and wrong solutions
    Verify {
        /// Exercises [default: all]
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        json: JsonArguments,
    },
    /// Judge all solutions in the folders of a class: a grading sheet, as a table and as JSON
    Grade(grade::Arguments),
    /// Write tasks and starters to a folder that a class can copy
    Export {
        /// The folder, which must not be there
        folder: PathBuf,
    },
}

/// One exercise.
#[derive(clap::Args, Debug)]
struct One {
    /// The exercise, by its id or number
    #[arg(value_name = "ID")]
    id: String,
    /// The folder of your solutions
    #[arg(long, value_name = "FOLDER", default_value = FOLDER)]
    dir: PathBuf,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.action {
        None => match &arguments.id {
            None => list(&arguments.dir),
            Some(id) => attempt(arguments, exercise(id)?),
        },
        Some(Action::List { dir }) => list(dir),
        Some(Action::Task(one)) => {
            let solution = Solution::of(one)?;
            print(task(solution.exercise, &solution.file).trim_end())
        }
        Some(Action::Functions { name }) => print(functions_text(name.as_deref())?.trim_end()),
        Some(Action::Watch { id, dir }) => {
            let exercise = match id {
                Some(id) => exercise(id)?,
                None => next(dir)?,
            };
            let watching = Arguments {
                watch: true,
                dir: dir.clone(),
                ..Arguments::default()
            };
            attempt(&watching, exercise)
        }
        Some(Action::Hint { one, run: true }) => Solution::of(one)?.hint_of_run().map(|_| ()),
        Some(Action::Hint { one, run: false }) => Solution::of(one)?.hint(),
        Some(Action::Reset(one)) => Solution::of(one)?.reset(),
        Some(Action::Solution { one, give_up }) => Solution::of(one)?.reference(*give_up),
        Some(Action::Verify { ids, json }) => verify_all(ids, json),
        Some(Action::Grade(arguments)) => grade::run(arguments, &mut Workshop::open()?),
        Some(Action::Export { folder }) => export(folder),
    }
}

fn exercise(id: &str) -> Result<&'static Exercise, Failure> {
    find(id).ok_or_else(|| lookup::no_such(id, &[Kind::Exercise], &[]))
}

/// The first exercise that has no star yet.
fn next(folder: &Path) -> Result<&'static Exercise, Failure> {
    let progress = Progress::read(folder)?;
    let mut open = EXERCISES
        .iter()
        .filter(|exercise| progress.of(exercise.id).stars == 0);
    open.next().ok_or_else(|| {
        Failure::Input("every exercise has a star; name the one to watch".to_owned())
    })
}

fn list(folder: &Path) -> Result<(), Failure> {
    let progress = Progress::read(folder)?;
    let mut table = show::table(&[
        ("", Right),
        ("exercise", Left),
        ("", Left),
        ("stars", Left),
        ("lesson", Left),
    ]);
    for exercise in EXERCISES {
        table.add_row([
            exercise.number.to_string(),
            exercise.id.to_owned(),
            exercise.title.to_owned(),
            stars(progress.of(exercise.id).stars),
            exercise.lesson.to_owned(),
        ]);
    }
    print(show::fitted_text(&table, 2, &[]))
}

/// A learner's solution of an exercise.
struct Solution {
    exercise: &'static Exercise,
    folder: PathBuf,
    file: PathBuf,
}

impl Solution {
    fn of(one: &One) -> Result<Self, Failure> {
        Ok(Self::new(exercise(&one.id)?, &one.dir))
    }

    fn new(exercise: &'static Exercise, folder: &Path) -> Self {
        Self {
            exercise,
            folder: folder.to_owned(),
            file: folder.join(format!("{}.rs", exercise.folder())),
        }
    }

    /// Writes the starter, if there is no solution yet. Whether there was none.
    fn begin(&self) -> Result<bool, Failure> {
        if self.file.exists() {
            return Ok(false);
        }
        let failed =
            |error| Failure::Input(format!("cannot create {}: {error}", self.folder.display()));
        fs::create_dir_all(&self.folder).map_err(failed)?;
        write_file(&self.file, self.exercise.starter_text().as_bytes())?;
        Ok(true)
    }

    fn judge(&self, workshop: &mut Workshop, seed: Option<u64>) -> Result<Judgement, Failure> {
        let judge = || judge(workshop, self.exercise, Source::File(&self.file), seed);
        let judgement = during(format!("judging {}", self.exercise.id), judge)??;
        // One order alone says nothing about the others.
        if seed.is_none() {
            let mut progress = Progress::read(&self.folder)?;
            progress.change(&self.folder, self.exercise.id, |tried| {
                tried.stars = tried.stars.max(judgement.stars);
            })?;
        }
        Ok(judgement)
    }

    fn describe(&self, judgement: &Judgement) -> Result<String, Failure> {
        let text = fs::read_to_string(&self.file).map_err(Failure::input)?;
        let name = self.file.display().to_string();
        Ok(describe(self.exercise, &name, &text, judgement))
    }

    /// The next hint.
    fn hint(&self) -> Result<(), Failure> {
        let exercise = self.exercise;
        let shown = Progress::read(&self.folder)?.of(exercise.id).hints;
        let hints = exercise.hints();
        match shown.checked_sub(1) {
            None => {
                if self.hint_of_run()? == Some(Stage::Build) {
                    return print(
                        "\nThe compiler comes first: `warpfold exercise functions` lists what a kernel may call. Hints begin with what compiles.",
                    );
                }
            }
            Some(place) => print(hints[place.min(hints.len() - 1)])?,
        }
        if shown < hints.len() {
            print(format!(
                "\nThe next hint: warpfold exercise hint {0} (your run again: warpfold exercise hint {0} --run)",
                exercise.id
            ))?;
            let mut progress = Progress::read(&self.folder)?;
            progress.change(&self.folder, exercise.id, |tried| tried.hints += 1)?;
        }
        Ok(())
    }

    /// What the learner's own run shows: the verdict, and the picture of what went wrong. Returns the stage that convicts it.
    fn hint_of_run(&self) -> Result<Option<Stage>, Failure> {
        self.begin()?;
        let judgement = self.judge(&mut Workshop::open()?, None)?;
        print(self.describe(&judgement)?)?;
        let Some(conviction) = judgement.conviction else {
            return Ok(None);
        };
        if !conviction.picture.is_empty() {
            print(format!("\n{}", conviction.picture.trim_end()))?;
        }
        Ok(Some(conviction.stage))
    }

    fn reset(&self) -> Result<(), Failure> {
        if self.file.exists() {
            let kept = self.file.with_extension("rs.old");
            fs::rename(&self.file, &kept).map_err(|error| {
                Failure::Input(format!("cannot move {}: {error}", self.file.display()))
            })?;
            print(format!("your solution is now {}", kept.display()))?;
        }
        self.begin()?;
        let mut progress = Progress::read(&self.folder)?;
        progress.change(&self.folder, self.exercise.id, |tried| {
            *tried = Default::default()
        })?;
        print(format!("{} is the starter", self.file.display()))
    }

    fn reference(&self, gives_up: bool) -> Result<(), Failure> {
        let exercise = self.exercise;
        let has_passed = Progress::read(&self.folder)?.of(exercise.id).stars > 0;
        if !has_passed && !gives_up {
            return Err(Failure::Input(format!(
                "the solution opens with your first star; `warpfold exercise hint {0}` helps, and `warpfold exercise solution {0} --give-up` \
                 opens it now",
                exercise.id
            )));
        }
        print(exercise.reference())?;
        if has_passed && self.file.exists() {
            let judgement = self.judge(&mut Workshop::open()?, None)?;
            print(self.describe(&judgement)?)?;
        }
        Ok(())
    }
}

/// Shows the task the first time, and judges the solution.
fn attempt(arguments: &Arguments, exercise: &'static Exercise) -> Result<(), Failure> {
    let solution = Solution::new(exercise, &arguments.dir);
    let output = Output::new(&arguments.json)?;
    if solution.begin()? {
        output.print(task(exercise, &solution.file))?;
    }
    let mut workshop = Workshop::open()?;
    let mut gpu = Gpu::default();
    let mut once = || {
        let judgement = solution.judge(&mut workshop, arguments.seed)?;
        output.print(solution.describe(&judgement)?)?;
        // On a GPU only what is sure to stay within its memory runs.
        if let (1.., None, Some(ptx)) = (judgement.stars, arguments.seed, &judgement.ptx) {
            output.print(gpu.time(exercise, ptx))?;
        }
        let verdict = Verdict {
            exercise: exercise.id,
            judgement,
        };
        output.write_json(&verdict)?;
        let judgement = verdict.judgement;
        match (judgement.stars, arguments.seed, &judgement.conviction) {
            (0, None, _) | (0, Some(_), Some(_)) => Err(Failure::Finding(format!(
                "{0} is not solved yet; `warpfold exercise hint {0}` helps",
                exercise.id
            ))),
            _ => Ok(()),
        }
    };
    if arguments.watch {
        watch(&solution.file, once);
    }
    once()
}

fn verify_all(ids: &[String], json: &JsonArguments) -> Result<(), Failure> {
    let output = Output::new(json)?;
    let chosen: Vec<&'static Exercise> = match ids {
        [] => EXERCISES.iter().collect(),
        ids => ids
            .iter()
            .map(|id| exercise(id))
            .collect::<Result<_, _>>()?,
    };
    let mut workshop = Workshop::open()?;
    let start = Instant::now();
    let mut samples = Vec::new();
    for exercise in &chosen {
        let verified = during(format!("judging {}", exercise.id), || {
            verify(&mut workshop, exercise)
        })??;
        let wrong = verified.iter().filter(|sample| sample.problem.is_some());
        output.print(format!(
            "{:2} {:20} starter, reference and {:2} wrong solutions: {}",
            exercise.number,
            exercise.id,
            verified.len() - 2,
            match wrong.count() {
                0 => "judged as they should be".to_owned(),
                count => format!("{count} judged otherwise"),
            }
        ))?;
        samples.extend(verified);
    }
    output.write_json(&samples)?;
    output.print(format!(
        "{} samples in {:.1} s",
        samples.len(),
        start.elapsed().as_secs_f64()
    ))?;
    let problems: Vec<String> = samples
        .iter()
        .filter_map(|sample| {
            let problem = sample.problem.as_ref()?;
            Some(format!("{}/{}: {problem}", sample.exercise, sample.file))
        })
        .collect();
    match problems[..] {
        [] => Ok(()),
        _ => Err(Failure::Finding(problems.join("; "))),
    }
}

fn export(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::Input(format!("cannot create {}: {error}", folder.display()));
    fs::create_dir(folder).map_err(failed)?;
    for exercise in EXERCISES {
        let stem = folder.join(exercise.folder());
        write_file(
            &stem.with_extension("rs"),
            exercise.starter_text().as_bytes(),
        )?;
        write_file(&stem.with_extension("md"), exercise.task().as_bytes())?;
    }
    let readme = "\
# Exercises in CUDA kernels

Each exercise has a task (`NN_name.md`) and a file to work on (`NN_name.rs`). In this folder,

```console
$ warpfold exercise NAME --dir .
```

judges one on an emulator; no GPU is needed. `warpfold exercise --dir .` lists them with your stars, which are kept in `progress.json`.
`warpfold lessons LESSON --page` prints a lesson that a task names, `warpfold exercise task NAME` says what its counters count, and
`warpfold exercise functions` lists what a kernel may call.
`warpfold exercise grade FOLDER …` judges all solutions in the folders of a class; with `--json FILE` that is a grading sheet, with every
verdict in full.
";
    write_file(&folder.join("README.md"), readme.as_bytes())?;
    print(format!(
        "{} exercises in {}",
        EXERCISES.len(),
        folder.display()
    ))
}

impl From<JudgeError> for Failure {
    fn from(error: JudgeError) -> Self {
        Self::input(error)
    }
}
