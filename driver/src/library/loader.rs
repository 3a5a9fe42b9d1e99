//! Where NVIDIA has a driver for programs of 64 bits.

use crate::library_not_found::LibraryNotFound;
use std::error::Error;

pub(crate) use libloading::Library;

/// Where the library is looked for, in this order: by the names that the driver installs, on the loader's own search path, then in
/// the folder that Windows Subsystem for Linux mounts, which is not always on that path.
const CANDIDATES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &[
        "libcuda.so.1",
        "libcuda.so",
        "/usr/lib/wsl/lib/libcuda.so.1",
    ]
};

pub(super) fn load() -> Result<Library, LibraryNotFound> {
    load_first_of(CANDIDATES)
}

/// # Safety
/// `Function` is a pointer to a function of the signature that the library gives to `name`, and is not called when the library is closed.
pub(super) unsafe fn function<Function: Copy>(library: &Library, name: &str) -> Option<Function> {
    // SAFETY: the caller's contract is the same.
    unsafe { library.get::<Function>(name) }
        .ok()
        .map(|symbol| *symbol)
}

/// The most telling answer is the first: the name that every driver installs.
fn load_first_of(candidates: &[&str]) -> Result<Library, LibraryNotFound> {
    let mut first_answer = None;
    for &candidate in candidates {
        // SAFETY: loading runs the library's initialisers. These names are the NVIDIA driver's, whose initialisers have no preconditions.
        match unsafe { open(candidate) } {
            Ok(library) => return Ok(library),
            Err(error) => first_answer.get_or_insert_with(|| answer(candidate, &error)),
        };
    }
    let also_tried = match candidates {
        [] | [_] => String::new(),
        [_, others @ ..] => format!(" (also tried {})", others.join(" and ")),
    };
    Err(LibraryNotFound(format!(
        "the NVIDIA driver's library cannot be loaded: {}{also_tried}",
        first_answer.unwrap_or_default()
    )))
}

/// # Safety
/// The library's initialisers may run here.
#[cfg(not(windows))]
unsafe fn open(name: &str) -> Result<Library, libloading::Error> {
    // SAFETY: the caller's contract.
    unsafe { Library::new(name) }
}

/// From the folder of Windows where drivers are installed, and not from the program's or the current one, where anybody may put a file.
///
/// # Safety
/// The library's initialisers may run here.
#[cfg(windows)]
unsafe fn open(name: &str) -> Result<Library, libloading::Error> {
    use libloading::os::windows::{LOAD_LIBRARY_SEARCH_SYSTEM32, Library};
    // SAFETY: the caller's contract.
    unsafe { Library::load_with_flags(name, LOAD_LIBRARY_SEARCH_SYSTEM32) }.map(Into::into)
}

/// What the loader said about a candidate, beginning with its name.
fn answer(candidate: &str, error: &libloading::Error) -> String {
    let text = error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string);
    if text.starts_with(candidate) {
        text
    } else {
        format!("{candidate}: {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_s_first_answer_and_every_name_are_told() {
        let error = load_first_of(&["no-such-library.so.1", "/no/such/folder/library.so"])
            .expect_err("neither exists");
        let sentence = error.to_string();
        assert!(
            sentence.starts_with(
                "the NVIDIA driver's library cannot be loaded: no-such-library.so.1: "
            ),
            "{sentence}"
        );
        assert!(
            sentence.ends_with(" (also tried /no/such/folder/library.so)"),
            "{sentence}"
        );
    }
}
