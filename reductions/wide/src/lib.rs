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
    BOOL_U64 "bool_u64";
    I8_I64 "i8_i64";
    U8_U64 "u8_u64";
    I16_I64 "i16_i64";
    U16_U64 "u16_u64";
    I32_I64 "i32_i64";
    U32_U64 "u32_u64";
    F16_F64 "f16_f64";
    BF16_F64 "bf16_f64";
    F32_F64 "f32_f64";
}
