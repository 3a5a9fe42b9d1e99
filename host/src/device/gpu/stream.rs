//! Streams of a GPU.

use super::{
    event::Event,
    host_memory::HostAllocation,
    launch::GpuKernel,
    memory::Allocation,
    module::GpuModule,
    queue::{Mark, Queue, StreamIdentity},
    recording::{Recording, of_captures},
    session::Session,
};
use crate::device::{AccessPolicy, AccessProperty, Argument, DeviceError, Shape};
use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::{Rc, Weak};
use warpfold_driver::{
    Failure,
    sys::{
        self, CUaccessPolicyWindow, CUaccessProperty, CUgraph, CUstream, CUstreamAttrID,
        CUstreamAttrValue, CUstreamCaptureMode,
    },
};

/// A stream.
pub(in crate::device) struct Stream {
    // Dropped before the session, whose context owns it.
    queue: Rc<Queue>,
    /// Whether the driver does not keep it in this order: then each operation does. Not known yet of a stream that was being captured, of
    /// which the driver must not be asked.
    is_apart: Cell<Option<bool>>,
    /// Whether nobody has promised to keep what a capture by other code needs.
    is_only_lent: bool,
    /// Whether nothing is ever queued here but what is captured.
    is_recorder: bool,
    /// The capture that it has a part in, while that is under way.
    recording: RefCell<Weak<Recording>>,
    session: Rc<Session>,
}

impl Stream {
    /// One that the context's default stream waits for, and that waits for it.
    pub(super) fn new(session: &Rc<Session>) -> Result<Self, DeviceError> {
        session.activate()?;
        Ok(Self::of(session, Queue::new(sys::CU_STREAM_DEFAULT)?))
    }

    /// One that the driver keeps apart from the default stream: the session waits for it by itself.
    pub(super) fn non_blocking(session: &Rc<Session>) -> Result<Self, DeviceError> {
        session.activate()?;
        let stream = Self::of(session, Queue::new(sys::CU_STREAM_NON_BLOCKING)?);
        session.look_after(&stream.queue);
        Ok(stream)
    }

    /// The context's default stream.
    pub(super) fn default(session: &Rc<Session>) -> Self {
        Self::of(session, Queue::DEFAULT)
    }

    /// This thread's default stream, which the context's default stream waits for, and which waits for it.
    pub(super) fn of_thread(session: &Rc<Session>) -> Self {
        Self::of(session, Queue::OF_THREAD)
    }

    fn of(session: &Rc<Session>, queue: Queue) -> Self {
        Self {
            queue: queue.into(),
            is_apart: Some(false).into(),
            is_only_lent: false,
            is_recorder: false,
            recording: RefCell::default(),
            session: session.clone(),
        }
    }

