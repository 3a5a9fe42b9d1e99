//! What a solution takes on a GPU, beside the reference. No star depends on it.

use std::fmt;
use warpfold::Device;
use warpfold::device::{Argument, Buffer, DeviceChoice, DeviceError, Kernel, Shape, Timing};
use warpfold_exercises::case::{self, Array, Case, Contents};
use warpfold_exercises::{Compiled, Exercise};

/// Elements of the launch that is timed.
const N: usize = 1 << 18;

/// Timed launches.
const TIMING: Timing = Timing {
    repeat: 101,
    cold: false,
};

/// A GPU, as soon as it is needed and if there is one.
#[derive(Default)]
pub struct Gpu(Option<Option<Device>>);

/// Median times, in milliseconds.
pub struct Times {
    yours: f64,
    reference: f64,
    device: String,
}

/// What a line about a GPU says.
pub enum Line {
    /// There is none.
    NoGpu,
    /// How long launches took.
    Times(Times),
    /// Why there are no times.
    Problem(String),
}

impl Gpu {
    /// Times a solution that is right and sound, and its reference.
    pub fn time(&mut self, exercise: &Exercise, ptx: &Compiled) -> Line {
        let gpu = self
            .0
            .get_or_insert_with(|| Device::open(&DeviceChoice::Gpu(0)).ok());
        let Some(gpu) = gpu else {
            return Line::NoGpu;
        };
        let emulator = match Device::open(&DeviceChoice::Emulator) {
            Ok(emulator) => emulator,
            Err(error) => return Line::Problem(error.to_string()),
        };
        let case = (exercise.case)(N, exercise.offsets[0]);
        let of = |ptx| time(gpu, &emulator, exercise.kernel, ptx, &case);
        match (of(&ptx.yours), of(&ptx.reference)) {
            (Ok(yours), Ok(reference)) => Line::Times(Times {
                yours,
                reference,
                device: gpu.describe(),
            }),
            (Err(problem), _) => Line::Problem(problem),
            (_, Err(problem)) => Line::Problem(format!("the reference: {problem}")),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGpu => f.write_str("no GPU is here to time it on"),
            Self::Times(times) => write!(
                f,
                "{}\nn = {N}: yours {:.4} ms · reference {:.4} ms, medians of {} launches; no star depends on them",
                times.device, times.yours, times.reference, TIMING.repeat
            ),
            Self::Problem(problem) => write!(f, "no time on the GPU: {problem}"),
        }
    }
}

/// The median time of a launch on the GPU. The launch runs on the emulator first, and has to be right on both.
fn time(
    gpu: &Device,
    emulator: &Device,
    entry: &str,
    ptx: &str,
    case: &Case,
) -> Result<f64, String> {
    let words = |error: DeviceError| error.to_string();
    let watched = LoadedCase::new(emulator, entry, ptx, case).map_err(words)?;
    // SAFETY: this is the emulator, which checks every access.
    unsafe { watched.kernel.launch(&watched.shape, &watched.arguments) }.map_err(words)?;
    watched.judge("the emulator")?;
    let mut prepared = LoadedCase::new(gpu, entry, ptx, case).map_err(words)?;
    let LoadedCase {
        kernel,
        shape,
        arguments,
        arrays,
        ..
    } = &mut prepared;
    let restore = || {
        let mut arrays = arrays.iter_mut();
        arrays.try_for_each(|placed| placed.buffer.copy_from(&placed.before))
    };
    // SAFETY: the very same launch has run on the emulator without leaving its buffers, and the solution is clean in every order that
    // was tried; the buffers are of bytes, which may hold anything.
    let times = unsafe { kernel.time(shape, arguments, &TIMING, restore) }.map_err(words)?;
    prepared.judge("the GPU")?;
    Ok(times.median_ms())
}

/// A launch with its buffers.
struct LoadedCase<'a> {
    kernel: Kernel,
    shape: Shape,
    arguments: Vec<Argument>,
    arrays: Vec<Placed<'a>>,
}

