//! The functions of the device runtime by which kernels launch grids. A launch that the runtime refuses leaves an error with the
//! thread, as on a GPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::tree;
use crate::code::{Builtin, BuiltinCall, Slice};
use crate::error::Fault;
use crate::launch::{Launch, check_shape};
use crate::limits::SHARED_BYTES_WITHOUT_ASKING;
use crate::observer::{GridLaunchEvent, GridWaitEvent, Observer};
use crate::simt::block::Block;
use crate::simt::grids::{Buffer, Child, Order, Stream};
use crate::simt::run::Run;
use crate::simt::schedule::{self, Schedule, Turns};
use crate::simt::shape::Shape;
use crate::simt::site::Site;
use crate::types::Space;
use crate::window;

// Errors of the CUDA runtime (`cudaError`), as an H200 returns them.
const SUCCESS: u32 = 0;
const INVALID_VALUE: u32 = 1;
const INVALID_CONFIGURATION: u32 = 9;
const INVALID_DEVICE_FUNCTION: u32 = 98;

/// Distance of the addresses of parameter buffers: more than the parameters of a kernel may have.
const BUFFER_STRIDE: u64 = 1 << 16;

impl<O: Observer> Block<'_, '_, O> {
    /// Calls a function of the device runtime for one lane, and returns its result.
    pub(in crate::simt) fn device_runtime(
        &mut self,
        site: Site,
        call: &BuiltinCall,
        lane: usize,
    ) -> Result<u64, Fault> {
        let thread = (site.warp, lane);
        Ok(match call.function {
            Builtin::ParameterBuffer => self.parameter_buffer(site, lane, &call.arguments),
            Builtin::LaunchGrid => {
                let buffer = self.long(site, lane, call.arguments[0]);
                let stream = self.long(site, lane, call.arguments[1]);
                let error = self.launch_grid(site, lane, buffer, stream)?;
                if error != SUCCESS {
                    self.launches.errors.insert(thread, error);
                }
                error.into()
            }
            Builtin::TakeError => self
                .launches
                .errors
                .remove(&thread)
                .unwrap_or(SUCCESS)
                .into(),
            Builtin::PeekError => {
                let error = self.launches.errors.get(&thread);
                error.copied().unwrap_or(SUCCESS).into()
            }
            _ => {
                self.wait_for_grids(site, lane)?;
                SUCCESS.into()
            }
        })
    }

    fn long(&self, site: Site, lane: usize, slice: Slice) -> u64 {
        self.frame_parameters(site, lane).load(slice.offset.into())
    }

    fn word(&self, site: Site, lane: usize, offset: u32) -> u32 {
        self.frame_parameters(site, lane).load(offset.into())
    }

    /// The address of a new buffer for the parameters of a launch; 0 where there can be no such launch.
    fn parameter_buffer(&mut self, site: Site, lane: usize, arguments: &[Slice]) -> u64 {
        let function = self.long(site, lane, arguments[0]);
        let extents = |slice: Slice| [0, 4, 8].map(|at| self.word(site, lane, slice.offset + at));
        let launch = Launch {
            grid: extents(arguments[1]),
            block: extents(arguments[2]),
            dynamic_shared_bytes: self.word(site, lane, arguments[3].offset),
            ..Launch::default()
        };
        let error = match self.run.family.launchable.get(&function) {
            None => INVALID_DEVICE_FUNCTION,
            Some(kernel)
                if check_shape(kernel, &launch).is_err()
                    || kernel.code.shared_bytes(launch.dynamic_shared_bytes)
                        > u64::from(SHARED_BYTES_WITHOUT_ASKING) =>
            {
                INVALID_CONFIGURATION
            }
            Some(kernel) => {
                let kernel = Arc::clone(kernel);
                return self.new_buffer(kernel, &launch);
            }
        };
        self.launches.errors.insert((site.warp, lane), error);
        0
    }

    fn new_buffer(&mut self, kernel: Arc<crate::kernel::Kernel>, launch: &Launch) -> u64 {
        let number = self.run.family.buffers.fetch_add(1, Ordering::Relaxed);
        let address = window::BUFFERS + number * BUFFER_STRIDE;
        let bytes =
            (kernel.code.functions[0].parameters.last()).map_or(0, |last| last.offset + last.bytes);
        let mut words = Vec::new();
        words.resize_with(bytes.div_ceil(8) as usize, AtomicU64::default);
        self.launches.buffers.push(Buffer {
            address,
            kernel,
            grid: launch.grid,
            block: launch.block,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            words,
        });
        address
    }

