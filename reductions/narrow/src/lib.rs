#![doc = include_str!("../README.md")]
#![no_std]

macro_rules! texts {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../ptx/", $name, ".sm_70.ptx.zst")))),*]
    };
}

/// The name of each type, and the PTX of its reductions, compressed by Zstandard.
pub const TEXTS: [(&str, &[u8]); 4] = texts! { "i16" "u16" "f16" "bf16" };
