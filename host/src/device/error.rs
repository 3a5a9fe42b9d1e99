//! What can go wrong between the host and a device.

use warpfold_driver::{Failure, Unavailable, Version};
use warpfold_emulator::{LaunchError, MemoryError, PtxError};

/// One sentence on what went wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A GPU was asked for, and the driver has none to offer.
    #[error("no GPU can be used: {0}; use --device emulator to run without one")]
    NoGpu(Unavailable),
    /// The driver has GPUs, but not this one.
    #[error(
        "there is no GPU {index}: the driver counts {count}, from 0 (`warpfold devices` lists them)"
    )]
    NoSuchGpu {
        /// The index asked for.
        index: u32,
        /// How many GPUs there are.
        count: u32,
    },
    /// The GPU is older than any architecture that PTX is built for.
    #[error(
        "this GPU is sm_{sm}, which is older than the PTX at hand ({targets}): use --device emulator"
    )]
    TooOld {
        /// The GPU's compute capability.
        sm: u32,
        /// The architectures at hand: `sm_70, sm_80`.
        targets: String,
    },
    /// The driver does not know the version of the PTX language that PTX is in.
    #[error("this PTX needs driver API ≥ {needed}, yours is {found}: update the driver")]
    OldDriver {
        /// The first CUDA with that version.
        needed: Version,
        /// The CUDA that the driver supports.
        found: Version,
    },
    /// A call of the driver failed.
    #[error(transparent)]
    Driver(#[from] Failure),
    /// The driver's compiler refused PTX.
    #[error("the GPU's driver refuses the PTX: {failure}: {log}")]
    Load {
        /// The call that failed.
        failure: Failure,
        /// What the driver's compiler wrote.
        log: String,
    },
    /// Kernels that launch grids, and no library to link them with.
    #[error(
        "these kernels launch grids, for which a GPU needs the CUDA toolkit's libcudadevrt.a, and it is in none of {looked_in}: install the toolkit and set CUDA_HOME to its folder, or use --device emulator"
    )]
    NoDeviceRuntime {
        /// The folders where it was looked for.
        looked_in: String,
    },
    /// A kernel that no GPU can run.
    #[error(
        "kernel '{entry}' waits on the device for grids that it has launched, which is not supported: device-side waiting was removed in CUDA 12; run it with --device emulator"
    )]
    WaitsOnDevice {
        /// The kernel.
        entry: String,
    },
    /// A grid that a kernel launched and the device did not, as the kernel noted.
    #[error(
        "the device refused to launch a grid for a kernel: error {code}{}; what that grid would have done is missing", named(*code)
    )]
    GridRefused {
        /// The `cudaError` that the kernel got.
        code: u32,
    },
    /// PTX with a zero byte in it.
    #[error("the PTX is not text: byte {position} is zero")]
    NotText {
        /// Offset of the byte.
        position: usize,
    },
    /// PTX that is wrong, or that the emulator does not know.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The module has no entry of this name.
    #[error("the PTX has no kernel '{entry}'")]
    NoEntry {
        /// The name asked for.
        entry: String,
    },
    /// A launch that no device would take; nothing has run.
    #[error("kernel '{entry}' cannot be launched: {reason}")]
    InvalidLaunch {
        /// The kernel.
        entry: String,
        /// What is wrong.
        reason: String,
    },
    /// A kernel faulted on a GPU, which says no more than the kind of fault.
    #[error(
        "kernel '{entry}' faulted on the GPU: {failure}; run it with --device emulator to see the thread, the line and the address"
    )]
    GpuFault {
        /// The kernel.
        entry: String,
        /// The call that reported it.
        failure: Failure,
    },
    /// What the emulator would not launch or load; nothing has run.
    #[error("{0}")]
    Refused(String),
    /// A kernel did on the emulator what it must not; the message has the place.
    #[error("{0}")]
    Trap(Box<warpfold_emulator::Trap>),
    /// The emulator's memory refused an allocation or a copy.
    #[error(transparent)]
    EmulatorMemory(#[from] MemoryError),
    /// Two lengths that must be equal.
    #[error("a copy of {given} elements does not fit a buffer of {length}")]
    LengthMismatch {
        /// Elements of the buffer.
        length: usize,
        /// Elements of the other side.
        given: usize,
    },
    /// The GPU's memory is too small, or too full.
    #[error("the GPU has no room for {bytes} bytes more: {failure}")]
    NoRoom {
        /// Bytes asked for.
        bytes: usize,
        /// The call that failed.
        failure: Failure,
    },
    /// The host has no more memory of the kind that a GPU knows.
    #[error("the host has no room for {bytes} bytes that the GPU can reach: {failure}")]
    NoHostMemory {
        /// Bytes asked for.
        bytes: usize,
        /// The call that failed.
        failure: Failure,
    },
    /// A kernel was to be told of host memory that it cannot reach.
    #[error("kernels reach mapped and managed memory of the host only: copy this to a buffer")]
    NotMapped,
    /// A graph was asked for a node that it does not have.
    #[error("a graph depends on its own nodes only, and on those that were added before")]
    NoNode,
    /// A capture with work on a stream that the captured one does not come back to.
    #[error(
        "a graph was captured that does not end where it began: before the capture ends, let its stream wait for an event that comes after the last work of each other stream that has a part in it"
    )]
    UnjoinedCapture,
    /// A capture was to depend on something outside it, or the host on something inside it.
    #[error(
        "nothing in a capture has happened yet: only streams of the same capture can wait for its events, and they for no others"
    )]
    EventOfCapture,
    /// An address that elements cannot have.
    #[error(
        "the address {address:#x} is no multiple of {alignment}, as those of such elements are"
    )]
    Misaligned {
        /// The address.
        address: u64,
        /// What it should be a multiple of.
        alignment: u64,
    },
    /// An address that is not a GPU's.
    #[error("the address {address:#x} is not in memory that the GPU's driver knows: {failure}")]
    NotDeviceMemory {
        /// The address.
        address: u64,
        /// The driver's answer.
        failure: Failure,
    },
    /// A buffer of more bytes than can be counted.
    #[error("a buffer of {length} elements is larger than any memory")]
    TooLarge {
        /// Elements asked for.
        length: usize,
    },
    /// Two things that different devices have made.
    #[error(
        "a buffer, kernel, stream, event or graph of one device cannot be used with another: make all of them with one device, and bring contents over by a download and an upload"
    )]
    OtherDevice,
    /// A sum that was to become part of a graph.
    #[error(
        "a sum cannot be captured into a graph, each launch of which would add to the total of the launch before: queue it on a stream that is not being captured"
    )]
    CapturedSum,
    /// Work that was to become part of a graph of other code, which does not keep its kernels and its memory.
    #[error(
        "other code is capturing this stream: queue on it before or after, or make the stream by `from_raw`, which asks for the promise that kernels and memory are kept for the graph"
    )]
    ForeignCapture,
    /// A graph that was to become part of another.
    #[error(
        "a graph cannot be launched where another is captured: queue its operations there, or launch it on a stream that is not being captured"
    )]
    CapturedGraph,
    /// The emulator was asked for times.
    #[error(
        "the emulator has no times to give: its counters are what can be compared; use --device gpu to time"
    )]
    NoTimes,
    /// Other code than kernels was to work on the emulator's memory.
    #[error("the emulator runs kernels only, no other code: use --device gpu")]
    NoForeignCode,
    /// A GPU was asked for what only the emulator sees.
    #[error("a GPU cannot be observed instruction by instruction: use --device emulator")]
    NotObservable,
}

