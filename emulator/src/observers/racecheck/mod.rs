//! racecheck: two accesses to one byte by different threads, at least one of them a write, that nothing orders.
//!
//! The order is *happens-before* of the PTX memory model, not the order of this run. The litmus test that every GPU program repeats is
//! message passing:
//!
//! ```text
//!     thread 0                               thread 1, in another block
//!     st.global          [data], 42
//!     fence.acq_rel.gpu
//!     st.relaxed.gpu     [flag], 1   ──1──▶  ld.relaxed.gpu     %r, [flag]
//!                                            fence.acq_rel.gpu
//!                                            ld.global          %x, [data]
//! ```
//!
//! If thread 1 reads the 1, the store to `data` has happened before the load of `data`. Without either fence nothing orders the two,
//! and they are a race, even in a run where 42 arrives.
//!
//! How it is found:
//!
//! 1. Every thread has a *clock*, and *knowledge*: for each other thread the clock below which everything has happened before
//!    ([`clocks`]).
//! 2. Every byte remembers who accessed it, when by that thread's clock, how, and at which line ([`shadow`]).
//! 3. An access is compared with those that its byte remembers. It races with one of another thread if one of the two writes, the
//!    thread does not know the other up to that clock, and they are not both atomic, `.relaxed` or stronger with scopes that include
//!    each other ([`reach`]). `.volatile` accesses race like plain ones.
//! 4. A barrier of the block, of a part of it, of a warp or of a cluster joins the knowledge of all that take part; after
//!    `bar.arrive`, those who wait learn what the one who arrives knows.
//! 5. An atomic, `.relaxed` or `.volatile` write leaves knowledge with its location: what the thread had done before its last fence,
//!    or before the write itself if that is a `.release` ([`handed_on`]). A thread that reads the location picks the knowledge up and
//!    has it from its next fence or barrier on, or at once by an `.acquire`. After a `membar` or `fence.sc` a write also leaves what
//!    those knew at their own such fences whom its thread has met at a barrier since.
//! 6. Scopes limit this: accesses and fences of `.cta` or `.cluster` scope count for no other block or cluster. What a thread has
//!    *missed* for this reason alone is remembered, so that a finding can say so.
//! 7. A grid that a kernel launches begins with what its thread knew at the launch and with all that the grids did for which its
//!    stream made it wait. A thread that waits for a grid learns what the grid did ([`grids`]).
//! 8. An asynchronous copy may be made at any time between its issue and the wait for it: until then it races with whatever touches
//!    its bytes ([`unfinished`]), and then with whatever its completion does not come after ([`copies`]).
//! 9. A read-only load (`ld.global.nc`) and a write to the same byte by the same grid are a finding in whatever order they happen.
//! 10. Scopes limit it between devices as well: what is of `.gpu` scope counts for the threads of its own device only, and of `.sys` scope
//!     for all. A `.volatile` access hands on as one of `.sys` scope does.
//! 11. Races of the same two lines and kinds are one finding, told with the places of the first.
//!
//! Shuffles and votes order nothing, nor does lockstep, which no GPU since Volta promises.
//!
//! What it does not see:
//!
//! - a race on a path that this run did not take, or between accesses that this run happened to order by what it handed on;
//! - an acquire that lacks its fence where a barrier follows, which counts as one, but not for what another device has handed on;
//! - an atomic of `.cluster` scope beside one of `.gpu` scope by another cluster, and the scopes of mbarriers, which are taken to be
//!   for all;
//! - half an order: an atomic operation that is `.acquire` or `.release` is taken to be both;
//! - a race with an access that was forgotten, because many thousands of others to the same word came later;
//! - what comes between a `cp.async` and its `cp.async.mbarrier.arrive`, by which its thread is taken to have waited for it.

mod clocks;
mod copies;
mod grids;
mod handed_on;
mod reach;
mod shadow;
mod unfinished;

use crate::observers::Map;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};

