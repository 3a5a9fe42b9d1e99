//! Under construction: the public API.
#![allow(missing_docs, clippy::todo, unused_variables)]

/// A parsed and checked PTX module.
pub struct Module {}
impl Module {
    /// Parses PTX text; every register, label and symbol is resolved.
    pub fn parse(source: &str) -> Result<Self, PtxError> { todo!() }
    /// The `.target`: 80 for `sm_80`.
    pub fn target_sm(&self) -> u32 { todo!() }
    /// Names of the `.entry` functions in source order.
    pub fn entries(&self) -> impl Iterator<Item = &str> { std::iter::empty() }
    /// The PTX text (with the lines of one function) for display.
    pub fn function_source(&self, name: &str) -> Option<&str> { todo!() }
}

/// What is wrong with a PTX text: the 1-based line, that line's text, and a message naming the culprit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {message}")]
pub struct PtxError { pub line: usize, pub text: String, pub message: String }

/// The global memory of an emulated device: guest addresses, checked on every access.
pub struct Memory {}
impl Memory {
    pub fn new() -> Self { todo!() }
    /// Allocates `bytes` (0 is allowed), 256-byte aligned, uninitialised as far as the guest may assume (really zeroed). Returns the guest address.
    pub fn allocate(&mut self, bytes: usize) -> Result<u64, MemoryError> { todo!() }
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> { todo!() }
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> { todo!() }
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> { todo!() }
    pub fn copy(&mut self, from: u64, to: u64, bytes: usize) -> Result<(), MemoryError> { todo!() }
}
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MemoryError { message: String }

/// A module loaded into a memory: its module-scope variables have addresses there.
pub struct Program {}
impl Program {
    pub fn load(module: Module, memory: &mut Memory) -> Result<Self, LaunchError> { todo!() }
    pub fn module(&self) -> &Module { todo!() }
    /// Compiles one entry (cached). An instruction that is not supported is an error here, naming line and instruction.
    pub fn kernel(&self, name: &str) -> Result<std::sync::Arc<Kernel>, LaunchError> { todo!() }
}

/// One entry, compiled.
pub struct Kernel {}
impl Kernel {
    pub fn name(&self) -> &str { todo!() }
    /// Parameters in order.
    pub fn parameters(&self) -> &[Parameter] { todo!() }
    pub fn static_shared_bytes(&self) -> u32 { todo!() }
}
/// A kernel parameter: `.param .u64 name` or `.param .align 8 .b8 name[16]`.
pub struct Parameter { pub name: String, pub bytes: usize, pub align: usize }

/// Shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
    /// Host threads to use; 0: all cores.
    pub threads: usize,
    /// Stops with a trap after so many warp instructions; 0: no limit.
    pub max_steps: u64,
}

/// Runs a kernel to its end. `arguments`: one little-endian byte string per parameter, of exactly its size.
pub fn launch<O: Observer>(kernel: &Kernel, memory: &Memory, launch: &Launch, arguments: &[Vec<u8>], observer: &mut O) -> Result<(), LaunchError> { todo!() }

/// Sees what a kernel does and never changes it.
pub trait Observer: Send {}
/// Observes nothing and costs nothing.
pub struct Nothing;
impl Observer for Nothing {}
/// Counts as Nsight Compute does.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Warp-level instructions executed.
    pub inst_executed: u64,
    /// Thread-level instructions executed.
    pub thread_inst_executed: u64,
    pub branches: u64,
    pub divergent_branches: u64,
    pub global_load_bytes: u64,
    pub global_store_bytes: u64,
    pub barriers: u64,
}
impl Counters {
    /// Non-divergent branches per branch, 0 to 1 (1 where there is no branch).
    pub fn branch_efficiency(&self) -> f64 { todo!() }
}
impl Observer for Counters {}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A module that cannot be loaded or an entry that cannot be compiled.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// A launch that no device would take: one sentence.
    #[error("{0}")]
    Invalid(String),
    /// The kernel did something it must not: one sentence with kind, kernel, block, thread, PTX line and text, addresses.
    #[error(transparent)]
    Trap(#[from] Box<Trap>),
}
/// A fault of a running kernel, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Trap { pub message: String, pub kernel: String, pub block: [u32; 3], pub thread: [u32; 3], pub line: usize }
