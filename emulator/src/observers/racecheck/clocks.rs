//! What the threads of a block know of each other's past: vector clocks, kept small by what GPUs synchronise with.
//!
//! Every thread counts its *clock*, and an access happens at its thread's clock. If a thread *knows* another one up to a clock, all that
//! the other did at lesser clocks has happened before what the thread does next. A barrier of the whole block raises all its threads
//! to one new clock, the *base*: below it every thread knows everything, and one number says so. Between such barriers the lanes of a
//! warp have rows of a table for each other; knowledge that comes by atomics, or from a barrier of some warps only, is in maps.

use crate::observer::Scope;
use crate::observers::Map;
use std::sync::Arc;

use super::reach::{Reach, Strong};
use crate::registers::{LANES, each_lane};

/// What somebody knows: clocks below which accesses have happened before.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    /// Of all threads of a block.
    blocks: Map<u32, u32>,
    /// Of a block's thread.
    threads: Map<(u32, u32), u32>,
}

impl Knowledge {
    /// Whether what a block's thread did at a clock has happened before.
    pub fn covers(&self, block: u32, thread: u32, clock: u32) -> bool {
        let below = |end: Option<&u32>| end.is_some_and(|&end| clock < end);
        below(self.blocks.get(&block)) || below(self.threads.get(&(block, thread)))
    }

    /// The clock below which it covers all threads of a block.
    pub fn base(&self, block: u32) -> u32 {
        self.blocks.get(&block).copied().unwrap_or_default()
    }

    /// Learns all that a block has done, which has finished.
    pub fn add_block(&mut self, block: u32) {
        self.blocks.insert(block, u32::MAX);
    }

    /// Learns what a block's thread has done up to a clock, and at it.
    pub fn add_thread(&mut self, block: u32, thread: u32, clock: u32) {
        raise(self.threads.entry((block, thread)).or_default(), clock + 1);
    }

    /// Learns all that the other knows.
    pub fn add(&mut self, other: &Self) {
        for (&block, &clock) in &other.blocks {
            raise(self.blocks.entry(block).or_default(), clock);
        }
        for (&thread, &clock) in &other.threads {
            raise(self.threads.entry(thread).or_default(), clock);
        }
    }
}

fn raise(clock: &mut u32, to: u32) {
    *clock = (*clock).max(to);
}

/// What a thread knew, what it acquired, and what it has known since.
#[derive(Debug)]
pub(super) struct Acquired {
    before: Option<Arc<Knowledge>>,
    knowledge: Arc<Knowledge>,
    after: Option<Arc<Knowledge>>,
}

/// Which of its lanes each lane of a warp knows, up to which clock.
type Rows = [[u32; LANES]; LANES];

/// The clocks and the knowledge of a block's threads.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// The block's number.
    block: u32,
    /// Its cluster's.
    cluster: u32,
    /// Its grid's.
    grid: u64,
    /// Its device's.
    device: u8,
    threads: u32,
    /// Everything below is known to the whole block.
    base: u32,
    /// Each thread's clock; whole warps, even the last.
    now: Vec<u32>,
    /// By warp, since its first warp barrier.
    rows: Vec<Option<Box<Rows>>>,
    /// By thread: what came by atomics, or from a barrier of a part of the block.
    known: Vec<Option<Arc<Knowledge>>>,
    /// Whether any thread has such.
    any_known: bool,
    /// By thread, of those that have made a fence or have read what was handed on.
    fences: Map<u32, Fences>,
    /// What threads knew at sequential fences before the last barrier of the block: all have met them.
    met_by_all: ByScope,
    /// Whether there has been such a fence since then.
    any_sequential: bool,
    /// Whether any thread has read what it will know at its next fence.
    any_pending: bool,
    /// By thread: what it would know, were the scopes of fences and accesses wider.
    missed: Map<u32, Arc<Knowledge>>,
    /// What threads had missed at the last barrier of the block.
    missed_by_all: Option<Arc<Knowledge>>,
}

/// Knowledge by scope: of fences that narrow or wider.
type ByScope = [Option<Arc<Knowledge>>; SCOPES];

