//! The host threads that run blocks and grids side by side.

use std::cell::Cell;
use std::mem;
use std::process;
use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::observer::Observer;

thread_local! {
    /// What the launches of this host thread run on beside it. Each has a pool of its own, because workers of one launch may wait for each other:
    /// none of them may wait in a queue after those of another launch. Beside it stands the process that has started it,
    /// since a child that was forked does not have the threads.
    static POOL: Cell<Option<(u32, ThreadPool)>> = const { Cell::new(None) };
}

/// The threads that an earlier launch has left, if it was of this process. Those of its parent are left as they are: to end them, one would wait
/// for threads that do not exist.
fn kept() -> Option<ThreadPool> {
    match POOL.take()? {
        (process, pool) if process == process::id() => Some(pool),
        (_, of_parent) => {
            mem::forget(of_parent);
            None
        }
    }
}

/// How many threads the host runs at once.
pub(crate) fn cores() -> usize {
    /// Asking the host takes as long as a small launch.
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The calling thread and some others, which stay for its next launch.
pub(super) struct Workers {
    others: Option<ThreadPool>,
    count: usize,
}

impl Workers {
    /// This many, or the calling thread alone where the host has no more threads.
    pub fn take(count: usize) -> Self {
        let others = (count > 1)
            .then(|| {
                kept()
                    .filter(|pool| pool.current_num_threads() >= count - 1)
                    .or_else(|| ThreadPoolBuilder::new().num_threads(count - 1).build().ok())
            })
            .flatten();
        Self {
            count: if others.is_some() { count } else { 1 },
            others,
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Calls `work` on all of them at once, each with its number and a fork of the observer, and merges what they return into the
    /// observer.
    pub fn run<O: Observer>(self, observer: &mut O, work: impl Fn(usize, O) -> O + Sync) {
        let own = observer.fork();
        let Some(pool) = self.others else {
            observer.merge(work(0, own));
            return;
        };
        let mut others: Vec<_> = (1..self.count).map(|_| Some(observer.fork())).collect();
        let own = pool.in_place_scope(|scope| {
            let work = &work;
            for (worker, place) in (1..).zip(&mut others) {
                scope.spawn(move |_| *place = place.take().map(|observer| work(worker, observer)));
            }
            work(0, own)
        });
        observer.merge(own);
        for other in others.into_iter().flatten() {
            observer.merge(other);
        }
        POOL.set(Some((process::id(), pool)));
    }
}
