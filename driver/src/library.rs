//! The driver's library: where it is looked for, and how a function of it is found.

use crate::library_not_found::LibraryNotFound;
use std::sync::OnceLock;

#[cfg(all(target_pointer_width = "64", any(target_os = "linux", windows)))]
#[path = "library/loader.rs"]
mod loader;
#[cfg(not(all(target_pointer_width = "64", any(target_os = "linux", windows))))]
#[path = "library/no_loader.rs"]
mod loader;

pub(crate) use loader::Library;

/// Loads the library on the first call and keeps it until the process ends.
pub(crate) fn library() -> Result<&'static Library, &'static LibraryNotFound> {
    static LIBRARY: OnceLock<Result<Library, LibraryNotFound>> = OnceLock::new();
    LIBRARY.get_or_init(loader::load).as_ref()
}

/// The function of this name in the driver's library.
///
/// # Safety
/// `Function` is an `extern "system"` function pointer with the signature that the driver gives to `name`.
pub(crate) unsafe fn function<Function: Copy>(name: &str) -> Option<Function> {
    // SAFETY: the signature is the caller's promise. The library stays loaded, and so the pointer stays valid.
    unsafe { loader::function(library().ok()?, name) }
}