/// What the runtime calls the errors that it refuses grids with.
fn named(code: u32) -> &'static str {
    match code {
        1 => ", cudaErrorInvalidValue",
        9 => ", cudaErrorInvalidConfiguration",
        65 => ", cudaErrorLaunchMaxDepthExceeded",
        69 => ", cudaErrorLaunchPendingCountExceeded",
        701 => ", cudaErrorLaunchOutOfResources",
        _ => "",
    }
}

impl DeviceError {
    /// Checks that as many elements are given as there are.
    pub(crate) fn check_length(length: usize, given: usize) -> Result<(), Self> {
        if length == given {
            Ok(())
        } else {
            Err(Self::LengthMismatch { length, given })
        }
    }

    /// The same in fewer words where there is no GPU, for a line that says more than this.
    pub(super) fn summary(&self) -> String {
        match self {
            Self::NoGpu(reason) => reason.summary(),
            other => other.to_string(),
        }
    }

    /// Whether a kernel itself did something wrong, as opposed to bad input, a bad launch or a missing device.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::GpuFault { .. } | Self::Trap(_) | Self::GridRefused { .. } => true,
            Self::Driver(failure) => failure.is_kernel_fault(),
            _ => false,
        }
    }

    /// Whether there is less memory left than was asked for.
    pub fn is_lack_of_memory(&self) -> bool {
        matches!(
            self,
            Self::NoRoom { .. }
                | Self::NoHostMemory { .. }
                | Self::EmulatorMemory(MemoryError::Exhausted { .. })
        )
    }

    /// Whether the device does no more for this process: after a fault of a kernel, a GPU answers every later call with an error. The
    /// emulator goes on.
    pub fn ends_device(&self) -> bool {
        match self {
            Self::GpuFault { .. } => true,
            Self::Driver(failure) => failure.is_kernel_fault(),
            _ => false,
        }
    }
}

impl From<LaunchError> for DeviceError {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Ptx(error) => Self::Ptx(error),
            LaunchError::Trap(trap) => Self::Trap(trap),
            refused => Self::Refused(refused.to_string()),
        }
    }
}
