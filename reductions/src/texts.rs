//! The texts.

use std::io::Read;
use std::string::String;
use std::sync::OnceLock;

use ruzstd::decoding::StreamingDecoder;

/// The compute capability that the texts are built for: 70 for `sm_70`.
pub const SM: u32 = 70;

/// A text, compressed by Zstandard, and what it says, from the first time on that somebody asks.
struct Text {
    element: &'static str,
    compressed: &'static [u8],
    text: OnceLock<String>,
}

macro_rules! texts {
    ($($name:literal)*) => {
        [$(Text {
            element: $name,
            compressed: include_bytes!(concat!("../ptx/", $name, ".sm_70.ptx.zst")),
            text: OnceLock::new(),
        }),*]
    };
}

static TEXTS: [Text; 13] = texts! {
    "bool" "i8" "u8" "i16" "u16" "f16" "bf16" "i32" "u32" "f32" "i64" "u64" "f64"
};

impl Text {
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

/// The names of the types, as in [`warpfold_device::for_each_element!`](https://docs.rs/warpfold-device).
pub fn elements() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|text| text.element)
}

/// The PTX of the reductions of a type. It is kept after the first call, which takes milliseconds.
pub fn text(element: &str) -> Option<&'static str> {
    let text = TEXTS.iter().find(|text| text.element == element)?;
    Some(text.read())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_of_its_type() {
        for element in elements() {
            let text = text(element).expect("it is there");
            assert!(text.contains(".target sm_70"), "{element}");
            assert!(
                text.contains(&std::format!(".entry sum_{element}_rows(")),
                "{element}"
            );
        }
        assert_eq!(text("f128"), None);
    }
}
