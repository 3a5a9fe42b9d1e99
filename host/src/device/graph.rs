//! Graphs: work that is described once and launched as a whole.

use super::backend::Backend;
use super::kernel::{Kernel, KernelOn};
use super::stream::{Stream, StreamOn};
use super::{Argument, DeviceError, Shape, emulator, gpu};
use std::fmt;

/// Kernels and the order between them, not yet made ready for launches.
pub struct Graph(GraphOn);

enum GraphOn {
    Gpu(gpu::Graph),
    Emulator(emulator::Graph),
}

/// One operation of a [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node(pub(super) usize);

/// A graph that a device has made ready. Dropping it waits until the device is idle.
pub struct ExecutableGraph(ExecutableOn);

enum ExecutableOn {
    Gpu(gpu::ExecutableGraph),
    Emulator(emulator::Graph),
}

impl Graph {
    pub(super) fn new(backend: &Backend) -> Result<Self, DeviceError> {
        Ok(Self(match backend {
            Backend::Gpu(gpu) => GraphOn::Gpu(gpu.graph()?),
            Backend::Emulator(emulator) => GraphOn::Emulator(emulator.graph()),
        }))
    }

    /// Adds a launch, which starts when those of `after` have ended. The nodes of a captured graph are not known here.
    ///
    /// # Errors
    /// A shape or arguments that do not fit the kernel or the device, a kernel of another device, or a node that this graph does not have.
    pub fn add_kernel(
        &mut self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
        after: &[Node],
    ) -> Result<Node, DeviceError> {
        let after = after.iter().map(|node| node.0);
        match (&mut self.0, kernel.on()) {
            (GraphOn::Gpu(graph), KernelOn::Gpu(kernel)) => {
                graph.add_kernel(kernel, shape, arguments, after)
            }
            (GraphOn::Emulator(graph), KernelOn::Emulator(kernel)) => {
                graph.add_kernel(kernel, shape, arguments, after)
            }
            _ => Err(DeviceError::OtherDevice),
        }
        .map(Node)
    }

    /// As [`Self::add_kernel`], of a kernel of any GPU, or of any emulated device of one group. The graph is launched on a stream of the device
    /// that has made it, and ends there when all of its launches have ended.
    pub(crate) fn add_kernel_of_any(
        &mut self,
        kernel: &Kernel,
        shape: &Shape,
        arguments: &[Argument],
        after: &[Node],
    ) -> Result<Node, DeviceError> {
        let after = after.iter().map(|node| node.0);
        match (&mut self.0, kernel.on()) {
            (GraphOn::Gpu(graph), KernelOn::Gpu(kernel)) => {
                graph.add_kernel_of_any(kernel, shape, arguments, after)
            }
            (GraphOn::Emulator(graph), KernelOn::Emulator(kernel)) => {
                graph.add_kernel_of_any(kernel, shape, arguments, after)
            }
            _ => Err(DeviceError::OtherDevice),
        }
        .map(Node)
    }

    /// Makes the graph ready to be launched any number of times. Neither waits nor queues.
    ///
    /// # Errors
    /// The driver refuses it.
    pub fn instantiate(self) -> Result<ExecutableGraph, DeviceError> {
        Ok(ExecutableGraph(match self.0 {
            GraphOn::Gpu(graph) => ExecutableOn::Gpu(graph.instantiate()?),
            GraphOn::Emulator(graph) => ExecutableOn::Emulator(graph),
        }))
    }
}

impl Stream {
    /// Makes a graph of what `queue` queues on the stream that it is given, and runs none of it. That stream is a new one with this
    /// one's access policy.
    ///
    /// Another stream that [waits](Self::wait_for) for an event of the capture has a part in it from then on, and work on the two streams
    /// has no order in the graph but that of their events. The stream that is given has to wait for the last work of each other before
    /// `queue` returns. Let the others be [non-blocking](crate::Device::non_blocking_stream): while one that is not has a part in a capture,
    /// the driver refuses uploads and downloads, also those of other threads.
    ///
    /// # Errors
    /// Whatever `queue` returns, and what cannot be captured: for example, waiting for the device. [`DeviceError::UnjoinedCapture`] if
    /// the stream has not waited for another's last work.
    pub fn capture(
        &self,
        queue: impl FnOnce(&Self) -> Result<(), DeviceError>,
    ) -> Result<Graph, DeviceError> {
        let recorder = self.recorder()?;
        let queue = || queue(&recorder);
        Ok(Graph(match &recorder.0 {
            StreamOn::Gpu(stream) => GraphOn::Gpu(gpu::Graph::captured(stream, queue)?),
            StreamOn::Emulator(stream) => {
                GraphOn::Emulator(emulator::Graph::captured(stream, queue)?)
            }
        }))
    }
}

impl ExecutableGraph {
    /// Queues all of the graph on a stream, and does not wait.
    ///
    /// # Errors
    /// The stream is of another device or [is capturing](Stream::is_capturing), or the driver refuses. A fault of a kernel is told by the
    /// next call that waits; on the emulator, by this one.
    ///
    /// # Safety
    /// For every launch in the graph as [`Stream::launch`]; and all memory that its copies name is alive until it has ended. The graph
    /// itself keeps the modules of its kernels loaded.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        if stream.is_capturing()? {
            return Err(DeviceError::CapturedGraph);
        }
        match (&self.0, &stream.0) {
            // SAFETY: the caller's contract is the same.
            (ExecutableOn::Gpu(graph), StreamOn::Gpu(stream)) => unsafe { graph.launch(stream) },
            (ExecutableOn::Emulator(graph), StreamOn::Emulator(stream)) => graph.launch(stream),
            _ => Err(DeviceError::OtherDevice),
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Graph")
    }
}

impl fmt::Debug for ExecutableGraph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ExecutableGraph")
    }
}
