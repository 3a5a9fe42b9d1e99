//! The clock: a stream between two events, and what a launch is to find on the GPU.

use crate::error::PeersError;
use crate::record::Finds;
use warpfold::device::{Argument, Device, DeviceError, Event, Kernel, Shape, Stream};

/// `hold(nanoseconds)` and `empty(input, out, n)`: see there.
pub const HOLD: &str = include_str!("hold.ptx");
/// How long the GPU is kept busy while the host queues a launch and the events around it.
const HOLD_NANOSECONDS: u64 = 30_000;

/// A stream and two events on it.
pub struct Clock {
    stream: Stream,
    start: Event,
    end: Event,
    hold: Kernel,
}

impl Clock {
    /// A clock of this device.
    pub fn new(device: &Device) -> Result<Self, PeersError> {
        Ok(Self {
            stream: device.stream()?,
            start: device.event()?,
            end: device.event()?,
            hold: device.load(HOLD)?.kernel("hold")?,
        })
    }

    /// What everything is queued on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes the GPU what the next launch is to find.
    ///
    /// While it is not to be found idle, it is held for so long that everything is queued meanwhile, and the time has no work of the
    /// host in it, unless that takes longer or itself waits for the GPU.
    pub fn prepare(&self, finds: Finds) -> Result<(), DeviceError> {
        match finds {
            Finds::Warm => self.hold(),
            Finds::Cold => {
                self.hold()?;
                self.stream.overwrite_l2()
            }
            Finds::Idle => self.stream.synchronize(),
        }
    }

    /// The milliseconds that the GPU takes for what `queue` queues; NaN on the emulator, which has no times.
    pub fn elapsed_ms(
        &self,
        queue: impl FnOnce(&Stream) -> Result<(), PeersError>,
    ) -> Result<f64, PeersError> {
        self.stream.record(&self.start)?;
        queue(&self.stream)?;
        self.stream.record(&self.end)?;
        self.end.synchronize()?;
        match self.end.elapsed_ms_since(&self.start) {
            Err(DeviceError::NoTimes) => Ok(f64::NAN),
            elapsed => Ok(elapsed?),
        }
    }

    /// Keeps the GPU busy for a while.
    fn hold(&self) -> Result<(), DeviceError> {
        let nanoseconds = [Argument::from(HOLD_NANOSECONDS)];
        // SAFETY: the kernel touches no memory.
        unsafe {
            self.stream
                .launch(&self.hold, &Shape::linear(1, 1), &nanoseconds)
        }
    }
}
