//! `warpfold try`: a file of kernels, compiled and run on the spot.

mod stand_in;

use super::failure::Failure;
use super::lookup;
use super::output::write_file;
use super::sources;
use super::watch::watch;
use stand_in::stand_in;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use warpfold_emulator::Module;
use warpfold_kernels::catalogue::Lesson;
use warpfold_workshop::{Messages, NvvmArch, Source, Workshop, WorkshopError};

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A Rust file with kernels, or the id of a lesson whose file you have changed in the repository
    #[arg(value_name = "FILE|ID")]
    file: PathBuf,
    /// Compile the file in the place of this lesson's, and run it as that lesson
    #[arg(long, value_name = "ID")]
    lesson: Option<String>,
    /// Give the file's kernel the data of this lesson, whose kernel has the same parameters, and judge what it leaves as that lesson's
    #[arg(long, value_name = "ID", conflicts_with = "lesson")]
    like: Option<String>,
    #[command(flatten)]
    what: What,
    /// Compile for this compute capability
    #[arg(long, value_name = "SM", default_value = "80", value_parser = parse_arch)]
    sm: NvvmArch,
    /// Do it again whenever the file is saved, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Also write the PTX to FILE
    #[arg(long, value_name = "FILE")]
    ptx: Option<PathBuf>,
    /// What is then done takes these: with --lesson or --like the arguments of `warpfold run`, otherwise of `warpfold emulate`; with --check,
    /// --profile or --trace, of that command
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    rest: Vec<OsString>,
}

/// What is done with the kernel; without any of these it is run.
#[derive(clap::Args, Debug)]
#[group(multiple = false)]
struct What {
    /// Check it, as `warpfold check` does
    #[arg(long)]
    check: bool,
    /// Profile it, as `warpfold profile` does
    #[arg(long)]
    profile: bool,
    /// Draw it, as `warpfold trace` does
    #[arg(long)]
    trace: bool,
}

const EXAMPLES: &str = "\
Options of `try` stand before those of the command that it leads to. A file with one kernel needs no --kernel.

Examples:
  warpfold try double.rs --grid 4 --block 64 --arg buf:i32:iota:200 --arg u64:200 --sum 0
  warpfold try double.rs --check --grid 4 --block 64 --arg buf:i32:iota:200 --arg u64:200 --schedules 32
  warpfold try shuffle --check -n 1000 --block 128
  warpfold try mine.rs --like interleaved -n 1000 --block 256
  warpfold try mine.rs --lesson shuffle --watch -n 2^16
  warpfold try mine.rs --lesson shuffle --trace --block 64

The compiler is rustc with the target nvptx64-nvidia-cuda: `rustup toolchain install nightly --component rust-src` brings it; on Debian and \
Ubuntu it is fetched when it is first needed.";

fn parse_arch(text: &str) -> Result<NvvmArch, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// What runs a command line.
type RunLine = fn(Vec<OsString>) -> Result<(), Failure>;

/// Runs the command, which leads to another one.
pub fn run(arguments: &Arguments, run_line: RunLine) -> Result<(), Failure> {
    let mut workshop = Workshop::open()?;
    let subject = arguments.subject()?;
    let mut once = || arguments.once(&subject, &mut workshop, run_line);
    if arguments.watch {
        watch(&subject.file, once);
    }
    once()
}

/// What is compiled.
struct Subject {
    file: PathBuf,
    role: Role,
}