    /// Launches what a buffer was made for, and returns the runtime's error.
    fn launch_grid(
        &mut self,
        site: Site,
        lane: usize,
        address: u64,
        stream: u64,
    ) -> Result<u32, Fault> {
        if address == 0 {
            return Ok(INVALID_VALUE);
        }
        let stream = match stream {
            0 => Stream::OfBlock,
            3 => Stream::Tail,
            4 => Stream::Detached,
            _ => return Ok(INVALID_VALUE),
        };
        let buffers = &self.launches.buffers;
        let Some(index) = buffers.iter().position(|buffer| buffer.address == address) else {
            return Err(Fault::BadOperand(format!(
                "launch with {address:#x}, which is no parameter buffer of this block, or one that was launched before"
            )));
        };
        let pending = self.check_limits(&buffers[index].kernel)?;
        self.check_pointers(&buffers[index])?;
        let buffer = self.launches.buffers.swap_remove(index);
        let family = self.run.family;
        let number = family.next_grid();
        self.observer.grid_launch(GridLaunchEvent {
            warp: site.warp as u32,
            line: site.line,
            lane: lane as u32,
            grid: number,
            generation: self.shape.depth + 1,
            pending,
        });
        let before = self.launches.last_in_stream;
        self.launches.children.push(Child {
            shape: Shape {
                kernel: buffer.kernel.name().to_owned(),
                grid: buffer.grid,
                block: buffer.block,
                dynamic_shared_bytes: buffer.dynamic_shared_bytes,
                cluster: buffer.kernel.cluster,
                cooperative: false,
                multiprocessors: self.shape.multiprocessors,
                workspace: 0,
                number,
                launch: self.shape.launch,
                depth: self.shape.depth + 1,
                started: self.shape.started,
            },
            kernel: buffer.kernel,
            parameters: buffer.words,
            stream,
            parent: self.shape.number,
            block: self.index,
            after: before
                .filter(|_| stream == Stream::OfBlock)
                .into_iter()
                .collect(),
        });
        Ok(SUCCESS)
    }

    /// Counts one more pending grid, where that and its depth are within the launch's limits. Returns how many there are then.
    fn check_limits(&self, kernel: &crate::kernel::Kernel) -> Result<u64, Fault> {
        let family = self.run.family;
        let child = || kernel.name().to_owned();
        if self.shape.depth >= family.limits.depth {
            return Err(Fault::TooDeep {
                child: child(),
                limit: family.limits.depth,
            });
        }
        let limit = family.limits.pending;
        let pending = 1 + family.pending.fetch_add(1, Ordering::Relaxed);
        if pending > limit {
            return Err(Fault::TooManyPending {
                child: child(),
                limit,
            });
        }
        Ok(pending)
    }

    /// Looks for pointers among the parameters that would mean something else to the child than to this thread.
    fn check_pointers(&self, buffer: &Buffer) -> Result<(), Fault> {
        let region = buffer.region();
        let longest = self.warps.iter().map(|warp| warp.local_bytes).max();
        let spaces = [
            (Space::Shared, window::SHARED, self.spaces.shared_bytes),
            (Space::Local, window::LOCAL, longest.unwrap_or(0).into()),
        ];
        let parameters = &buffer.kernel.code.functions[0].parameters;
        for (parameter, slice) in parameters.iter().enumerate() {
            if slice.bytes != 8 {
                continue;
            }
            let address: u64 = region.load(slice.offset.into());
            for (space, first, bytes) in spaces {
                if address.wrapping_sub(first) < bytes {
                    return Err(Fault::PointerToOwnMemory {
                        child: buffer.kernel.name().to_owned(),
                        parameter,
                        space,
                        address,
                    });
                }
            }
        }
        Ok(())
    }

    /// Runs all that the block has launched, but tail launches, before the thread goes on.
    fn wait_for_grids(&mut self, site: Site, lane: usize) -> Result<(), Fault> {
        let (tails, children): (Vec<_>, Vec<_>) = self
            .launches
            .take()
            .into_iter()
            .partition(|child| child.stream == Stream::Tail);
        self.launches.children = tails;
        if !children.is_empty() {
            let numbers = children.iter().map(Child::number);
            self.launches.complete.extend(numbers);
            let in_stream = children
                .iter()
                .rfind(|child| child.stream == Stream::OfBlock);
            self.launches.last_in_stream = in_stream
                .map(Child::number)
                .or(self.launches.last_in_stream);
            let mut observer = self.observer.fork();
            if let Err(trap) = self.run_children(children, &mut observer) {
                self.launches.trap = Some(trap);
            }
            // Kept apart from what is seen of this block, which is not over.
            match &mut self.launches.observed {
                Some(observed) => observed.merge(observer),
                none => *none = Some(observer),
            }
            if self.launches.trap.is_some() {
                return Err(Fault::Trap);
            }
        }
        self.observer.grid_wait(GridWaitEvent {
            warp: site.warp as u32,
            line: site.line,
            lane: lane as u32,
            grids: &self.launches.complete,
        });
        Ok(())
    }

    fn run_children(
        &self,
        children: Vec<Child>,
        observer: &mut O,
    ) -> Result<(), Box<crate::error::Trap>> {
        // Other workers have other blocks to run.
        let like = Run {
            threads: 1,
            ..self.run
        };
        let mut order = Order::of(self.shape.number);
        order.launch(children);
        match like.family.schedule {
            None => tree::run_all(&like, order, observer),
            Some(seed) => {
                let wait = 1 + like.family.waits.fetch_add(1, Ordering::Relaxed);
                let turns = Turns::Random(Schedule::new(seed.wrapping_add(wait << 32)));
                let run = schedule::run(&[like], false, vec![order], turns, observer);
                run.map_err(|(_, trap)| trap)
            }
        }
    }
}
