//! The functions of NCCL that are called here, typed after its public header `nccl.h` (2.18 and later).

#![allow(non_snake_case, reason = "the names are NCCL's")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;

/// The oldest NCCL: the first with the configuration below.
const OLDEST: Version = Version(21800);

/// `ncclUniqueId`
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct UniqueId(pub(super) [u8; 128]);

/// `ncclComm_t`
pub(super) type Communicator = *mut c_void;

/// `cudaStream_t`
pub(super) type StreamHandle = *mut c_void;

/// `ncclConfig_t` as of 2.18. Later ones have more at the end; the library goes by `size` and `version`.
#[repr(C)]
pub(super) struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
}

impl Config {
    /// Calls return at once, and [`Api::ncclCommGetAsyncError`] tells what has become of them; the rest is NCCL's choice.
    pub(super) const NON_BLOCKING: Self = Self {
        size: size_of::<Self>(),
        magic: 0xcafe_beef,
        version: OLDEST.0 as u32,
        blocking: 0,
        cga_cluster_size: c_int::MIN,
        min_ctas: c_int::MIN,
        max_ctas: c_int::MIN,
        net_name: std::ptr::null(),
        split_share: c_int::MIN,
    };
}

/// `ncclResult_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Outcome(pub(super) c_int);

impl Outcome {
    pub(super) const SUCCESS: Self = Self(0);
    pub(super) const IN_PROGRESS: Self = Self(7);

    /// Whether it is no error.
    pub(super) fn is_fine(self) -> bool {
        matches!(self, Self::SUCCESS | Self::IN_PROGRESS)
    }
}

/// NCCL's version, as it counts: 22703 for 2.27.3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) struct Version(c_int);

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(code) = self;
        write!(
            formatter,
            "{}.{}.{}",
            code / 10000,
            code / 100 % 100,
            code % 100
        )
    }
}

macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// The functions of a library that is never closed.
        pub(super) struct Api {
            $($name: unsafe extern "C" fn($($type),*) -> $result,)*
            version: Version,
        }

        impl Api {
            #[cfg_attr(
                not(all(target_pointer_width = "64", target_os = "linux")),
                allow(dead_code, reason = "there is no NCCL")
            )]
            /// The functions by the addresses of their names.
            ///
            /// # Errors
            /// One is missing, or the library is too old.
            ///
            /// # Safety
            /// The addresses are those of the functions of these names in NCCL, and stay so.
            pub(super) unsafe fn of(address: impl Fn(&str) -> Option<*mut c_void>) -> Result<Self, String> {
                $(
                    let name = stringify!($name);
                    let found = address(name).filter(|address| !address.is_null());
                    let found = found.ok_or_else(|| format!("it has no function {name}"))?;
                    // SAFETY: the address is that of the function of this name, which has this signature in NCCL's header.
                    let $name = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(found)
                    };
                )*
                let mut api = Self { $($name,)* version: Version(0) };
                let mut version = 0;
                // SAFETY: the number may be written.
                let outcome = unsafe { api.ncclGetVersion(&raw mut version) };
                api.version = Version(version);
                if outcome != Outcome::SUCCESS || api.version < OLDEST {
                    return Err(format!("it is NCCL {}, and {OLDEST} or later is needed", api.version));
                }
                Ok(api)
            }

            $(
                $(#[$doc])*
                #[allow(clippy::too_many_arguments, reason = "they are NCCL's")]
                pub(super) unsafe fn $name(&self, $($argument: $type),*) -> $result {
                    // SAFETY: the caller's contract is the function's own.
                    unsafe { (self.$name)($($argument),*) }
                }
            )*
        }
    };
}

