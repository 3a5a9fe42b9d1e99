//! Every command that a page of the course names, run, and what it prints against what the page shows.
//!
//! `cargo xtask page-commands` runs all of them. Of those, `cargo test` runs the first page of each part.

#[path = "pages/broken.rs"]
mod broken;
#[path = "pages/page.rs"]
mod page;
#[path = "pages/shown.rs"]
mod shown;

use libtest_mimic::{Arguments, Failed, Trial};
use page::{Page, Shown};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use warpfold_kernels::catalogue::{Part, pages_of};

fn main() -> ExitCode {
    if std::env::var_os("WARPFOLD_BLESS").is_some() {
        return bless();
    }
    let arguments = Arguments::from_args();
    let pages = Part::ALL.into_iter().map(pages_of);
    // The first page of a part is its sample.
    let trials = pages.flat_map(|pages| {
        let pages = pages.iter().enumerate();
        pages.flat_map(|(place, page)| trials(Page::read(&root(), page.file), place == 0))
    });
    let documents = DOCUMENTS.into_iter().flat_map(document);
    let trials = documents.chain(trials).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What shows commands without being a lesson's page, and whether that needs a compiler for GPUs: the page before the first lesson, and
/// that of the exercises.
const DOCUMENTS: [(&str, bool); 2] = [("docs/words.md", false), ("exercises/README.md", true)];

/// What that is tried for.
fn document((file, needs_compiler): (&'static str, bool)) -> Vec<Trial> {
    let shown = Page::read(&root(), file).shown.into_iter().map(|shown| {
        let title = short(format!("{file}: {}", shown.command));
        let trial = Trial::test(title, move || check(file, &shown));
        trial.with_ignored_flag(needs_compiler)
    });
    shown.collect()
}

/// What a page is tried for.
fn trials(page: Page, is_sample: bool) -> Vec<Trial> {
    let file = page.file;
    let name = file
        .trim_start_matches("kernels/src/")
        .trim_end_matches(".rs");
    let (has_run, has_break, asks) = (page.has_run(), page.has_break(), page.asks);
    let shows_a_run = move || match has_run {
        true => Ok(()),
        false => Err("there is no ```console block with a command under Observe".into()),
    };
    let asks_before = move || match asks || !has_run {
        true => Ok(()),
        false => Err(
            "no paragraph under Observe begins with **Predict.** and ends at a ```console block"
                .into(),
        ),
    };
    let patch = broken::patch_of(file);
    let stem = patch.file_stem().unwrap_or_default().to_owned();
    let is_in_words = broken::IN_WORDS.iter().any(|&(page, _)| stem == page);
    let has_the_patch = move || match (has_break, root().join(&patch).exists()) {
        (true, false) => Err(format!("there is no {}", patch.display()).into()),
        (false, true) => Err(format!("no command under Break it tries {}", patch.display()).into()),
        (false, false) if !is_in_words => {
            Err("a break is tried by a command, or stands in `broken::IN_WORDS`".into())
        }
        (true, true) if is_in_words => Err("its break is not in words alone".into()),
        _ => Ok(()),
    };
    let mut trials = vec![
        Trial::test(format!("{name}::shows_a_run"), shows_a_run),
        Trial::test(format!("{name}::asks_what_a_run_will_show"), asks_before),
        Trial::test(format!("{name}::has_the_patch_of_its_break"), has_the_patch),
    ];
    for shown in page.shown {
        // A break needs a compiler.
        let is_left_out = !is_sample || shown.is_break();
        let title = short(format!("{name}: {}", shown.command));
        let trial = Trial::test(title, move || check(file, &shown));
        trials.push(trial.with_ignored_flag(is_left_out));
    }
    for command in page.named {
        let title = short(format!("{name}, in the text: {command}"));
        let trial = Trial::test(title, move || check_named(&command));
        trials.push(trial.with_ignored_flag(!is_sample));
    }
    trials
}

/// A name that fits a line.
fn short(name: String) -> String {
    const LENGTH: usize = 100;
    match name.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The exit status of a command, and what it prints where there is no GPU, the messages after the output.
fn run(command: &str) -> Result<(i32, String), Failed> {
    let mut words = command.split_whitespace();
    if words.next() != Some("warpfold") {
        return Err(format!("`{command}` is no command of warpfold").into());
    }
    // Pictures are not to lie about in the repository.
    let arguments = words.map(|word| match word.ends_with(".svg") {
        true => Path::new(env!("CARGO_TARGET_TMPDIR")).join(word),
        false => word.into(),
    });
    let output = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .map_err(|error| error.to_string())?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    // Of whoever edits the kernels.
    let is_warning = |line: &&str| line.contains("have changed since their PTX was built");
    let lines = text.lines().filter(|line| !is_warning(line));
    // Every kernel before changes the numbers of the PTX's lines.
    let without_number = |line: &str| {
        line.trim_start()
            .trim_start_matches(|character: char| character.is_ascii_digit())
            .to_owned()
    };
    let lines: Vec<String> = match command.starts_with("warpfold ptx ") {
        true => lines.map(without_number).collect(),
        false => lines.map(str::to_owned).collect(),
    };
    let text = lines.join("\n");
    match output.status.code() {
        Some(status) => Ok((status, text)),
        None => Err(format!("`{command}` was ended:\n{text}").into()),
    }
}

/// A command of the text does what it is asked to, whether or not it finds something; a GPU may be missing.
fn check_named(command: &str) -> Result<(), Failed> {
    let (status, printed) = run(command)?;
    let lacks_gpu = command.ends_with("--device gpu") && printed.contains("GPU");
    match status {
        0 | 1 => Ok(()),
        2 if lacks_gpu => Ok(()),
        _ => Err(format!("`{command}` exits with {status}:\n{printed}").into()),
    }
}

/// What a command prints that the page of `file` shows.
fn printed(file: &str, shown: &Shown) -> Result<String, Failed> {
    if !shown.is_break() {
        return Ok(run(&shown.command)?.1);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("breaks");
    let command = broken::with_patched_file(&shown.command, &root(), file, &folder)?;
    Ok(run(&command)?.1)
}

fn check(file: &str, shown: &Shown) -> Result<(), Failed> {
    let printed = printed(file, shown)?;
    let is_shown = shown::matches(&shown.lines, &printed);
    is_shown.map_err(|reason| {
        format!(
            "{reason}\n`cargo xtask page-commands --bless` renews what the page shows. `{}` printed:\n{printed}",
            shown.command
        )
        .into()
    })
}

/// Renews what the pages show; says what it cannot renew.
fn bless() -> ExitCode {
    let mut complaints = Vec::new();
    let lessons = Part::ALL.into_iter().flat_map(pages_of);
    let documents = DOCUMENTS.into_iter().map(|(file, _)| file);
    for file in documents.chain(lessons.map(|page| page.file)) {
        let renewed = Page::read(&root(), file).renewed(&mut |shown| {
            let printed = printed(file, shown).map_err(|failed| format!("{failed:?}"))?;
            shown::renewed(&shown.lines, &printed)
        });
        match renewed {
            Ok(Some(text)) => {
                println!("{file}: renewed");
                std::fs::write(root().join(file), text).expect("the page can be written");
            }
            Ok(None) => {}
            Err(complaint) => complaints.push(format!("{file}: {complaint}")),
        }
    }
    complaints
        .iter()
        .for_each(|complaint| eprintln!("{complaint}"));
    ExitCode::from(u8::from(!complaints.is_empty()))
}
