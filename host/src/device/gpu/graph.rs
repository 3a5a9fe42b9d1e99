//! Graphs of a GPU.

use super::{Kernel, session::Session, stream::Stream};
use crate::device::{Argument, DeviceError, Node, Shape};
use std::{ptr, rc::Rc};
use warpfold_driver::sys;

/// A graph and the nodes that were added to it.
pub(in crate::device) struct Graph {
    handle: sys::CUgraph,
    nodes: Vec<sys::CUgraphNode>,
    session: Rc<Session>,
}

/// A graph, made ready.
pub(in crate::device) struct ExecutableGraph {
    handle: sys::CUgraphExec,
    session: Rc<Session>,
}

impl Graph {
    pub(super) fn new(session: &Rc<Session>) -> Result<Self, DeviceError> {
        session.activate()?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written; 0 is the only value that the flags have.
        unsafe { sys::cuGraphCreate(&raw mut handle, 0) }?;
        Ok(Self::captured(handle, session))
    }

    /// A graph that the driver has made, and that is this value's from now on.
    pub(super) fn captured(handle: sys::CUgraph, session: &Rc<Session>) -> Self {
        Self {
            handle,
            nodes: Vec::new(),
            session: session.clone(),
        }
    }

    pub(in crate::device) fn add_kernel(
        &mut self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
        after: &[Node],
    ) -> Result<Node, DeviceError> {
        if !Rc::ptr_eq(&self.session, kernel.session()) {
            return Err(DeviceError::OtherDevice);
        }
        self.session.activate()?;
        let dependencies = after
            .iter()
            .map(|node| self.nodes.get(node.0).copied().ok_or(DeviceError::NoNode))
            .collect::<Result<Vec<_>, _>>()?;
        let node = kernel.add_to(self.handle, shape, arguments, &dependencies)?;
        self.nodes.push(node);
        Ok(Node(self.nodes.len() - 1))
    }

    pub(in crate::device) fn instantiate(self) -> Result<ExecutableGraph, DeviceError> {
        self.session.activate()?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` may be written and the graph is alive; who wants neither the bad node nor the log passes null.
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
            session: self.session.clone(),
        })
    }
}

impl ExecutableGraph {
    /// # Safety
    /// As for [`crate::device::ExecutableGraph::launch`].
    pub(in crate::device) unsafe fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.activate_with(&self.session)?;
        // SAFETY: both are alive; that the operations are sound is the caller's promise.
        stream.in_order(|queue| Ok(unsafe { sys::cuGraphLaunch(self.handle, queue.handle()) }?))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = self.session.activate();
        // SAFETY: the handle comes from the driver and is destroyed once; what was made ready from it does not need it.
        let _ = unsafe { sys::cuGraphDestroy(self.handle) };
    }
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // It may not be destroyed while it runs.
        let _ = self.session.wait_for_all();
        // SAFETY: the handle comes from the driver and is destroyed once.
        let _ = unsafe { sys::cuGraphExecDestroy(self.handle) };
    }
}
