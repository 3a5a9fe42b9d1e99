//! Writes what `peers/arithmetic.py` needs to execute the measured forms of arithmetic instructions on a GPU.
//!
//!     cargo run --release --package warpfold-emulator-tests --example arithmetic_forms -- FOLDER
//!
//! `forms.ptx` has the kernels `form_0`, `form_1` and so on, `operands.bin` the three operands of each form's threads, and
//! `emulated.bin` what the emulator gives, all in 64 bits each.

#[path = "../tests/forms/mod.rs"]
mod forms;

use std::path::PathBuf;
use std::{env, fs, io};

use forms::Form;

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).unwrap_or_default());
    let forms = Form::all();
    let operands: Vec<u8> = forms.iter().flat_map(Form::operands).collect();
    let results = forms::emulate(&forms);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("forms.ptx"), forms::module(&forms))?;
    fs::write(folder.join("operands.bin"), operands)?;
    fs::write(folder.join("emulated.bin"), results.concat())?;
    let as_measured = std::iter::zip(&forms, &results)
        .filter(|(form, results)| forms::digest(results) == form.digest)
        .count();
    println!("{as_measured} of {} forms are as measured", forms.len());
    Ok(())
}
