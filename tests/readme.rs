//! What the README, the list of commands and the map of the course show is what the program prints.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use warpfold_course::host_lesson::HOST_LESSONS;
use warpfold_kernels::catalogue::{Lesson, Page, Part, lessons_of, pages_of};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).expect("the document is there")
}

fn is_blessing() -> bool {
    std::env::var_os("WARPFOLD_BLESS").is_some()
}

/// A document before, in and after the block of this name.
fn parts(document: &str, name: &str) -> [String; 3] {
    let text = read(document);
    let (begin, end) = (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->"),
    );
    let (before, rest) = text.split_once(&begin).expect("the block begins");
    let (block, after) = rest.split_once(&end).expect("the block ends");
    [
        format!("{before}{begin}"),
        block.to_owned(),
        format!("{end}{after}"),
    ]
}

/// Tests run side by side, and each writes a whole document.
static DOCUMENTS: Mutex<()> = Mutex::new(());

/// Puts a text in the place of a block.
fn bless(document: &str, name: &str, block: &str) {
    let _alone = DOCUMENTS.lock().expect("no other test has panicked");
    let [before, _, after] = parts(document, name);
    let text = format!("{before}{block}{after}");
    std::fs::write(root().join(document), text).expect("the document can be written");
}

/// The output of the program with these arguments.
fn output_of(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .output()
        .expect("warpfold runs");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("warpfold prints text")
}

/// The words of each line but the times and what tells one machine from another.
fn without_times(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_time = |index: usize| {
            let unit = |word: Option<&&str>| matches!(word, Some(&("ms" | "s" | "µs")));
            unit(words.get(index + 1)) || unit(words.get(index))
        };
        let kept = words
            .iter()
            .enumerate()
            .filter(|(index, _)| !is_time(*index))
            .map(|(_, word)| *word);
        kept.collect::<Vec<_>>().join(" ")
    };
    text.lines()
        .filter(|line| !line.starts_with("emulator: "))
        .map(line)
        .collect()
}

/// With `WARPFOLD_BLESS` set, writes the README's block anew instead: on a machine without a GPU, and with `--release`, for
/// the times are shown as well.
#[test]
fn the_ladder_of_the_readme_is_the_one_that_is_printed() {
    if is_blessing() {
        let printed = output_of(&[]);
        assert!(printed.starts_with("emulator: "), "this machine has a GPU");
        bless(
            "README.md",
            "ladder",
            &format!("```text\n{}\n```\n", printed.trim_end()),
        );
        return;
    }
    let [_, block, _] = parts("README.md", "ladder");
    let printed = output_of(&["ladder", "--device", "emulator"]);
    let shown = block
        .trim()
        .trim_start_matches("```text\n")
        .trim_end_matches("```");
    assert_eq!(
        without_times(shown.trim_end()),
        without_times(printed.trim_end()),
        "the README's ladder is out of date: `WARPFOLD_BLESS=1 cargo test --release --test readme` writes it anew"
    );
}

/// With `WARPFOLD_BLESS` set, draws the picture anew instead.
#[test]
fn the_picture_of_the_readme_is_the_one_that_is_drawn() {
    let shown = root().join("docs/interleaved.svg");
    let folder = tempfile::tempdir().expect("there is room for a file");
    let drawn = folder.path().join("interleaved.svg");
    let status = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(["trace", "interleaved", "-n", "16", "--block", "8", "--svg"])
        .arg(&drawn)
        .stdout(std::process::Stdio::null())
        .status()
        .expect("warpfold runs");
    assert!(status.success());
    let drawn = std::fs::read_to_string(&drawn).expect("it has been drawn");
    if is_blessing() {
        std::fs::write(&shown, drawn).expect("the picture can be written");
        return;
    }
    assert!(
        std::fs::read_to_string(&shown).is_ok_and(|shown| shown == drawn),
        "docs/interleaved.svg is out of date: `WARPFOLD_BLESS=1 cargo test --release --test readme` draws it anew"
    );
}

/// The map of the course: each part with its files, and what they hold.
fn course() -> String {
    let mut map = String::new();
    for part in Part::ALL {
        if lessons_of(part).is_empty() {
            continue;
        }
        map += &format!(
            "## {}\n\n{}.\n\n| step | lessons | what is new |\n|---|---|---|\n",
            part.title(),
            sentence(part.learn())
        );
        for page in pages_of(part) {
            map += &row(page, lessons_of(part));
        }
        map += "\n";
    }
    map += "## The host's side\n\nRun these with `warpfold host-lesson ID`: transfers, streams, graphs, clocks and caches.\n\n\
            | lesson | what is new |\n|---|---|\n";
    for lesson in HOST_LESSONS {
        map += &format!(
            "| [`{}`](../{}) | {} |\n",
            lesson.id, lesson.file, lesson.title
        );
    }
    map
}

/// The words with a capital at their begin.
fn sentence(words: &str) -> String {
    let (first, rest) = words.split_at(1);
    first.to_uppercase() + rest
}