/// How many scopes there are.
const SCOPES: usize = Scope::System as usize + 1;

/// What fences do for a thread.
#[derive(Clone, Debug, Default)]
struct Fences {
    /// What it knew at its last fence, which its relaxed writes since then pass on.
    own: ByScope,
    /// What it knew at its last sequential fence since the last barrier of the block.
    sequential: ByScope,
    /// What those knew at their sequential fences that it has met since, at barriers of a part of the block.
    ///
    /// A relaxed write passes that on as well. Say F is the fence of a thread that has met the writer since, and G that of a thread that has
    /// read what was written: were G before F in the order that such fences have, then the read would be before the write. So F is
    /// before G, and what was before F is before what comes after G. Other fences have no such order (PTX ISA §8.9).
    met: ByScope,
    /// What its relaxed reads have picked up, to be known from the next fence of that scope on, or from the next barrier.
    pending: ByScope,
}

impl Clocks {
    /// Begins a block.
    pub fn begin(&mut self, block: u32, cluster: u32, grid: u64, device: u8, threads: u32) {
        let warps = threads.div_ceil(LANES as u32) as usize;
        let slots = warps * LANES;
        self.block = block;
        self.cluster = cluster;
        self.grid = grid;
        self.device = device;
        self.threads = threads;
        self.base = 1;
        self.now.clear();
        self.now.resize(slots, 1);
        self.rows.clear();
        self.rows.resize_with(warps, || None);
        self.known.clear();
        self.known.resize(slots, None);
        self.fences.clear();
        self.any_known = false;
        self.any_pending = false;
        self.met_by_all = ByScope::default();
        self.any_sequential = false;
        self.missed.clear();
        self.missed_by_all = None;
    }

    /// All threads of the block begin with what was handed on to their grid.
    pub fn begin_with(&mut self, knowledge: &Arc<Knowledge>) {
        self.any_known = true;
        self.known.fill(Some(Arc::clone(knowledge)));
    }

    /// The block's number.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// The number of the block's grid.
    pub fn grid(&self) -> u64 {
        self.grid
    }

    /// The threads that something of this scope is about.
    pub fn reach(&self, scope: Scope) -> Reach {
        match scope {
            Scope::Block => Reach::Block(self.block),
            Scope::Cluster => Reach::Cluster(self.cluster),
            Scope::Gpu => Reach::Gpu(self.device),
            Scope::System => Reach::System,
        }
    }

    /// A strong access or fence of a thread of the block, which counts for these threads.
    pub fn strong(&self, reach: Reach) -> Strong {
        Strong {
            block: self.block,
            device: self.device,
            reach,
        }
    }

    /// The number of the block's device.
    pub fn device(&self) -> u8 {
        self.device
    }

    /// The number of its threads.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// The clocks of a warp's lanes.
    pub fn of_warp(&self, warp: u32) -> &[u32] {
        &self.now[warp as usize * LANES..][..LANES]
    }

    /// The clock below which all of the block know everything of it.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// Whether what a thread of a block did at a clock is ordered before what `thread` of this block does now.
    #[cfg(test)]
    fn is_ordered(&self, block: u32, other: u32, clock: u32, thread: u32) -> bool {
        self.is_near(block, other, clock, thread)
            || self
                .learnt(thread)
                .is_some_and(|known| known.covers(block, other, clock))
    }

    /// The same, as far as it is by barriers of the block or the warp.
    pub fn is_near(&self, block: u32, other: u32, clock: u32, thread: u32) -> bool {
        if block != self.block {
            return false;
        }
        if clock < self.base || other == thread {
            return true;
        }
        let (warp, lane) = (thread as usize / LANES, thread as usize % LANES);
        other as usize / LANES == warp
            && self.rows[warp]
                .as_ref()
                .is_some_and(|rows| clock < rows[lane][other as usize % LANES])
    }

    /// What a thread has learnt otherwise.
    pub fn learnt(&self, thread: u32) -> Option<&Arc<Knowledge>> {
        self.known[thread as usize].as_ref()
    }