use self::clocks::{Clocks, Knowledge};
use self::copies::{Completed, Copies};
use self::grids::Grids;
use self::handed_on::HandedOn;
use self::reach::Reach;
use self::shadow::{Conflict, Mode, Moment, Recent, Shadow};
use self::unfinished::Unfinished;
use super::cluster::{InCluster, offset};
use crate::finding::{Bytes, Finding, Place, Tool};
use crate::kernel::Kernel;
use crate::observer::{
    AccessEvent, AccessKind, AccessOrder, BarrierEvent, BlockEvent, ClusterBarrierEvent,
    CollectiveEvent, CopyEvent, FenceEvent, GridEvent, GridLaunchEvent, GridWaitEvent, Observer,
    ReleaseEvent, Scope, Wants,
};
use crate::registers::{LANES, each_lane};
use crate::types::Space;

/// Finds data races. For one launch, which runs on one host thread for it: it takes the order in which it is told of
/// synchronising accesses for that in which they were made.
#[derive(Debug, Default)]
pub struct Racecheck {
    launch: Arc<Mutex<LaunchState>>,
    block: BlockState,
}

/// What the blocks of a launch have in common.
#[derive(Debug, Default)]
struct LaunchState {
    /// By the numbers that blocks go by here.
    blocks: Vec<BlockEvent>,
    /// The numbers that clusters go by here, by grid and number in that.
    clusters: Map<(u64, u64), u32>,
    grids: Grids,
    global: Shadow,
    handed_on: Locations,
    /// What those have handed on who arrived at the barrier of a cluster, by the cluster's number and the phase.
    cluster_barriers: Map<(u64, u32), Arc<Knowledge>>,
    races: Races,
}

/// The races that were seen, in the order in which each was first.
#[derive(Debug, Default)]
struct Races {
    all: Vec<Race>,
    by_lines: Map<RaceKey, usize>,
    /// By block, the launch that it comes of.
    launches: Vec<u32>,
}

/// What one block has for itself.
#[derive(Debug, Default)]
struct BlockState {
    clocks: Clocks,
    shared: Shadow,
    handed_on: Locations,
    unfinished: Unfinished,
    copies: Copies,
    /// Where its shared memory is, if others reach it.
    in_cluster: Option<InCluster>,
    /// By warp.
    recent_global: Vec<Recent>,
    recent_shared: Vec<Recent>,
    /// By barrier: what those have handed on that did not wait, and who they are.
    arrived: Map<u32, (Knowledge, Vec<(u32, u32)>)>,
}

/// What the last writes to a location have handed on, by its address.
type Locations = Map<u64, HandedOn>;

