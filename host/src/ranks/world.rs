//! All ranks, as one of them sees them.

use super::error::RankError;
use super::meeting::{Meeting, Verdict};
use super::nccl::{Nccl, gpu_number, unique_id};
use super::place::Place;
use super::sockets::Sockets;
use super::transport::{On, Transport};
use crate::device::{Device, DeviceChoice, Stream};
use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;
use warpfold_device::fixed::CHUNK;

/// How long a rank waits for others by default.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How the ranks hand each other their states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// By NCCL where every rank has it and a GPU of its own; otherwise through sockets.
    #[default]
    Best,
    /// By NCCL.
    Nccl,
    /// Through the host's memory and rank 0's sockets.
    Sockets,
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "best" => Ok(Self::Best),
            "nccl" => Ok(Self::Nccl),
            "sockets" => Ok(Self::Sockets),
            _ => Err(format!(
                "'{text}' is no way to exchange results: give best, nccl or sockets"
            )),
        }
    }
}

/// How ranks find each other and wait.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How they hand each other their states. Rank 0 decides for all.
    pub by: By,
    /// How long a rank waits for others, at the start and in each operation. The others wait two seconds longer than rank 0, so that
    /// it can tell them who is missing.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            by: By::Best,
            patience: PATIENCE,
        }
    }
}

/// The processes that reduce an array together, as one of them sees them: its device, its rank, and the way to the others.
///
/// All ranks make the same calls in the same order.
pub struct Ranks<'d> {
    device: &'d Device,
    rank: u32,
    size: u32,
    transport: RefCell<Box<dyn Transport + 'd>>,
    /// The last operation, for sentences about the wait for it.
    last: RefCell<String>,
}

