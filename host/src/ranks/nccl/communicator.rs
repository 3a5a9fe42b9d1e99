//! The transport by NCCL: from GPU to GPU, queued on streams, and captured where they are captured.
//!
//! Communicators do not block: a call returns at once, and what has become of it is asked for until a deadline, with a look at the ranks'
//! connections in between. A communicator that has failed, or that a rank has left, is aborted, which ends its kernels on the GPU.

use super::bindings::{Api, Communicator, Config, Outcome, StreamHandle, UniqueId};
use super::library::api;
use crate::device::{Buffer, Device};
use crate::ranks::error::RankError;
use crate::ranks::hash::hash;
use crate::ranks::meeting::{GRACE, Meeting};
use crate::ranks::message::WELCOME;
use crate::ranks::transfer::Pause;
use crate::ranks::transport::{Fold, Memory, Number, On, Transport};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::time::{Duration, Instant};

/// `ncclUint8`, as which bytes are gathered.
const BYTES: c_int = 1;

/// How often the ranks' connections are looked at while NCCL works.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// How long a communicator gets to come to its end in order.
const TO_END: Duration = Duration::from_secs(5);

/// A communicator, as a transport.
pub(in crate::ranks) struct Nccl<'d> {
    api: &'static Api,
    /// Null when it has been aborted, or belongs to other code and has been given back.
    communicator: Communicator,
    /// Whether other code has made it, and destroys it.
    is_borrowed: bool,
    device: &'d Device,
    meeting: Option<Meeting>,
    rank: usize,
    size: usize,
    patience: Duration,
    last_look: Instant,
}

/// A number that differs from GPU to GPU, on all hosts, and is not 0.
///
/// # Errors
/// The device is no GPU, or there is no NCCL.
pub(in crate::ranks) fn gpu_number(device: &Device) -> Result<u64, RankError> {
    let no_nccl = |reason: &str| RankError::NoNccl(reason.to_owned());
    let place = device.pci_place()?;
    let place = place.ok_or_else(|| no_nccl("it needs a GPU, and this device is the emulator"))?;
    api().map_err(RankError::NoNccl)?;
    // The host as NCCL tells hosts apart.
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let host = std::env::var("NCCL_HOSTID").unwrap_or_else(|_| {
        read("/proc/sys/kernel/hostname") + &read("/proc/sys/kernel/random/boot_id")
    });
    Ok(hash(format!("{host} {place:?}").as_bytes()).max(1))
}

/// A new id for a communicator.
///
/// # Errors
/// There is no NCCL, or it cannot make one.
pub(in crate::ranks) fn unique_id() -> Result<[u8; WELCOME], RankError> {
    let api = api().map_err(RankError::NoNccl)?;
    let mut id = UniqueId([0; WELCOME]);
    // SAFETY: the id may be written.
    let outcome = unsafe { api.ncclGetUniqueId(&raw mut id) };
    if outcome == Outcome::SUCCESS {
        return Ok(id.0);
    }
    Err(RankError::Nccl {
        rank: 0,
        operation: "the start".to_owned(),
        call: "ncclGetUniqueId",
        // SAFETY: there is no communicator.
        reason: unsafe { api.explain(outcome, std::ptr::null_mut()) },
    })
}

impl<'d> Nccl<'d> {
    /// Makes a communicator with the other ranks that have this id.
    ///
    /// # Errors
    /// NCCL fails, or a rank does not come in time.
    pub(in crate::ranks) fn join(
        device: &'d Device,
        meeting: Option<Meeting>,
        [rank, size]: [u32; 2],
        id: [u8; WELCOME],
        patience: Duration,
    ) -> Result<Self, RankError> {
        let mut nccl = Self {
            api: api().map_err(RankError::NoNccl)?,
            communicator: std::ptr::null_mut(),
            is_borrowed: false,
            device,
            meeting,
            rank: rank as usize,
            size: size as usize,
            patience,
            last_look: Instant::now(),
        };
        const OPERATION: &str = "the start of NCCL";
        const CALL: &str = "ncclCommInitRankConfig";
        device.activate()?;
        let mut config = Config::NON_BLOCKING;
        let (ranks, own) = (size as c_int, rank as c_int);
        let communicator = &raw mut nccl.communicator;
        // SAFETY: both may be written until the communicator is made, for which this waits, or aborted; the device keeps its context.
        let outcome = unsafe {
            nccl.api
                .ncclCommInitRankConfig(communicator, ranks, UniqueId(id), own, &raw mut config)
        };
        nccl.check(OPERATION, CALL, outcome)?;
        nccl.until(OPERATION, CALL, |_| Ok(true))?;
        Ok(nccl)
    }