    /// All threads of the block have met.
    pub fn block_barrier(&mut self) {
        if self.any_pending {
            let threads: Vec<u32> = self.fences.keys().copied().collect();
            for thread in threads {
                self.take_pending(thread, Scope::Gpu);
            }
            self.any_pending = false;
        }
        if self.any_sequential {
            for fences in self.fences.values_mut() {
                for (met, own) in self.met_by_all.iter_mut().zip(&mut fences.sequential) {
                    if let Some(own) = own.take() {
                        learn(met, &own);
                    }
                }
            }
            self.any_sequential = false;
        }
        for (_, missed) in self.missed.drain() {
            learn(&mut self.missed_by_all, &missed);
        }
        self.base = self.now.iter().max().map_or(1, |greatest| greatest + 1);
        self.now.fill(self.base);
        if self.any_known {
            let all = union(self.known.iter().flatten());
            self.known.fill(all);
        }
    }

    /// Lanes of a warp have met.
    pub fn warp_barrier(&mut self, warp: u32, lanes: u32) {
        let first = warp * LANES as u32;
        if self.any_pending {
            each_lane(lanes, |lane| {
                self.take_pending(first + lane as u32, Scope::Gpu)
            });
        }
        let those = (0..LANES as u32).filter(|lane| lanes >> lane & 1 == 1);
        self.meet_fences(those.map(|lane| first + lane));
        let now = &mut self.now[first as usize..][..LANES];
        let rows = self.rows[warp as usize].get_or_insert_with(|| Box::new([[0; LANES]; LANES]));
        let mut joined = [0; LANES];
        each_lane(lanes, |lane| {
            for (joined, &known) in joined.iter_mut().zip(&rows[lane]) {
                raise(joined, known);
            }
            now[lane] += 1;
        });
        each_lane(lanes, |lane| raise(&mut joined[lane], now[lane]));
        each_lane(lanes, |lane| rows[lane] = joined);
        if self.any_known {
            let known = &mut self.known[first as usize..][..LANES];
            let those = (0..LANES).filter(|lane| lanes >> lane & 1 == 1);
            let all = union(those.filter_map(|lane| known[lane].as_ref()));
            each_lane(lanes, |lane| known[lane].clone_from(&all));
        }
    }

    /// Adds all that a thread knows, itself up to now included, to what it hands on.
    pub fn release(&mut self, thread: u32, into: &mut Knowledge) {
        let (block, base) = (self.block, self.base);
        raise(into.blocks.entry(block).or_default(), base);
        let warp = thread as usize / LANES;
        if let Some(rows) = &self.rows[warp] {
            for (lane, &clock) in rows[thread as usize % LANES].iter().enumerate() {
                if clock > base {
                    let other = (warp * LANES + lane) as u32;
                    raise(into.threads.entry((block, other)).or_default(), clock);
                }
            }
        }
        if let Some(known) = &self.known[thread as usize] {
            into.add(known);
        }
        let now = &mut self.now[thread as usize];
        *now += 1;
        raise(into.threads.entry((block, thread)).or_default(), *now);
    }

    /// A thread learns what was handed on.
    pub fn acquire(&mut self, thread: u32, knowledge: &Arc<Knowledge>) {
        self.any_known = true;
        learn(&mut self.known[thread as usize], knowledge);
    }

    /// The same for one of several threads, of which those that know the same before will share what they know then.
    pub fn acquire_alike(
        &mut self,
        thread: u32,
        knowledge: &Arc<Knowledge>,
        last: &mut Option<Acquired>,
    ) {
        let known = &mut self.known[thread as usize];
        let is_same = |one: &Option<Arc<Knowledge>>, other: &Option<Arc<Knowledge>>| {
            one.as_ref().map(Arc::as_ptr) == other.as_ref().map(Arc::as_ptr)
        };
        if let Some(last) = last
            && is_same(&last.before, known)
            && Arc::ptr_eq(&last.knowledge, knowledge)
        {
            known.clone_from(&last.after);
            return;
        }
        let before = known.clone();
        self.acquire(thread, knowledge);
        *last = Some(Acquired {
            before,
            knowledge: Arc::clone(knowledge),
            after: self.known[thread as usize].clone(),
        });
    }