    /// # Safety
    /// As for [`crate::device::Stream::from_raw`].
    pub(super) unsafe fn from_raw(
        session: &Rc<Session>,
        handle: CUstream,
    ) -> Result<Self, DeviceError> {
        session.activate()?;
        // The default stream is that of the context that is current.
        let mut context = session.context();
        if !handle.is_null() {
            // SAFETY: it may be written, and that the stream is alive is the caller's promise.
            unsafe { sys::cuStreamGetCtx(handle, &raw mut context) }?;
        }
        if context != session.context() {
            return Err(DeviceError::OtherDevice);
        }
        // SAFETY: the caller's contract is the same.
        let stream = Self::of(session, unsafe { Queue::borrowed(handle) });
        if !handle.is_null() {
            stream.is_apart.set(None);
        }
        Ok(stream)
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Has the stream refuse to be captured by other code.
    #[cfg(any(feature = "cudarc", feature = "cust"))]
    pub(in crate::device) fn only_lend(&mut self) {
        // SAFETY: who has made this value has promised that the stream outlives it.
        self.queue = unsafe { Queue::lent(self.queue.handle()) }.into();
        self.is_only_lent = true;
    }

    /// Refuses a stream that other code captures, of which nobody has promised to keep what the graph needs.
    pub(super) fn check_capture(&self) -> Result<(), DeviceError> {
        let is_of_others = self.is_only_lent
            && self.recording.borrow().strong_count() == 0
            && self.queue.is_capturing()?;
        if is_of_others {
            return Err(DeviceError::ForeignCapture);
        }
        Ok(())
    }

    /// Whether the driver keeps it apart from the default stream, and it is not being captured.
    fn is_kept_apart(&self) -> Result<bool, DeviceError> {
        if self.is_apart.get() == Some(false) || self.is_capturing()? {
            return Ok(false);
        }
        let is_apart = match self.is_apart.get() {
            Some(is_apart) => is_apart,
            None => self.queue.is_non_blocking()?,
        };
        self.is_apart.set(Some(is_apart));
        Ok(is_apart)
    }

    /// Runs what queues work on this stream, whose session is active, in the order of uploads and downloads.
    pub(super) fn in_order<E: From<DeviceError>>(
        &self,
        work: impl FnOnce(&Queue) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_capture()?;
        let apart = self.is_kept_apart()?;
        if apart {
            self.queue
                .follow(&Queue::DEFAULT)
                .map_err(DeviceError::from)?;
        }
        let queued = work(&self.queue);
        if apart {
            // Also after a failure, which may come after something has been queued.
            Queue::DEFAULT
                .follow(&self.queue)
                .map_err(DeviceError::from)?;
        }
        queued
    }

    /// The same of what queues work of other code.
    pub(in crate::device) fn foreign_in_order<E: From<DeviceError>>(
        &self,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        self.session.activate()?;
        self.in_order(|_| work())
    }

    pub(in crate::device) fn identity(&self) -> StreamIdentity {
        self.queue.identity()
    }

    /// What is queued here from now on waits for all that is queued on any stream of the device.
    pub(in crate::device) fn follow_all(&self) -> Result<(), DeviceError> {
        self.session.activate()?;
        self.session.join_those_apart()?;
        Ok(self.queue.follow(&Queue::DEFAULT)?)
    }

    pub(in crate::device) fn handle(&self) -> CUstream {
        self.queue.handle()
    }

    pub(super) fn session(&self) -> &Rc<Session> {
        &self.session
    }

    /// Keeps the module loaded for the graph that is being captured here, if one is.
    pub(super) fn keep(&self, module: &Rc<GpuModule>) {
        if let Some(recording) = self.recording.borrow().upgrade() {
            recording.keep(module);
        }
    }

    /// Makes the stream's GPU current, if it is also that of the other session.
    pub(super) fn activate_with(&self, other: &Rc<Session>) -> Result<(), DeviceError> {
        if !Rc::ptr_eq(&self.session, other) {
            return Err(DeviceError::OtherDevice);
        }
        self.session.activate()
    }

    /// Queues a copy between memories of one size.
    pub(in crate::device) fn upload(
        &self,
        from: &HostAllocation,
        to: &mut Allocation,
    ) -> Result<(), DeviceError> {
        self.activate_with(from.session())?;
        self.activate_with(to.session())?;
        self.in_order(|queue| {
            // SAFETY: both are as long as the target and are freed, and the host's side written, only when the GPU is idle.
            Ok(unsafe {
                sys::cuMemcpyHtoDAsync_v2(to.address(), from.as_ptr(), to.bytes(), queue.handle())
            }?)
        })
    }

    /// Queues a copy to a part of the memory.
    ///
    /// # Safety
    /// - The bytes stay allocated and unchanged until the copy is done.
    /// - They fit into the memory from `at` on.
    pub(in crate::device) unsafe fn upload_part(
        &self,
        from: &[u8],
        to: &mut Allocation,
        at: usize,
    ) -> Result<(), DeviceError> {
        self.activate_with(to.session())?;
        if from.is_empty() {
            return Ok(());
        }
        let address = to.address() + at as u64;
        self.in_order(|queue| {
            // SAFETY: the caller's promise; the memory is freed only when the GPU is idle.
            Ok(unsafe {
                sys::cuMemcpyHtoDAsync_v2(address, from.as_ptr().cast(), from.len(), queue.handle())
            }?)
        })
    }

    /// Queues a copy between memories of one size.
    pub(in crate::device) fn download(
        &self,
        from: &Allocation,
        to: &mut HostAllocation,
    ) -> Result<(), DeviceError> {
        self.activate_with(to.session())?;
        self.activate_with(from.session())?;
        self.in_order(|queue| {
            // SAFETY: both are as long as the source and are freed, and the host's side read or written, only when the GPU is idle.
            Ok(unsafe {
                sys::cuMemcpyDtoHAsync_v2(
                    to.as_mut_ptr(),
                    from.address(),
                    from.bytes(),
                    queue.handle(),
                )
            }?)
        })
    }

    /// Queues a copy between memories of one size.
    pub(in crate::device) fn copy(
        &self,
        from: &Allocation,
        to: &mut Allocation,
    ) -> Result<(), DeviceError> {
        self.activate_with(from.session())?;
        self.activate_with(to.session())?;
        self.in_order(|queue| to.queue_copy_from(from, queue))
    }

    /// Queues a copy of bytes, by addresses.
    ///
    /// # Safety
    /// There is as much memory on both sides until the copy has ended; nothing else writes the first, or reads or writes the second.
    pub(in crate::device) unsafe fn copy_bytes(
        &self,
        from: u64,
        to: u64,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        self.session.activate()?;
        // SAFETY: the caller's contract is the same.
        self.in_order(|queue| unsafe {
            Ok(sys::cuMemcpyDtoDAsync_v2(to, from, bytes, queue.handle())?)
        })
    }

    pub(in crate::device) fn flush_cache(&self) -> Result<(), DeviceError> {
        self.session.activate()?;
        self.in_order(|queue| self.session.flush_cache(queue))
    }

    pub(in crate::device) fn prefetch(&self, memory: &HostAllocation) -> Result<(), DeviceError> {
        self.activate_with(memory.session())?;
        let device = self.session.device();
        self.in_order(|queue| {
            // SAFETY: the driver checks that the address is that of managed memory, whose contents do not change.
            Ok(unsafe {
                sys::cuMemPrefetchAsync(memory.address(), memory.bytes(), device, queue.handle())
            }?)
        })
    }

    /// # Safety
    /// As for [`crate::device::Stream::launch`].
    pub(in crate::device) unsafe fn launch(
        &self,
        kernel: &GpuKernel,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        self.activate_with(kernel.session())?;
        self.keep(kernel.module());
        // SAFETY: the caller's contract is the same.
        self.in_order(|queue| unsafe { kernel.launch_on(queue, shape, arguments) })
    }

    pub(in crate::device) fn record(&self, event: &Event) -> Result<(), DeviceError> {
        self.activate_with(event.session())?;
        self.check_capture()?;
        event.mark().record(&self.queue).map_err(of_captures)?;
        event.recording.replace(self.recording.borrow().clone());
        Ok(())
    }

    pub(in crate::device) fn wait_for(&self, event: &Event) -> Result<(), DeviceError> {
        self.activate_with(event.session())?;
        self.mark_before(&event.recording.borrow())?;
        event.mark().hold_back(&self.queue).map_err(of_captures)?;
        self.take_part_in(&event.recording.borrow());
        Ok(())
    }

    /// Before this stream takes part in a capture: while it does, nothing can wait for it, so that what is queued here already gets a mark
    /// that uploads, downloads and the freeing of memory wait for.
    fn mark_before(&self, recording: &Weak<Recording>) -> Result<(), DeviceError> {
        if recording.strong_count() > 0 && !self.is_recorder && !self.queue.is_capturing()? {
            let mark = Mark::new(sys::CU_EVENT_DISABLE_TIMING)?;
            mark.record(&self.queue)?;
            self.session.wait_later_for(mark);
        }
        Ok(())
    }

    /// A stream that waits for an event of a capture has a part in it from then on.
    fn take_part_in(&self, recording: &Weak<Recording>) {
        if recording.strong_count() > 0 {
            self.recording.replace(recording.clone());
        }
    }

    /// What is queued here from now on waits for what is queued on a stream of any GPU.
    pub(in crate::device) fn follow(&self, earlier: &Self) -> Result<(), DeviceError> {
        let (own, other) = (&self.session, &earlier.session);
        let recording = earlier.recording.borrow().clone();
        other.activate()?;
        earlier.check_capture()?;
        own.activate()?;
        self.mark_before(&recording)?;
        Queue::follow_across(
            (&self.queue, || own.activate()),
            (&earlier.queue, || other.activate()),
        )?;
        self.take_part_in(&recording);
        Ok(())
    }

    pub(in crate::device) fn wait_for_device(&self) -> Result<(), DeviceError> {
        self.session.wait_for_all()
    }

    pub(in crate::device) fn synchronize(&self) -> Result<(), DeviceError> {
        self.session.activate()?;
        Ok(self.queue.synchronize()?)
    }

    pub(in crate::device) fn set_access_policy(
        &self,
        memory: &Allocation,
        bytes: usize,
        policy: AccessPolicy,
    ) -> Result<(), DeviceError> {
        self.activate_with(memory.session())?;
        let hits = match policy.property {
            AccessProperty::Normal => CUaccessProperty::NORMAL,
            AccessProperty::Streaming => CUaccessProperty::STREAMING,
            AccessProperty::Persisting => CUaccessProperty::PERSISTING,
        };
        self.set_window(CUaccessPolicyWindow {
            base_ptr: ptr::without_provenance_mut(memory.address() as usize),
            num_bytes: bytes,
            hitRatio: policy.fraction,
            hitProp: hits,
            missProp: CUaccessProperty::NORMAL,
        })
    }

    /// A window of no bytes is none.
    pub(in crate::device) fn end_access_policy(&self) -> Result<(), DeviceError> {
        self.session.activate()?;
        self.set_window(CUaccessPolicyWindow {
            base_ptr: ptr::null_mut(),
            num_bytes: 0,
            hitRatio: 0.0,
            hitProp: CUaccessProperty::NORMAL,
            missProp: CUaccessProperty::NORMAL,
        })
    }

    fn set_window(&self, window: CUaccessPolicyWindow) -> Result<(), DeviceError> {
        let mut value = CUstreamAttrValue { pad: [0; 8] };
        value.accessPolicyWindow = window;
        // SAFETY: the value is that of this attribute; the driver uses the window's address for nothing but comparisons.
        Ok(unsafe {
            sys::cuStreamSetAttribute(
                self.handle(),
                CUstreamAttrID::ACCESS_POLICY_WINDOW,
                &raw const value,
            )
        }?)
    }

    /// A stream of the same attributes to capture on. It and the default stream do not wait for each other. So the copies of other
    /// threads, which go to the default stream, may go on during the capture: with an ordinary stream the driver would refuse them.
    pub(in crate::device) fn recorder(&self) -> Result<Self, DeviceError> {
        self.session.activate()?;
        // Captured work has no place in the order of uploads and downloads, and nothing else is ever queued on this stream: nothing
        // has to look after it.
        let mut recorder = Self::of(&self.session, Queue::new(sys::CU_STREAM_NON_BLOCKING)?);
        recorder.is_recorder = true;
        // SAFETY: both streams are alive.
        unsafe { sys::cuStreamCopyAttributes(recorder.handle(), self.handle()) }?;
        Ok(recorder)
    }

    /// What is queued from now on becomes a graph instead of running. The result, while it lives, keeps the modules of its kernels.
    pub(super) fn begin_capture(&self) -> Result<Rc<Recording>, DeviceError> {
        self.session.activate()?;
        // The mode leaves other threads free to do what they like meanwhile.
        let mode = CUstreamCaptureMode::THREAD_LOCAL;
        // SAFETY: the stream is alive.
        unsafe { sys::cuStreamBeginCapture_v2(self.handle(), mode) }?;
        let recording = Rc::new(Recording::default());
        self.recording.replace(Rc::downgrade(&recording));
        Ok(recording)
    }

    /// The graph, which is the caller's, and what the driver says. A capture that went wrong leaves no graph.
    pub(super) fn end_capture(&self) -> (Option<CUgraph>, Result<(), Failure>) {
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is alive, and `graph` may be written; the driver checks that the stream is capturing.
        let ended = unsafe { sys::cuStreamEndCapture(self.handle(), &raw mut graph) };
        ((!graph.is_null()).then_some(graph), ended)
    }

    pub(in crate::device) fn is_capturing(&self) -> Result<bool, DeviceError> {
        self.session.activate()?;
        Ok(self.queue.is_capturing()?)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Where this fails, so does the end of the stream, which then goes with its context.
        let _ = self.session.activate();
        // What is still queued here goes on. Uploads, downloads and the freeing of memory wait for the default stream. The driver does not
        // say that the default stream waits for the work of a stream that is gone, so it is made to wait here.
        if self.queue.is_owned() && matches!(self.is_capturing(), Ok(false)) {
            let _ = Queue::DEFAULT.follow(&self.queue);
        }
    }
}
