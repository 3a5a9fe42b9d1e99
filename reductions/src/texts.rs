//! The texts.

use core::fmt;
use std::io::Read;
use std::string::String;

use ruzstd::decoding::StreamingDecoder;
use warpfold_reductions_bytes as bytes;
use warpfold_reductions_narrow as narrow;
use warpfold_reductions_wide as wide;

/// The compute capability that the texts are built for: 70 for `sm_70`.
pub const SM: u32 = 70;

/// The PTX of the reductions of a type, or of a type with a wider accumulator.
pub struct Text {
    name: &'static str,
    compressed: &'static [u8],
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Text {
    /// What the names of its kernels end with: that of the type, or of both types: `f32`, `f32_f64`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What it says. It is decompressed each time, which takes milliseconds.
    pub fn read(&self) -> String {
        let mut text = String::new();
        StreamingDecoder::new(self.compressed)
            .expect("the file begins as Zstandard does")
            .read_to_string(&mut text)
            .expect("the file is whole");
        text
    }
}

/// Those that this package has itself.
mod own {
    macro_rules! texts {
        ($($name:ident $file:literal;)*) => {$(
            pub static $name: [u8; include_bytes!(concat!("../ptx/", $file, ".sm_70.ptx.zst")).len()] =
                *include_bytes!(concat!("../ptx/", $file, ".sm_70.ptx.zst"));
        )*};
    }

    texts! {
        I32 "i32";
        U32 "u32";
        F32 "f32";
        I64 "i64";
        U64 "u64";
        F64 "f64";
    }
}

/// Each is a static of its own, so that a program carries those alone that it names.
macro_rules! texts {
    ($($name:literal $package:ident::$compressed:ident;)*) => {
        [$({
            static TEXT: Text = Text {
                name: $name,
                compressed: &$package::$compressed,
            };
            &TEXT
        }),*]
    };
}

const OF_TYPES: [&Text; 13] = texts! {
    "bool" bytes::BOOL;
    "i8" bytes::I8;
    "u8" bytes::U8;
    "i16" narrow::I16;
    "u16" narrow::U16;
    "f16" narrow::F16;
    "bf16" narrow::BF16;
    "i32" own::I32;
    "u32" own::U32;
    "f32" own::F32;
    "i64" own::I64;
    "u64" own::U64;
    "f64" own::F64;
};

const WITH_ACCUMULATORS: [&Text; 10] = texts! {
    "bool_u64" wide::BOOL_U64;
    "i8_i64" wide::I8_I64;
    "u8_u64" wide::U8_U64;
    "i16_i64" wide::I16_I64;
    "u16_u64" wide::U16_U64;
    "i32_i64" wide::I32_I64;
    "u32_u64" wide::U32_U64;
    "f16_f64" wide::F16_F64;
    "bf16_f64" wide::BF16_F64;
    "f32_f64" wide::F32_F64;
};

/// Those of the types, in the order of [`warpfold_device::for_each_element!`](https://docs.rs/warpfold-device).
pub fn elements() -> impl Iterator<Item = &'static Text> {
    OF_TYPES.into_iter()
}

/// Those of types with a wider accumulator, in the order of `warpfold_device::for_each_accumulator!`.
pub fn accumulators() -> impl Iterator<Item = &'static Text> {
    WITH_ACCUMULATORS.into_iter()
}

/// The text of this [name](Text::name). A program that has it in a constant carries this one text; otherwise all of them, which are 16 MB.
pub const fn text(name: &str) -> Option<&'static Text> {
    match find(name, &OF_TYPES) {
        None => find(name, &WITH_ACCUMULATORS),
        found => found,
    }
}

const fn find(name: &str, mut texts: &[&'static Text]) -> Option<&'static Text> {
    while let [text, others @ ..] = texts {
        if are_same(text.name.as_bytes(), name.as_bytes()) {
            return Some(text);
        }
        texts = others;
    }
    None
}

const fn are_same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
        if *first != *second {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    left.is_empty() && right.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_of_its_type() {
        for text in elements().chain(accumulators()) {
            let name = text.name();
            let found = super::text(name).expect("it is there");
            assert!(std::ptr::eq(found, text), "{name}");
            let text = text.read();
            assert!(text.contains(".target sm_70"), "{name}");
            assert!(
                text.contains(&std::format!(".entry sum_{name}_rows(")),
                "{name}"
            );
        }
    }

    #[test]
    fn names_are_whole() {
        const F32: Option<&Text> = text("f32");
        assert_eq!(F32.map(Text::name), Some("f32"));
        for name in ["", "f", "f3", "f320", "f128", "f32_"] {
            assert!(text(name).is_none(), "{name}");
        }
    }
}
