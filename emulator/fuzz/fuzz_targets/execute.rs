//! Whatever kernel a text contains, two blocks of it end, with a result, an error or a trap: within a limit of steps, and
//! without a panic, in the fixed order and under a random schedule. Parameters of 8 bytes get the address of a buffer, all others
//! zeros.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpfold_emulator::{
    Counters, Initcheck, Launch, Memory, Module, Nothing, Program, Racecheck, launch, launch_scheduled,
};

const BUFFER_BYTES: usize = 4096;

fuzz_target!(|text: &str| {
    let Ok(module) = Module::parse(text) else { return };
    let entries: Vec<String> = module.entries().map(str::to_owned).collect();
    let mut memory = Memory::with_limit(1 << 20);
    let Ok(program) = Program::load(module, &mut memory) else { return };
    let Ok(buffer) = memory.allocate(BUFFER_BYTES) else { return };
    for entry in &entries {
        let Ok(kernel) = program.kernel(entry) else { continue };
        if kernel.parameters().iter().any(|parameter| parameter.bytes > BUFFER_BYTES) {
            continue;
        }
        let arguments: Vec<Vec<u8>> = kernel
            .parameters()
            .iter()
            .map(|parameter| match parameter.bytes {
                8 => buffer.to_le_bytes().to_vec(),
                bytes => vec![0; bytes],
            })
            .collect();
        let shape = Launch {
            grid: [2, 1, 1],
            block: [48, 1, 1],
            dynamic_shared_bytes: 256,
            threads: 1,
            max_steps: 20_000,
            cooperative: text.len() % 2 == 1,
            ..Launch::default()
        };
        let mut observer = (Counters::default(), (Racecheck::new(), Initcheck::new(&memory)));
        let _ = launch(&kernel, &memory, &shape, &arguments, &mut observer);
        let seed = text.len() as u64;
        let _ = launch_scheduled(&kernel, &memory, &shape, &arguments, seed, &mut Nothing);
    }
});
