//! A kernel of one's own in the place of a lesson's that takes the same parameters.

use crate::device::program;
use crate::failure::Failure;
use warpfold::Device;
use warpfold::device::DeviceChoice;
use warpfold_emulator::{Kernel, Memory, Module, Program};
use warpfold_kernels::catalogue::{self, Lesson};

/// The PTX of the lesson's module in which `kernel`, from this PTX, has the name of every entry of the lesson. Those of other lessons are
/// there by name alone.
///
/// # Errors
/// The kernel takes other parameters than the lesson's.
pub fn stand_in(ptx: &str, kernel: &str, lesson: &Lesson, sm: u32) -> Result<String, Failure> {
    compare_parameters(ptx, kernel, lesson)?;
    let lacking = || Failure::Input(format!("the PTX has no `.entry {kernel}(` that ends"));
    let (start, end) = span(ptx, kernel).ok_or_else(lacking)?;
    let body = &ptx[start..end];
    let mut text = ptx[..start].to_owned();
    for entry in lesson.entry_names() {
        text += &renamed(body, kernel, entry);
    }
    text += &ptx[end..];
    let is_own = |name: &str| lesson.entry_names().any(|own| own == name);
    for entry in catalogue::entry_names(lesson.module, sm).filter(|name| !is_own(name)) {
        text += &format!("\n.visible .entry {entry}()\n{{\n\tret;\n}}\n");
    }
    Ok(text)
}

fn compare_parameters(ptx: &str, kernel: &str, lesson: &Lesson) -> Result<(), Failure> {
    let emulator = Device::open(&DeviceChoice::Emulator)?;
    let module = Module::parse(ptx).map_err(Failure::input)?;
    let own = Program::load(module, &mut Memory::new()).and_then(|program| program.kernel(kernel));
    let own = own.map_err(Failure::input)?;
    let program = program(&emulator, lesson)?;
    let entry = lesson.entry_names().next().unwrap_or_default();
    let of_lesson = program.kernel(entry).map_err(Failure::input)?;
    let (own, wanted) = (bytes(&own), bytes(&of_lesson));
    if own == wanted {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "`{kernel}` takes parameters of {own:?} bytes, and those of `{}` are of {wanted:?}: give it the parameters of {}",
        lesson.id, lesson.file
    )))
}

fn bytes(kernel: &Kernel) -> Vec<usize> {
    let parameters = kernel.parameters().iter();
    parameters.map(|parameter| parameter.bytes).collect()
}

/// Where a kernel begins and ends.
fn span(ptx: &str, kernel: &str) -> Option<(usize, usize)> {
    let named = ptx.find(&format!(".entry {kernel}("))?;
    let start = ptx[..named].rfind('\n').map_or(0, |end| end + 1);
    let end = named + ptx[named..].find("\n}")? + "\n}".len();
    Some((start, end))
}

/// The text with another name in the place of this one, and of the parameters that are named after it.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let is_word = |character: char| character.is_alphanumeric() || "_$%.".contains(character);
    let mut renamed = String::from("\n");
    let mut rest = text;
    while let Some(place) = rest.find(from) {
        let (before, after) = (&rest[..place], &rest[place + from.len()..]);
        let begins = !before.ends_with(is_word);
        let ends = !after.starts_with(is_word) || after.starts_with("_param_");
        renamed += before;
        renamed += if begins && ends { to } else { from };
        rest = after;
    }
    renamed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.0
.target sm_80
.address_size 64

.visible .entry sum(
\t.param .u64 sum_param_0,
\t.param .u64 sum_param_1,
\t.param .u64 sum_param_2
)
{
\t.reg .b64 %sum;
\tld.param.u64 %sum, [sum_param_0];
\tret;
}
";

    #[test]
    fn a_kernel_gets_the_names_of_a_lesson() {
        let lesson = catalogue::find("shuffle").expect("it is there");
        let text =
            stand_in(PTX, "sum", lesson, 80).expect("the parameters are those of the lesson");
        let module = Module::parse(&text).expect("it is PTX");
        let entries: Vec<&str> = module.entries().collect();
        for entry in catalogue::entry_names(lesson.module, 80) {
            assert!(entries.contains(&entry), "{entry}");
        }
        assert!(!entries.contains(&"sum"));
        assert!(
            text.contains("ld.param.u64 %sum, [shuffle_512_param_0]"),
            "{text}"
        );
    }

    #[test]
    fn other_parameters_are_refused() {
        let lesson = catalogue::find("single_pass").expect("it is there");
        let refused = stand_in(PTX, "sum", lesson, 80).expect_err("they differ");
        assert!(
            matches!(&refused, Failure::Input(text) if text.contains("[8, 8, 8]")),
            "{refused:?}"
        );
    }
}
