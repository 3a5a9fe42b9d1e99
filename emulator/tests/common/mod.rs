//! Runs pieces of PTX and reads what they leave.

#![allow(dead_code, reason = "every test binary takes what it needs")]

use bytemuck::Pod;
use warpfold_emulator::{
    Counters, Launch, LaunchError, Memory, Module, Nothing, Program, Trap, Watch,
};

/// What stands before the functions of a module.
pub const HEADER: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// A program in its memory.
pub struct Machine {
    pub memory: Memory,
    pub program: Program,
}

/// Guest memory with `len` values.
#[derive(Clone, Copy)]
pub struct Buffer {
    pub address: u64,
    pub len: usize,
}

/// One block of this many threads.
pub fn block(threads: u32) -> Launch {
    shape(1, threads)
}

/// This many blocks of this many threads.
pub fn shape(blocks: u32, threads: u32) -> Launch {
    Launch {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        threads: 1,
        max_steps: 200_000_000,
        ..Launch::default()
    }
}

impl Machine {
    /// Loads a whole module.
    #[track_caller]
    pub fn new(ptx: &str) -> Self {
        let module = Module::parse(ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        let mut memory = Memory::new();
        let program = Program::load(module, &mut memory).unwrap_or_else(|error| panic!("{error}"));
        Self { memory, program }
    }

    /// Loads a module of one entry `test` with the parameters `out` and `data`, two addresses, whose body is given. Declared are
    /// 16-, 32- and 64-bit registers `%h`, `%r` and `%d`, `%f` and `%g` for floats, and predicates `%p`, 0 to 39 each.
    #[track_caller]
    pub fn of(body: &str) -> Self {
        Self::new(&entry(body))
    }

    pub fn buffer<T: Pod>(&mut self, values: &[T]) -> Buffer {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let address = self.memory.allocate(bytes.len()).expect("small");
        self.memory.write(address, bytes).expect("just allocated");
        Buffer {
            address,
            len: values.len(),
        }
    }

    pub fn read<T: Pod>(&self, buffer: Buffer) -> Vec<T> {
        let mut values = vec![T::zeroed(); buffer.len];
        self.memory
            .read(buffer.address, bytemuck::cast_slice_mut(&mut values))
            .expect("a live buffer");
        values
    }

    /// Launches an entry with addresses as arguments.
    pub fn launch_observed(
        &self,
        entry: &str,
        shape: &Launch,
        arguments: &[u64],
        observer: &mut dyn Watch,
    ) -> Result<(), LaunchError> {
        let arguments: Vec<Vec<u8>> = arguments
            .iter()
            .map(|argument| argument.to_le_bytes().to_vec())
            .collect();
        let kernel = self.program.kernel(entry)?;
        warpfold_emulator::launch(&kernel, &self.memory, shape, &arguments, observer)
    }

    pub fn launch(
        &self,
        entry: &str,
        shape: &Launch,
        arguments: &[u64],
    ) -> Result<(), LaunchError> {
        self.launch_observed(entry, shape, arguments, &mut Nothing)
    }
}

/// The module that [`Machine::of`] loads.
pub fn entry(body: &str) -> String {
    format!(
        "{HEADER}.visible .entry test(.param .u64 out, .param .u64 data) {{
.reg .b16 %h<40>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<40>; .reg .f64 %g<40>; .reg .pred %p<40>;
{body}
ret;
}}"
    )
}

/// Where every thread's results go: `%d39` is the address of the thread's own, of `bytes` bytes each.
pub fn own_slot(bytes: usize) -> String {
    format!(
        "ld.param.u64 %d39, [out]; mov.u32 %r39, %tid.x; mov.u32 %r38, %ctaid.x; mov.u32 %r37, %ntid.x;
         mad.lo.u32 %r39, %r38, %r37, %r39; mul.wide.u32 %d38, %r39, {bytes}; add.u64 %d39, %d39, %d38; mov.u32 %r39, %tid.x;"
    )
}

/// Calls `malloc` for this many bytes; the address goes into the register.
pub fn malloc(register: &str, bytes: &str) -> String {
    format!(
        "{{ .param .b64 size; .param .b64 got; st.param.b64 [size], {bytes};
        call.uni (got), malloc, (size); ld.param.b64 {register}, [got]; }}"
    )
}

/// Calls `free`.
pub fn free(address: &str) -> String {
    format!("{{ .param .b64 given; st.param.b64 [given], {address};\ncall.uni free, (given); }}")
}

/// Runs a body in each thread of a launch; returns what each leaves in `%r0`. `%r39` holds `%tid.x`, `data` the data.
#[track_caller]
pub fn threads_of(
    shape: &Launch,
    body: &str,
    data: &[u32],
) -> Result<(Vec<u32>, Vec<u32>), Box<Trap>> {
    let text = format!(
        "{} ld.param.u64 %d37, [data];\n{body}\nst.global.u32 [%d39], %r0;",
        own_slot(4)
    );
    let mut machine = Machine::of(&text);
    let threads = shape.grid[0] * shape.block.iter().product::<u32>();
    let out = machine.buffer(&vec![0xdead_beef_u32; threads as usize]);
    let data = machine.buffer(data);
    match machine.launch("test", shape, &[out.address, data.address]) {
        Ok(()) => Ok((machine.read(out), machine.read(data))),
        Err(LaunchError::Trap(trap)) => Err(trap),
        Err(other) => panic!("{other}"),
    }
}

/// What each lane of one warp leaves in `%r0`; `%r39` holds its number.
#[track_caller]
pub fn lanes(body: &str) -> Vec<u32> {
    match threads_of(&block(32), body, &[0; 64]) {
        Ok((lanes, _)) => lanes,
        Err(trap) => panic!("{trap}"),
    }
}

/// The trap of one warp.
#[track_caller]
pub fn trap_of(shape: &Launch, body: &str) -> Trap {
    match threads_of(shape, body, &[0; 64]) {
        Ok(_) => panic!("this does not trap:\n{body}"),
        Err(trap) => *trap,
    }
}

/// The message of a PTX text that is refused.
#[track_caller]
pub fn refusal(ptx: &str) -> String {
    match Module::parse(ptx) {
        Ok(_) => panic!("this is accepted:\n{ptx}"),
        Err(error) => error.to_string(),
    }
}

/// Why an entry is refused, or with it the whole text.
pub fn refused(ptx: &str, entry: &str) -> Option<String> {
    let module = match Module::parse(ptx) {
        Ok(module) => module,
        Err(error) => return Some(error.to_string()),
    };
    let program = match Program::load(module, &mut Memory::new()) {
        Ok(program) => program,
        Err(error) => return Some(error.to_string()),
    };
    program.kernel(entry).err().map(|error| error.to_string())
}

/// The counters of a launch of an entry.
#[track_caller]
pub fn counters(machine: &Machine, entry: &str, shape: &Launch, arguments: &[u64]) -> Counters {
    let mut counters = Counters::default();
    machine
        .launch_observed(entry, shape, arguments, &mut counters)
        .unwrap_or_else(|error| panic!("{error}"));
    counters
}
