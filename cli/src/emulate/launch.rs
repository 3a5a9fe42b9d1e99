//! A kernel of a PTX file with its arguments in the emulator's memory, ready to be launched.

use super::argument::{Argument, Contents};
use super::extents::Extents;
use crate::failure::Failure;
use crate::suggest::did_you_mean;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use warpfold_course::check::Subject;
use warpfold_course::element::ElementType;
use warpfold_emulator::{Kernel, Launch, LaunchError, Memory, Module, Program, Watch};

/// A launch that has yet to happen.
pub struct EmulatedLaunch {
    file: PathBuf,
    kernel: Arc<Kernel>,
    memory: Memory,
    shape: Launch,
    placed: Vec<Placed>,
}

/// A kernel argument on the device.
struct Placed {
    /// What the kernel finds in its parameter.
    parameter: Vec<u8>,
    /// Where the argument is a buffer: its place.
    buffer: Option<PlacedBuffer>,
}

#[derive(Clone, Copy)]
struct PlacedBuffer {
    element_type: ElementType,
    address: u64,
    bytes: usize,
}

impl EmulatedLaunch {
    /// Reads the file, finds the kernel and places its arguments.
    pub fn new(
        file: &Path,
        kernel: &str,
        shape: Launch,
        arguments: &[Argument],
    ) -> Result<Self, Failure> {
        let source = std::fs::read_to_string(file)
            .map_err(|error| Failure::Input(format!("cannot read {}: {error}", file.display())))?;
        Self::from_text(file, &source, kernel, shape, arguments)
    }

    /// The same for a text that is at hand; `file` is its name.
    pub fn from_text(
        file: &Path,
        source: &str,
        kernel: &str,
        shape: Launch,
        arguments: &[Argument],
    ) -> Result<Self, Failure> {
        let module = parse(file, source, kernel)?;
        let mut memory = Memory::new();
        let program = Program::load(module, &mut memory).map_err(|error| failure(file, &error))?;
        let kernel = program
            .kernel(kernel)
            .map_err(|error| failure(file, &error))?;
        check_parameters(&kernel, arguments)?;
        let placed = arguments
            .iter()
            .map(|argument| place(argument, &mut memory))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            file: file.to_owned(),
            kernel,
            memory,
            shape,
            placed,
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// Dynamic shared memory of a block, in bytes.
    pub fn dynamic_shared_bytes(&self) -> u32 {
        self.shape.dynamic_shared_bytes
    }

    /// Blocks of the launch.
    pub fn grid(&self) -> Extents {
        Extents(self.shape.grid)
    }

    /// Runs the kernel to its end while `observer` watches.
    pub fn launch(&self, observer: &mut dyn Watch) -> Result<(), Failure> {
        let parameters: Vec<Vec<u8>> = self
            .placed
            .iter()
            .map(|argument| argument.parameter.clone())
            .collect();
        let (kernel, memory) = (&self.kernel, &self.memory);
        warpfold_emulator::launch(kernel, memory, &self.shape, &parameters, observer)
            .map_err(|error| failure(&self.file, &error))
    }

    /// The launch, for sanitizers.
    pub fn into_subject(self) -> Subject {
        let parameters = self.placed.into_iter().map(|argument| argument.parameter);
        Subject::new(self.kernel, self.memory, self.shape, parameters.collect())
    }

    /// The contents of a buffer argument, by its number from 0.
    pub fn read_buffer(&self, index: usize) -> Result<(ElementType, Vec<u8>), Failure> {
        let buffer = self
            .placed
            .get(index)
            .and_then(|argument| argument.buffer)
            .ok_or_else(|| Failure::Input(format!("argument {index} is not a buffer")))?;
        let mut bytes = vec![0; buffer.bytes];
        self.memory
            .read(buffer.address, &mut bytes)
            .map_err(Failure::input)?;
        Ok((buffer.element_type, bytes))
    }
}

fn parse(path: &Path, source: &str, kernel: &str) -> Result<Module, Failure> {
    let file = path.display();
    let module = Module::parse(source).map_err(|error| failure(path, &error.into()))?;
    let entries: Vec<&str> = module.entries().collect();
    if entries.is_empty() {
        return Err(Failure::Input(format!(
            "{file} has no kernel: there is no .entry in it"
        )));
    }
    if !entries.contains(&kernel) {
        let suggestion = did_you_mean(kernel, entries);
        return Err(Failure::Input(format!(
            "{file} has no kernel `{kernel}`{suggestion}"
        )));
    }
    Ok(module)
}

/// A fault of the kernel is a finding; everything else is bad input.
fn failure(file: &Path, error: &LaunchError) -> Failure {
    match error {
        LaunchError::Trap(trap) => Failure::finding(trap),
        LaunchError::Ptx(error) => Failure::Input(format!("{}: {error}", file.display())),
        error => Failure::input(error),
    }
}

fn check_parameters(kernel: &Kernel, arguments: &[Argument]) -> Result<(), Failure> {
    let parameters = kernel.parameters();
    if parameters.len() != arguments.len() {
        let sizes: Vec<String> = parameters
            .iter()
            .map(|parameter| format!("{} of {} bytes", parameter.name, parameter.bytes))
            .collect();
        return Err(Failure::Input(format!(
            "kernel `{}` takes {} arguments and {} given; its parameters are: {}",
            kernel.name(),
            parameters.len(),
            arguments.len(),
            if sizes.is_empty() {
                "none".to_owned()
            } else {
                sizes.join(", ")
            }
        )));
    }
    for (index, (parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
        let bytes = match argument {
            Argument::Scalar(_, bytes) | Argument::Bytes(bytes) => bytes.len(),
            Argument::Buffer(..) => size_of::<u64>(),
        };
        if bytes != parameter.bytes {
            return Err(Failure::Input(format!(
                "argument {index} has {bytes} bytes where parameter {} of kernel `{}` has {}; give a value of that size",
                parameter.name,
                kernel.name(),
                parameter.bytes
            )));
        }
    }
    Ok(())
}

fn place(argument: &Argument, memory: &mut Memory) -> Result<Placed, Failure> {
    match argument {
        Argument::Scalar(_, bytes) | Argument::Bytes(bytes) => Ok(Placed {
            parameter: bytes.clone(),
            buffer: None,
        }),
        Argument::Buffer(element_type, contents) => {
            let bytes = contents.bytes(*element_type).map_err(Failure::Input)?;
            let address = memory.allocate(bytes.len()).map_err(Failure::input)?;
            if !matches!(contents, Contents::Uninitialised(_)) {
                memory.write(address, &bytes).map_err(Failure::input)?;
            }
            Ok(Placed {
                parameter: address.to_le_bytes().to_vec(),
                buffer: Some(PlacedBuffer {
                    element_type: *element_type,
                    address,
                    bytes: bytes.len(),
                }),
            })
        }
    }
}
