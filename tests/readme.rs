//! What the README shows is what the program prints.

use std::path::Path;
use std::process::Command;

const BEGIN: &str = "<!-- ladder: begin -->\n";
const END: &str = "<!-- ladder: end -->";

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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(&path).expect("there is a README");
    let (before, rest) = readme.split_once(BEGIN).expect("the block begins");
    let (block, after) = rest.split_once(END).expect("the block ends");
    if std::env::var_os("WARPFOLD_BLESS").is_some() {
        let printed = ladder(&[]);
        assert!(printed.starts_with("emulator: "), "this machine has a GPU");
        let blessed = format!(
            "{before}{BEGIN}```text\n{}\n```\n{END}{after}",
            printed.trim_end()
        );
        std::fs::write(&path, blessed).expect("the README can be written");
        return;
    }
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
    if std::env::var_os("WARPFOLD_BLESS").is_some() {
        std::fs::write(&shown, drawn).expect("the picture can be written");
        return;
    }
    assert!(
        std::fs::read_to_string(&shown).is_ok_and(|shown| shown == drawn),
        "docs/interleaved.svg is out of date: `WARPFOLD_BLESS=1 cargo test --release --test readme` draws it anew"
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
