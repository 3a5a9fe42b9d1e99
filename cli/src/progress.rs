//! Progress of long work, on standard error, where that is a terminal.

use super::failure::Failure;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use std::borrow::Cow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// What is over within this time is not worth a word.
const SHORT: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// A bar of this many steps, with room for a description of the current one.
pub fn bar(length: u64) -> Result<ProgressBar, Failure> {
    let style = ProgressStyle::with_template("{spinner} {bar:30} {pos}/{len} {msg}")
        .map_err(Failure::input)?;
    let progress = ProgressBar::new(length)
        .with_style(style)
        .with_finish(ProgressFinish::AndClear);
    progress.enable_steady_tick(TICK);
    Ok(progress)
}

/// Does something that has no steps to count, and says how long it has been at it once that is more than a second.
pub fn during<R>(
    what: impl Into<Cow<'static, str>>,
    work: impl FnOnce() -> R,
) -> Result<R, Failure> {
    let style =
        ProgressStyle::with_template("{spinner} {msg} {elapsed}").map_err(Failure::input)?;
    let what = what.into();
    let progress = || {
        ProgressBar::new_spinner()
            .with_style(style)
            .with_message(what)
            .with_elapsed(SHORT)
            .with_finish(ProgressFinish::AndClear)
    };
    let (end, ended) = mpsc::channel::<()>();
    let worked = thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(SHORT) == Err(RecvTimeoutError::Timeout) {
                let progress = progress();
                progress.enable_steady_tick(TICK);
                // It comes to its end when the work does.
                let _ = ended.recv();
            }
        });
        let worked = work();
        drop(end);
        worked
    });
    Ok(worked)
}