    /// A thread has read what somebody handed on, and will know it at its next fence of this scope or a wider one.
    pub fn acquire_at_fence(&mut self, thread: u32, scope: Scope, knowledge: &Arc<Knowledge>) {
        self.any_pending = true;
        let pending = &mut self.fences_of(thread).pending[scope as usize];
        learn(pending, knowledge);
    }

    /// A thread has read what was handed on to others than it, or reads for others than those who handed it on.
    pub fn miss(&mut self, thread: u32, knowledge: &Arc<Knowledge>) {
        let mut missed = self.missed.remove(&thread);
        learn(&mut missed, knowledge);
        self.missed.extend(missed.map(|missed| (thread, missed)));
    }

    /// Whether what a block's thread did at a clock would be ordered before what `thread` does now, were the scopes of fences and accesses
    /// wider.
    pub fn has_missed(&self, block: u32, other: u32, clock: u32, thread: u32) -> bool {
        let missed = self
            .missed
            .get(&thread)
            .into_iter()
            .chain(&self.missed_by_all);
        missed
            .into_iter()
            .any(|missed| missed.covers(block, other, clock))
    }

    /// A thread learns what its relaxed reads have picked up, as far as a fence of this scope is enough.
    pub fn take_pending(&mut self, thread: u32, scope: Scope) {
        let Some(fences) = self.fences.get_mut(&thread) else {
            return;
        };
        let pending = &mut fences.pending[..=scope as usize];
        let taken: ByScope = std::array::from_fn(|scope| pending.get_mut(scope)?.take());
        for pending in taken.into_iter().flatten() {
            self.acquire(thread, &pending);
        }
    }

    /// A thread orders what it did before what it will do, for those of a scope.
    pub fn fence(&mut self, thread: u32, scope: Scope, is_sequential: bool) {
        self.take_pending(thread, scope);
        // A fence too narrow for what is left.
        let pending = self
            .fences
            .get(&thread)
            .map(|fences| fences.pending.clone());
        for pending in pending.into_iter().flatten().flatten() {
            self.miss(thread, &pending);
        }
        let mut handed_on = Knowledge::default();
        self.release(thread, &mut handed_on);
        let handed_on = Arc::new(handed_on);
        let fences = self.fences_of(thread);
        fences.own[..=scope as usize].fill(Some(Arc::clone(&handed_on)));
        if is_sequential {
            fences.sequential[..=scope as usize].fill(Some(handed_on));
            self.any_sequential = true;
        }
    }

    /// These threads have met: the sequential fences of each have happened before what the others do next.
    pub fn meet_fences(&mut self, threads: impl Iterator<Item = u32> + Clone) {
        if !self.any_sequential {
            return;
        }
        for scope in 0..SCOPES {
            let fences = threads
                .clone()
                .filter_map(|thread| self.fences.get(&thread));
            let met = fences.clone().map(|fences| &fences.met[scope]);
            let own = fences.map(|fences| &fences.sequential[scope]);
            let Some(all) = union(met.chain(own).flatten()) else {
                continue;
            };
            for thread in threads.clone() {
                self.fences.entry(thread).or_default().met[scope] = Some(Arc::clone(&all));
            }
        }
    }

    /// What a relaxed write of the thread hands on to those of its scope, by the scope of the fences that were before it.
    pub fn fenced(
        &self,
        thread: u32,
        scope: Scope,
    ) -> impl Iterator<Item = (Scope, &Arc<Knowledge>)> {
        let fences = self.fences.get(&thread);
        let parts = fences.map(|fences| [&fences.own, &fences.met]);
        let parts = parts.into_iter().flatten().chain([&self.met_by_all]);
        let scopes = [Scope::System, Scope::Gpu, Scope::Cluster, Scope::Block];
        let scopes = scopes.into_iter().filter(move |&of| of <= scope);
        scopes
            .flat_map(move |of| parts.clone().map(move |part| (of, part)))
            .filter_map(move |(of, part)| {
                let knowledge = part[of as usize].as_ref()?;
                // What goes further reaches these as well.
                let wider = if of < scope {
                    part[of as usize + 1].as_ref()
                } else {
                    None
                };
                let is_known = wider.is_some_and(|wider| Arc::ptr_eq(wider, knowledge));
                (!is_known).then_some((of, knowledge))
            })
    }

