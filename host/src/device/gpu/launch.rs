//! Launching and timing kernels on a GPU.

use super::{
    module::GpuModule,
    queue::{Mark, Queue},
    session::Session,
};
use crate::device::argument::{encode, encode_known};
use crate::device::{Argument, DeviceError, Shape, Times, Timing};
use std::{ffi::c_void, ptr, rc::Rc};
use warpfold_driver::{
    Failure,
    sys::{self, CUfunction_attribute, CUlaunchAttributeID},
};
use warpfold_emulator::limits::SHARED_BYTES_WITHOUT_ASKING;

/// A kernel in a module that the driver has loaded.
pub(in crate::device) struct GpuKernel {
    entry: String,
    function: sys::CUfunction,
    /// Sizes of the parameters; `None` where the PTX could not be parsed.
    parameter_bytes: Option<Vec<usize>>,
    static_shared_bytes: u32,
    registers: u32,
    /// What its registers allow.
    most_threads_per_block: u32,
    module: Rc<GpuModule>,
}

impl GpuKernel {
    /// The kernel of this entry in a module.
    pub(in crate::device) fn of(module: &Rc<GpuModule>, entry: &str) -> Result<Self, DeviceError> {
        let function = module.function(entry)?;
        let attribute = |which| attribute(function, which);
        Ok(Self {
            entry: entry.to_owned(),
            function,
            parameter_bytes: module.parameter_bytes(entry)?,
            static_shared_bytes: attribute(CUfunction_attribute::SHARED_SIZE_BYTES)?,
            registers: attribute(CUfunction_attribute::NUM_REGS)?,
            most_threads_per_block: attribute(CUfunction_attribute::MAX_THREADS_PER_BLOCK)?,
            module: module.clone(),
        })
    }

    /// Runs the kernel and waits for its end.
    ///
    /// # Safety
    /// As for [`crate::device::Kernel::launch`].
    pub(in crate::device) unsafe fn launch(
        &self,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        let session = self.session();
        session.activate()?;
        let mut arguments = self.check(shape, arguments)?;
        // SAFETY: the caller's contract is the same.
        unsafe { self.queue(shape, &mut arguments, &session.stream) }?;
        self.wait()
    }

    /// Queues the kernel on a stream of the same session, and waits for nothing.
    ///
    /// # Safety
    /// As for [`crate::device::Stream::launch`].
    pub(super) unsafe fn launch_on(
        &self,
        stream: &Queue,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        let mut arguments = self.check(shape, arguments)?;
        // SAFETY: the caller's contract is the same.
        unsafe { self.queue(shape, &mut arguments, stream) }
    }

    /// Adds the kernel to a graph, after the nodes that it depends on. It may not be cooperative, and the sizes of its parameters must be
    /// known.
    ///
    /// # Safety
    /// The graph is alive, the dependencies are nodes of it, and while it or what is made ready from it is alive, so is the module.
    pub(super) unsafe fn add_to(
        &self,
        graph: sys::CUgraph,
        shape: &Shape,
        arguments: &[Argument],
        dependencies: &[sys::CUgraphNode],
    ) -> Result<sys::CUgraphNode, DeviceError> {
        if shape.cooperative {
            return Err(DeviceError::InvalidLaunch {
                entry: self.entry.clone(),
                reason: "a node of a graph is no cooperative launch: launch it on a stream"
                    .to_owned(),
            });
        }
        self.check_shape(shape)?;
        let mut arguments = encode_known(&self.entry, self.parameter_bytes.as_deref(), arguments)?;
        let mut pointers = pointers(&mut arguments);
        let parameters = sys::CUDA_KERNEL_NODE_PARAMS {
            func: self.function,
            gridDimX: shape.grid[0],
            gridDimY: shape.grid[1],
            gridDimZ: shape.grid[2],
            blockDimX: shape.block[0],
            blockDimY: shape.block[1],
            blockDimZ: shape.block[2],
            sharedMemBytes: shape.dynamic_shared_bytes,
            kernelParams: pointers.as_mut_ptr(),
            extra: ptr::null_mut(),
        };
        let mut node = ptr::null_mut();
        // SAFETY: `node` may be written, the function belongs to a loaded module, and there is a pointer to as many bytes as each of its
        // parameters has, which the driver copies before it returns. The graph and its nodes are the caller's promise.
        unsafe {
            sys::cuGraphAddKernelNode(
                &raw mut node,
                graph,
                dependencies.as_ptr(),
                dependencies.len(),
                &raw const parameters,
            )
        }?;
        Ok(node)
    }

    pub(super) fn session(&self) -> &Rc<Session> {
        self.module.session()
    }

    pub(super) fn module(&self) -> &Rc<GpuModule> {
        &self.module
    }