/// An array on the device, after the elements that nobody may touch.
struct Placed<'a> {
    array: &'a Array,
    before: Buffer<u8>,
    buffer: Buffer<u8>,
    lead: usize,
}

impl<'a> LoadedCase<'a> {
    fn new(device: &Device, entry: &str, ptx: &str, case: &'a Case) -> Result<Self, DeviceError> {
        let kernel = device.load(ptx)?.kernel(entry)?;
        let mut arguments = Vec::new();
        let mut arrays = Vec::new();
        for argument in &case.arguments {
            arguments.push(match argument {
                case::Argument::Number(value) => Argument::Bytes(value.bytes()),
                case::Argument::Array(array) => {
                    let values = array.values();
                    let lead = array.offset * values.size();
                    let mut bytes = vec![0; lead];
                    match &array.before {
                        Contents::Written(values) => bytes.extend(values.bytes()),
                        Contents::Unwritten(values) => bytes.resize(lead + values.bytes().len(), 0),
                    }
                    let before = device.upload(&bytes)?;
                    let buffer = device.upload(&bytes)?;
                    let address = buffer.address() + lead as u64;
                    arrays.push(Placed {
                        array,
                        before,
                        buffer,
                        lead,
                    });
                    Argument::Address(address)
                }
            });
        }
        let shape = Shape::linear(case.grid, case.block)
            .with_dynamic_shared_bytes(case.shared_bytes)
            .with_cooperative(case.cooperative);
        Ok(Self {
            kernel,
            shape,
            arguments,
            arrays,
        })
    }

    /// Whether the arrays hold what they must.
    fn judge(&self, place: &str) -> Result<(), String> {
        for placed in &self.arrays {
            let bytes = placed.buffer.read().map_err(|error| error.to_string())?;
            if let Some(mismatch) = placed.array.judge(&bytes[placed.lead..]) {
                return Err(format!("on {place} its result is wrong: {mismatch}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_exercises::{ARCH, EXERCISES, Workshop};

    /// The variable that names a folder of the references' PTX: they are written there where a compiler is, and read on a machine that has
    /// a GPU and no compiler.
    const FOLDER: &str = "WARPFOLD_REFERENCES";

    fn reference(exercise: &Exercise, workshop: &mut Workshop) -> String {
        let file = std::env::var_os(FOLDER).map(|folder| {
            std::fs::create_dir_all(&folder).expect("the folder can be made");
            std::path::Path::new(&folder).join(format!("{}.ptx", exercise.id))
        });
        if let Some(text) = file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok())
        {
            return text;
        }
        let compiled = workshop.compile_once("reference.rs", exercise.reference(), ARCH);
        let compiled = compiled.expect("references compile");
        if let Some(file) = &file {
            std::fs::write(file, &compiled).expect("the file can be written");
        }
        compiled
    }

    /// Times are printed where a GPU is.
    #[test]
    #[ignore = "it compiles twenty kernels for GPUs, for which it may have to fetch a compiler"]
    fn every_reference_runs_at_the_size_that_is_timed() {
        let mut workshop = Workshop::open().expect("a workshop");
        let emulator = Device::open(&DeviceChoice::Emulator).expect("it is always there");
        let mut gpu = Gpu::default();
        for exercise in EXERCISES {
            let reference = reference(exercise, &mut workshop);
            let case = (exercise.case)(N, exercise.offsets[0]);
            let prepared = LoadedCase::new(&emulator, exercise.kernel, &reference, &case);
            let prepared = prepared.expect("it loads");
            // SAFETY: this is the emulator, which checks every access.
            unsafe { prepared.kernel.launch(&prepared.shape, &prepared.arguments) }
                .expect("it runs");
            prepared.judge("the emulator").expect(exercise.id);
            let ptx = Compiled {
                yours: reference.clone(),
                reference,
            };
            let line = gpu.time(exercise, &ptx);
            println!("{}: {line}", exercise.id);
            assert!(!matches!(line, Line::Problem(_)), "{}: {line}", exercise.id);
        }
    }
}