    /// A communicator of other code.
    ///
    /// # Errors
    /// There is no NCCL, or the communicator is of another GPU.
    ///
    /// # Safety
    /// As for [`Ranks::from_nccl`](crate::ranks::Ranks::from_nccl).
    pub(in crate::ranks) unsafe fn borrowed(
        device: &'d Device,
        communicator: *mut c_void,
        patience: Duration,
    ) -> Result<Self, RankError> {
        let api = api().map_err(RankError::NoNccl)?;
        let mut nccl = Self {
            api,
            communicator,
            is_borrowed: true,
            device,
            meeting: None,
            rank: 0,
            size: 0,
            patience,
            last_look: Instant::now(),
        };
        device.activate()?;
        let [mut rank, mut size, mut gpu] = [0; 3];
        // SAFETY: the communicator is alive, as the caller promises, and the numbers may be written.
        let outcomes = unsafe {
            [
                (
                    "ncclCommUserRank",
                    api.ncclCommUserRank(communicator, &raw mut rank),
                ),
                (
                    "ncclCommCount",
                    api.ncclCommCount(communicator, &raw mut size),
                ),
                (
                    "ncclCommCuDevice",
                    api.ncclCommCuDevice(communicator, &raw mut gpu),
                ),
            ]
        };
        let refused = outcomes.into_iter().find(|(_, it)| !it.is_fine());
        if let Some((call, outcome)) = refused {
            return Err(RankError::Nccl {
                rank: 0,
                operation: "the communicator of other code".to_owned(),
                call,
                // SAFETY: as above.
                reason: unsafe { api.explain(outcome, communicator) },
            });
        }
        let expected = device.gpu_information().map(|gpu| gpu.index as c_int);
        if expected != Some(gpu) {
            return Err(RankError::OtherCommunicator {
                found: format!("GPU {gpu}"),
                expected: device.describe(),
            });
        }
        (nccl.rank, nccl.size) = (rank as usize, size as usize);
        Ok(nccl)
    }

    /// Which rank this is, of how many.
    pub(in crate::ranks) fn rank_and_size(&self) -> [u32; 2] {
        [self.rank as u32, self.size as u32]
    }

    /// Aborts the communicator where a call has failed.
    fn check(
        &mut self,
        operation: &str,
        call: &'static str,
        outcome: Outcome,
    ) -> Result<(), RankError> {
        if outcome.is_fine() {
            return Ok(());
        }
        let error = RankError::Nccl {
            rank: self.rank as u32,
            operation: operation.to_owned(),
            call,
            // SAFETY: the communicator is alive or null.
            reason: unsafe { self.api.explain(outcome, self.communicator) },
        };
        // NCCL finds out sooner than anybody else that a rank has ended, and does not say which.
        let error = self.who_has_ended(operation).unwrap_or(error);
        self.abort(operation);
        Err(error)
    }