/// What makes races one finding: what clashes with what, and the two lines, each with its launch.
type RaceKey = (&'static str, [(u32, u32); 2]);

/// A race, as often as it was seen.
#[derive(Debug)]
struct Race {
    space: Space,
    first: Conflict,
    bytes: u32,
    count: u64,
}

impl Racecheck {
    /// A checker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The races that were seen, in the order in which each was first.
    pub fn findings(&self, kernel: &Kernel) -> Vec<Finding> {
        self.findings_of(&[kernel])
    }

    /// The same of launches that have run at the same time, of these kernels.
    pub fn findings_of(&self, kernels: &[&Kernel]) -> Vec<Finding> {
        let launch = lock(&self.launch);
        let finding = |race: &Race| launch.finding(race, kernels);
        Finding::merged(launch.races.all.iter().map(finding))
    }

    /// The PTX lines of the races that were seen: the earlier access and the later one.
    pub fn lines(&self) -> Vec<[u32; 2]> {
        let races = &lock(&self.launch).races.all;
        let lines = |race: &Race| [race.first.before.line, race.first.after.line];
        races.iter().map(lines).collect()
    }

    /// Takes note of an access by its lanes, or by one lane's copy at its completion. Returns the lanes that touch no pending copy. Those
    /// that do are found once: a pending copy has no time at which they could race with anything else.
    fn note(&mut self, mut event: AccessEvent<'_>, completed: Option<&Completed>) -> u32 {
        let block = &mut self.block;
        let warp = event.warp as usize;
        if !block.unfinished.is_empty() {
            let moment = block.moment(&event);
            let met = block.unfinished.meet(&event, moment, |conflict| {
                let races = &mut lock(&self.launch).races;
                races.report(event.space, event.bytes, conflict);
            });
            event.lanes &= !met;
        }
        let lanes = event.lanes;
        if event.space == Space::Shared && block.in_cluster.is_none() {
            let recent = &mut block.recent_shared[warp];
            let shared = &mut block.shared;
            shared.access(&block.clocks, completed, recent, &event, &mut |conflict| {
                let races = &mut lock(&self.launch).races;
                races.report(event.space, event.bytes, conflict);
            });
        } else {
            let places;
            let event = match (event.space, block.in_cluster) {
                (Space::Shared, Some(in_cluster)) => {
                    places = in_cluster.places(event.addresses);
                    AccessEvent {
                        addresses: &places,
                        ..event
                    }
                }
                _ => event,
            };
            let launch = &mut *lock(&self.launch);
            let LaunchState { global, races, .. } = launch;
            let recent = &mut block.recent_global[warp];
            global.access(
                &block.clocks,
                completed,
                recent,
                &event,
                &mut |mut conflict| {
                    if event.space == Space::Shared {
                        conflict.address = offset(conflict.address);
                    }
                    races.report(event.space, event.bytes, conflict);
                },
            );
        }
        lanes
    }

    /// Takes note of an access by copies that are being completed.
    fn completing_access(&mut self, event: AccessEvent<'_>) {
        let completing = mem::take(&mut self.block.copies.completing);
        let mut others = event.lanes;
        for completed in &completing {
            let lanes = event.lanes & 1 << completed.lane;
            others &= !lanes;
            let read_at_issue = event.kind == AccessKind::Load && self.block.copies.is_multicast;
            if lanes != 0 && !read_at_issue {
                self.note(AccessEvent { lanes, ..event }, Some(completed));
            }
        }
        if others != 0 {
            let lanes = others;
            self.note(AccessEvent { lanes, ..event }, None);
        }
        self.block.copies.completing = completing;
    }

    /// Follows what strong and volatile accesses hand on.
    fn synchronise(&mut self, event: &AccessEvent<'_>) {
        let places = self.block.places(event.space, event.addresses);
        let BlockState {
            clocks,
            handed_on,
            in_cluster,
            ..
        } = &mut self.block;
        let mut launch = lock(&self.launch);
        let locations = match (event.space, in_cluster) {
            (Space::Shared, None) => handed_on,
            _ => &mut launch.handed_on,
        };
        let at_once = matches!(event.order, AccessOrder::AcquireRelease(_));
        let scope = event.order.scope();
        let (block, cluster) = (clocks.block(), clocks.reach(Scope::Cluster));
        let device = clocks.device();
        let mut last = None;
        let is_alone = event.lanes.count_ones() == 1;
        let (reads, writes) = (
            event.kind != AccessKind::Store,
            event.kind != AccessKind::Load,
        );
        each_lane(event.lanes, |lane| {
            let thread = event.warp * LANES as u32 + lane as u32;
            let address = places[lane];
            if reads && let Some(handed_on) = locations.get(&address) {
                for (needed, knowledge) in handed_on.parts_for(block, cluster, device) {
                    let Some(needed) = needed.filter(|&needed| needed <= scope) else {
                        clocks.miss(thread, knowledge);
                        continue;
                    };
                    if at_once && !writes && !is_alone {
                        clocks.acquire_alike(thread, knowledge, &mut last);
                    } else if at_once {
                        clocks.acquire(thread, knowledge);
                    } else {
                        clocks.acquire_at_fence(thread, needed, knowledge);
                    }
                }
            }
            if !writes {
                return;
            }
            // A read-modify-write passes on what it found.
            if !reads {
                locations.remove(&address);
            }
            if at_once {
                let mut knowledge = Knowledge::default();
                clocks.release(thread, &mut knowledge);
                let handed_on = locations.entry(address).or_default();
                handed_on.add(clocks.strong(clocks.reach(scope)), &Arc::new(knowledge));
            } else {
                for (scope, knowledge) in clocks.fenced(thread, scope) {
                    let handed_on = locations.entry(address).or_default();
                    handed_on.add(clocks.strong(clocks.reach(scope)), knowledge);
                }
            }
        });
    }
}

impl BlockState {
    /// Where addresses are in the memory that they share with others: those of other blocks of the cluster too.
    fn places(&self, space: Space, addresses: &[u64; LANES]) -> [u64; LANES] {
        match (space, self.in_cluster) {
            (Space::Shared, Some(in_cluster)) => in_cluster.places(addresses),
            _ => *addresses,
        }
    }

    /// The moment of an access; of several clocks that its lanes may be at, that of the first.
    fn moment(&self, event: &AccessEvent<'_>) -> Moment {
        Moment {
            block: self.clocks.block(),
            clock: self.clocks.of_warp(event.warp)[event.lanes.trailing_zeros() as usize],
            line: event.line,
            warp: event.warp,
            clock_of: event.warp,
            grid: self.clocks.grid(),
            device: self.clocks.device(),
            mode: Mode::of(
                event.kind,
                event.order,
                self.clocks.reach(event.order.scope()),
            ),
        }
    }
}

impl Races {
    fn report(&mut self, space: Space, bytes: u32, conflict: Conflict) {
        let lines = [conflict.before, conflict.after];
        let lines = lines.map(|moment| (self.launches[moment.block as usize], moment.line));
        let key = (clash(&conflict), lines);
        let races = &mut self.all;
        let index = *self.by_lines.entry(key).or_insert_with(|| {
            races.push(Race {
                space,
                first: conflict,
                bytes,
                count: 0,
            });
            races.len() - 1
        });
        races[index].count += 1;
    }
}

impl LaunchState {
    fn finding(&self, race: &Race, kernels: &[&Kernel]) -> Finding {
        let Conflict {
            before,
            before_lane,
            after,
            after_lane,
            address,
            was_missed: _,
        } = race.first;
        let place = |moment: Moment, lane: u32| {
            let does = match moment.mode.kind {
                AccessKind::Atomic if moment.mode.unfinished => "reduces",
                AccessKind::Load | AccessKind::Store if moment.is_copy() => "copies",
                AccessKind::Load => "reads",
                AccessKind::Store => "writes",
                AccessKind::Atomic => "updates",
            };
            let thread = moment.warp * LANES as u32 + lane;
            let block = &self.blocks[moment.block as usize];
            let [x, y, _] = block.shape;
            let index = [thread % x, thread / x % y, thread / x / y];
            Place::of_block(block, kernels, does, index, moment.line)
        };
        let blocks = [before, after].map(|moment| &self.blocks[moment.block as usize]);
        Finding {
            tool: Tool::Racecheck,
            kind: clash(&race.first),
            message: advice(&race.first, race.space, blocks),
            kernel: kernels[blocks[1].launch as usize % kernels.len()]
                .name()
                .to_owned(),
            places: vec![place(after, after_lane), place(before, before_lane)],
            memory: Some(Bytes {
                space: race.space,
                address,
                bytes: race.bytes,
            }),
            count: race.count,
            ends_launch: false,
        }
    }
}

/// What clashes, the later access first.
fn clash(conflict: &Conflict) -> &'static str {
    if conflict.after.breaks_promise(&conflict.before) {
        return "read-only load of what is written";
    }
    let (after, before) = (conflict.after.mode, conflict.before.mode);
    if before.unfinished {
        return match (after.writes(), before.writes()) {
            (_, false) => "source written before the copy is complete",
            (false, true) => "read before the copy is complete",
            (true, true) => "write before the copy is complete",
        };
    }
    match (after.writes(), before.writes()) {
        (false, _) => "read after write",
        (true, false) => "write after read",
        (true, true) => "write after write",
    }
}

