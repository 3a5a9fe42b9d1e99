//! Code of others that may panic on broken data.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What the work gives; `None` where it has panicked, of which nothing is printed. What it has changed is not to be used again.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                usual(panic);
            }
        }));
    });
    IS_GUARDED.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    done.ok()
}
