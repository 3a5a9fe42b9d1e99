//! Times what somebody queues on a stream that they do not hand out.

use cudarc::driver::DriverError;
use cudarc::driver::sys::{self, CUcontext, CUevent, CUfunction, CUmodule, CUstream};
use serde::Deserialize;
use std::ffi::c_void;
use std::ptr;

/// `hold(nanoseconds)`: see there.
const HOLD: &str = concat!(include_str!("../../run/hold.ptx"), "\0");
/// How long the GPU waits while CubeCL's thread queues what is timed.
const HOLD_NANOSECONDS: u64 = 300_000;

/// What a launch finds: see `Finds` of `peers/run/record.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finds {
    Warm,
    Cold,
    Idle,
}

/// A stream and events of the primary context, which CubeCL uses as well.
///
/// What is timed waits for the first event, wherever it is queued, and the second waits for all of it: so the time has in it what
/// one stream needs to hear of another, twice, a few microseconds.
pub struct Clock {
    context: CUcontext,
    stream: CUstream,
    start: CUevent,
    done: CUevent,
    end: CUevent,
    hold: CUfunction,
    /// Twice the L2 cache.
    flush: u64,
    flush_bytes: usize,
}

impl Clock {
    /// On the context that is current.
    pub fn new() -> Result<Self, DriverError> {
        let mut clock = Self {
            context: ptr::null_mut(),
            stream: ptr::null_mut(),
            start: ptr::null_mut(),
            done: ptr::null_mut(),
            end: ptr::null_mut(),
            hold: ptr::null_mut(),
            flush: 0,
            flush_bytes: 0,
        };
        let (mut module, mut l2_bytes): (CUmodule, i32) = (ptr::null_mut(), 0);
        let l2 = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
        // SAFETY: each writes to the place it is given; the PTX and the name end with 0.
        unsafe {
            sys::cuDevicePrimaryCtxRetain(&mut clock.context, 0).result()?;
            sys::cuCtxSetCurrent(clock.context).result()?;
            sys::cuDeviceGetAttribute(&mut l2_bytes, l2, 0).result()?;
            clock.flush_bytes = 2 * l2_bytes.max(1) as usize;
            sys::cuMemAlloc_v2(&mut clock.flush, clock.flush_bytes).result()?;
            // CU_STREAM_NON_BLOCKING
            sys::cuStreamCreate(&mut clock.stream, 1).result()?;
            for event in [&mut clock.start, &mut clock.done, &mut clock.end] {
                sys::cuEventCreate(event, 0).result()?;
            }
            sys::cuModuleLoadData(&mut module, HOLD.as_ptr().cast()).result()?;
            sys::cuModuleGetFunction(&mut clock.hold, module, c"hold".as_ptr()).result()?;
        }
        Ok(clock)
    }

    /// Multiprocessors of the GPU.
    pub fn multiprocessors(&self) -> Result<u32, DriverError> {
        let mut count = 0;
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        // SAFETY: it writes to the place it is given.
        unsafe { sys::cuDeviceGetAttribute(&mut count, attribute, 0).result()? };
        Ok(count.max(1) as u32)
    }

    /// The milliseconds of what `queue` hands to the driver, from a stream of this context to its end.
    pub fn time_ms(
        &self,
        finds: Finds,
        queue: impl FnOnce() -> Result<(), String>,
    ) -> Result<f64, String> {
        let text = |error: DriverError| error.to_string();
        // SAFETY: the memory to overwrite, the stream and the events are this clock's.
        unsafe {
            match finds {
                Finds::Idle => sys::cuCtxSynchronize().result(),
                Finds::Warm | Finds::Cold => self.hold(),
            }
            .map_err(text)?;
            if finds == Finds::Cold {
                self.fill(self.flush, 0, self.flush_bytes).map_err(text)?;
            }
            sys::cuEventRecord(self.start, self.stream)
                .result()
                .map_err(text)?;
            sys::cuCtxWaitEvent(self.context, self.start)
                .result()
                .map_err(text)?;
        }
        queue()?;
        let mut elapsed_ms = 0.0;
        // SAFETY: as before; both events have been recorded when the time between them is asked for.
        unsafe {
            sys::cuCtxRecordEvent(self.context, self.done)
                .result()
                .map_err(text)?;
            sys::cuStreamWaitEvent(self.stream, self.done, 0)
                .result()
                .map_err(text)?;
            sys::cuEventRecord(self.end, self.stream)
                .result()
                .map_err(text)?;
            sys::cuEventSynchronize(self.end).result().map_err(text)?;
            sys::cuEventElapsedTime_v2(&mut elapsed_ms, self.start, self.end)
                .result()
                .map_err(text)?;
        }
        Ok(f64::from(elapsed_ms))
    }

    /// The milliseconds of nothing, the median of some.
    pub fn of_nothing_ms(&self) -> Result<f64, String> {
        let times: Result<Vec<f64>, String> = (0..51)
            .map(|_| self.time_ms(Finds::Warm, || Ok(())))
            .collect();
        let mut times = times?;
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }

    /// Keeps the GPU busy for a while.
    fn hold(&self) -> Result<(), DriverError> {
        let mut nanoseconds = HOLD_NANOSECONDS;
        let mut arguments: [*mut c_void; 1] = [(&raw mut nanoseconds).cast()];
        let (arguments, none) = (arguments.as_mut_ptr(), ptr::null_mut());
        // SAFETY: the kernel takes one number, which is copied, and touches no memory.
        unsafe {
            sys::cuLaunchKernel(self.hold, 1, 1, 1, 1, 1, 1, 0, self.stream, arguments, none)
                .result()
        }
    }

    /// Queues that so much memory of the GPU is filled with this byte, before anything that is timed next.
    ///
    /// # Safety
    /// The memory is there, and nobody else uses it until then.
    pub unsafe fn fill(&self, address: u64, byte: u8, bytes: usize) -> Result<(), DriverError> {
        // SAFETY: the caller's promise.
        unsafe { sys::cuMemsetD8Async(address, byte, bytes, self.stream).result() }
    }
}
