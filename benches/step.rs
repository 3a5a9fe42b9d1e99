//! A step of the ladder in an emulated memory, ready to launch: what is timed and counted of the emulator.

use std::sync::Arc;
use warpfold_emulator::{
    DeviceProperties, Kernel, Launch, Memory, Module, Observer, Program, launch,
};
use warpfold_kernels::catalogue::{Finish, Lesson, Role};

/// Threads of a block.
pub const BLOCK: u32 = 512;

/// A launch of a lesson of the ladder, with its buffers.
pub struct Step {
    kernel: Arc<Kernel>,
    memory: Memory,
    shape: Launch,
    arguments: Vec<Vec<u8>>,
    /// Where the kernel leaves its sums, and how many it leaves there.
    sums: (u64, usize),
}

impl Step {
    /// The lesson in blocks of [`BLOCK`] threads over these values, by a kernel of the PTX `ptx` and with this many host threads, of which
    /// 0 means all.
    ///
    /// # Panics
    /// The PTX is not that of the lesson.
    pub fn new(ptx: &str, lesson: &Lesson, values: &[i32], threads: usize) -> Self {
        let mut memory = Memory::new();
        let module = Module::parse(ptx).expect("the PTX is right");
        let program = Program::load(module, &mut memory).expect("it loads");
        let variant = lesson.usual(BLOCK);
        let entry = lesson
            .entry(variant)
            .expect("every step has blocks of this size");
        let reduction = lesson.reduction().expect("the ladder reduces");
        let multiprocessors = DeviceProperties::EMULATED.multiprocessors;
        let n = values.len() as u64;
        let grid = reduction.blocks(n, variant, multiprocessors) as u32;

        let mut buffer = |contents: &[u8]| {
            let address = memory.allocate(contents.len()).expect("it fits");
            memory.write(address, contents).expect("it was allocated");
            address
        };
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let input = buffer(&bytes);
        let partials = buffer(&vec![0; 4 * grid as usize]);
        let total = buffer(&[0; 4]);
        let roles = reduction.finish.roles().iter();
        let arguments = roles.map(|role| match role {
            Role::Input => input,
            Role::Partials => partials,
            Role::Count => n,
            Role::Total => total,
            Role::NextTotal | Role::Counter | Role::Status => buffer(&[0; 8]),
            Role::Tile => BLOCK.into(),
        });
        let arguments: Vec<u64> = arguments.collect();
        let sums = match reduction.finish {
            Finish::PartialPerBlock => (partials, grid as usize),
            _ => (total, 1),
        };
        Self {
            kernel: program
                .kernel(entry)
                .expect("the emulator knows every instruction"),
            memory,
            shape: Launch {
                grid: [grid, 1, 1],
                block: [BLOCK, 1, 1],
                dynamic_shared_bytes: reduction.dynamic_shared_bytes(variant),
                threads,
                ..Launch::default()
            },
            arguments: arguments
                .into_iter()
                .map(|argument| argument.to_le_bytes().to_vec())
                .collect(),
            sums,
        }
    }

    /// Launches. A kernel that works in place finds what the launch before has left: other numbers, the same instructions.
    pub fn run(&self, observer: &mut impl Observer) {
        launch(
            &self.kernel,
            &self.memory,
            &self.shape,
            &self.arguments,
            observer,
        )
        .expect("the kernel is right");
    }

    /// The sum that the first launch has left.
    pub fn sum(&self) -> i32 {
        let (address, count) = self.sums;
        let mut bytes = vec![0; 4 * count];
        self.memory
            .read(address, &mut bytes)
            .expect("it was allocated");
        bytes
            .chunks_exact(4)
            .map(|word| i32::from_le_bytes(word.try_into().expect("four bytes")))
            .fold(0, i32::wrapping_add)
    }
}