/// Why nothing orders the two, and what would.
fn advice(conflict: &Conflict, space: Space, [block, other]: [&BlockEvent; 2]) -> String {
    let Conflict { before, after, .. } = conflict;
    if after.breaks_promise(before) {
        return "a read-only load (ld.global.nc, __ldg) promises that nobody writes the word as long as the grid runs, and no barrier or fence makes up for that: use an ordinary load".to_owned();
    }
    if before.is_copy() {
        return "an asynchronous copy is made at any time before the thread that issued it has waited for its group (cp.async.wait_group or cp.async.bulk.wait_group, after a commit_group), or anybody for its mbarrier".to_owned();
    }
    if before.block != after.block && space == Space::Shared {
        return "nothing orders the blocks of the cluster: its barrier (barrier.cluster) between the two accesses would"
            .to_owned();
    }
    if block.device != other.device && before.mode.strong && after.mode.strong {
        return "an operation of .gpu scope, such as atomicAdd, is atomic for the threads of its own device only: one of .sys scope, such as atomicAdd_system, would be for all devices".to_owned();
    }
    if block.device != other.device && conflict.was_missed {
        return "a fence or a flag of .gpu scope (membar.gl, __threadfence) counts for its own device only: .sys scope (membar.sys, __threadfence_system) on both sides would order the two".to_owned();
    }
    if block.device != other.device {
        return "nothing orders the devices: hand over with a fence and a flag of .sys scope, or let one's stream wait for an event of the other's".to_owned();
    }
    if block.launch != other.launch {
        return "nothing orders the two launches, which run at the same time: put them into one stream, or let one's stream wait for an event of the other's".to_owned();
    }
    if block.grid != other.grid {
        return "a grid runs at any time after its launch, beside the block that launched it and beside other grids: a tail launch comes after the whole grid that launches it, and a launch into the block's own stream after those before it".to_owned();
    }
    if before.block != after.block && before.mode.strong && after.mode.strong {
        return "an operation of .cta scope, such as atomicAdd_block, is atomic within its block only (one of .cluster scope, within its cluster): one of .gpu scope, such as atomicAdd, would be for all blocks"
            .to_owned();
    }
    if before.block != after.block && conflict.was_missed {
        return "a fence or a flag of .cta scope (membar.cta, __threadfence_block) counts for its own block only, and one of .cluster scope for its cluster: .gpu scope (membar.gl, __threadfence) on both sides would order the two"
            .to_owned();
    }
    if before.block != after.block {
        return "blocks run in any order: use atomic operations, or a second launch".to_owned();
    }
    if before.warp != after.warp {
        return "nothing orders the two warps: a barrier of the block between the two accesses would"
            .to_owned();
    }
    if before == after {
        return "lanes of one warp write to the same address: whose value stays is not defined"
            .to_owned();
    }
    let volatile = if before.mode.volatile && after.mode.volatile {
        ", and volatile orders nothing between threads"
    } else {
        ""
    };
    format!(
        "lanes of one warp need not run in lockstep since Volta (sm_70){volatile}: a barrier of the warp between the two accesses would order them"
    )
}

