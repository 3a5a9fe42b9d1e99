//! The changes that pages ask for under "Break it": `kernels/breaks/l03_interleaved.patch` is that of `l03_interleaved.rs`.

use std::fs;
use std::path::{Path, PathBuf};

/// Where they lie in the repository.
pub const FOLDER: &str = "kernels/breaks";

/// Pages whose break no change of their file shows on every computer, and why: it is told in words, or by another command.
pub const IN_WORDS: &[(&str, &str)] = &[
    (
        "c08_atomics_on_floats",
        "the inputs have no NaN, and the loop would not end",
    ),
    (
        "c10_wide_swap",
        "what comes between two swaps is no question of the order of warps",
    ),
    ("l12a_accumulate", "it has no kernel of its own"),
    ("l12c_deterministic", "two grids have to be compared"),
    ("m01_copy_offset", "it asks for another type of values"),
    ("m02_copy_stride", "it asks for another layout of values"),
    ("m06_residency", "a GPU's assembler gives registers"),
    ("m08_constant", "a GPU's assembler refuses it"),
    ("o01_operators", "it has no kernel of its own"),
    (
        "o06_single_pass",
        "the emulator adds in the same order in every run",
    ),
    ("o07_wide_sum", "its sum is that of another page"),
    ("r06_shared_dynamic", "the launch changes, not the kernel"),
    (
        "r07_segmented_shared",
        "what is launched changes, not the kernel",
    ),
    ("r13_grid_sync", "the launch changes, not the kernel"),
    ("r14_redux", "the command changes, not the kernel"),
];

/// The patch of a page's file.
pub fn patch_of(file: &str) -> PathBuf {
    let name = Path::new(file).with_extension("patch");
    Path::new(FOLDER).join(name.file_name().expect("a page has a name"))
}

/// The command with a changed copy of the page's file, which is put into `folder`, in the place of the lesson's own.
///
/// # Errors
/// There is no patch, or it does not fit the file any more.
pub fn with_patched_file(
    command: &str,
    root: &Path,
    file: &str,
    folder: &Path,
) -> Result<String, String> {
    let patch = patch_of(file);
    let read = |path: &Path| {
        fs::read_to_string(root.join(path)).map_err(|error| format!("{}: {error}", path.display()))
    };
    let does_not_fit =
        |reason: String| format!("{} does not fit {file} any more: {reason}", patch.display());
    let text = read(&patch)?;
    let parsed = diffy::Patch::from_str(&text).map_err(|error| does_not_fit(error.to_string()))?;
    let broken = diffy::apply(&read(Path::new(file))?, &parsed)
        .map_err(|error| does_not_fit(error.to_string()))?;
    let name = Path::new(file).file_name().expect("a page has a name");
    let copy = folder.join(name);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&copy, broken))
        .map_err(|error| format!("{}: {error}", copy.display()))?;
    let mut words = command.split(' ');
    let (Some(program), Some("try"), Some(id)) = (words.next(), words.next(), words.next()) else {
        return Err(format!("`{command}` tries no lesson"));
    };
    let rest: Vec<&str> = words.collect();
    Ok(format!(
        "{program} try {} --lesson {id} {}",
        copy.display(),
        rest.join(" ")
    ))
}
