#![doc = include_str!("../README.md")]
#![no_std]

macro_rules! texts {
    ($($name:ident $file:literal;)*) => {$(
        #[doc = concat!("The PTX of `", $file, "`, compressed by Zstandard.")]
        pub static $name: [u8; include_bytes!(concat!("../ptx/", $file, ".sm_70.ptx.zst")).len()] =
            *include_bytes!(concat!("../ptx/", $file, ".sm_70.ptx.zst"));
    )*};
}

texts! {
    I16 "i16";
    U16 "u16";
    F16 "f16";
    BF16 "bf16";
}
