//! The driver's streams and events, each destroyed with its value.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use warpfold_driver::{
    Failure,
    sys::{self, CUevent, CUstream, CUstreamCaptureStatus},
};

/// A stream of the driver, which lives as long as this value.
pub(super) struct Queue {
    handle: CUstream,
    /// Whether it ends with this value.
    owned: bool,
    /// A number of its own, where the driver may give its handle again while its work goes on; 0 of others.
    serial: u64,
}

fn next_serial() -> u64 {
    static CREATED: AtomicU64 = AtomicU64::new(0);
    CREATED.fetch_add(1, Ordering::Relaxed) + 1
}

/// Which stream it is, among all of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::device) struct StreamIdentity {
    handle: CUstream,
    serial: u64,
}

impl Queue {
    /// The default stream of whichever context is current.
    pub(super) const DEFAULT: Self = Self {
        handle: ptr::null_mut(),
        owned: false,
        serial: 0,
    };

    /// The default stream of the thread that calls, in whichever context is current.
    pub(super) const OF_THREAD: Self = Self {
        handle: sys::CU_STREAM_PER_THREAD,
        owned: false,
        serial: 0,
    };

    /// A stream of the current context.
    pub(super) fn new(flags: u32) -> Result<Self, Failure> {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written; 0 is the usual priority.
        unsafe { sys::cuStreamCreateWithPriority(&raw mut handle, flags, 0) }?;
        Ok(Self {
            handle,
            owned: true,
            serial: next_serial(),
        })
    }

    /// A stream that other code owns.
    ///
    /// # Safety
    /// The handle is that of a stream that outlives the value.
    pub(super) unsafe fn borrowed(handle: CUstream) -> Self {
        Self {
            handle,
            owned: false,
            serial: 0,
        }
    }

    /// A stream that other code owns, and may end while work that was queued here goes on.
    ///
    /// # Safety
    /// As for [`Self::borrowed`].
    #[cfg(any(feature = "cudarc", feature = "cust"))]
    pub(super) unsafe fn lent(handle: CUstream) -> Self {
        Self {
            handle,
            owned: false,
            serial: next_serial(),
        }
    }

    pub(super) fn identity(&self) -> StreamIdentity {
        StreamIdentity {
            handle: self.handle,
            serial: self.serial,
        }
    }

    pub(super) fn handle(&self) -> CUstream {
        self.handle
    }

    pub(super) fn is_owned(&self) -> bool {
        self.owned
    }

    /// The driver also knows of captures that other code has begun, and of those that the stream joined by an event.
    pub(super) fn is_capturing(&self) -> Result<bool, Failure> {
        let mut status = CUstreamCaptureStatus::NONE;
        // SAFETY: the stream is alive, and `status` may be written.
        unsafe { sys::cuStreamIsCapturing(self.handle, &raw mut status) }?;
        Ok(status != CUstreamCaptureStatus::NONE)
    }

    /// Whether the default stream does not wait for it, nor it for that. To ask makes a capture of the stream invalid.
    pub(super) fn is_non_blocking(&self) -> Result<bool, Failure> {
        let mut flags = sys::CU_STREAM_DEFAULT;
        // SAFETY: the stream is alive, and `flags` may be written.
        unsafe { sys::cuStreamGetFlags(self.handle, &raw mut flags) }?;
        Ok(flags & sys::CU_STREAM_NON_BLOCKING != 0)
    }

    pub(super) fn synchronize(&self) -> Result<(), Failure> {
        // SAFETY: the stream is alive.
        unsafe { sys::cuStreamSynchronize(self.handle) }
    }

    /// As [`Self::follow`], where the two are of different contexts, each of which the function beside it makes current.
    pub(super) fn follow_across<E: From<Failure>>(
        (later, activate_later): (&Self, impl FnOnce() -> Result<(), E>),
        (earlier, activate_earlier): (&Self, impl FnOnce() -> Result<(), E>),
    ) -> Result<(), E> {
        // An event is of the context of the stream that it is recorded in; streams of any context may wait for it.
        activate_earlier()?;
        let mark = Mark::new(sys::CU_EVENT_DISABLE_TIMING)?;
        mark.record(earlier)?;
        activate_later()?;
        Ok(mark.hold_back(later)?)
    }

    /// What is queued here from now on waits for what is queued there.
    pub(super) fn follow(&self, earlier: &Self) -> Result<(), Failure> {
        let mark = Mark::new(sys::CU_EVENT_DISABLE_TIMING)?;
        mark.record(earlier)?;
        mark.hold_back(self)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the handle comes from the driver and is destroyed once; what is queued still runs. Where this fails, the stream
            // goes with its context.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.handle) };
        }
    }
}

/// An event of the driver, which lives as long as this value.
pub(super) struct Mark {
    handle: CUevent,
    /// Whether it ends with this value.
    owned: bool,
}

impl Mark {
    /// An event of the current context.
    pub(super) fn new(flags: u32) -> Result<Self, Failure> {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written.
        unsafe { sys::cuEventCreate(&raw mut handle, flags) }?;
        Ok(Self {
            handle,
            owned: true,
        })
    }

    /// An event that other code owns.
    ///
    /// # Safety
    /// The handle is that of an event that outlives the value.
    pub(super) unsafe fn borrowed(handle: CUevent) -> Self {
        Self {
            handle,
            owned: false,
        }
    }

    pub(super) fn handle(&self) -> CUevent {
        self.handle
    }

    /// One that takes times.
    pub(super) fn timed() -> Result<Self, Failure> {
        Self::new(0)
    }

    pub(super) fn record(&self, queue: &Queue) -> Result<(), Failure> {
        // SAFETY: both are alive.
        unsafe { sys::cuEventRecord(self.handle, queue.handle()) }
    }

    /// What is queued on the stream from now on waits for it.
    pub(super) fn hold_back(&self, queue: &Queue) -> Result<(), Failure> {
        // SAFETY: both are alive, and the driver keeps what it needs of the event. 0 is the only value that the flags have.
        unsafe { sys::cuStreamWaitEvent(queue.handle(), self.handle, 0) }
    }

    /// Waits until it has been reached.
    pub(super) fn synchronize(&self) -> Result<(), Failure> {
        // SAFETY: the event is alive.
        unsafe { sys::cuEventSynchronize(self.handle) }
    }

    /// Whether it has been reached, or never recorded.
    pub(super) fn is_reached(&self) -> Result<bool, Failure> {
        // SAFETY: the event is alive.
        match unsafe { sys::cuEventQuery(self.handle) } {
            Ok(()) => Ok(true),
            Err(failure) if failure.code() == Failure::NOT_READY => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    pub(super) fn elapsed_ms_since(&self, start: &Self) -> Result<f64, Failure> {
        let mut elapsed_ms = 0.0;
        // SAFETY: both events are alive, and the time may be written; the driver checks that both have been reached.
        unsafe { sys::cuEventElapsedTime(&raw mut elapsed_ms, start.handle, self.handle) }?;
        Ok(f64::from(elapsed_ms))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the handle comes from the driver, which keeps what a stream that waits for the event still needs of it. Where
            // this fails, the event goes with its context.
            let _ = unsafe { sys::cuEventDestroy_v2(self.handle) };
        }
    }
}
