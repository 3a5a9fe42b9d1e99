//! No text makes the parser or the checks panic, whatever it says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpfold_emulator::{Memory, Module, Program};

fuzz_target!(|text: &str| {
    let Ok(module) = Module::parse(text) else { return };
    let entries: Vec<String> = module.entries().map(str::to_owned).collect();
    for entry in &entries {
        assert!(module.function_source(entry).is_some());
        assert!(module.parameters(entry).is_some());
    }
    // A memory so small that no variable of the text can exhaust the host's.
    let mut memory = Memory::with_limit(1 << 20);
    let Ok(program) = Program::load(module, &mut memory) else { return };
    for entry in &entries {
        let _ = program.kernel(entry);
    }
});