impl<'d> Ranks<'d> {
    /// Waits until all ranks have come, each with a device.
    ///
    /// ```
    /// use warpfold::ranks::{Options, Place, RankReduction, Ranks};
    /// use warpfold::{Device, DeviceChoice, operator::Sum};
    ///
    /// // Where no launcher has started this process it is alone.
    /// let place = Place::new(0, 1)?;
    /// let device = Device::open(&DeviceChoice::Emulator)?;
    /// let ranks = Ranks::join(&device, &place, Options::default())?;
    /// let mine = device.upload(&[1_i32, 2, 3])?;
    /// assert_eq!(RankReduction::new(&ranks, Sum)?.of(&mine)?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A rank does not come in time, is there twice, or cannot do what `by` asks for.
    pub fn join(device: &'d Device, place: &Place, options: Options) -> Result<Self, RankError> {
        // No function of this module is called without a `Ranks`.
        if cfg!(target_family = "wasm") {
            return Err(RankError::NoSockets);
        }
        let Options { by, patience } = options;
        let (rank, size) = (place.rank(), place.size());
        let gpu = match by {
            By::Sockets => Ok(0),
            By::Best | By::Nccl => gpu_number(device),
        };
        let decide = |gpus: &[u64]| {
            let mut different = HashSet::new();
            let without = gpus
                .iter()
                .position(|&gpu| gpu == 0 || !different.insert(gpu));
            match (by, without) {
                (By::Sockets, _) | (By::Best, Some(_)) => Ok(Verdict::BY_SOCKETS),
                // NCCL itself knows best whether ranks can share a GPU.
                (By::Nccl, Some(rank)) if gpus[rank] == 0 => Err(RankError::NotByNccl {
                    missing: rank as u32,
                }),
                (By::Best | By::Nccl, _) => Ok(Verdict {
                    is_by_nccl: true,
                    id: unique_id()?,
                }),
            }
        };
        let number = *gpu.as_ref().unwrap_or(&0);
        let met = Meeting::open(place, patience, number, decide);
        let (meeting, verdict) = met.map_err(|error| match (error, &gpu) {
            // This rank knows more of why it cannot.
            (RankError::NotByNccl { missing }, Err(reason)) if missing == rank => reason.clone(),
            (error, _) => error,
        })?;
        let transport: Box<dyn Transport + 'd> = if verdict.is_by_nccl {
            let meeting = (size > 1).then_some(meeting);
            Box::new(Nccl::join(
                device,
                meeting,
                [rank, size],
                verdict.id,
                patience,
            )?)
        } else {
            Box::new(Sockets::new(meeting, rank, size))
        };
        Ok(Self::new(device, [rank, size], transport))
    }

    /// The ranks of a communicator that other code has made, by its handle (`ncclComm_t`): rank, size and GPU are the communicator's. NCCL
    /// does not tell which rank has not come, so messages about the wait name none.
    ///
    /// # Errors
    /// There is no NCCL, or the communicator is of another GPU than the device.
    ///
    /// # Safety
    /// - The communicator has been made by the `libnccl` that is loaded here: if the process has loaded a library of that name before, it is that one.
    ///   It is complete (where it does not block, `ncclCommGetAsyncError` has said `ncclSuccess`), and lives as long as the value.
    /// - Nothing else is queued on it, from any thread, between the calls of one reduction.
    /// - When an operation fails or takes longer than `patience`, the communicator is aborted (`ncclCommAbort`), since nothing else ends its
    ///   kernels. The other code then does not use it any more, nor destroys it. To abort in time, it should be one that does not block.
    pub unsafe fn from_nccl(
        device: &'d Device,
        communicator: *mut c_void,
        patience: Duration,
    ) -> Result<Self, RankError> {
        // SAFETY: the caller's contract is the same.
        let nccl = unsafe { Nccl::borrowed(device, communicator, patience) }?;
        let rank_and_size = nccl.rank_and_size();
        Ok(Self::new(device, rank_and_size, Box::new(nccl)))
    }

    fn new(device: &'d Device, [rank, size]: [u32; 2], transport: Box<dyn Transport + 'd>) -> Self {
        Self {
            device,
            rank,
            size,
            transport: RefCell::new(transport),
            last: RefCell::default(),
        }
    }

    /// The device of this rank.
    pub fn device(&self) -> &'d Device {
        self.device
    }

    /// This rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// How the ranks hand each other their states: `NCCL 2.27.3`, or `sockets`.
    pub fn describe(&self) -> String {
        self.transport.borrow().describe()
    }

    /// This rank's part of an array of this many values, which all ranks know: as many as whole chunks allow, so that in a deterministic
    /// reduction no rank has to complete another's.
    pub fn part(&self, values: u64) -> Range<u64> {
        let chunk = CHUNK as u64;
        let chunks = values.div_ceil(chunk);
        let begin = |rank: u32| {
            let before = u128::from(chunks) * u128::from(rank) / u128::from(self.size);
            values.min(before as u64 * chunk)
        };
        begin(self.rank)..begin(self.rank + 1)
    }

    /// Waits until everything that is queued on the stream has been done, as [`Stream::synchronize`], but no longer than the patience allows:
    /// work that depends on a rank that has ended would never be done. Such work is then aborted, and the ranks cannot work together afterwards.
    ///
    /// # Errors
    /// A rank has ended, does not come in time, or the device fails.
    pub fn wait(&self, stream: &Stream) -> Result<(), RankError> {
        let operation = self.last.borrow().clone();
        self.by(stream, &operation, |transport, on| transport.wait(on))
    }

    /// Calls the transport.
    pub(super) fn by<R>(
        &self,
        stream: &Stream,
        operation: &str,
        call: impl FnOnce(&mut dyn Transport, On<'_>) -> Result<R, RankError>,
    ) -> Result<R, RankError> {
        stream.check_device(self.device)?;
        if *self.last.borrow() != operation {
            operation.clone_into(&mut self.last.borrow_mut());
        }
        let on = On {
            device: self.device,
            stream,
            operation,
        };
        call(&mut **self.transport.borrow_mut(), on)
    }
}

impl Place {
    /// The device that a rank takes by default: of this host's GPUs the one with the rank's number there, counted again from the first if
    /// there are more ranks than GPUs; the emulator if there is none.
    pub fn device_choice(&self) -> DeviceChoice {
        let count = crate::device::list().map_or(0, |list| list.gpus.len()) as u32;
        match self.local_rank().checked_rem(count) {
            Some(index) => DeviceChoice::Gpu(index),
            None => DeviceChoice::Emulator,
        }
    }
}

impl fmt::Debug for Ranks<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Ranks")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .field("by", &self.describe())
            .finish_non_exhaustive()
    }
}