/// A page with its lessons, or with its name if no lesson is about it.
fn row(page: &Page, lessons_of_part: &[Lesson]) -> String {
    const MOST_NAMED: usize = 6;
    let ids: Vec<String> = lessons_of_part
        .iter()
        .filter(|lesson| lesson.file == page.file)
        .map(|lesson| format!("`{}`", lesson.id))
        .collect();
    let ids = match ids.as_slice() {
        [] => page.file.rsplit('/').next().unwrap_or_default().to_owned(),
        [first, .., last] if ids.len() > MOST_NAMED => format!("{first} … {last}"),
        few => few.join(", "),
    };
    format!(
        "| {} | [{ids}](../{}) | {} |\n",
        page.step, page.file, page.title
    )
}

/// With `WARPFOLD_BLESS` set, writes the map anew instead.
#[test]
fn the_map_of_the_course_is_that_of_the_catalogue() {
    if is_blessing() {
        bless("docs/course.md", "course", &course());
        return;
    }
    let [_, block, _] = parts("docs/course.md", "course");
    assert_eq!(
        block,
        course(),
        "docs/course.md is out of date: `WARPFOLD_BLESS=1 cargo test --release --test readme` draws it anew"
    );
}

/// A block of commands of the README, with what each prints, where the block has any of it.
fn transcript(block: &str) -> String {
    let mut text = String::new();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let mut command = line.to_owned();
        while let Some(begun) = command.strip_suffix('\\') {
            let more = lines.next().expect("the command goes on");
            text += &format!("{more}\n");
            command = format!("{begun}{more}");
        }
        let shows_output = lines.next_if(|line| !line.starts_with("$ ")).is_some();
        while lines.next_if(|line| !line.starts_with("$ ")).is_some() {}
        let (command, _comment) = command.split_once(" # ").unwrap_or((&command, ""));
        // The ladder has a test of its own, and the tests are under way.
        let Some(arguments) = command.strip_prefix("$ cargo run --release -- ") else {
            continue;
        };
        let output = Command::new(env!("CARGO_BIN_EXE_warpfold"))
            .args(arguments.split_whitespace())
            .current_dir(root())
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS")
            .output()
            .expect("warpfold runs");
        // 1 says that something was found.
        let status = output.status.code();
        assert!(matches!(status, Some(0 | 1)), "{command}: {output:?}");
        if shows_output {
            let printed = String::from_utf8(output.stdout).expect("warpfold prints text");
            text += &format!("{}\n", printed.trim_end());
        }
    }
    text
}

/// With `WARPFOLD_BLESS` set, writes what they print anew instead.
#[test]
fn the_commands_of_the_readme_print_what_it_shows() {
    const BEGIN: &str = "```console\n";
    let text = read("README.md");
    let blocks: Vec<&str> = text
        .split(BEGIN)
        .skip(1)
        .map(|rest| rest.split_once("```").expect("the block ends").0)
        .collect();
    assert!(blocks.len() >= 3, "{blocks:?}");
    for block in blocks {
        let printed = transcript(block);
        if is_blessing() {
            let _alone = DOCUMENTS.lock().expect("no other test has panicked");
            let [shown, printed] = [block, &printed].map(|block| format!("{BEGIN}{block}"));
            let text = read("README.md").replacen(&shown, &printed, 1);
            std::fs::write(root().join("README.md"), text).expect("the README can be written");
        } else {
            assert_eq!(
                without_times(block),
                without_times(&printed),
                "the README is out of date: `WARPFOLD_BLESS=1 cargo test --release --test readme` writes it anew"
            );
        }
    }
}

/// Those that help lists, but for `help` itself.
fn commands() -> Vec<String> {
    let help = output_of(&["--help"]);
    let (_, list) = help.split_once("Commands:\n").expect("help has a list");
    let lines = list.lines().take_while(|line| !line.is_empty());
    // What a line has no room for is in the next, further to the right.
    let first_lines = lines.filter_map(|line| line.strip_prefix("  "));
    first_lines
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_table_of_commands_has_those_that_help_lists() {
    let text = read("cli/README.md");
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `warpfold "));
    let mut described: Vec<&str> = rows
        .map(|row| row.split([' ', '`']).next().unwrap_or_default())
        .collect();
    let mut listed = commands();
    assert!(listed.len() > 10, "{listed:?}");
    described.sort_unstable();
    listed.sort_unstable();
    assert_eq!(described, listed, "cli/README.md has other commands");
}

#[test]
fn what_the_documents_link_to_exists() {
    let mut documents = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "cli/README.md",
        "cuda_builder/README.md",
        "cuda_std/README.md",
        "device/README.md",
        "emulator/README.md",
        "exercises/README.md",
        "host/README.md",
        "kernels/exhibits/README.md",
        "python/README.md",
        "reductions/README.md",
        "rust-cuda/README.md",
    ]
    .map(|name| root().join(name))
    .to_vec();
    let files = std::fs::read_dir(root().join("docs")).expect("there are documents");
    let files = files.map(|file| file.expect("the folder can be read").path());
    documents.extend(files.filter(|path| path.extension().is_some_and(|end| end == "md")));
    assert!(documents.len() > 14);
    for document in documents {
        let text = std::fs::read_to_string(&document).expect("the document is there");
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            let (path, _heading) = target.split_once('#').unwrap_or((target, ""));
            assert!(
                target.starts_with("https://") || document.with_file_name(path).exists(),
                "{} links to {target}, which does not exist",
                document.display()
            );
        }
    }
}
