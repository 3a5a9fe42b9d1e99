//! Launches by `warpfold::device`, on the emulator and on a GPU if there is one.

#![allow(dead_code, reason = "each test uses some of it")]

use warpfold::Device;
use warpfold::device::{Argument, Buffer, DeviceChoice, Module, Shape};
use warpfold_emulator::{
    Kernel, Launch, Memory, Order, Program, Tool, check, compare_orders, entries,
};

/// An argument of a kernel.
#[derive(Clone)]
pub enum Given {
    /// Bytes, from this offset of a buffer on, to the end of it.
    Bytes(Vec<u8>, usize),
    /// Room for as many bytes, which nothing has written.
    Room(usize),
    /// A number.
    Number(Argument),
}

/// The bytes of values as they lie in memory.
pub fn bytes_of<T: Copy>(values: &[T]) -> Vec<u8> {
    let start = values.as_ptr().cast::<u8>();
    // SAFETY: the values are that many bytes; none of the types in these tests has any between its fields.
    unsafe { std::slice::from_raw_parts(start, size_of_val(values)) }.to_vec()
}

/// The values in some bytes.
pub fn values_of<T: Copy>(bytes: &[u8]) -> Vec<T> {
    let each = bytes.chunks_exact(size_of::<T>());
    // SAFETY: as many bytes as a value has; every value of the types in these tests is any bits.
    each.map(|bytes| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
        .collect()
}

impl Given {
    /// A buffer of values.
    pub fn values<T: Copy>(values: &[T]) -> Self {
        Self::Bytes(bytes_of(values), 0)
    }

    /// Values that begin that many places after a multiple of 16 bytes.
    pub fn shifted<T: Copy>(values: &[T], places: usize) -> Self {
        Self::Bytes(bytes_of(values), places * size_of::<T>())
    }

    /// Room for as many values.
    pub fn room<T>(count: usize) -> Self {
        Self::Room(count * size_of::<T>())
    }

    /// Empty slots of states like these.
    pub fn slots<S>(count: usize) -> Self {
        Self::values(&vec![0_u64; warpfold_device::slots::most_words::<S>(count)])
    }

    /// A `u32`.
    pub fn word(word: u32) -> Self {
        Self::Number(word.into())
    }

    /// A `usize`.
    pub fn count(count: usize) -> Self {
        Self::Number(count.into())
    }
}

/// A device with a module.
pub struct Machine {
    device: Device,
    module: Module,
}

/// The emulator, and the first GPU if there is one that can run PTX of this compute capability.
pub fn machines(ptx: &str, sm: u32) -> Vec<Machine> {
    let gpu = Device::open(&DeviceChoice::Gpu(0)).ok();
    let emulator = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
    [Some(emulator), gpu.filter(|gpu| gpu.sm() >= sm)]
        .into_iter()
        .flatten()
        .map(|device| Machine {
            module: device.load(ptx).expect("the PTX is right"),
            device,
        })
        .collect()
}

enum Loaded {
    Buffer(Buffer<u8>, usize),
    Number(Argument),
}

impl Machine {
    /// Launches a kernel as often as asked, one after another on the same buffers; the bytes of each argument's buffer afterwards.
    #[track_caller]
    pub fn launch(
        &self,
        kernel: &str,
        (grid, block): (u32, u32),
        arguments: &[Given],
        times: usize,
    ) -> Vec<Vec<u8>> {
        self.launch_by(kernel, &Shape::linear(grid, block), arguments, times)
    }

    /// As [`Self::launch`], in any shape.
    #[track_caller]
    pub fn launch_by(
        &self,
        kernel: &str,
        shape: &Shape,
        arguments: &[Given],
        times: usize,
    ) -> Vec<Vec<u8>> {
        let kernel = self.module.kernel(kernel).expect("the kernel is there");
        let loaded: Vec<Loaded> = arguments
            .iter()
            .map(|argument| match argument {
                Given::Number(number) => Loaded::Number(number.clone()),
                Given::Room(bytes) => Loaded::Buffer(
                    self.device
                        .upload(&vec![0xa5_u8; *bytes])
                        .expect("there is memory"),
                    0,
                ),
                Given::Bytes(bytes, offset) => {
                    let contents = [&vec![0xff; *offset], &bytes[..]].concat();
                    let buffer = self.device.upload(&contents).expect("there is memory");
                    Loaded::Buffer(buffer, *offset)
                }
            })
            .collect();
        let given: Vec<Argument> = loaded
            .iter()
            .map(|argument| match argument {
                Loaded::Number(number) => number.clone(),
                Loaded::Buffer(buffer, offset) => {
                    Argument::Address(buffer.address() + *offset as u64)
                }
            })
            .collect();
        for _ in 0..times {
            // SAFETY: the tests give each kernel what it asks for.
            unsafe { kernel.launch(shape, &given) }
                .unwrap_or_else(|error| panic!("{}, {shape:?}: {error}", kernel.entry()));
        }
        loaded
            .iter()
            .map(|argument| match argument {
                Loaded::Number(_) => Vec::new(),
                Loaded::Buffer(buffer, offset) => {
                    buffer.read().expect("the launch is over")[*offset..].to_vec()
                }
            })
            .collect()
    }
}

/// A launch that the sanitizers watch.
pub struct Watched {
    kernel: std::sync::Arc<Kernel>,
    memory: Memory,
    shape: Launch,
    arguments: Vec<Vec<u8>>,
}

impl Watched {
    /// Makes it ready.
    pub fn new(ptx: &str, kernel: &str, (grid, block): (u32, u32), arguments: &[Given]) -> Self {
        let mut memory = Memory::new();
        // Of a text with many kernels the others need not be parsed for each launch.
        let alone = entries::alone(ptx, kernel).expect("the kernel is there");
        let module = warpfold_emulator::Module::parse(&alone).expect("the PTX is right");
        let program = Program::load(module, &mut memory).expect("the PTX loads");
        let mut buffer = |bytes: usize, offset: usize, contents: &[u8]| {
            let address = memory.allocate(bytes + offset).expect("there is memory") + offset as u64;
            memory.write(address, contents).expect("it was allocated");
            address.to_le_bytes().to_vec()
        };
        let arguments = arguments
            .iter()
            .map(|argument| match argument {
                Given::Number(number) => number.to_bytes(),
                Given::Room(bytes) => buffer(*bytes, 0, &[]),
                Given::Bytes(bytes, offset) => buffer(bytes.len(), *offset, bytes),
            })
            .collect();
        Self {
            kernel: program.kernel(kernel).expect("the kernel is there"),
            memory,
            shape: Launch {
                grid: [grid, 1, 1],
                block: [block, 1, 1],
                ..Launch::default()
            },
            arguments,
        }
    }

    /// With dynamic shared memory.
    pub fn with_dynamic_shared_bytes(mut self, bytes: u32) -> Self {
        self.shape.dynamic_shared_bytes = bytes;
        self
    }

    /// No sanitizer finds anything.
    #[track_caller]
    pub fn is_clean(&mut self) {
        let findings = check(
            &self.kernel,
            &mut self.memory,
            &self.shape,
            &self.arguments,
            &Tool::WATCHING,
        )
        .expect("it runs");
        let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(
            shown.is_empty(),
            "{}: {}",
            self.kernel.name(),
            shown.join("\n")
        );
    }

    /// The memory is the same afterwards, whatever the order of execution.
    #[track_caller]
    pub fn is_the_same_in(&mut self, schedules: u64) {
        let orders = [Order::Fixed]
            .into_iter()
            .chain((0..schedules).map(Order::Seed));
        let difference = compare_orders(
            &self.kernel,
            &mut self.memory,
            &self.shape,
            &self.arguments,
            orders,
        )
        .expect("it runs");
        let shown = difference.map(|finding| finding.to_string());
        assert_eq!(shown, None, "{}", self.kernel.name());
    }
}

/// Numbers that look random: splitmix64.
#[derive(Clone)]
pub struct Random(pub u64);

impl Iterator for Random {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(z ^ (z >> 31))
    }
}
