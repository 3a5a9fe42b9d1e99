//! Where there is no NCCL.

use super::super::bindings::Api;

pub(super) fn load() -> Result<Api, String> {
    Err(format!(
        "there is none for {} ({} bits)",
        std::env::consts::OS,
        usize::BITS
    ))
}
