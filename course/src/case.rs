//! A launch with everything it needs: what is run, timed, profiled, checked and drawn, for every lesson.

use std::borrow::Cow;
use warpfold::device::{
    Argument, Buffer, Counters, Device, DeviceError, Kernel, Pod, Shape, Times, Timing, Watch,
};
use warpfold_emulator::{GridCounts, Grids, HostInstant};

/// A launch of one kernel, with the contents of its buffers.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The name of the kernel's `.entry`.
    pub entry: &'static str,
    /// Its blocks and threads.
    pub shape: Shape,
    /// One argument per parameter, in order.
    pub arguments: Vec<CaseArgument<'a>>,
}

/// An argument of a [`Case`].
#[derive(Clone, Debug)]
pub struct CaseArgument<'a>(Kind<'a>);

#[derive(Clone, Debug)]
enum Kind<'a> {
    Scalar(Argument),
    /// Bytes that the kernel only reads.
    Read(Cow<'a, [u8]>),
    /// Bytes that the kernel changes: each launch needs them afresh.
    Rewritten(Cow<'a, [u8]>),
    /// Room for what the kernel writes: this many bytes, which repeat the pattern before the launch.
    Written {
        bytes: usize,
        pattern: Vec<u8>,
    },
}

impl<'a> CaseArgument<'a> {
    /// A number.
    pub fn scalar(value: impl Into<Argument>) -> Self {
        Self(Kind::Scalar(value.into()))
    }

    /// A buffer that the kernel only reads.
    pub fn input<T: Pod>(values: impl Into<Cow<'a, [T]>>) -> Self {
        Self(Kind::Read(bytes_of(values.into())))
    }

    /// A buffer that the kernel reads and overwrites: each launch finds these values in it.
    pub fn rewritten<T: Pod>(values: impl Into<Cow<'a, [T]>>) -> Self {
        Self(Kind::Rewritten(bytes_of(values.into())))
    }

    /// A buffer of `length` values that the kernel writes. Sanitizers see it uninitialised. Elsewhere it is full of
    /// `unwritten`, a value that the kernel is unlikely to leave: memory that was just freed may still hold the right
    /// results of another kernel, and a kernel that writes nothing must not pass for right.
    pub fn output<T: Pod>(length: usize, unwritten: T) -> Self {
        Self(Kind::Written {
            // What does not fit into an address fits into no memory either.
            bytes: length.saturating_mul(size_of::<T>()),
            pattern: bytemuck::bytes_of(&unwritten).to_vec(),
        })
    }

    /// The bytes of its buffer, and what it holds before the launch, unless that is nothing yet; `None` for a number.
    pub(crate) fn buffer(&self) -> Option<(usize, Option<&[u8]>)> {
        match &self.0 {
            Kind::Scalar(_) => None,
            Kind::Read(bytes) | Kind::Rewritten(bytes) => Some((bytes.len(), Some(bytes))),
            Kind::Written { bytes, .. } => Some((*bytes, None)),
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<&Argument> {
        match &self.0 {
            Kind::Scalar(number) => Some(number),
            _ => None,
        }
    }

    /// What its buffer is filled with before the first launch; `None` for a number.
    pub fn contents(&self) -> Option<Cow<'_, [u8]>> {
        match &self.0 {
            Kind::Scalar(_) => None,
            Kind::Read(bytes) | Kind::Rewritten(bytes) => Some(Cow::Borrowed(&**bytes)),
            Kind::Written { bytes, pattern } => {
                Some(pattern.iter().copied().cycle().take(*bytes).collect())
            }
        }
    }

    /// Whether each launch has to find these contents, because the one before it has overwritten them.
    pub fn is_rewritten(&self) -> bool {
        matches!(self.0, Kind::Rewritten(_))
    }

    fn load(&self, device: &Device) -> Result<Loaded, DeviceError> {
        if let Kind::Scalar(number) = &self.0 {
            return Ok(Loaded::Scalar(number.clone()));
        }
        let buffer = device.upload::<u8>(&self.contents().unwrap_or_default())?;
        let pristine = match &self.0 {
            // The emulator, where a second launch can break nothing, saves the memory.
            Kind::Rewritten(bytes) if device.is_gpu() => Some(device.upload::<u8>(bytes)?),
            _ => None,
        };
        Ok(Loaded::Buffer { buffer, pristine })
    }
}

fn bytes_of<T: Pod>(values: Cow<'_, [T]>) -> Cow<'_, [u8]> {
    match values {
        Cow::Borrowed(values) => Cow::Borrowed(bytemuck::cast_slice(values)),
        Cow::Owned(values) => Cow::Owned(bytemuck::cast_slice(&values).to_vec()),
    }
}

impl Case<'_> {
    /// The same with contents of its own.
    pub fn into_owned(self) -> Case<'static> {
        let owned = |bytes: Cow<'_, [u8]>| Cow::Owned(bytes.into_owned());
        let argument = |CaseArgument(kind): CaseArgument<'_>| {
            CaseArgument(match kind {
                Kind::Scalar(number) => Kind::Scalar(number),
                Kind::Read(bytes) => Kind::Read(owned(bytes)),
                Kind::Rewritten(bytes) => Kind::Rewritten(owned(bytes)),
                Kind::Written { bytes, pattern } => Kind::Written { bytes, pattern },
            })
        };
        Case {
            entry: self.entry,
            shape: self.shape,
            arguments: self.arguments.into_iter().map(argument).collect(),
        }
    }

    /// Bytes of all its buffers.
    pub fn bytes(&self) -> u64 {
        let buffers = self.arguments.iter().filter_map(CaseArgument::buffer);
        buffers.map(|(bytes, _)| bytes as u64).sum()
    }

    /// Uploads the buffers.
    ///
    /// # Errors
    /// The device has too little memory.
    ///
    /// # Safety
    /// The kernel is of the same device. Launched in this shape with these arguments, where the buffers hold what the case gives
    /// them, it reads and writes only inside these buffers. (The emulator checks every access, and any case is sound there.)
    pub(crate) unsafe fn load(
        &self,
        device: &Device,
        kernel: Kernel,
    ) -> Result<LoadedCase, DeviceError> {
        Ok(LoadedCase {
            was_launched: false,
            kernel,
            shape: self.shape,
            arguments: self
                .arguments
                .iter()
                .map(|argument| argument.load(device))
                .collect::<Result<_, _>>()?,
            is_gpu: device.is_gpu(),
        })
    }
}

