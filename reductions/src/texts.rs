//! The texts.

use std::io::Read;
use std::string::String;
use std::sync::OnceLock;

use ruzstd::decoding::StreamingDecoder;
use warpfold_reductions_bytes::TEXTS as OF_BYTES;
use warpfold_reductions_narrow::TEXTS as OF_16_BITS;
use warpfold_reductions_wide::TEXTS as WITH_ACCUMULATORS;

/// The compute capability that the texts are built for: 70 for `sm_70`.
pub const SM: u32 = 70;

macro_rules! texts {
    ($($name:literal)*) => {
        [
            $(Text::new(($name, include_bytes!(concat!("../ptx/", $name, ".sm_70.ptx.zst"))))),*
        ]
    };
}

/// Those of this package.
static OWN: [Text; 6] = texts! { "i32" "u32" "f32" "i64" "u64" "f64" };

/// Those of the packages for narrow types.
static NARROW: [Text; OF_BYTES.len() + OF_16_BITS.len()] = {
    let [bool, i8, u8] = OF_BYTES;
    let [i16, u16, f16, bf16] = OF_16_BITS;
    [
        Text::new(bool),
        Text::new(i8),
        Text::new(u8),
        Text::new(i16),
        Text::new(u16),
        Text::new(f16),
        Text::new(bf16),
    ]
};

/// Those of wider accumulators.
static WIDE: [Text; WITH_ACCUMULATORS.len()] = {
    let [bool, i8, u8, i16, u16, i32, u32, f16, bf16, f32] = WITH_ACCUMULATORS;
    [
        Text::new(bool),
        Text::new(i8),
        Text::new(u8),
        Text::new(i16),
        Text::new(u16),
        Text::new(i32),
        Text::new(u32),
        Text::new(f16),
        Text::new(bf16),
        Text::new(f32),
    ]
};

/// A text, compressed by Zstandard, and what it says, from the first time on that somebody asks.
struct Text {
    name: &'static str,
    compressed: &'static [u8],
    text: OnceLock<String>,
}

impl Text {
    const fn new((name, compressed): (&'static str, &'static [u8])) -> Self {
        Self {
            name,
            compressed,
            text: OnceLock::new(),
        }
    }

    fn read(&self) -> &str {
        self.text.get_or_init(|| {
            let mut text = String::new();
            StreamingDecoder::new(self.compressed)
                .expect("the file begins as Zstandard does")
                .read_to_string(&mut text)
                .expect("the file is whole");
            text
        })
    }
}

fn of_types() -> impl Iterator<Item = &'static Text> {
    NARROW.iter().chain(&OWN)
}

/// The names of the types, as in [`warpfold_device::for_each_element!`](https://docs.rs/warpfold-device).
pub fn elements() -> impl Iterator<Item = &'static str> {
    of_types().map(|text| text.name)
}

/// The names of types with a wider accumulator, as in `warpfold_device::for_each_accumulator!`: `f32_f64`.
pub fn accumulators() -> impl Iterator<Item = &'static str> {
    WIDE.iter().map(|text| text.name)
}

/// The PTX of the reductions of a type, or of a type with a wider accumulator. It is kept after the first call, which takes milliseconds.
pub fn text(name: &str) -> Option<&'static str> {
    let text = of_types().chain(&WIDE).find(|text| text.name == name)?;
    Some(text.read())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_of_its_type() {
        for name in elements().chain(accumulators()) {
            let text = text(name).expect("it is there");
            assert!(text.contains(".target sm_70"), "{name}");
            assert!(
                text.contains(&std::format!(".entry sum_{name}_rows(")),
                "{name}"
            );
        }
        assert_eq!(text("f128"), None);
    }
}
