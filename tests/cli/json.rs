//! What `--json` writes, and where.

use super::*;

#[test]
fn a_file_is_written_whole_and_nothing_is_left_beside_it() {
    let scratch = Scratch::new();
    let output = output_of(&["lessons", "--json", &scratch.name("lessons.json")]);
    assert!(output.contains("shuffle"), "the table is still printed");
    let text = std::fs::read_to_string(scratch.path("lessons.json")).expect("the file is there");
    let lessons: Value = serde_json::from_str(&text).expect("the file is JSON");
    assert_eq!(lessons["lessons"][0]["id"], "neighbored");
    assert_eq!(
        std::fs::read_dir(scratch.0.path())
            .expect("the folder")
            .count(),
        1
    );
}

#[test]
fn a_folder_that_is_not_there_is_refused_before_the_run() {
    refuses(
        &["lessons", "--json", "/no/such/folder/lessons.json"],
        "there is no folder /no/such/folder",
    );
}

#[test]
fn a_folder_is_no_file() {
    let scratch = Scratch::new();
    warpfold(&["devices", "--json", &scratch.name("")])
        .assert()
        .code(2)
        .stderr(contains("cannot write"));
}
