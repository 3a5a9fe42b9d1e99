#![doc = include_str!("../README.md")]

mod address;
mod alu;
mod branch_fate;
mod cfg;
mod check;
mod clock;
mod code;
mod device;
pub mod entries;
mod error;
mod finding;
mod heap;
mod kernel;
mod launch;
mod lexer;
pub mod limits;
mod lower;
mod memories;
mod memory;
mod module;
mod observer;
mod observers;
mod occupancy;
mod parser;
mod program;
mod region;
mod registers;
mod row;
mod run;
mod simt;
mod source;
mod syntax;
mod types;
mod window;

pub use check::{check, check_together, compare_orders, compare_orders_together};
pub use clock::HostInstant;
pub use device::DeviceProperties;
pub use error::{Absence, Fault, FreePlace, LaunchError, MemoryError, PtxError, Trap};
pub use finding::{Bytes, Finding, Place, Tool};
pub use kernel::Kernel;
pub use launch::{DeviceLaunch, Launch, Nesting, Order};
pub use memory::Memory;
pub use module::{Module, Parameter};
pub use observer::{
    AccessEvent, AccessKind, AccessOrder, BarrierEvent, BlockEvent, BranchEvent, BranchFate,
    CallEvent, ClusterBarrierEvent, CollectiveEvent, CopyEvent, ExchangeEvent, FenceEvent,
    GridEvent, GridLaunchEvent, GridWaitEvent, InstructionEvent, Nothing, Observer, PrintEvent,
    ReleaseEvent, Scope, ValuesEvent, Wants, Watch,
};
pub use observers::{
    AtomicTargets, BarrierWait, BarrierWaits, BlockTrace, ByLine, ConstantTraffic, Counters,
    GlobalTraffic, GridCounts, Grids, Initcheck, LaneAccess, LaneExchange, METRICS, Measurements,
    Metric, PeerAccesses, PeerTraffic, Printed, Profile, Racecheck, SharedTraffic, Step, Steps,
    Synccheck, Trace, TraceEvent, Unit,
};
pub use occupancy::{BlockNeeds, Multiprocessor, Occupancy, Resource};
pub use program::Program;
pub use run::{launch, launch_scheduled, launch_together, launch_with_peers};
pub use source::{Origin, SourcePlace};
pub use types::Space;
