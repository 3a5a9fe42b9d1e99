//! The fixed order: the host's grid first, then what it has launched, as far as that may begin, then what these have launched.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Trap;
use crate::observer::{GridEvent, Observer};
use crate::simt::grid;
use crate::simt::grids::{Child, Order};
use crate::simt::run::Run;
use crate::simt::schedule::{self, Schedule, Turns};
use crate::simt::workers::Workers;

/// What the blocks of a grid have launched, or its trap.
type Outcome = Result<Vec<Child>, Box<Trap>>;

/// Runs a grid and all that comes of it. Of several traps, the one of the first block of the first grid is returned.
pub(crate) fn run<O: Observer>(root: &Run<'_>, observer: &mut O) -> Result<(), Box<Trap>> {
    if let Some(seed) = root.family.schedule {
        let orders = vec![Order::of(root.shape.number)];
        let turns = Turns::Random(Schedule::new(seed));
        let run = schedule::run(&[*root], true, orders, turns, observer);
        return run.map_err(|(_, trap)| trap);
    }
    let launched = run_grid(root, observer)?;
    let mut order = Order::of(root.shape.number);
    order.launch(launched);
    order.finish(root.shape.number);
    run_all(root, order, observer)
}

/// Runs grids of the host side by side, and all that comes of them: by the schedule of a seed, or in turn. Returns the first trap, and in
/// which of the launches it was.
pub(crate) fn run_together<O: Observer>(
    roots: &[Run<'_>],
    observer: &mut O,
) -> Result<(), (usize, Box<Trap>)> {
    let orders = roots.iter().map(|root| Order::of(root.shape.number));
    let turns = match roots.first().and_then(|root| root.family.schedule) {
        Some(seed) => Turns::Random(Schedule::new(seed)),
        None => Turns::InTurn,
    };
    schedule::run(roots, true, orders.collect(), turns, observer)
}

/// Runs what comes of a grid, in the manner of that grid.
pub(super) fn run_all<O: Observer>(
    like: &Run<'_>,
    mut order: Order,
    observer: &mut O,
) -> Result<(), Box<Trap>> {
    loop {
        let wave = order.take_all();
        if wave.is_empty() {
            return Ok(());
        }
        for child in &wave {
            observer.grid(GridEvent {
                grid: child.number(),
                after: &child.after,
            });
        }
        let outcomes = run_wave(like, &wave, observer);
        like.family.finish(wave.len() as u64);
        for (child, outcome) in wave.iter().zip(outcomes) {
            order.launch(outcome?);
            order.finish(child.number());
        }
    }
}

/// Runs grids that need not wait for each other: many of them side by side, or, of few, one after another with their blocks side by
/// side. There is an outcome for each, up to the first trap.
fn run_wave<O: Observer>(like: &Run<'_>, wave: &[Child], observer: &mut O) -> Vec<Outcome> {
    if like.threads == 1 || wave.len() < like.threads {
        let mut outcomes = Vec::new();
        for child in wave {
            outcomes.push(run_grid(&child.run(like), observer));
            if outcomes.last().is_some_and(Result::is_err) {
                break;
            }
        }
        return outcomes;
    }
    let next = AtomicUsize::new(0);
    // Grids from this one on need not run: it, or one before it, has trapped.
    let end = AtomicUsize::new(wave.len());
    let outcomes: Vec<Mutex<Option<Outcome>>> = wave.iter().map(|_| Mutex::new(None)).collect();
    Workers::take(like.threads).run(observer, |_, mut observer: O| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= end.load(Ordering::Relaxed) {
                return observer;
            }
            let alone = Run {
                threads: 1,
                ..wave[index].run(like)
            };
            let outcome = run_grid(&alone, &mut observer);
            if outcome.is_err() {
                end.fetch_min(index + 1, Ordering::Relaxed);
            }
            let mut place = outcomes[index]
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            *place = Some(outcome);
        }
    });
    outcomes
        .into_iter()
        .map_while(|place| {
            place
                .into_inner()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
        })
        .collect()
}

fn run_grid<O: Observer>(run: &Run<'_>, observer: &mut O) -> Outcome {
    let launched = grid::run(run, observer)?;
    Ok(launched
        .into_iter()
        .flat_map(|(_, children)| children)
        .collect())
}
