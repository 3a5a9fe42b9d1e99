//! What newer GPUs do faster, in a text for older ones.
//!
//! A text for sm_70 serves all GPUs. Where a later architecture has an instruction for what takes many, the text says so in comments,
//! which only this function reads:
//!
//! ```text
//! //from sm_80 on:
//! //redux.sync.max.u32 %r2, %r1, -1;
//! //before:
//! shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
//! ...
//! //end
//! ```
//!
//! Both do the same, so the text is right wherever nobody reads the comments: on the emulator, and in programs that load it themselves.

use super::ptx::raised;

/// The compute capability of what stands in comments.
const SM: u32 = 80;

/// The version of the PTX language that has it.
const LANGUAGE: (u32, u32) = (7, 0);

const FROM: &str = "//from sm_80 on:";
const BEFORE: &str = "//before:";
const END: &str = "//end";

/// The text for a GPU of this compute capability, with what stands in comments for it; `None` where there is nothing, or where the text is
/// not as compilers write it.
pub(super) fn for_gpu(ptx: &str, sm: u32) -> Option<String> {
    if sm < SM || !ptx.contains(FROM) {
        return None;
    }
    let (head, rest) = raised(ptx, SM, LANGUAGE)?;
    let mut text = String::with_capacity(ptx.len() + 16);
    text.push_str(&head);
    let mut part = END;
    for line in rest.split_inclusive('\n') {
        let code = line.trim();
        match code {
            FROM | BEFORE | END => part = code,
            _ if part == FROM => text.push_str(&line.replacen("//", "", 1)),
            _ if part == END => text.push_str(line),
            _ => {}
        }
    }
    (part == END).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Argument, Device, DeviceChoice, Pod, Shape};
    use crate::reduce::Reducible;
    use warpfold_emulator::entries::Entries;

    const TEXT: &str = ".version 6.0\n.target sm_70\n.address_size 64\n.entry k()\n{\n\t//from sm_80 on:\n\t//new;\n\t//before:\n\told;\n\told;\n\t//end\n\tret;\n}\n";

    #[test]
    fn newer_gpus_get_what_stands_in_comments() {
        let newer =
            ".version 7.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\tnew;\n\tret;\n}\n";
        assert_eq!(for_gpu(TEXT, 80).as_deref(), Some(newer));
        assert_eq!(for_gpu(TEXT, 120).as_deref(), Some(newer));
    }

    #[test]
    fn other_gpus_and_other_texts_get_nothing_else() {
        assert_eq!(for_gpu(TEXT, 75), None);
        assert_eq!(for_gpu(&TEXT.replace("//from", "// from"), 80), None);
        assert_eq!(for_gpu(&TEXT.replace("//end", ""), 80), None);
        assert_eq!(for_gpu(&TEXT.replace(".target", ".aim"), 80), None);
    }

    /// A kernel's results for two rows of these values.
    fn of_rows<R: Pod>(
        device: &Device,
        (text, kernel): (&str, &str),
        values: &[f32],
        parts: u32,
    ) -> Vec<R> {
        let input = device.upload(values).expect("there is room");
        let [slots, counters] = [64, 8].map(|words| device.upload(&vec![0_u64; words]));
        let (slots, counters) = (slots.expect("there is room"), counters.expect("as well"));
        let results = device.allocate::<R>(2).expect("there is room");
        let kernel = device.load(text).and_then(|module| module.kernel(kernel));
        let kernel = kernel.expect("it is in the text");
        let columns = values.len() / 2;
        let arguments: [Argument; 9] = [
            input.argument(),
            2_usize.into(),
            columns.into(),
            columns.into(),
            0_usize.into(),
            parts.into(),
            slots.argument(),
            counters.argument(),
            results.argument(),
        ];
        // SAFETY: two rows, slots for all parts of both, and a result for each.
        unsafe { kernel.launch(&Shape::linear(2 * parts, 96), &arguments) }.expect("it runs");
        assert_eq!(slots.read().expect("it is there"), [0; 64]);
        results.read().expect("they are there")
    }

    /// The text of a kernel, for sm_70 and for newer GPUs, and an instruction that only the latter has.
    fn both(kernel: &str, instruction: &str) -> [String; 2] {
        let text = <f32 as Reducible>::KERNELS.read();
        let text = Entries::of(&text).and_then(|entries| entries.only(kernel));
        let text = text.expect("the kernel is there");
        let newer = for_gpu(&text, 90).expect("there is something newer in it");
        let has = |text: &str| {
            text.lines()
                .any(|line| line.trim().starts_with(instruction))
        };
        assert!(has(&newer) && !has(&text));
        [text, newer]
    }

    #[test]
    fn the_emulator_runs_either_text_of_the_library_with_the_same_results() {
        let device = Device::open(&DeviceChoice::Emulator).expect("it is always there");
        let mut values: Vec<f32> = (0..1400_u16).map(|number| f32::from(number % 97)).collect();
        values[3] = 1e9;
        values[1000] = f32::NAN;
        values[1399] = f32::NAN;
        for text in both("last_argmax_f32_rows", "redux.sync.max.u32") {
            for parts in [1, 3] {
                let kernel = (&text[..], "last_argmax_f32_rows");
                assert_eq!(of_rows::<u64>(&device, kernel, &values, parts), [3, 699]);
            }
        }
        for text in both("max_f32_rows", "max.NaN.f32") {
            for parts in [1, 3] {
                let kernel = (&text[..], "max_f32_rows");
                let [greatest, nan] = of_rows::<f32>(&device, kernel, &values, parts)[..] else {
                    panic!("two rows have two results");
                };
                assert_eq!((greatest, nan.is_nan()), (1e9, true));
            }
        }
    }
}
