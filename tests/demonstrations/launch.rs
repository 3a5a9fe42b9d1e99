//! Launches on the emulator, of kernels as they are or changed, under observers.

use std::sync::{Arc, Mutex};
use warpfold::Device;
use warpfold::device::DeviceChoice;
use warpfold_emulator::{
    Finding, Kernel, Launch, Measurements, Memory, Metric, Module, Profile, Program, Tool, check,
    launch,
};
use warpfold_kernels::catalogue;

/// A kernel argument.
pub enum Argument {
    /// A buffer of this many bytes, all 0.
    Zeros(usize),
    /// A buffer with these values.
    Words(Vec<i32>),
    U32(u32),
    U64(usize),
}

/// A launch with everything it needs.
pub struct Ready {
    kernel: Arc<Kernel>,
    memory: Memory,
    shape: Launch,
    arguments: Vec<Vec<u8>>,
}

/// The PTX of the lessons that the emulator gets.
pub fn lessons_ptx() -> String {
    ptx_of(catalogue::PtxText::Kernels)
}

/// The PTX of a module that the emulator gets.
pub fn ptx_of(module: catalogue::PtxText) -> String {
    let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
    device.ptx(module).expect("there is PTX for the emulator")
}

/// The text of one kernel in a PTX file.
pub fn text_of<'a>(ptx: &'a str, kernel: &str) -> &'a str {
    let start = ptx
        .find(&format!(".entry {kernel}("))
        .unwrap_or_else(|| panic!("there is a kernel `{kernel}`"));
    let text = &ptx[start..];
    let end = text.find("\n}").expect("the kernel ends");
    &text[..end]
}

impl Ready {
    /// A launch in one dimension.
    pub fn linear(ptx: &str, kernel: &str, grid: u32, block: u32, arguments: &[Argument]) -> Self {
        Self::new(ptx, kernel, [grid, 1, 1], [block, 1, 1], arguments)
    }

    pub fn new(
        ptx: &str,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Self {
        let mut memory = Memory::new();
        let program = Program::load(parsed(ptx), &mut memory).expect("the PTX loads");
        let arguments = arguments
            .iter()
            .map(|argument| bytes(argument, &mut memory))
            .collect();
        Self {
            kernel: program.kernel(kernel).expect("the kernel is there"),
            memory,
            shape: Launch {
                grid,
                block,
                dynamic_shared_bytes: 4 * block[0],
                threads: 1,
                ..Launch::default()
            },
            arguments,
        }
    }

    /// What the launch is measured by.
    pub fn profile(&self) -> Measurements {
        let mut profile = Profile::default();
        launch(
            &self.kernel,
            &self.memory,
            &self.shape,
            &self.arguments,
            &mut profile,
        )
        .expect("the kernel runs");
        profile.total()
    }

    /// What a tool finds.
    pub fn findings(&mut self, tool: Tool) -> Vec<Finding> {
        check(
            &self.kernel,
            &mut self.memory,
            &self.shape,
            &self.arguments,
            &[tool],
        )
        .expect("the kernel runs")
    }
}

/// The module of a text. The last few are kept: what has the kernels of all lessons is parsed once for hundreds of launches.
fn parsed(ptx: &str) -> Arc<Module> {
    static KEPT: Mutex<Vec<(String, Arc<Module>)>> = Mutex::new(Vec::new());
    const MOST: usize = 4;
    let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, module)) = kept.iter().find(|(text, _)| text == ptx) {
        return Arc::clone(module);
    }
    let module = Arc::new(Module::parse(ptx).expect("the PTX is right"));
    if kept.len() == MOST {
        kept.remove(0);
    }
    kept.push((ptx.to_owned(), Arc::clone(&module)));
    module
}

fn bytes(argument: &Argument, memory: &mut Memory) -> Vec<u8> {
    let mut buffer = |contents: &[u8]| {
        let address = memory.allocate(contents.len()).expect("there is memory");
        memory.write(address, contents).expect("it was allocated");
        address.to_le_bytes().to_vec()
    };
    match argument {
        Argument::Zeros(bytes) => buffer(&vec![0; *bytes]),
        Argument::Words(words) => {
            let contents: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            buffer(&contents)
        }
        Argument::U32(value) => value.to_le_bytes().to_vec(),
        Argument::U64(value) => (*value as u64).to_le_bytes().to_vec(),
    }
}

/// A metric of a profile.
#[track_caller]
pub fn metric(measured: &Measurements, name: &str) -> f64 {
    let metric = Metric::find(name);
    let metric = metric.unwrap_or_else(|| panic!("there is a metric `{name}`"));
    metric
        .value(measured)
        .unwrap_or_else(|| panic!("`{name}` has a value"))
}
