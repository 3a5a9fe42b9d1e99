//! Where the contenders meet: one input on one GPU, one stream, one way to time.

use crate::error::PeersError;
use crate::record::Cache;
use warpfold::device::{Argument, Buffer, Device, DeviceError, Event, Kernel, Shape, Stream};

/// `hold(nanoseconds)`: see there.
const HOLD: &str = include_str!("hold.ptx");
/// How long the GPU is kept busy while the host queues a launch and the events around it.
const HOLD_NANOSECONDS: u64 = 30_000;
/// Elements that every buffer has room for: another process that opens a smaller buffer is given what lies before it as well.
const LEAST_LENGTH: usize = (2 << 20) / size_of::<i32>();

/// What a contender says of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The sum of all elements, modulo 2^32.
    Sum(i32),
    /// The exclusive or of all elements.
    Fold(i32),
}

/// The input and the clock.
pub struct Arena {
    n: usize,
    /// The input, which every contender reads; behind n elements it is 0.
    input: Buffer<i32>,
    /// The input for those who overwrite it.
    working: Buffer<i32>,
    sum: i32,
    fold: i32,
    stream: Stream,
    start: Event,
    end: Event,
    hold: Kernel,
}

impl Arena {
    /// Puts the values on the GPU.
    pub fn new(device: &Device, mut values: Vec<i32>) -> Result<Self, PeersError> {
        let n = values.len();
        let sum = values
            .iter()
            .fold(0, |sum: i32, &value| sum.wrapping_add(value));
        let fold = values.iter().fold(0, |fold, &value| fold ^ value);
        values.resize(n.max(LEAST_LENGTH), 0);
        Ok(Self {
            n,
            input: device.upload(&values)?,
            working: device.upload(&values)?,
            sum,
            fold,
            stream: device.stream()?,
            start: device.event()?,
            end: device.event()?,
            hold: device.load(HOLD)?.kernel("hold")?,
        })
    }

    /// The number of elements.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The input.
    pub fn input(&self) -> &Buffer<i32> {
        &self.input
    }

    /// The milliseconds of one launch, which `queue` queues on a stream for an input. Who overwrites the input gets it afresh, outside
    /// of the time.
    ///
    /// A launch that is warm follows another one of the same contender. The GPU is busy with waiting until everything is queued, so
    /// that the time has no work of the host in it, unless `queue` itself waits for the GPU.
    pub fn time_ms(
        &mut self,
        cache: Cache,
        in_place: bool,
        mut queue: impl FnMut(&Stream, &Buffer<i32>) -> Result<(), PeersError>,
    ) -> Result<f64, PeersError> {
        if cache == Cache::Warm {
            self.refresh(in_place)?;
            queue(&self.stream, self.buffer(in_place))?;
        }
        self.refresh(in_place)?;
        let nanoseconds = [Argument::from(HOLD_NANOSECONDS)];
        // SAFETY: the kernel touches no memory.
        unsafe {
            self.stream
                .launch(&self.hold, &Shape::linear(1, 1), &nanoseconds)?
        };
        if cache == Cache::Cold {
            self.stream.overwrite_l2()?;
        }
        self.stream.record(&self.start)?;
        queue(&self.stream, self.buffer(in_place))?;
        self.stream.record(&self.end)?;
        self.end.synchronize()?;
        Ok(self.end.elapsed_ms_since(&self.start)?)
    }

    /// Waits for everything that is queued.
    pub fn wait(&self) -> Result<(), DeviceError> {
        self.stream.synchronize()
    }

    /// Whether an answer is right.
    pub fn check(&self, name: &str, answer: Answer) -> Result<(), PeersError> {
        let (given, expected) = match answer {
            Answer::Sum(given) => (given, self.sum),
            Answer::Fold(given) => (given, self.fold),
        };
        if given == expected {
            return Ok(());
        }
        Err(PeersError::Wrong {
            name: name.to_owned(),
            n: self.n,
            given,
            expected,
        })
    }

    fn buffer(&self, in_place: bool) -> &Buffer<i32> {
        if in_place { &self.working } else { &self.input }
    }

    fn refresh(&mut self, in_place: bool) -> Result<(), DeviceError> {
        if in_place {
            self.stream.copy(&self.input, &mut self.working)?;
        }
        Ok(())
    }
}
