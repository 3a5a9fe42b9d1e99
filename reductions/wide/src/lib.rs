#![doc = include_str!("../README.md")]
#![no_std]

macro_rules! texts {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../ptx/", $name, ".sm_70.ptx.zst")))),*]
    };
}

/// The names of each type and its accumulator, and the PTX of their reductions, compressed by Zstandard.
pub const TEXTS: [(&str, &[u8]); 10] = texts! {
    "bool_u64" "i8_i64" "u8_u64" "i16_i64" "u16_u64" "i32_i64" "u32_u64" "f16_f64" "bf16_f64" "f32_f64"
};
