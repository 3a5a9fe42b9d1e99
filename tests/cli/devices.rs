//! `warpfold devices`.

use super::*;

#[test]
fn the_emulator_is_always_there() {
    assert!(output_of(&["devices"]).contains("emulator"));
    let devices = json_of(&["devices"]);
    assert!(devices["emulator_cores"].as_u64() > Some(0), "{devices}");
    assert!(devices["gpus"].is_array(), "{devices}");
}
