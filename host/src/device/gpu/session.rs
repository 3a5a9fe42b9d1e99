//! What everything made from one opened GPU shares.

use super::{
    information::GpuInformation,
    queue::{Mark, Queue},
};
use crate::device::DeviceError;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::{Rc, Weak};
use warpfold_driver::{
    Failure, Version,
    sys::{self, CUcontext, CUdevice, CUdeviceptr, CUlimit},
};

/// The GPU's primary context, which every library of the process shares, and the one stream on which launches, copies within the device
/// and events are queued in order.
///
/// Uploads and downloads use the context's default stream, which waits for this one and which this one waits for.
pub(super) struct Session {
    // Dropped before the context.
    pub(super) stream: Queue,
    /// The streams that the driver keeps apart from the default stream, while they are alive.
    apart: RefCell<Vec<Weak<Queue>>>,
    /// Marks after what was queued on streams that have a part in a capture now. The default stream waits for them when it next has work.
    before_captures: RefCell<Vec<Mark>>,
    context: PrimaryContext,
    /// Twice the L2 cache, from the first flush on.
    cache_flush: Cell<Option<CUdeviceptr>>,
    pub(super) information: GpuInformation,
    /// The CUDA that the driver supports.
    pub(super) driver: Version,
}

impl Session {
    pub(super) fn new(
        device: CUdevice,
        information: GpuInformation,
        driver: Version,
    ) -> Result<Self, DeviceError> {
        let context = PrimaryContext::retain(device)?;
        context.activate()?;
        Ok(Self {
            stream: Queue::new(sys::CU_STREAM_DEFAULT)?,
            apart: RefCell::default(),
            before_captures: RefCell::default(),
            context,
            cache_flush: Cell::new(None),
            information,
            driver,
        })
    }

    /// Lets [`CurrentContext`] find the session, as long as it is open.
    pub(super) fn register(self: &Rc<Self>) {
        OPEN.with_borrow_mut(|open| {
            open.retain(|session| session.strong_count() > 0);
            open.push(Rc::downgrade(self));
        });
    }

    pub(super) fn device(&self) -> CUdevice {
        self.context.device
    }

    pub(super) fn context(&self) -> CUcontext {
        self.context.handle
    }

    /// Makes this GPU the one that calls on this thread mean; another may have been used in between.
    pub(super) fn activate(&self) -> Result<(), DeviceError> {
        Ok(self.context.activate()?)
    }

    /// Looks after a stream that the driver keeps apart from the default stream: what works on that one still comes after it.
    pub(super) fn look_after(&self, queue: &Rc<Queue>) {
        let mut apart = self.apart.borrow_mut();
        apart.retain(|queue| queue.strong_count() > 0);
        apart.push(Rc::downgrade(queue));
    }

    /// Has the default stream wait for a mark when it next has work.
    pub(super) fn wait_later_for(&self, mark: Mark) {
        self.before_captures.borrow_mut().push(mark);
    }

    /// Lets the default stream wait for what is queued on the streams that the driver keeps apart from it, and returns those. What is
    /// being captured there waits for nothing, and nothing for it.
    pub(super) fn join_those_apart(&self) -> Result<Vec<Rc<Queue>>, DeviceError> {
        for mark in self.before_captures.borrow().iter() {
            mark.hold_back(&Queue::DEFAULT)?;
        }
        self.before_captures.borrow_mut().clear();
        let apart: Vec<Rc<Queue>> = self
            .apart
            .borrow()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        let mut joined = Vec::new();
        for queue in apart {
            if !queue.is_capturing()? {
                Queue::DEFAULT.follow(&queue)?;
                joined.push(queue);
            }
        }
        Ok(joined)
    }

    /// Runs what works on the default stream, after all that is queued and before all that will be, on whatever stream. The context is
    /// current.
    pub(super) fn in_order(
        &self,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), DeviceError> {
        let apart = self.join_those_apart()?;
        work()?;
        // The driver may return from an upload while its own copy of the bytes is still on the way.
        for queue in apart {
            queue.follow(&Queue::DEFAULT)?;
        }
        Ok(())
    }

    /// Waits for everything that is queued on any stream: the default stream comes after all of it, since most streams of this crate wait
    /// for it and it for them, those apart from it are joined, and what is queued on others is fenced against it. (`cuCtxSynchronize`
    /// would also wait for a stream on which another thread captures, and so spoil the capture.)
    pub(super) fn wait_for_all(&self) -> Result<(), DeviceError> {
        self.activate()?;
        self.join_those_apart()?;
        // SAFETY: a context is current, whose default stream the null handle is.
        Ok(unsafe { sys::cuStreamSynchronize(ptr::null_mut()) }?)
    }

