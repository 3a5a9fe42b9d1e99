//! The threads that reduce arrays of the host.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::process;
use std::sync::{Mutex, PoisonError};

/// The process that has started them, and the threads.
static POOL: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);

/// Runs a function with the threads of this process. After a fork, as Python's `multiprocessing` makes one, those of the parent are not there.
pub fn with<R: Send>(function: impl FnOnce() -> R + Send) -> R {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let own = match *pool {
        Some((process, threads)) if process == process::id() => Some(threads),
        _ => {
            // The parent's are left as they are: to end them, one would wait for threads that do not exist.
            let threads = ThreadPoolBuilder::new()
                .build()
                .ok()
                .map(|threads| &*Box::leak(Box::new(threads)));
            *pool = threads.map(|threads| (process::id(), threads));
            threads
        }
    };
    drop(pool);
    match own {
        Some(threads) => threads.install(function),
        None => function(),
    }
}