    /// Times the kernel launch by launch.
    ///
    /// # Safety
    /// As for [`crate::device::Kernel::time`].
    pub(in crate::device) unsafe fn time(
        &self,
        shape: &Shape,
        arguments: &[Argument],
        timing: &Timing,
        mut prepare: impl FnMut() -> Result<(), DeviceError>,
    ) -> Result<Times, DeviceError> {
        let session = self.session();
        session.activate()?;
        let mut arguments = self.check(shape, arguments)?;
        let events = (0..timing.repeat.max(1))
            .map(|_| Ok((Mark::timed()?, Mark::timed()?)))
            .collect::<Result<Vec<_>, DeviceError>>()?;
        // What the caller does there may make another GPU current.
        let mut prepare = || prepare().and_then(|()| session.activate());

        prepare()?;
        // SAFETY: the caller's contract is the same.
        unsafe { self.queue(shape, &mut arguments, &session.stream) }?;
        self.wait()?;

        // Nothing waits for the GPU between preparing and launching: where the preparation takes longer than queueing the launch,
        // the kernel starts right after the first event, and the time has no launch latency in it.
        for (start, end) in &events {
            prepare()?;
            if timing.cold {
                session.flush_cache(&session.stream)?;
            }
            start.record(&session.stream)?;
            // SAFETY: the caller's contract is the same.
            unsafe { self.queue(shape, &mut arguments, &session.stream) }?;
            end.record(&session.stream)?;
        }
        self.wait()?;

        let elapsed_ms = events
            .iter()
            .map(|(start, end)| Ok(end.elapsed_ms_since(start)?))
            .collect::<Result<Vec<_>, DeviceError>>()?;
        Ok(Times { elapsed_ms })
    }

    /// Checks a launch, and encodes its arguments. Where the sizes of the parameters are unknown, the caller has promised them.
    fn check(&self, shape: &Shape, arguments: &[Argument]) -> Result<Vec<Vec<u8>>, DeviceError> {
        self.check_shape(shape)?;
        match &self.parameter_bytes {
            Some(parameter_bytes) => encode(&self.entry, parameter_bytes, arguments),
            None => Ok(arguments.iter().map(Argument::to_bytes).collect()),
        }
    }

    /// Checks that the device can launch the kernel in this shape, and makes the room that it takes.
    fn check_shape(&self, shape: &Shape) -> Result<(), DeviceError> {
        shape.check(&self.entry)?;
        let invalid = |reason| DeviceError::InvalidLaunch {
            entry: self.entry.clone(),
            reason,
        };
        let threads: u32 = shape.block.iter().product();
        if threads > self.most_threads_per_block {
            return Err(invalid(format!(
                "a block of {threads} threads needs more registers than the GPU has: {} is the most",
                self.most_threads_per_block
            )));
        }
        let shared_bytes = self
            .static_shared_bytes
            .saturating_add(shape.dynamic_shared_bytes);
        if shared_bytes > SHARED_BYTES_WITHOUT_ASKING {
            self.ask_for_shared_memory(shape.dynamic_shared_bytes)
                .map_err(|failure| {
                    invalid(format!(
                        "its {shared_bytes} bytes of shared memory are more than the GPU gives a block ({failure})"
                    ))
                })?;
        }
        if shape.cooperative {
            self.check_resident(shape, threads)?;
        }
        if shape.pending_grids > 0 {
            self.session()
                .make_room_for_grids(shape.pending_grids)
                .map_err(|reason| {
                    invalid(format!("{reason}: use larger blocks or fewer elements"))
                })?;
        }
        Ok(())
    }

    /// Checks that all blocks of a cooperative launch run at once: a block that waits for one that does not run would wait for ever.
    fn check_resident(&self, shape: &Shape, threads: u32) -> Result<(), DeviceError> {
        let on_each = self.resident(shape, threads)?;
        let multiprocessors = self.session().information.multiprocessors;
        let resident = u64::from(on_each) * u64::from(multiprocessors);
        let blocks = shape.blocks();
        if blocks > resident {
            return Err(DeviceError::InvalidLaunch {
                entry: self.entry.clone(),
                reason: format!(
                    "its blocks wait for one another, and of {blocks} blocks of {threads} threads the GPU runs {resident} at \
                     once ({on_each} on each of {multiprocessors} multiprocessors): launch fewer, and let each do more"
                ),
            });
        }
        Ok(())
    }

    /// Shared memory of a block that the launch does not ask for.
    pub(in crate::device) fn static_shared_bytes(&self) -> u32 {
        self.static_shared_bytes
    }

    /// Registers of a thread.
    pub(in crate::device) fn registers(&self) -> u32 {
        self.registers
    }

