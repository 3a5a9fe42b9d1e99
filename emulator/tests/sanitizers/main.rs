//! What the sanitizers report, and what they let pass: small kernels, one question each.

#[path = "../common/mod.rs"]
mod common;

mod heap;
mod initcheck;
mod memcheck;
mod racecheck;
mod schedules;
mod synccheck;

use warpfold_emulator::{Finding, Kernel, Launch, Memory, Module, Program, Tool, check};

/// Bytes of the buffer that every kernel here gets, all written by the host.
const DATA_BYTES: usize = 4096;

/// A kernel with its memory, ready to be launched.
struct Bench {
    memory: Memory,
    kernel: std::sync::Arc<Kernel>,
    arguments: Vec<Vec<u8>>,
}

/// A kernel of this body, which finds in `%rd1` the address of the data, in `%rd2` that of the thread's own word of it, in
/// `%r1` the thread's number in its block, and in `%rd3` that of its own word of the shared array `tile`.
fn bench(body: &str) -> Bench {
    let source = format!(
        ".version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data) {{
.reg .pred %p<8>;
.reg .b16 %h<8>;
.reg .b32 %r<32>;
.reg .b64 %rd<16>;
.shared .align 16 .b8 tile[4096];
ld.param.u64 %rd1, [data];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd2, %rd1, %rd4;
mov.u64 %rd5, tile;
add.s64 %rd3, %rd5, %rd4;
{body}
ret;
}}"
    );
    let mut memory = Memory::new();
    let module = Module::parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let program = Program::load(module, &mut memory).expect("there is room");
    let kernel = program.kernel("k").expect("it compiles");
    let data = memory.allocate(DATA_BYTES).expect("there is room");
    memory.write(data, &[0; DATA_BYTES]).expect("it is there");
    Bench {
        memory,
        kernel,
        arguments: vec![data.to_le_bytes().to_vec()],
    }
}

fn shape(grid: u32, block: u32) -> Launch {
    Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        max_steps: 100_000,
        ..Launch::default()
    }
}

impl Bench {
    fn check(&mut self, shape: Launch) -> Vec<Finding> {
        let tools = &Tool::WATCHING;
        check(
            &self.kernel,
            &mut self.memory,
            &shape,
            &self.arguments,
            tools,
        )
        .expect("it runs")
    }
}

/// What is found when the body runs in this shape: the kinds, in order.
fn kinds(body: &str, grid: u32, block: u32) -> Vec<&'static str> {
    let findings = bench(body).check(shape(grid, block));
    findings.iter().map(|finding| finding.kind).collect()
}

#[track_caller]
fn finds(expected: &[&str], body: &str, grid: u32, block: u32) {
    assert_eq!(kinds(body, grid, block), expected, "{body}");
}

const STORE_THEN_READ_NEIGHBOUR: [&str; 2] = [
    "st.shared.u32 [%rd3], %r1;",
    "xor.b32 %r2, %r1, 33;
     mul.wide.u32 %rd6, %r2, 4;
     add.s64 %rd6, %rd5, %rd6;
     ld.shared.u32 %r3, [%rd6];",
];

/// The two halves of an exchange through shared memory, with something between.
fn exchange(between: &str) -> String {
    STORE_THEN_READ_NEIGHBOUR.join(&format!("\n{between}\n"))
}