    /// Makes room for this many grids launched by kernels, if there is too little. The room stays until the session ends.
    ///
    /// The error says how much room the GPU has.
    pub(super) fn make_room_for_grids(&self, grids: u64) -> Result<(), String> {
        const LIMIT: CUlimit = CUlimit::DEV_RUNTIME_PENDING_LAUNCH_COUNT;
        let room = || {
            let mut room = 0;
            // SAFETY: `room` may be written.
            unsafe { sys::cuCtxGetLimit(&raw mut room, LIMIT) }.map(|()| room as u64)
        };
        let more = || {
            if room()? < grids {
                let grids = usize::try_from(grids).unwrap_or(usize::MAX);
                // SAFETY: the driver checks the value.
                unsafe { sys::cuCtxSetLimit(LIMIT, grids) }?;
            }
            room()
        };
        let needs = format!("its kernels may have {grids} grids waiting or running at a time");
        match more() {
            Ok(room) if room >= grids => Ok(()),
            Ok(room) => Err(format!("{needs}, and the GPU has room for {room}")),
            Err(failure) => Err(format!("{needs}, and the GPU has not the room ({failure})")),
        }
    }

    /// Queues a write of twice the L2 cache's size, after which it holds nothing of use to the next kernel on this stream.
    pub(super) fn flush_cache(&self, stream: &Queue) -> Result<(), DeviceError> {
        let bytes = 2 * self.information.l2_bytes as usize;
        let buffer = match self.cache_flush.get() {
            Some(buffer) => buffer,
            None => {
                let mut buffer = 0;
                // SAFETY: `buffer` may be written, and a context is current.
                unsafe { sys::cuMemAlloc_v2(&raw mut buffer, bytes) }?;
                self.cache_flush.set(Some(buffer));
                buffer
            }
        };
        // SAFETY: the buffer is as large as that and lives as long as the session. Nothing but this function touches it, and what it
        // holds means nothing, whichever stream writes it last.
        Ok(unsafe { sys::cuMemsetD8Async(buffer, 0, bytes, stream.handle()) }?)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The stream is released in the current context. After a kernel fault all of this fails; the driver frees everything with
        // the context.
        let _ = self.activate();
        if let Some(buffer) = self.cache_flush.get() {
            // SAFETY: it was allocated by `flush_cache`, and is freed once; freeing waits for what is queued.
            let _ = unsafe { sys::cuMemFree_v2(buffer) };
        }
    }
}

/// The context that was current on this thread; it is again when this is dropped.
pub(in crate::device) struct CurrentContext {
    context: CUcontext,
    /// Keeps it, if it is that of a device that this thread has open. Dropped when the context is current again.
    _kept: Option<Rc<Session>>,
}

thread_local! {
    /// The sessions of this thread.
    static OPEN: RefCell<Vec<Weak<Session>>> = RefCell::default();
}

impl CurrentContext {
    pub(in crate::device) fn get() -> Self {
        let mut context = ptr::null_mut();
        // Where there is no driver, or none that has started, there is no context.
        // SAFETY: `context` may be written.
        let _ = unsafe { sys::cuCtxGetCurrent(&raw mut context) };
        let mut device = 0;
        // SAFETY: `device` may be written. Where the context is gone, the driver says so.
        if unsafe { sys::cuCtxGetDevice(&raw mut device) }.is_err() {
            context = ptr::null_mut();
        }
        let kept = OPEN.with_borrow(|open| {
            let mut open = open.iter().filter_map(Weak::upgrade);
            open.find(|session| session.context() == context)
        });
        Self {
            context,
            _kept: kept,
        }
    }
}

impl Drop for CurrentContext {
    fn drop(&mut self) {
        // SAFETY: a context of ours is kept here. Other code keeps its own, or destroys it by unsafe code, which knows who may use it. Where
        // this fails, the thread has lost the GPU.
        let _ = unsafe { sys::cuCtxSetCurrent(self.context) };
    }
}

/// The primary context of a GPU, retained until this is dropped.
struct PrimaryContext {
    handle: CUcontext,
    device: CUdevice,
}

impl PrimaryContext {
    fn retain(device: CUdevice) -> Result<Self, Failure> {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written, and the device is one that the driver has counted.
        unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut handle, device) }?;
        Ok(Self { handle, device })
    }

    fn activate(&self) -> Result<(), Failure> {
        // SAFETY: the context is retained.
        unsafe { sys::cuCtxSetCurrent(self.handle) }
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: it was retained, and is released once. Where this fails, the process has lost the GPU.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}