    /// Blocks of this shape that are resident on a multiprocessor at once.
    pub(in crate::device) fn resident_blocks(&self, shape: &Shape) -> Result<u32, DeviceError> {
        self.session().activate()?;
        self.check_shape(shape)?;
        self.resident(shape, shape.block.iter().product())
    }

    fn resident(&self, shape: &Shape, threads: u32) -> Result<u32, DeviceError> {
        let mut on_each = 0;
        // SAFETY: the function belongs to a loaded module, and `on_each` may be written.
        unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut on_each,
                self.function,
                i32::try_from(threads).unwrap_or(i32::MAX),
                shape.dynamic_shared_bytes as usize,
            )
        }?;
        Ok(on_each.unsigned_abs())
    }

    fn ask_for_shared_memory(&self, dynamic_shared_bytes: u32) -> Result<(), Failure> {
        // SAFETY: the function belongs to a loaded module; the driver checks the value.
        unsafe {
            sys::cuFuncSetAttribute(
                self.function,
                CUfunction_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES,
                i32::try_from(dynamic_shared_bytes).unwrap_or(i32::MAX),
            )
        }
    }

    /// Queues a launch that [`Self::check`] has checked.
    ///
    /// # Safety
    /// As for [`crate::device::Kernel::launch`].
    unsafe fn queue(
        &self,
        shape: &Shape,
        arguments: &mut [Vec<u8>],
        stream: &Queue,
    ) -> Result<(), DeviceError> {
        let mut pointers = pointers(arguments);
        // SAFETY: the function belongs to a loaded module, and there is a pointer to each argument, whose bytes the driver copies
        // before it returns; that the arguments are what the kernel takes is the caller's promise.
        unsafe {
            let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (shape.grid, shape.block);
            if shape.cooperative {
                sys::cuLaunchCooperativeKernel(
                    self.function,
                    grid_x,
                    grid_y,
                    grid_z,
                    block_x,
                    block_y,
                    block_z,
                    shape.dynamic_shared_bytes,
                    stream.handle(),
                    pointers.as_mut_ptr(),
                )
            } else if self.module.overlaps() {
                let mut overlap = sys::CUlaunchAttribute {
                    id: CUlaunchAttributeID::PROGRAMMATIC_STREAM_SERIALIZATION,
                    pad: [0; 4],
                    value: sys::CUstreamAttrValue { pad: [0; 8] },
                };
                overlap.value.programmaticStreamSerializationAllowed = 1;
                let launch = sys::CUlaunchConfig {
                    gridDimX: grid_x,
                    gridDimY: grid_y,
                    gridDimZ: grid_z,
                    blockDimX: block_x,
                    blockDimY: block_y,
                    blockDimZ: block_z,
                    sharedMemBytes: shape.dynamic_shared_bytes,
                    hStream: stream.handle(),
                    attrs: &raw const overlap,
                    numAttrs: 1,
                };
                sys::cuLaunchKernelEx(
                    &raw const launch,
                    self.function,
                    pointers.as_mut_ptr(),
                    ptr::null_mut(),
                )
            } else {
                sys::cuLaunchKernel(
                    self.function,
                    grid_x,
                    grid_y,
                    grid_z,
                    block_x,
                    block_y,
                    block_z,
                    shape.dynamic_shared_bytes,
                    stream.handle(),
                    pointers.as_mut_ptr(),
                    ptr::null_mut(),
                )
            }
        }
        .map_err(|failure| self.blame(failure.into()))
    }

    /// Waits for everything that is queued on the device.
    pub(in crate::device) fn wait_for_all(&self) -> Result<(), DeviceError> {
        self.session().wait_for_all()
    }

    /// Waits for the end of what is queued.
    fn wait(&self) -> Result<(), DeviceError> {
        self.session()
            .stream
            .synchronize()
            .map_err(|error| self.blame(error.into()))
    }

    /// Names the kernel in a failure that says that a kernel faulted.
    fn blame(&self, error: DeviceError) -> DeviceError {
        match error {
            DeviceError::Driver(failure) if failure.is_kernel_fault() => DeviceError::GpuFault {
                entry: self.entry.clone(),
                failure,
            },
            other => other,
        }
    }
}

/// A pointer to each argument, which the driver takes.
fn pointers(arguments: &mut [Vec<u8>]) -> Vec<*mut c_void> {
    arguments
        .iter_mut()
        .map(|bytes| bytes.as_mut_ptr().cast())
        .collect()
}

fn attribute(
    function: sys::CUfunction,
    attribute: CUfunction_attribute,
) -> Result<u32, DeviceError> {
    let mut value = 0;
    // SAFETY: the function belongs to a loaded module, and `value` may be written.
    unsafe { sys::cuFuncGetAttribute(&raw mut value, attribute, function) }?;
    Ok(value.unsigned_abs())
}