functions! {
    /// The library's version.
    ///
    /// # Safety
    /// `version` may be written.
    fn ncclGetVersion(version: *mut c_int) -> Outcome;

    /// A new id for a communicator, which rank 0 makes and hands to the others. Opens a port that the others connect to.
    ///
    /// # Safety
    /// `id` may be written.
    fn ncclGetUniqueId(id: *mut UniqueId) -> Outcome;

    /// Starts to make a communicator on the current GPU, together with all other ranks.
    ///
    /// # Safety
    /// - `communicator` may be written, and `config` is a configuration; both stay until the communicator is in progress no more.
    /// - The context of a GPU is current, and stays alive as long as the communicator.
    fn ncclCommInitRankConfig(communicator: *mut Communicator, ranks: c_int, id: UniqueId, rank: c_int, config: *mut Config) -> Outcome;

    /// Starts to end a communicator, when all that was queued has been done.
    ///
    /// # Safety
    /// The communicator is alive, and used by no other thread.
    fn ncclCommFinalize(communicator: Communicator) -> Outcome;

    /// Frees a communicator that has been finalized.
    ///
    /// # Safety
    /// The communicator is alive, and used by nobody from now on.
    fn ncclCommDestroy(communicator: Communicator) -> Outcome;

    /// Ends a communicator, with whatever of it still runs on the GPU.
    ///
    /// # Safety
    /// The communicator is alive, and used by nobody from now on.
    fn ncclCommAbort(communicator: Communicator) -> Outcome;

    /// What has become of the calls so far.
    ///
    /// # Safety
    /// The communicator is alive, and `outcome` may be written.
    fn ncclCommGetAsyncError(communicator: Communicator, outcome: *mut Outcome) -> Outcome;

    /// How many ranks a communicator has.
    ///
    /// # Safety
    /// The communicator is alive, and `count` may be written.
    fn ncclCommCount(communicator: Communicator, count: *mut c_int) -> Outcome;

    /// The CUDA runtime's index of the communicator's GPU.
    ///
    /// # Safety
    /// The communicator is alive, and `device` may be written.
    fn ncclCommCuDevice(communicator: Communicator, device: *mut c_int) -> Outcome;

    /// Which rank of the communicator this is.
    ///
    /// # Safety
    /// The communicator is alive, and `rank` may be written.
    fn ncclCommUserRank(communicator: Communicator, rank: *mut c_int) -> Outcome;

    /// What an outcome is called.
    ///
    /// # Safety
    /// None is needed; the text stays.
    fn ncclGetErrorString(outcome: Outcome) -> *const c_char;

    /// What NCCL has last complained of, in more words.
    ///
    /// # Safety
    /// The communicator is alive or null. The text may change with the next call.
    fn ncclGetLastError(communicator: Communicator) -> *const c_char;

    /// Queues that the numbers of all ranks are combined, for all ranks.
    ///
    /// # Safety
    /// - The communicator is alive, the stream is one of its GPU, and all ranks make the same call.
    /// - `send` has `count` numbers of the type, and `receive` room for as many; both are the GPU's memory, the same or apart, which nothing
    ///   else writes, nor reads what is received, before the operation has ended.
    fn ncclAllReduce(send: *const c_void, receive: *mut c_void, count: usize, number: c_int, fold: c_int, communicator: Communicator, stream: StreamHandle) -> Outcome;

    /// Queues that the numbers of all ranks are combined, each rank getting `count` of them.
    ///
    /// # Safety
    /// As for [`Self::ncclAllReduce`], with `count` numbers for each rank in `send`.
    fn ncclReduceScatter(send: *const c_void, receive: *mut c_void, count: usize, number: c_int, fold: c_int, communicator: Communicator, stream: StreamHandle) -> Outcome;

    /// Queues that all ranks get `count` numbers from each.
    ///
    /// # Safety
    /// As for [`Self::ncclAllReduce`], with room for `count` numbers of each rank in `receive`; `send` may be the rank's own place there.
    fn ncclAllGather(send: *const c_void, receive: *mut c_void, count: usize, number: c_int, communicator: Communicator, stream: StreamHandle) -> Outcome;

    /// Queues that all ranks get the numbers of one.
    ///
    /// # Safety
    /// As for [`Self::ncclAllReduce`]; `root` is a rank.
    fn ncclBroadcast(send: *const c_void, receive: *mut c_void, count: usize, number: c_int, root: c_int, communicator: Communicator, stream: StreamHandle) -> Outcome;

    /// Begins a group of operations that are queued as one.
    ///
    /// # Safety
    /// [`Self::ncclGroupEnd`] follows on the same thread.
    fn ncclGroupStart() -> Outcome;

    /// Ends it.
    ///
    /// # Safety
    /// [`Self::ncclGroupStart`] came before on the same thread.
    fn ncclGroupEnd() -> Outcome;
}

impl Api {
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// What an outcome means: its name, and what NCCL says besides.
    ///
    /// # Safety
    /// The communicator is alive or null.
    pub(super) unsafe fn explain(&self, outcome: Outcome, communicator: Communicator) -> String {
        let text = |address: *const c_char| {
            if address.is_null() {
                return String::new();
            }
            // SAFETY: NCCL's texts end with a zero, and nothing changes them before they are copied here.
            let text = unsafe { CStr::from_ptr(address) };
            text.to_string_lossy().trim().to_owned()
        };
        // SAFETY: the caller's contract.
        let (name, more) = unsafe {
            (
                self.ncclGetErrorString(outcome),
                self.ncclGetLastError(communicator),
            )
        };
        let (name, more) = (text(name), text(more));
        if more.is_empty() {
            name
        } else {
            format!("{name}: {more}")
        }
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "NCCL {}", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_configuration_lies_as_in_the_header() {
        assert_eq!(offset_of!(Config, blocking), 16);
        assert_eq!(offset_of!(Config, net_name), 32);
        assert_eq!(offset_of!(Config, split_share), 40);
        assert_eq!(size_of::<Config>(), 48);
        assert_eq!(size_of::<UniqueId>(), 128);
    }

    #[test]
    fn versions_read_as_nccl_writes_them() {
        assert_eq!(Version(22703).to_string(), "2.27.3");
        assert!(Version(20905) < OLDEST && OLDEST < Version(22703));
        // SAFETY: no address is given.
        let missing = unsafe { Api::of(|_| None) };
        assert_eq!(
            missing.err().as_deref(),
            Some("it has no function ncclGetVersion")
        );
    }
}
