//! NCCL's library: where it is looked for.

use super::bindings::Api;
use std::sync::OnceLock;

#[cfg(all(target_pointer_width = "64", target_os = "linux"))]
#[path = "loader.rs"]
mod loader;
#[cfg(not(all(target_pointer_width = "64", target_os = "linux")))]
#[path = "no_loader.rs"]
mod loader;

/// Loads the library on the first call and keeps it until the process ends. The sentence says where it was looked for.
pub(super) fn api() -> Result<&'static Api, String> {
    static API: OnceLock<Result<Api, String>> = OnceLock::new();
    API.get_or_init(loader::load).as_ref().map_err(Clone::clone)
}
