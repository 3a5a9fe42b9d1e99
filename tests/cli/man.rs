//! `warpfold man`.

use super::*;

#[test]
fn the_manual_has_a_page_for_each_command() {
    assert!(output_of(&["man"]).contains(".SH NAME"));
    let scratch = Scratch::new();
    let folder = scratch.name("pages/man1");
    output_of(&["man", &folder]);
    for (page, text) in [
        ("warpfold.1", "host\\-lesson"),
        ("warpfold-check.1", "racecheck"),
        ("warpfold-exercise-hint.1", "hint"),
    ] {
        let path = scratch.path("pages/man1").join(page);
        let written = std::fs::read_to_string(&path).expect("the page is there");
        assert!(written.contains(text), "{page}: {written}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let scratch = Scratch::new();
    let file = scratch.file("file", b"");
    refuses(&["man", &file], "cannot create");
}
