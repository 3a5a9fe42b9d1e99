//! What the blocks of a cluster have in common, and a block's place in it.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::registers::LANES;

/// What the blocks of a cluster have in common.
#[derive(Debug)]
pub(super) struct Cluster {
    /// The cluster's number in the grid.
    pub number: u64,
    /// Shared memory of each block, by rank.
    pub shared: Vec<Arc<[AtomicU64]>>,
    /// The blocks that have ended, a bit for each.
    pub ended: AtomicU32,
    pub barrier: Mutex<Barrier>,
}

/// The barrier of a cluster.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    pub threads: u32,
    pub arrived: u32,
    pub exited: u32,
    pub phase: u32,
    /// The blocks of which no warp can go on until the phase is over, a bit for each.
    pub stuck: u32,
    /// Whether a block of the cluster has been given up: the others need not go on.
    pub is_abandoned: bool,
}

impl Barrier {
    /// Ends the phase if all threads that run have come.
    pub fn complete(&mut self) {
        if self.arrived != 0 && self.arrived + self.exited >= self.threads {
            self.arrived = 0;
            self.phase += 1;
            self.stuck = 0;
        }
    }
}

impl Cluster {
    pub fn new(number: u64, shared: Vec<Arc<[AtomicU64]>>, threads_per_block: u32) -> Self {
        let threads = threads_per_block * shared.len() as u32;
        Self {
            number,
            shared,
            ended: AtomicU32::new(0),
            barrier: Mutex::new(Barrier {
                threads,
                ..Barrier::default()
            }),
        }
    }

    pub fn barrier(&self) -> MutexGuard<'_, Barrier> {
        self.barrier
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A block's place in its cluster.
#[derive(Debug)]
pub(super) struct Membership {
    pub rank: u32,
    pub cluster: Arc<Cluster>,
    /// By warp, the phase in which each lane has arrived last.
    pub phases: Vec<[u32; LANES]>,
}

impl Membership {
    pub fn new(cluster: Arc<Cluster>, rank: u32, warps: usize) -> Self {
        Self {
            rank,
            cluster,
            phases: vec![[0; LANES]; warps],
        }
    }
}
