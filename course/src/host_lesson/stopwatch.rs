//! Times of repeated work: by the device's clock and by the host's.

use super::Setting;
use warpfold::device::{DeviceError, Event, Stream, Times};
use warpfold_emulator::HostInstant;

/// Takes times on a GPU. On the emulator the work is done once, untimed.
pub(super) struct Stopwatch {
    /// How often each time is taken; 0 where there are none to take.
    repeat: usize,
    start: Event,
    end: Event,
}

impl Stopwatch {
    pub(super) fn new(setting: &Setting<'_>) -> Result<Self, DeviceError> {
        Ok(Self {
            repeat: if setting.device.is_gpu() {
                setting.repeat.max(1)
            } else {
                0
            },
            start: setting.device.event()?,
            end: setting.device.event()?,
        })
    }

    /// One that takes each time once: for work that is slow.
    pub(super) fn once(setting: &Setting<'_>) -> Result<Self, DeviceError> {
        Self::new(&Setting {
            repeat: 1,
            ..*setting
        })
    }

    /// The median time between an event before and one after what `work` queues on the stream, where the device has times.
    /// `prepare` runs before each, outside the time. If what it queues takes longer than queueing the work, the work starts right after it,
    /// and the time has no launch in it. The first of all runs is not timed.
    pub(super) fn device_ms(
        &self,
        stream: &Stream,
        mut prepare: impl FnMut() -> Result<(), DeviceError>,
        mut work: impl FnMut() -> Result<(), DeviceError>,
    ) -> Result<Option<f64>, DeviceError> {
        self.median(
            || {
                prepare()?;
                stream.record(&self.start)?;
                work()?;
                stream.record(&self.end)?;
                self.end.synchronize()?;
                Ok(())
            },
            |()| self.end.elapsed_ms_since(&self.start),
        )
    }

    /// The median time that `work` takes by the host's clock, where that is of interest. `prepare` runs before each, outside the time,
    /// and returns only when the device is idle. The first of all runs is not timed.
    pub(super) fn host_ms(
        &self,
        mut prepare: impl FnMut() -> Result<(), DeviceError>,
        mut work: impl FnMut() -> Result<(), DeviceError>,
    ) -> Result<Option<f64>, DeviceError> {
        self.median(
            || {
                prepare()?;
                let start = HostInstant::now();
                work()?;
                Ok(start.elapsed().as_secs_f64() * 1e3)
            },
            Ok,
        )
    }

    /// What `work` returns, and how long it took by the host's clock, where that is of interest.
    pub(super) fn once_ms<T>(
        &self,
        work: impl FnOnce() -> Result<T, DeviceError>,
    ) -> Result<(T, Option<f64>), DeviceError> {
        let start = HostInstant::now();
        let result = work()?;
        let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
        Ok((result, (self.repeat > 0).then_some(elapsed_ms)))
    }

    /// Runs once, and then, on a GPU, as often as times are taken.
    fn median<T>(
        &self,
        mut run: impl FnMut() -> Result<T, DeviceError>,
        elapsed_ms: impl Fn(T) -> Result<f64, DeviceError>,
    ) -> Result<Option<f64>, DeviceError> {
        run()?;
        let elapsed_ms = (0..self.repeat)
            .map(|_| elapsed_ms(run()?))
            .collect::<Result<Vec<_>, _>>()?;
        Ok((!elapsed_ms.is_empty()).then(|| Times { elapsed_ms }.median_ms()))
    }
}

/// Gigabytes (10^9) per second.
pub(super) fn gigabytes_per_second(bytes: usize, elapsed_ms: Option<f64>) -> Option<f64> {
    elapsed_ms.map(|elapsed_ms| bytes as f64 / (elapsed_ms * 1e6))
}

/// How many times as fast as what took `reference_ms`.
pub(super) fn speed_up(reference_ms: Option<f64>, elapsed_ms: Option<f64>) -> Option<f64> {
    Some(reference_ms? / elapsed_ms?)
}