/// What a launch tells beside its results.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one for each launch of thousands of blocks"
)]
pub enum Measured {
    /// Nothing: there was no launch, or no time was asked for.
    Nothing,
    /// Device times of the kernel on a GPU.
    Times(Times),
    /// What the emulator counted, and how long it took, which says nothing about a GPU.
    Counters {
        /// The counters of the one launch.
        counters: Counters,
        /// Its grids and threads.
        grids: GridCounts,
        /// Host time of the launch.
        emulated_in_ms: f64,
    },
}

/// A case with its buffers on a device. Each launch finds in them what the case gives them; on the emulator, only the first.
#[derive(Debug)]
pub(crate) struct LoadedCase {
    kernel: Kernel,
    shape: Shape,
    arguments: Vec<Loaded>,
    is_gpu: bool,
    /// Whether the buffers that the kernel overwrites have to be restored.
    was_launched: bool,
}

#[derive(Debug)]
enum Loaded {
    Scalar(Argument),
    Buffer {
        buffer: Buffer<u8>,
        /// For a buffer that the kernel overwrites, on a GPU: what each launch finds there.
        pristine: Option<Buffer<u8>>,
    },
}

impl LoadedCase {
    /// A launch: counted on the emulator, without times on a GPU.
    ///
    /// # Errors
    /// A launch that the device refuses, or a fault of the kernel.
    pub fn launch(&mut self) -> Result<Measured, DeviceError> {
        if self.is_gpu {
            self.restore()?;
            // SAFETY: the kernel keeps to the buffers, as `Case::load` was promised: they are alive and hold what the case gives them.
            unsafe { self.kernel.launch(&self.shape, &self.arguments())? };
            return Ok(Measured::Nothing);
        }
        let mut observer = (Counters::default(), Grids::default());
        let start = HostInstant::now();
        self.observe(&mut observer)?;
        let emulated_in_ms = start.elapsed().as_secs_f64() * 1e3;
        let (counters, grids) = observer;
        Ok(Measured::Counters {
            counters,
            grids: grids.counts(),
            emulated_in_ms,
        })
    }

