//! The observers: one per file, each blind to the others. A pair of observers is one that tells both.

mod atomic_targets;
mod banks;
mod barrier_waits;
mod by_line;
mod cluster;
mod coalescing;
mod counters;
mod grids;
mod initcheck;
mod metrics;
mod peer_traffic;
mod printed;
mod profile;
mod racecheck;
mod steps;
mod synccheck;
mod trace;

pub use atomic_targets::AtomicTargets;
pub use barrier_waits::{BarrierWait, BarrierWaits};
pub use by_line::ByLine;
pub use counters::{ConstantTraffic, Counters, GlobalTraffic, SharedTraffic};
pub use grids::{GridCounts, Grids};
pub use initcheck::Initcheck;
pub use metrics::{METRICS, Metric, Unit};
pub use peer_traffic::{PeerAccesses, PeerTraffic};
pub use printed::Printed;
pub use profile::{Measurements, Profile};
pub use racecheck::Racecheck;
pub use steps::{Step, Steps};
pub use synccheck::Synccheck;
pub use trace::{BlockTrace, LaneAccess, LaneExchange, Trace, TraceEvent};

/// What observers look things up in. It hashes alike in every run, so that observing takes the same instructions in every run, and
/// `cargo xtask bench-check` can count them.
type Map<Key, Value> = rustc_hash::FxHashMap<Key, Value>;
