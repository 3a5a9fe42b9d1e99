//! The library's kernels on a device: which PTX it runs. Each kernel is loaded when it is first needed, and nothing else with it, so
//! that the driver's compiler has little to do.

use crate::device::{Device, DeviceError, Emulator, Kernel, Module};
use crate::matrix::Matrix;
use crate::offsets::OffsetsError;
use crate::ptx::{PtxError, PtxSet, embedded, stays_together};
use std::cell::RefCell;
use std::collections::HashMap;
use warpfold_kernels::catalogue;
use warpfold_ptx::Texts;

/// Why there is no kernel for a device, or why the device failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// There is no PTX of the module for the device.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The device refuses, or fails.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The rows go beyond the values.
    #[error(
        "{} rows of {} elements, {} apart, do not lie within {given} elements: give as many, or fewer rows", matrix.rows, matrix.columns, matrix.stride
    )]
    Outside {
        /// The rows.
        matrix: Matrix,
        /// How many elements there are.
        given: usize,
    },
    /// More values for one result than its operator takes.
    #[error(
        "{values} values are too many for one result of this operator, which takes up to {most}: give fewer{}", or_wider(*most)
    )]
    TooManyValues {
        /// How many there are.
        values: u64,
        /// How many there may be.
        most: u64,
    },
    /// Offsets that are none of segments, or not of the values.
    #[error(transparent)]
    Offsets(#[from] OffsetsError),
    /// Strides or an axis that do not go with the shape of an array.
    #[error(
        "axis {axis} of an array of shape {shape:?} with strides {strides:?} cannot be reduced: give a stride of 0 or more for each axis, and one of the axes"
    )]
    NoAxis {
        /// The length of each axis.
        shape: Vec<usize>,
        /// The distance of two neighbours along each.
        strides: Vec<isize>,
        /// The axis that is to be reduced.
        axis: usize,
    },
    /// PTX of your own that is not that of `reductions!`.
    #[error("the PTX has no kernel `{0}`, which `warpfold_device::reductions!` makes")]
    NoKernel(String),
    /// Two arrays that are taken together, of which one is longer.
    #[error(
        "{left} and {right} elements are not taken together: give two arrays of the same length"
    )]
    Lengths {
        /// Elements of the first.
        left: usize,
        /// Elements of the second.
        right: usize,
    },
    /// A group without a device.
    #[error("a group has one device at least: name some")]
    NoDevices,
    /// More emulated devices than a group takes.
    #[error(
        "{count} emulated devices are too many for a group: take up to {}",
        Device::MOST_EMULATORS
    )]
    TooManyEmulators {
        /// How many were asked for.
        count: usize,
    },
    /// Not one part for each device of a group.
    #[error("{parts} parts for {devices} devices: give one for each, which may be empty")]
    Parts {
        /// How many were given.
        parts: usize,
        /// How many devices there are.
        devices: usize,
    },
    /// Not one stream for each device of a group.
    #[error("{streams} streams for {devices} devices: give one for each")]
    Streams {
        /// How many were given.
        streams: usize,
        /// How many devices there are.
        devices: usize,
    },
    /// Devices that would have to meet on the host, which cannot be queued.
    #[error(
        "these devices do not reach each other's memory, so that a reduction of theirs cannot be queued: call `of`, which waits"
    )]
    NoPeerAccess,
    /// A capture into a graph, which nothing can be allocated in.
    #[error(
        "nothing can be loaded or allocated while a stream is captured: call `prepare` for the same matrix before"
    )]
    Unprepared,
}

/// What else helps where these are the most values for one result.
pub(crate) fn or_wider(most: u64) -> &'static str {
    if most <= u64::from(u32::MAX) {
        ", or take one whose index has 64 bits"
    } else {
        ""
    }
}

/// The PTX that a device takes its kernels from.
#[derive(Debug, Default)]
struct Kernels {
    /// If it is other PTX than this binary carries.
    given: Option<PtxSet>,
    /// What is loaded: a kernel of a module by its entry, or all of a module whose kernels launch one another.
    loaded: RefCell<HashMap<(catalogue::PtxText, Option<String>), Module>>,
}

impl Device {
    /// The same device with other PTX for the kernels than this library carries.
    pub fn with_ptx(self, ptx: PtxSet) -> Self {
        self.attach(Kernels {
            given: Some(ptx),
            loaded: Default::default(),
        });
        self
    }

    /// The emulator with the same PTX, to observe what a GPU does not show.
    pub fn on_emulator(&self) -> Self {
        Self::from(Emulator::new(None)).with_ptx(self.ptx_set())
    }

    /// The PTX of a module for the newest architecture that the device can run.
    ///
    /// # Errors
    /// There is none, or the device is older than every text.
    pub fn ptx(&self, module: catalogue::PtxText) -> Result<String, PtxError> {
        self.with_ptx_set(|ptx| ptx.newest_for(module, self.sm()).map(str::to_owned))
    }

    /// The PTX that its kernels come from: for the device that another thread opens to run the same.
    pub fn ptx_set(&self) -> PtxSet {
        self.with_ptx_set(PtxSet::clone)
    }

    fn with_ptx_set<R>(&self, function: impl FnOnce(&PtxSet) -> R) -> R {
        match &self.attached::<Kernels>().given {
            Some(given) => function(given),
            None => function(&PtxSet::embedded()),
        }
    }

    /// What is recorded of a kernel's registers on a GPU of this compute capability: see [`PtxSet::recorded_registers`].
    pub fn recorded_registers(
        &self,
        module: catalogue::PtxText,
        entry: &str,
        sm: u32,
    ) -> Option<u32> {
        self.with_ptx_set(|ptx| ptx.recorded_registers(module, entry, sm))
    }

    /// The compute capability that a module's kernels are built for on this device: its own, or that of older PTX.
    pub fn sm_of(&self, module: catalogue::PtxText) -> u32 {
        self.with_ptx_set(|ptx| {
            let built = ptx.architectures(module);
            let runnable = built.filter(|&sm| sm <= self.sm());
            runnable.max().unwrap_or_else(|| self.sm())
        })
    }

    /// A kernel of the library, by its module and entry. The first time, it is loaded, which waits for the driver's compiler.
    ///
    /// # Errors
    /// There is no PTX of the module for the device, the device refuses it, or it has no such entry.
    pub fn kernel(&self, module: catalogue::PtxText, entry: &str) -> Result<Kernel, Error> {
        self.kernel_of(module, embedded(module), entry)
    }

    /// As [`Self::kernel`], where this binary carries these texts of the module. It does not carry others on account of this call.
    pub(crate) fn kernel_of(
        &self,
        module: catalogue::PtxText,
        texts: &'static Texts,
        entry: &str,
    ) -> Result<Kernel, Error> {
        let kernels = self.attached::<Kernels>();
        let key = (module, (!stays_together(module)).then(|| entry.to_owned()));
        if let Some(loaded) = kernels.loaded.borrow().get(&key) {
            return Ok(loaded.kernel(entry)?);
        }
        let built_in;
        let ptx = match &kernels.given {
            Some(given) => given,
            None => {
                built_in = PtxSet::of_module(module, texts);
                &built_in
            }
        };
        let loaded = self.load(&ptx.newest_with(module, entry, self.sm())?)?;
        let kernel = loaded.kernel(entry)?;
        kernels.loaded.borrow_mut().insert(key, loaded);
        Ok(kernel)
    }
}