/// What it is run as.
enum Role {
    /// A file of its own.
    Itself,
    /// The file of this lesson.
    Lesson(&'static Lesson),
    /// A kernel with the parameters of this lesson's.
    Like(&'static Lesson),
}

impl Arguments {
    /// A file, or a lesson by its id.
    fn subject(&self) -> Result<Subject, Failure> {
        let file = self.file.clone();
        if let Some(id) = &self.lesson {
            let role = Role::Lesson(lookup::lesson(id)?);
            return Ok(Subject { file, role });
        }
        if let Some(id) = &self.like {
            let role = Role::Like(lookup::lesson(id)?);
            return Ok(Subject { file, role });
        }
        let id = match self.file.to_str() {
            Some(id) if !self.file.exists() && self.file.extension().is_none() => id,
            _ => {
                let role = Role::Itself;
                return Ok(Subject { file, role });
            }
        };
        let lesson = lookup::lesson(id)?;
        let checkout = warpfold_workshop::checkout().ok_or_else(|| {
            Failure::Input(format!(
                "the sources of `{id}` are not where this program was built; write `warpfold try FILE.rs --lesson {id}`"
            ))
        })?;
        Ok(Subject {
            file: checkout.join(lesson.file),
            role: Role::Lesson(lesson),
        })
    }

    /// Compiles the file, and does with it what was asked for.
    fn once(
        &self,
        subject: &Subject,
        workshop: &mut Workshop,
        run_line: RunLine,
    ) -> Result<(), Failure> {
        let file = &subject.file;
        let folder = tempfile::tempdir().map_err(Failure::input)?;
        let mut line: Vec<OsString> = vec!["warpfold".into()];
        match subject.role {
            Role::Lesson(lesson) => {
                let module = lesson.module.name();
                let ptx = workshop.compile_lesson(file, lesson.file, module, self.sm)?;
                sources::replace(
                    lesson.file,
                    fs::read_to_string(file).map_err(Failure::input)?,
                );
                self.keep(&ptx)?;
                line.extend(self.of_lesson(lesson, folder.path(), &ptx)?);
            }
            Role::Like(lesson) => {
                let ptx = workshop.compile(Source::File(file), self.sm, Messages::Shown)?;
                self.keep(&ptx)?;
                let kernel = self.only_kernel(&ptx)?;
                let cpu = self.sm.target_cpu();
                let digits: String = cpu.chars().filter(char::is_ascii_digit).collect();
                let sm = digits.parse().map_err(Failure::input)?;
                let ptx = stand_in(&ptx, &kernel, lesson, sm)?;
                line.extend(self.of_lesson(lesson, folder.path(), &ptx)?);
            }
            Role::Itself => {
                if self.what.trace {
                    return Err(Failure::Input(
                        "a picture needs a lesson's data: say with --like ID which lesson has the same parameters, or with --lesson ID whose file it replaces".to_owned(),
                    ));
                }
                let ptx = workshop.compile(Source::File(file), self.sm, Messages::Shown)?;
                self.keep(&ptx)?;
                let path = folder.path().join("file.ptx");
                write_file(&path, ptx.as_bytes())?;
                line.extend(self.what.of_file().iter().map(OsString::from));
                line.push(path.into());
                if !self.rest.iter().any(|argument| argument == "--kernel") {
                    line.push("--kernel".into());
                    line.push(self.only_kernel(&ptx)?.into());
                }
            }
        }
        line.extend(self.rest.iter().cloned());
        run_line(line)
    }

    /// The beginning of a command about a lesson whose PTX this is.
    fn of_lesson(
        &self,
        lesson: &Lesson,
        folder: &Path,
        ptx: &str,
    ) -> Result<[OsString; 4], Failure> {
        let name = format!("{}.{}.ptx", lesson.module.name(), self.sm.target_cpu());
        write_file(&folder.join(name), ptx.as_bytes())?;
        Ok([
            self.what.of_lesson().into(),
            lesson.id.into(),
            "--ptx-dir".into(),
            folder.into(),
        ])
    }

    fn keep(&self, ptx: &str) -> Result<(), Failure> {
        match &self.ptx {
            Some(path) => write_file(path, ptx.as_bytes()),
            None => Ok(()),
        }
    }

    /// The kernel of a file that has one.
    fn only_kernel(&self, ptx: &str) -> Result<String, Failure> {
        let module = Module::parse(ptx).map_err(Failure::input)?;
        let kernels: Vec<&str> = module.entries().collect();
        match kernels[..] {
            [kernel] => Ok(kernel.to_owned()),
            [] => Err(Failure::Input(format!(
                "{} has no kernel: write #[kernel] above a `pub unsafe fn`",
                self.file.display()
            ))),
            _ => Err(Failure::Input(format!(
                "{} has several kernels ({}); {}",
                self.file.display(),
                kernels.join(", "),
                match self.like {
                    None => "choose one with --kernel",
                    Some(_) => "leave the one that --like is about",
                }
            ))),
        }
    }
}

impl What {
    /// The command that does it with a lesson.
    fn of_lesson(&self) -> &'static str {
        match self {
            Self { check: true, .. } => "check",
            Self { profile: true, .. } => "profile",
            Self { trace: true, .. } => "trace",
            _ => "run",
        }
    }

    /// The beginning of a command that does it with the PTX file that follows.
    fn of_file(&self) -> &'static [&'static str] {
        match self {
            Self { check: true, .. } => &["check", "--ptx"],
            Self { profile: true, .. } => &["profile", "--ptx"],
            _ => &["emulate"],
        }
    }
}

impl From<WorkshopError> for Failure {
    fn from(error: WorkshopError) -> Self {
        Self::input(error)
    }
}
