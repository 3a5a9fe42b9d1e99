//! Graphs of a GPU.

use super::{
    launch::GpuKernel, module::GpuModule, recording::of_captures, session::Session, stream::Stream,
};
use crate::device::{Argument, DeviceError, Shape};
use std::{
    panic::{self, AssertUnwindSafe},
    ptr,
    rc::Rc,
};
use warpfold_driver::{Failure, sys};

/// A graph and the nodes that were added to it.
pub(in crate::device) struct Graph {
    handle: sys::CUgraph,
    nodes: Vec<sys::CUgraphNode>,
    /// The modules of its kernels, which the driver does not keep loaded.
    modules: Vec<Rc<GpuModule>>,
    session: Rc<Session>,
}

/// A graph, made ready.
pub(in crate::device) struct ExecutableGraph {
    handle: sys::CUgraphExec,
    modules: Vec<Rc<GpuModule>>,
    session: Rc<Session>,
}

impl Graph {
    pub(super) fn new(session: &Rc<Session>) -> Result<Self, DeviceError> {
        session.activate()?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written; 0 is the only value that the flags have.
        unsafe { sys::cuGraphCreate(&raw mut handle, 0) }?;
        Ok(Self {
            handle,
            nodes: Vec::new(),
            modules: Vec::new(),
            session: session.clone(),
        })
    }

    /// What `queue` queues on the stream, which runs none of it.
    pub(in crate::device) fn captured(
        stream: &Stream,
        queue: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        let recording = stream.begin_capture()?;
        // A capture that nobody ends would go on in this thread.
        let queued = panic::catch_unwind(AssertUnwindSafe(queue));
        let (handle, ended) = stream.end_capture();
        let graph = handle.map(|handle| Self {
            handle,
            nodes: Vec::new(),
            modules: recording.take(),
            session: stream.session().clone(),
        });
        queued.unwrap_or_else(|panic| panic::resume_unwind(panic))?;
        ended.map_err(of_captures)?;
        graph.ok_or_else(|| Failure::new("cuStreamEndCapture", Failure::UNKNOWN).into())
    }

    /// Adds a launch after nodes, which are given by their numbers, and returns its own number.
    pub(in crate::device) fn add_kernel(
        &mut self,
        kernel: &GpuKernel,
        shape: &Shape,
        arguments: &[Argument],
        after: impl IntoIterator<Item = usize>,
    ) -> Result<usize, DeviceError> {
        if !Rc::ptr_eq(&self.session, kernel.session()) {
            return Err(DeviceError::OtherDevice);
        }
        self.add_kernel_of_any(kernel, shape, arguments, after)
    }

    /// The same of a kernel of any GPU.
    pub(in crate::device) fn add_kernel_of_any(
        &mut self,
        kernel: &GpuKernel,
        shape: &Shape,
        arguments: &[Argument],
        after: impl IntoIterator<Item = usize>,
    ) -> Result<usize, DeviceError> {
        // The driver takes the node to be of the context that is current.
        kernel.session().activate()?;
        let dependencies = after
            .into_iter()
            .map(|node| self.nodes.get(node).copied().ok_or(DeviceError::NoNode))
            .collect::<Result<Vec<_>, _>>()?;
        // SAFETY: the graph is alive, and the dependencies are nodes of it.
        let node = unsafe { kernel.add_to(self.handle, shape, arguments, &dependencies) }?;
        self.nodes.push(node);
        self.modules.push(kernel.module().clone());
        Ok(self.nodes.len() - 1)
    }

    pub(in crate::device) fn instantiate(mut self) -> Result<ExecutableGraph, DeviceError> {
        self.session.activate()?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written, and the graph and the modules of its kernels are alive; a caller that wants neither the bad
        // node nor the log passes null.
        unsafe {
            sys::cuGraphInstantiate_v2(
                &raw mut handle,
                self.handle,
                ptr::null_mut(),
                ptr::null_mut(),
                0,
            )
        }?;
        Ok(ExecutableGraph {
            handle,
            modules: std::mem::take(&mut self.modules),
            session: self.session.clone(),
        })
    }
}

impl ExecutableGraph {
    /// # Safety
    /// As for [`crate::device::ExecutableGraph::launch`].
    pub(in crate::device) unsafe fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.activate_with(&self.session)?;
        self.modules.iter().for_each(|module| stream.keep(module));
        // SAFETY: both are alive; that the operations are sound is the caller's promise.
        stream.in_order(|queue| Ok(unsafe { sys::cuGraphLaunch(self.handle, queue.handle()) }?))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = self.session.activate();
        // SAFETY: the handle comes from the driver and is destroyed once; a graph that was made ready from it does not need it.
        let _ = unsafe { sys::cuGraphDestroy(self.handle) };
    }
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // It is not destroyed while it may run: where that cannot be waited for, it goes with its context.
        if self.session.wait_for_all().is_ok() {
            // SAFETY: the handle comes from the driver and is destroyed once.
            let _ = unsafe { sys::cuGraphExecDestroy(self.handle) };
        }
    }
}