    /// The rank that has ended or failed, if one does so soon.
    fn who_has_ended(&mut self, operation: &str) -> Option<RankError> {
        let meeting = self.meeting.as_mut()?;
        let deadline = Instant::now() + GRACE;
        loop {
            if let Err(error) = meeting.look(operation) {
                return Some(error);
            }
            if Instant::now() > deadline {
                return None;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    fn abort(&mut self, operation: &str) {
        if let Some(meeting) = &mut self.meeting {
            meeting.give_up(operation);
        }
        let communicator = std::mem::replace(&mut self.communicator, std::ptr::null_mut());
        if !communicator.is_null() && self.device.activate().is_ok() {
            // SAFETY: it is alive, and not used any more. Who has lent it knows that it may be aborted.
            unsafe { self.api.ncclCommAbort(communicator) };
        }
    }

    /// Waits until NCCL is not in progress and something else is so, too.
    fn until(
        &mut self,
        operation: &str,
        call: &'static str,
        mut is_so: impl FnMut(&Self) -> Result<bool, RankError>,
    ) -> Result<(), RankError> {
        let start = Instant::now();
        let mut pause = Pause::default();
        let mut has_ended: Option<(Instant, RankError)> = None;
        loop {
            let mut state = Outcome::SUCCESS;
            // SAFETY: the communicator is alive, and the outcome may be written.
            let outcome = unsafe {
                self.api
                    .ncclCommGetAsyncError(self.communicator, &raw mut state)
            };
            self.check(operation, "ncclCommGetAsyncError", outcome)?;
            self.check(operation, call, state)?;
            if state == Outcome::SUCCESS && is_so(self)? {
                return Ok(());
            }
            if let Some(meeting) = &mut self.meeting
                && has_ended.is_none()
                && self.last_look.elapsed() > BETWEEN_LOOKS
            {
                self.last_look = Instant::now();
                // Who has what it waited for may end before this rank has it.
                has_ended = meeting
                    .look(operation)
                    .err()
                    .map(|error| (Instant::now(), error));
            }
            if has_ended
                .as_ref()
                .is_some_and(|(since, _)| since.elapsed() > GRACE)
                && let Some((_, error)) = has_ended.take()
            {
                self.abort(operation);
                return Err(error);
            }
            if start.elapsed() > self.patience {
                self.abort(operation);
                return Err(RankError::Late {
                    rank: self.rank as u32,
                    operation: operation.to_owned(),
                    seconds: self.patience.as_secs(),
                    missing: Vec::new(),
                });
            }
            pause.make();
        }
    }

    /// Queues an operation, and waits until NCCL has queued it, which it does in a thread of its own.
    fn queue(
        &mut self,
        on: On<'_>,
        call: &'static str,
        operation: impl FnOnce(&Self, StreamHandle) -> Outcome,
    ) -> Result<(), RankError> {
        if self.communicator.is_null() {
            return Err(RankError::Broken);
        }
        self.device.activate()?;
        let stream = on.stream.raw()?;
        on.stream.in_order(|| {
            let outcome = operation(self, stream);
            self.check(on.operation, call, outcome)?;
            self.until(on.operation, call, |_| Ok(true))
        })
    }
}

/// What NCCL calls numbers and how they are combined.
fn codes((number, fold): (Number, Fold)) -> [c_int; 2] {
    let number = match number {
        Number::I8 => 0,
        Number::U8 => BYTES,
        Number::I32 => 2,
        Number::U32 => 3,
        Number::I64 => 4,
        Number::U64 => 5,
        Number::F32 => 7,
        Number::F64 => 8,
    };
    let fold = match fold {
        Fold::Sum => 0,
        Fold::Product => 1,
        Fold::Max => 2,
        Fold::Min => 3,
    };
    [number, fold]
}

impl Transport for Nccl<'_> {
    fn describe(&self) -> String {
        format!("NCCL {}", self.api.version())
    }

    fn exchange(&mut self, on: On<'_>, mine: &[u8]) -> Result<Vec<u8>, RankError> {
        let lengths = vec![mine.len(); self.size];
        if let Some(meeting) = &mut self.meeting {
            let gathered = meeting.gather(on.operation, mine, &lengths);
            return gathered.inspect_err(|_| self.abort(on.operation));
        }
        let mut bytes = vec![0; mine.len() * self.size];
        bytes[self.rank * mine.len()..][..mine.len()].copy_from_slice(mine);
        let mut all = self.device.upload(&bytes)?;
        let places: Vec<_> = (0..self.size)
            .map(|rank| rank * mine.len()..(rank + 1) * mine.len())
            .collect();
        self.gather(on, &mut all, &places)?;
        self.wait(on)?;
        Ok(all.read()?)
    }

    fn gather(
        &mut self,
        on: On<'_>,
        all: &mut Buffer<u8>,
        places: &[Range<usize>],
    ) -> Result<(), RankError> {
        let address = all.address();
        let at = |place: usize| (address + place as u64) as *mut c_void;
        let own = places[self.rank].clone();
        if places.iter().all(|place| place.len() == own.len()) {
            return self.queue(on, "ncclAllGather", |nccl, stream| {
                let (send, receive) = (at(own.start), at(0));
                // SAFETY: the buffer has a place for each rank, one after another, of which the rank's own has been filled on the stream;
                // the device frees it when all that is queued has been done.
                unsafe {
                    nccl.api.ncclAllGather(
                        send,
                        receive,
                        own.len(),
                        BYTES,
                        nccl.communicator,
                        stream,
                    )
                }
            });
        }
        self.queue(on, "ncclBroadcast", |nccl, stream| {
            // SAFETY: the group is ended below.
            let mut outcome = unsafe { nccl.api.ncclGroupStart() };
            for (root, place) in places
                .iter()
                .enumerate()
                .filter(|(_, place)| !place.is_empty())
            {
                let here = at(place.start);
                // SAFETY: as above, each rank's place for itself.
                let queued = unsafe {
                    nccl.api.ncclBroadcast(
                        here,
                        here,
                        place.len(),
                        BYTES,
                        root as c_int,
                        nccl.communicator,
                        stream,
                    )
                };
                if outcome.is_fine() {
                    outcome = queued;
                }
            }
            // SAFETY: the group was begun above.
            let ended = unsafe { nccl.api.ncclGroupEnd() };
            if outcome.is_fine() { ended } else { outcome }
        })
    }

    fn all_reduce(
        &mut self,
        on: On<'_>,
        numbers: (Number, Fold),
        mine: &Buffer<u8>,
        result: &mut dyn Memory,
    ) -> Result<(), RankError> {
        let count = mine.len() / numbers.0.bytes();
        let (send, receive) = (
            mine.address() as *const c_void,
            result.slice().address() as *mut c_void,
        );
        let [number, fold] = codes(numbers);
        self.queue(on, "ncclAllReduce", |nccl, stream| {
            // SAFETY: both have as many numbers, and the device frees them when all that is queued has been done.
            unsafe {
                nccl.api.ncclAllReduce(
                    send,
                    receive,
                    count,
                    number,
                    fold,
                    nccl.communicator,
                    stream,
                )
            }
        })
    }

    fn reduce_scatter(
        &mut self,
        on: On<'_>,
        numbers: (Number, Fold),
        mine: &Buffer<u8>,
        result: &mut dyn Memory,
    ) -> Result<(), RankError> {
        let count = result.slice().len() / numbers.0.bytes();
        let (send, receive) = (
            mine.address() as *const c_void,
            result.slice().address() as *mut c_void,
        );
        let [number, fold] = codes(numbers);
        self.queue(on, "ncclReduceScatter", |nccl, stream| {
            // SAFETY: there are as many numbers for each rank, and the device frees both when all that is queued has been done.
            unsafe {
                nccl.api.ncclReduceScatter(
                    send,
                    receive,
                    count,
                    number,
                    fold,
                    nccl.communicator,
                    stream,
                )
            }
        })
    }

    fn wait(&mut self, on: On<'_>) -> Result<(), RankError> {
        if self.communicator.is_null() {
            return Err(RankError::Broken);
        }
        let event = on.device.event()?;
        on.stream.record(&event)?;
        self.until(on.operation, "the operation", |_| Ok(event.is_reached()?))
    }
}

impl Drop for Nccl<'_> {
    fn drop(&mut self) {
        if self.communicator.is_null() || self.is_borrowed {
            return;
        }
        const OPERATION: &str = "the end";
        self.patience = self.patience.min(TO_END);
        let is_ending = self.device.activate().is_ok() && {
            // SAFETY: the communicator is alive, and used by this thread alone.
            unsafe { self.api.ncclCommFinalize(self.communicator) }.is_fine()
        };
        // What fails here aborts the communicator.
        if is_ending
            && self
                .until(OPERATION, "ncclCommFinalize", |_| Ok(true))
                .is_ok()
        {
            // SAFETY: it has been finalized, and nobody uses it any more.
            unsafe { self.api.ncclCommDestroy(self.communicator) };
        } else {
            self.abort(OPERATION);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceChoice;
    use crate::operator::{ArgMax, Sum, Variance};
    use crate::ranks::{RankReduction, Ranks};

    /// The GPU, and NCCL; a line where one of them is missing.
    fn gpu() -> Option<(Device, &'static Api)> {
        let device = Device::open(&DeviceChoice::Gpu(0));
        match (device, api()) {
            (Ok(device), Ok(api)) => Some((device, api)),
            (Err(error), _) => {
                println!("skipped: {error}");
                None
            }
            (_, Err(reason)) => {
                println!("skipped: there is no NCCL: {reason}");
                None
            }
        }
    }

    #[test]
    fn a_communicator_of_other_code_is_used_and_left_to_it() {
        let Some((device, _)) = gpu() else {
            return;
        };
        let patience = Duration::from_secs(30);
        let id = unique_id().expect("NCCL makes one");
        let other_code = Nccl::join(&device, None, [0, 1], id, patience).expect("it is alone");
        for _ in 0..2 {
            // SAFETY: the communicator is complete, and is kept until the end; nothing else is queued on it.
            let ranks = unsafe { Ranks::from_nccl(&device, other_code.communicator, patience) };
            let ranks = ranks.expect("it is this GPU's");
            assert_eq!((ranks.rank(), ranks.size()), (0, 1));
            let values: Vec<f32> = (0..10_000).map(|place| (place % 7) as f32).collect();
            let values = device.upload(&values).expect("they fit");
            let mut sum = RankReduction::new(&ranks, Sum).expect("it is prepared");
            assert_eq!(sum.of(&values), Ok(29_994.0));
            let mut last = RankReduction::new(&ranks, ArgMax::LAST).expect("it is prepared");
            assert_eq!(last.of(&values), Ok(9995));
            let mut variance = RankReduction::new(&ranks, Variance { ddof: 0 });
            let variance = variance.as_mut().expect("it is prepared");
            assert_eq!(variance.of(&values).map(f32::round), Ok(4.0));
        }
    }

    #[test]
    fn an_error_of_nccl_s_is_told_in_its_words() {
        let Some((device, _)) = gpu() else {
            return;
        };
        let id = unique_id().expect("NCCL makes one");
        // There is no rank 3 of 1.
        let joined = Nccl::join(&device, None, [3, 1], id, Duration::from_secs(30));
        let error = joined.err().expect("it is refused").to_string();
        assert!(
            error.starts_with(
                "NCCL fails on rank 3 in 'the start of NCCL': ncclCommInitRankConfig: "
            ),
            "{error}"
        );
    }
}
