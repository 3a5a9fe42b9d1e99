//! Several emulated devices in one address space: what their kernels reach, in which order they run, and what orders their accesses.

mod access;
mod order;
mod races;

use std::sync::Arc;
use warpfold_emulator::{DeviceLaunch, Kernel, Launch, Memory, Module, Program};

/// Devices, each with a kernel of its own in its memory.
struct Group {
    memories: Vec<Memory>,
    kernels: Vec<Arc<Kernel>>,
    shapes: Vec<Launch>,
    arguments: Vec<Vec<Vec<u8>>>,
    /// The address of a buffer of 64 words on device 0, and of one on device 1.
    data: [u64; 2],
}

/// A kernel of this body: `%rd1` is the address of the words on device 0, `%rd2` of those on device 1, `%r1` the thread's number in its
/// block and `%r2` the block's.
fn source(body: &str) -> String {
    format!(
        ".version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 zero, .param .u64 one) {{
.reg .pred %p<8>;
.reg .b32 %r<16>;
.reg .b64 %rd<16>;
ld.param.u64 %rd1, [zero];
ld.param.u64 %rd2, [one];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
{body}
ret;
}}"
    )
}

impl Group {
    /// Two devices that reach each other, the first with a kernel of the first body and the second with one of the second. Each kernel
    /// has one block of one thread.
    fn of(bodies: [&str; 2]) -> Self {
        let mut memories: Vec<Memory> = (0..2).map(Memory::of_device).collect();
        memories[0].enable_peer_access(1);
        memories[1].enable_peer_access(0);
        let data = [0, 1].map(|device: usize| {
            let memory = &mut memories[device];
            let address = memory.allocate(256).expect("there is room");
            memory.write(address, &[0; 256]).expect("it is there");
            address
        });
        let kernels = bodies.iter().zip(&mut memories).map(|(body, memory)| {
            let module = Module::parse(&source(body)).unwrap_or_else(|error| panic!("{error}"));
            let program = Program::load(module, memory).expect("there is room");
            program
                .kernel("k")
                .unwrap_or_else(|error| panic!("{error}"))
        });
        let kernels = kernels.collect();
        let shape = Launch {
            max_steps: 100_000,
            ..Launch::default()
        };
        let arguments = data.map(|address| address.to_le_bytes().to_vec()).to_vec();
        Self {
            memories,
            kernels,
            shapes: vec![shape; 2],
            arguments: vec![arguments; 2],
            data,
        }
    }

    fn with_shape(mut self, grid: u32, block: u32) -> Self {
        for shape in &mut self.shapes {
            shape.grid = [grid, 1, 1];
            shape.block = [block, 1, 1];
        }
        self
    }

    /// Calls `with` with the launches and the memories.
    fn with<R>(&mut self, with: impl FnOnce(&[DeviceLaunch<'_>], &mut [&mut Memory]) -> R) -> R {
        let launches: Vec<DeviceLaunch<'_>> = (0..self.kernels.len())
            .map(|number| DeviceLaunch {
                kernel: &self.kernels[number],
                device: number as u8,
                shape: self.shapes[number],
                arguments: &self.arguments[number],
            })
            .collect();
        let mut memories: Vec<&mut Memory> = self.memories.iter_mut().collect();
        with(&launches, &mut memories)
    }

    /// A word of a device's buffer.
    fn word(&self, device: usize, index: u64) -> u32 {
        let mut bytes = [0; 4];
        self.memories[device]
            .read(self.data[device] + 4 * index, &mut bytes)
            .expect("it is there");
        u32::from_le_bytes(bytes)
    }
}