    /// A launch on the emulator while `observer` watches.
    ///
    /// # Errors
    /// As [`Self::launch`], and a device that is a GPU.
    pub fn observe(&mut self, observer: &mut dyn Watch) -> Result<(), DeviceError> {
        self.restore()?;
        let arguments = self.arguments();
        self.kernel.observe(&self.shape, &arguments, observer)
    }

    /// As [`Self::observe`], where the buffers hold what another case gives them.
    ///
    /// # Errors
    /// As [`Self::observe`], and buffers of other sizes.
    pub fn observe_with(
        &mut self,
        case: &Case<'_>,
        observer: &mut dyn Watch,
    ) -> Result<(), DeviceError> {
        if self.is_gpu {
            return Err(DeviceError::NotObservable);
        }
        self.was_launched = true;
        for (loaded, argument) in self.arguments.iter_mut().zip(&case.arguments) {
            if let (Loaded::Buffer { buffer, .. }, Some(contents)) = (loaded, argument.contents()) {
                buffer.write(&contents)?;
            }
        }
        self.kernel
            .observe(&self.shape, &self.arguments(), observer)
    }

    /// Timed launches on a GPU.
    ///
    /// # Errors
    /// As [`Self::launch`], and a device that is no GPU.
    pub fn time(&mut self, timing: &Timing) -> Result<Times, DeviceError> {
        let arguments = self.arguments();
        self.was_launched = true;
        let Self {
            kernel,
            shape,
            arguments: loaded,
            ..
        } = self;
        // SAFETY: as in `launch`; the buffers are restored before each launch.
        unsafe { kernel.time(shape, &arguments, timing, || restore(loaded)) }
    }

    /// Makes the buffers ready for a launch, which follows.
    fn restore(&mut self) -> Result<(), DeviceError> {
        if std::mem::replace(&mut self.was_launched, true) {
            restore(&mut self.arguments)?;
        }
        Ok(())
    }

    /// What the last launch left in the buffers.
    pub fn outputs(&self) -> Outputs<'_> {
        Outputs(Left::OnDevice(&self.arguments))
    }

    /// The arguments as the kernel gets them.
    pub fn arguments(&self) -> Vec<Argument> {
        let argument = |loaded: &Loaded| match loaded {
            Loaded::Scalar(number) => number.clone(),
            Loaded::Buffer { buffer, .. } => buffer.argument(),
        };
        self.arguments.iter().map(argument).collect()
    }
}

/// Fills the buffers that the kernel overwrites with what they held before.
fn restore(arguments: &mut [Loaded]) -> Result<(), DeviceError> {
    for argument in arguments {
        if let Loaded::Buffer {
            buffer,
            pristine: Some(pristine),
        } = argument
        {
            buffer.copy_from(pristine)?;
        }
    }
    Ok(())
}

/// What a launch left in its buffers.
#[derive(Debug)]
pub(crate) struct Outputs<'a>(Left<'a>);

#[derive(Debug)]
enum Left<'a> {
    OnDevice(&'a [Loaded]),
    Copied(&'a [Vec<u8>]),
}

impl<'a> Outputs<'a> {
    /// Of a launch that somebody else made of a [`Case`]: the bytes of each argument's buffer, none for a number.
    pub fn copied(buffers: &'a [Vec<u8>]) -> Self {
        Self(Left::Copied(buffers))
    }

    /// The values in the buffer of the argument of this index, counted from 0.
    ///
    /// # Errors
    /// The copy fails, for example after a kernel faulted.
    ///
    /// # Panics
    /// The argument is a number.
    pub fn read<T: Pod>(&self, argument: usize) -> Result<Vec<T>, DeviceError> {
        let zeros = |bytes| vec![T::zeroed(); bytes / size_of::<T>()];
        match self.0 {
            Left::OnDevice(arguments) => {
                let Loaded::Buffer { buffer, .. } = &arguments[argument] else {
                    panic!("argument {argument} is a number")
                };
                let mut values = zeros(buffer.len());
                buffer.read_into(bytemuck::cast_slice_mut(&mut values))?;
                Ok(values)
            }
            Left::Copied(buffers) => {
                let mut values = zeros(buffers[argument].len());
                bytemuck::cast_slice_mut(&mut values).copy_from_slice(&buffers[argument]);
                Ok(values)
            }
        }
    }
}