    fn fences_of(&mut self, thread: u32) -> &mut Fences {
        self.fences.entry(thread).or_default()
    }
}

fn learn(known: &mut Option<Arc<Knowledge>>, more: &Arc<Knowledge>) {
    match known {
        Some(known) if Arc::ptr_eq(known, more) => {}
        Some(known) => Arc::make_mut(known).add(more),
        None => *known = Some(Arc::clone(more)),
    }
}

/// What they know together.
fn union<'a>(all: impl Iterator<Item = &'a Arc<Knowledge>>) -> Option<Arc<Knowledge>> {
    let mut union: Option<Arc<Knowledge>> = None;
    let mut last: Option<&Arc<Knowledge>> = None;
    for known in all {
        // Threads that have met share theirs.
        if last.is_none_or(|last| !Arc::ptr_eq(last, known)) {
            learn(&mut union, known);
            last = Some(known);
        }
    }
    union
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks() -> Clocks {
        let mut clocks = Clocks::default();
        clocks.begin(7, 7, 0, 0, 96);
        clocks
    }

    #[test]
    fn a_thread_knows_its_own_past_and_nobody_elses() {
        let clocks = clocks();
        assert!(clocks.is_ordered(7, 5, 1, 5));
        assert!(!clocks.is_ordered(7, 5, 1, 6));
        assert!(
            !clocks.is_ordered(8, 5, 1, 5),
            "the thread of another block"
        );
    }

    #[test]
    fn a_block_barrier_orders_all_that_was_before_it() {
        let mut clocks = clocks();
        clocks.block_barrier();
        assert!(clocks.is_ordered(7, 5, 1, 90));
        let after = clocks.of_warp(0)[5];
        assert!(!clocks.is_ordered(7, 5, after, 90));
    }

    #[test]
    fn a_warp_barrier_orders_its_lanes_only() {
        let mut clocks = clocks();
        clocks.warp_barrier(1, 0b0110);
        assert!(clocks.is_ordered(7, 33, 1, 34));
        assert!(!clocks.is_ordered(7, 33, 1, 35), "not named");
        assert!(!clocks.is_ordered(7, 33, 1, 2), "another warp");
        // What lane 1 had learnt, lane 3 learns from lane 2.
        clocks.warp_barrier(1, 0b1100);
        assert!(clocks.is_ordered(7, 33, 1, 35));
    }

    #[test]
    fn what_is_released_can_be_acquired_in_another_block() {
        let (mut one, mut other) = (clocks(), Clocks::default());
        other.begin(8, 8, 0, 0, 32);
        one.block_barrier();
        let mut handed_on = Knowledge::default();
        one.release(40, &mut handed_on);
        let (before, after) = (one.of_warp(1)[8] - 1, one.of_warp(1)[8]);
        let handed_on = Arc::new(handed_on);
        other.acquire_at_fence(3, Scope::Gpu, &handed_on);
        other.fence(3, Scope::Block, true);
        assert!(
            !other.is_ordered(7, 40, before, 3),
            "not before a fence that reaches so far"
        );
        other.fence(3, Scope::Gpu, false);
        assert!(other.is_ordered(7, 40, before, 3));
        assert!(!other.is_ordered(7, 40, after, 3), "later than the release");
        assert!(
            !other.is_ordered(7, 41, before, 3),
            "another thread since the barrier"
        );
        assert!(
            other.is_ordered(7, 41, 1, 3),
            "but known to the releasing thread by the barrier"
        );
        assert!(!other.is_ordered(7, 40, before, 4));
        other.block_barrier();
        assert!(
            other.is_ordered(7, 40, before, 4),
            "the barrier passes it on"
        );
    }
}