impl Observer for Racecheck {
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants {
            in_order: true,
            ..Wants::ACCESSES
        }
    }

    fn fork(&self) -> Self {
        Self {
            launch: Arc::clone(&self.launch),
            block: BlockState::default(),
        }
    }

    /// All blocks report to the same place already.
    fn merge(&mut self, _: Self) {}

    fn block(&mut self, event: BlockEvent) {
        let (number, cluster) = {
            let mut launch = lock(&self.launch);
            launch.blocks.push(event);
            launch.races.launches.push(event.launch);
            if event.device != launch.blocks[0].device {
                launch.global.share_among_devices();
            }
            let clusters = launch.clusters.len() as u32;
            let cluster = launch.clusters.entry((event.grid, event.cluster));
            let cluster = *cluster.or_insert(clusters);
            (launch.blocks.len() as u32 - 1, cluster)
        };
        let threads: u32 = event.shape.iter().product();
        let warps = threads.div_ceil(LANES as u32) as usize;
        let block = &mut self.block;
        let (grid, device) = (event.grid, event.device);
        block.clocks.begin(number, cluster, grid, device, threads);
        let mut launch = lock(&self.launch);
        let known = launch.grids.begin_block(event.grid, number);
        if !event.is_of_host() {
            block.clocks.begin_with(known);
        }
        drop(launch);
        block.shared.clear();
        block.handed_on.clear();
        block.unfinished.clear();
        block.copies.clear();
        block.in_cluster = InCluster::of(&event);
        block.arrived.clear();
        block.recent_global.resize(warps, Recent::default());
        block.recent_shared.resize(warps, Recent::default());
    }

    fn access(&mut self, event: AccessEvent<'_>) {
        if event.lanes == 0 || !matches!(event.space, Space::Global | Space::Shared) {
            return;
        }
        if event.completes_copies {
            self.completing_access(event);
            return;
        }
        let lanes = self.note(event, None);
        if !event.order.is_weak() {
            self.synchronise(&AccessEvent { lanes, ..event });
        }
    }

    /// A copy happens at its issue and at its completion, and nobody may come between. What it hands on, it does at its completion.
    fn copy(&mut self, event: CopyEvent<'_>) {
        for (kind, order, space, addresses, bytes) in [
            (
                AccessKind::Load,
                AccessOrder::Weak,
                event.from_space,
                event.from,
                event.from_bytes,
            ),
            (
                event.to_kind,
                event.to_order,
                event.to_space,
                event.to,
                event.to_bytes,
            ),
        ] {
            let mut rest = event.lanes;
            while rest != 0 {
                let bytes_of_some = bytes[rest.trailing_zeros() as usize];
                let mut lanes = 0;
                each_lane(rest, |lane| {
                    lanes |= u32::from(bytes[lane] == bytes_of_some) << lane;
                });
                rest &= !lanes;
                if bytes_of_some != 0 {
                    let part = AccessEvent {
                        warp: event.warp,
                        line: event.line,
                        kind,
                        order,
                        space,
                        bytes: bytes_of_some,
                        lanes,
                        addresses,
                        completes_copies: false,
                    };
                    self.note(part, None);
                }
            }
        }
        let block = &mut self.block;
        let lane = event.lanes.trailing_zeros() as usize;
        let reach = block.clocks.reach(event.to_order.scope());
        let issued = Moment {
            block: block.clocks.block(),
            clock: block.clocks.of_warp(event.warp)[lane],
            line: event.line,
            warp: event.warp,
            clock_of: event.warp,
            grid: block.clocks.grid(),
            device: block.clocks.device(),
            mode: Mode::of(event.to_kind, event.to_order, reach),
        };
        block.unfinished.add(&event, issued);
        block.copies.issue(&mut block.clocks, &event);
    }

    fn copied(&mut self, event: CopyEvent<'_>) {
        self.block.unfinished.remove(&event);
        let places = |space, addresses| self.block.places(space, addresses);
        let to = places(event.to_space, event.to);
        let mbarriers = event
            .mbarriers
            .map(|mbarriers| places(Space::Shared, mbarriers));
        let BlockState {
            clocks,
            copies,
            handed_on,
            in_cluster,
            ..
        } = &mut self.block;
        let mut launch = lock(&self.launch);
        let mut hand_on = |space: Space, address: u64, reach: Reach, knowledge: &Arc<Knowledge>| {
            let locations = match (space, &in_cluster) {
                (Space::Shared, None) => &mut *handed_on,
                _ => &mut launch.handed_on,
            };
            let location = locations.entry(address).or_default();
            location.add(clocks.strong(reach), knowledge);
        };
        copies.complete(clocks, &event, |lane, issued| {
            for (scope, knowledge) in &issued.fenced {
                hand_on(event.to_space, to[lane], clocks.reach(*scope), knowledge);
            }
            if let (Some(mbarriers), Some(knowledge)) = (&mbarriers, &issued.all) {
                hand_on(
                    Space::Shared,
                    mbarriers[lane],
                    clocks.reach(Scope::Gpu),
                    knowledge,
                );
            }
        });
    }

    fn barrier(&mut self, event: BarrierEvent) {
        if event.waits {
            return;
        }
        let BlockState {
            clocks, arrived, ..
        } = &mut self.block;
        let (knowledge, who) = arrived.entry(event.barrier).or_default();
        who.push((event.warp, event.lanes));
        each_lane(event.lanes, |lane| {
            clocks.release(event.warp * LANES as u32 + lane as u32, knowledge);
        });
    }

    fn release(&mut self, event: ReleaseEvent<'_>) {
        let BlockState {
            clocks, arrived, ..
        } = &mut self.block;
        let (mut knowledge, not_waiting) = arrived.remove(&event.barrier).unwrap_or_default();
        let threads: u32 = event
            .arrived
            .iter()
            .map(|(_, lanes)| lanes.count_ones())
            .sum();
        if not_waiting.is_empty() && threads == clocks.threads() {
            clocks.block_barrier();
            return;
        }
        let waiting: Vec<u32> = event
            .arrived
            .iter()
            .filter(|who| !not_waiting.contains(who))
            .flat_map(|&(warp, lanes)| {
                (0..LANES as u32)
                    .filter(move |lane| lanes >> lane & 1 == 1)
                    .map(move |lane| warp * LANES as u32 + lane)
            })
            .collect();
        for &thread in &waiting {
            clocks.take_pending(thread, Scope::Gpu);
            clocks.release(thread, &mut knowledge);
        }
        clocks.meet_fences(waiting.iter().copied());
        let knowledge = Arc::new(knowledge);
        for thread in waiting {
            clocks.acquire(thread, &knowledge);
        }
    }

    fn cluster_barrier(&mut self, event: ClusterBarrierEvent) {
        let clocks = &mut self.block.clocks;
        let mut launch = lock(&self.launch);
        let knowledge = launch
            .cluster_barriers
            .entry((event.cluster, event.phase))
            .or_default();
        each_lane(event.lanes, |lane| {
            let thread = event.warp * LANES as u32 + lane as u32;
            if event.waits {
                clocks.acquire(thread, knowledge);
            } else {
                clocks.release(thread, Arc::make_mut(knowledge));
            }
        });
    }

    fn collective(&mut self, event: CollectiveEvent) {
        if event.is_barrier {
            self.block.clocks.warp_barrier(event.warp, event.lanes);
        }
    }

    fn grid_launch(&mut self, event: GridLaunchEvent) {
        let thread = event.warp * LANES as u32 + event.lane;
        let mut known = Knowledge::default();
        self.block.clocks.take_pending(thread, Scope::Gpu);
        self.block.clocks.release(thread, &mut known);
        lock(&self.launch)
            .grids
            .launch(self.block.clocks.grid(), event.grid, known);
    }

    fn grid(&mut self, event: GridEvent<'_>) {
        lock(&self.launch).grids.begin(event.grid, event.after);
    }

    fn grid_wait(&mut self, event: GridWaitEvent<'_>) {
        let thread = event.warp * LANES as u32 + event.lane;
        let mut known = Knowledge::default();
        for &grid in event.grids {
            lock(&self.launch).grids.complete(grid, &mut known);
        }
        self.block.clocks.acquire(thread, &Arc::new(known));
    }

    fn fence(&mut self, event: FenceEvent) {
        each_lane(event.lanes, |lane| {
            let thread = event.warp * LANES as u32 + lane as u32;
            let clocks = &mut self.block.clocks;
            clocks.fence(thread, event.scope, event.is_sequential);
        });
    }
}

fn lock(launch: &Mutex<LaunchState>) -> MutexGuard<'_, LaunchState> {
    launch
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
