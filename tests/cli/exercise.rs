//! `warpfold exercise`, as far as it needs no compiler for GPUs. The rest is shown by `warpfold exercise verify`, which needs one.

use super::*;
use std::fs;
use tempfile::tempdir;

#[test]
fn exercises_are_listed_with_the_stars_one_has() {
    let folder = tempdir().expect("a folder");
    let dir = folder.path().to_str().expect("it is UTF-8");
    let listed = output_of(&["exercise", "list", "--dir", dir]);
    assert!(listed.lines().count() > 10, "{listed}");
    let line = listed.lines().find(|line| line.contains(" guard "));
    assert!(line.expect("the first").contains("☆☆☆"), "{listed}");

    fs::write(
        folder.path().join("progress.json"),
        r#"{"guard": {"stars": 2}}"#,
    )
    .expect("it can be written");
    let listed = output_of(&["exercise", "list", "--dir", dir]);
    let line = listed.lines().find(|line| line.contains(" guard "));
    assert!(line.expect("the first").contains("★★☆"), "{listed}");

    fs::write(folder.path().join("progress.json"), "nothing").expect("it can be written");
    warpfold(&["exercise", "list", "--dir", dir])
        .assert()
        .code(2)
        .stderr(contains("remove it to begin anew"));
}

#[test]
fn the_solution_opens_with_a_star_or_to_those_who_give_up() {
    let folder = tempdir().expect("a folder");
    let dir = folder.path().to_str().expect("it is UTF-8");
    warpfold(&["exercise", "solution", "guard", "--dir", dir])
        .assert()
        .code(2)
        .stderr(contains("the solution opens with your first star"));
    let opened = ["exercise", "solution", "1", "--give-up", "--dir", dir];
    assert!(output_of(&opened).contains("if index < n"));
}

#[test]
fn a_reset_keeps_what_was_there() {
    let folder = tempdir().expect("a folder");
    let dir = folder.path().to_str().expect("it is UTF-8");
    let (file, kept) = (
        folder.path().join("01_guard.rs"),
        folder.path().join("01_guard.rs.old"),
    );
    fs::write(&file, "mine").expect("it can be written");
    output_of(&["exercise", "reset", "guard", "--dir", dir]);
    assert_eq!(fs::read_to_string(kept).expect("it is kept"), "mine");
    let starter = fs::read_to_string(file).expect("it is there");
    assert!(starter.contains("#[kernel]"));
}

#[test]
fn a_class_gets_a_folder_that_was_not_there() {
    let folder = tempdir().expect("a folder");
    let class = folder.path().join("class");
    let class = class.to_str().expect("it is UTF-8");
    output_of(&["exercise", "export", class]);
    for file in ["README.md", "01_guard.md", "01_guard.rs"] {
        assert!(Path::new(class).join(file).is_file(), "{file}");
    }
    warpfold(&["exercise", "export", class])
        .assert()
        .code(2)
        .stderr(contains("cannot create"));
}

#[test]
fn an_exercise_that_is_meant_is_named() {
    warpfold(&["exercise", "gaurd"])
        .assert()
        .code(2)
        .stderr(contains("did you mean `guard`?"));
}

#[test]
fn a_folder_that_nobody_has_begun_in_has_no_stars() {
    let folder = tempdir().expect("a folder");
    let class = folder.path().join("class");
    let class = class.to_str().expect("it is UTF-8");
    output_of(&["exercise", "export", class]);
    let sheet = output_of(&["exercise", "grade", class]);
    assert!(sheet.contains("0 of 20 begun"), "{sheet}");
    assert!(sheet.contains("0 of 60"), "{sheet}");
    warpfold(&["exercise", "grade", "nowhere"])
        .assert()
        .code(2)
        .stderr(contains("cannot read"));
}

#[test]
fn a_task_says_how_to_read_its_lesson_and_what_its_counters_count() {
    let folder = tempdir().expect("a folder");
    let dir = folder.path().to_str().expect("it is UTF-8");
    let task = output_of(&["exercise", "task", "histogram", "--dir", dir]);
    for words in [
        "warpfold lessons histogram_shared --page",
        "kernels/src/histogram/",
        "arrivals of warps at block-wide barriers",
        "13_histogram.rs",
    ] {
        assert!(task.contains(words), "no {words} in {task}");
    }
    assert!(!folder.path().join("13_histogram.rs").exists());
    let page = output_of(&["lessons", "histogram_shared", "--page"]);
    assert!(page.starts_with("//! # "), "{page}");
    warpfold(&["lessons", "roofline", "--page"])
        .assert()
        .code(2)
        .stderr(contains("course/src/host_lesson/roofline"));
}

#[test]
fn what_a_kernel_may_call_is_listed_and_told() {
    let list = output_of(&["exercise", "functions"]);
    for words in [
        "unsafe fn shuffle_xor<T: Words>(value: T, mask: u32) -> T",
        "Float: fn exp_of_negative(self) -> Self    with `use warpfold_device::math::Float;`",
        "Float: fn maximum(self, other: Self) -> Self",
        "fn device_fence()    with `use cuda_std::thread::device_fence;`",
    ] {
        assert!(list.contains(words), "no {words} in {list}");
    }
    let one = output_of(&["exercise", "functions", "ballot"]);
    assert!(one.contains("# Safety"), "{one}");
    warpfold(&["exercise", "functions", "balot"])
        .assert()
        .code(2)
        .stderr(contains("did you mean `ballot`?"));
}

#[test]
fn tasks_fit_80_columns() {
    let folder = tempdir().expect("a folder");
    let dir = folder.path().to_str().expect("it is UTF-8");
    for number in 1..=20 {
        let number = number.to_string();
        let mut command = warpfold(&["exercise", "task", &number, "--dir", dir]);
        let output = command.env("COLUMNS", "80").output().expect("it runs");
        let task = String::from_utf8(output.stdout).expect("it is UTF-8");
        assert!(task.contains("to read a lesson"), "{task}");
        for line in task.lines() {
            // A path may be longer.
            let is_long = line.chars().count() > 80;
            assert!(!is_long || line.contains(dir), "{line}");
        }
    }
}
