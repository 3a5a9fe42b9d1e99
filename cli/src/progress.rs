//! Progress of long work, on standard error, where that is a terminal.

use super::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar of this many steps, with room for a description of the current one.
pub fn bar(length: u64) -> Result<ProgressBar, Failure> {
    let style = ProgressStyle::with_template("{spinner} {bar:30} {pos}/{len} {msg}")
        .map_err(Failure::input)?;
    let progress = ProgressBar::new(length).with_style(style);
    progress.enable_steady_tick(Duration::from_millis(100));
    Ok(progress)
}
