//! Runs PTX on the CPU: the very text that a GPU's driver would take, whoever compiled it.
//!
//! A text becomes a checked [`Module`]; loaded into a [`Memory`] it is a [`Program`], whose entries compile to [`Kernel`]s that
//! [`launch()`] runs by warps of 32 lanes, blocks in parallel on the machine's cores. Guest addresses are the guest's own numbers,
//! checked on every access. What goes wrong is a value: a [`PtxError`] names the line of the text, a [`Trap`] the kernel, block,
//! thread and line. An [`Observer`] sees what is executed, and costs nothing where there is none.
//!
//! ```
//! use warpfold_emulator::{Counters, Launch, Memory, Module, Program, launch};
//!
//! let module = Module::parse(
//!     ".version 7.0
//!      .target sm_80
//!      .address_size 64
//!      .visible .entry double(.param .u64 data) {
//!          .reg .b32 %r<3>;
//!          .reg .b64 %rd<4>;
//!          ld.param.u64 %rd1, [data];
//!          mov.u32 %r1, %tid.x;
//!          mul.wide.u32 %rd2, %r1, 4;
//!          add.s64 %rd3, %rd1, %rd2;
//!          ld.global.u32 %r2, [%rd3];
//!          shl.b32 %r2, %r2, 1;
//!          st.global.u32 [%rd3], %r2;
//!          ret;
//!      }",
//! )?;
//! let mut memory = Memory::new();
//! let data = memory.allocate(64 * 4)?;
//! memory.write(data + 4, &21u32.to_le_bytes())?;
//! let program = Program::load(module, &mut memory)?;
//! let shape = Launch { grid: [1; 3], block: [64, 1, 1], ..Launch::default() };
//! let mut counters = Counters::default();
//! launch(&*program.kernel("double")?, &memory, &shape, &[data.to_le_bytes().to_vec()], &mut counters)?;
//! let mut answer = [0; 4];
//! memory.read(data + 4, &mut answer)?;
//! assert_eq!(u32::from_le_bytes(answer), 42);
//! assert_eq!(counters.inst_executed, 2 * 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod alu;
mod branch_fate;
mod cfg;
mod check;
mod device;
mod error;
mod finding;
mod heap;
mod launch;
mod lexer;
mod loaded;
mod lower;
mod memory;
mod module;
mod observer;
mod observers;
mod parser;
mod program;
mod region;
mod registers;
mod row;
mod run;
mod simt;
mod syntax;
mod types;
mod window;

pub use check::{Order, check, compare_orders};
pub use device::DeviceProperties;
pub use error::{Absence, Fault, FreePlace, LaunchError, MemoryError, PtxError, Trap};
pub use finding::{Bytes, Finding, Place, Tool};
pub use launch::{Launch, Nesting};
pub use loaded::{Kernel, Program};
pub use memory::Memory;
pub use module::{Module, Parameter, SourcePlace};
pub use observer::{
    AccessEvent, AccessKind, AccessOrder, BarrierEvent, BlockEvent, BranchEvent, BranchFate,
    CallEvent, ClusterBarrierEvent, CollectiveEvent, CopyEvent, ExchangeEvent, FenceEvent,
    GridEvent, GridLaunchEvent, GridWaitEvent, InstructionEvent, Nothing, Observer, PrintEvent,
    ReleaseEvent, Scope, ValuesEvent,
};
pub use observers::{
    AtomicTargets, BarrierWait, BarrierWaits, BlockTrace, ByLine, Counters, GlobalTraffic,
    Initcheck, LaneAccess, LaneExchange, METRICS, Measurements, Metric, Printed, Profile,
    Racecheck, SharedTraffic, Synccheck, Trace, TraceEvent, Unit,
};
pub use run::{launch, launch_scheduled};
pub use types::Space;
