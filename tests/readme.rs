//! What the README shows is what the program prints.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use warpfold_course::host_lesson::HOST_LESSONS;
use warpfold_kernels::catalogue::{Lesson, Page, Part, lessons_of, pages_of};

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")
}

fn is_blessing() -> bool {
    std::env::var_os("WARPFOLD_BLESS").is_some()
}

/// The README before, in and behind the block of this name.
fn parts_of_readme(name: &str) -> [String; 3] {
    let text = std::fs::read_to_string(readme()).expect("there is a README");
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

/// Puts a text in the place of a block.
fn bless(name: &str, block: &str) {
    /// Tests run side by side, and each writes the whole file.
    static README: Mutex<()> = Mutex::new(());
    let _alone = README.lock().expect("no other test has panicked");
    let [before, _, after] = parts_of_readme(name);
    std::fs::write(readme(), format!("{before}{block}{after}")).expect("the README can be written");
}

/// The output of `cargo run --release`, on the emulator.
fn ladder(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(arguments)
        .env("NO_COLOR", "1")
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
        let printed = ladder(&[]);
        assert!(printed.starts_with("emulator: "), "this machine has a GPU");
        bless("ladder", &format!("```text\n{}\n```\n", printed.trim_end()));
        return;
    }
    let [_, block, _] = parts_of_readme("ladder");
    let printed = ladder(&["ladder", "--device", "emulator"]);
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
    let shown = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/interleaved.svg");
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
            "**{}**: {}.\n\n| step | lessons | what is new |\n|---|---|---|\n",
            part.title(),
            part.learn()
        );
        for page in pages_of(part) {
            map += &row(page, lessons_of(part));
        }
        map += "\n";
    }
    map += "**The host's side** (`warpfold host-lesson ID`): transfers, streams, graphs, clocks and caches.\n\n\
            | lesson | what is new |\n|---|---|\n";
    for lesson in HOST_LESSONS {
        map += &format!(
            "| [`{}`]({}) | {} |\n",
            lesson.id, lesson.file, lesson.title
        );
    }
    map
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
        "| {} | [{ids}]({}) | {} |\n",
        page.step, page.file, page.title
    )
}

/// With `WARPFOLD_BLESS` set, writes the map anew instead.
#[test]
fn the_map_of_the_course_is_that_of_the_catalogue() {
    if is_blessing() {
        bless("course", &course());
        return;
    }
    let [_, block, _] = parts_of_readme("course");
    assert_eq!(
        block,
        course(),
        "the README's map is out of date: `WARPFOLD_BLESS=1 cargo test --release --test readme` draws it anew"
    );
}

#[test]
fn what_the_readme_links_to_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(document)).expect("the document is there");
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            assert!(
                target.starts_with("https://") || root.join(target).exists(),
                "{document} links to {target}, which does not exist"
            );
        }
    }
}
