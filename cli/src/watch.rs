//! Doing something again whenever a file is saved.

use super::failure::{Failure, say};
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Does something with the file now and whenever it is saved, until Ctrl-C. A failure is reported, and the file is waited for again.
pub fn watch(file: &Path, mut once: impl FnMut() -> Result<(), Failure>) -> ! {
    loop {
        let before = changed(file);
        let start = Instant::now();
        if let Err(failure) = once() {
            failure.report();
        }
        say(format_args!(
            "\nwarpfold: {:.1} s; waiting for {} to change (Ctrl-C ends)",
            start.elapsed().as_secs_f64(),
            file.display()
        ));
        while changed(file) == before {
            sleep(LOOK);
        }
    }
}

/// When the file was last written; `None` while an editor is replacing it.
fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|file| file.modified()).ok()
}
