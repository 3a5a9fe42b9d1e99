//! Where NVIDIA has no driver, or none for programs of 32 bits.

use crate::library_not_found::LibraryNotFound;

/// The driver's library, which does not exist here.
pub(crate) enum Library {}

pub(super) fn load() -> Result<Library, LibraryNotFound> {
    Err(LibraryNotFound(format!(
        "there is no NVIDIA driver for {} ({} bits)",
        std::env::consts::OS,
        usize::BITS
    )))
}

/// # Safety
/// None is needed: there is no library to ask.
pub(super) unsafe fn function<Function: Copy>(library: &Library, _: &str) -> Option<Function> {
    match *library {}
}
