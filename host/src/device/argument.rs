//! Kernel arguments as the bytes that a launch passes.

use super::DeviceError;
use warpfold_kernels::for_each_scalar;

macro_rules! argument {
    ($($variant:ident $scalar:ident $kind:ident $bits:tt;)*) => {
        /// One argument of a kernel, in the order of its parameters.
        ///
        /// Scalars convert from the Rust type of the same width (`7_i32.into()`), `usize` as the 64-bit integer that it is on the
        /// device; buffers give theirs with [`Buffer::argument`](super::Buffer::argument).
        #[derive(Debug, Clone, PartialEq)]
        pub enum Argument {
            $(
                #[doc = concat!("`", stringify!($scalar), "`")]
                $variant($scalar),
            )*
            /// The address of a buffer on the device.
            Address(u64),
            /// A struct, byte for byte as it lies in memory.
            Bytes(Vec<u8>),
        }

        impl Argument {
            /// The little-endian bytes that the kernel finds in its parameter.
            pub fn to_bytes(&self) -> Vec<u8> {
                match self {
                    $(Self::$variant(value) => value.to_le_bytes().to_vec(),)*
                    Self::Address(address) => address.to_le_bytes().to_vec(),
                    Self::Bytes(bytes) => bytes.clone(),
                }
            }
        }

        $(impl From<$scalar> for Argument {
            fn from(value: $scalar) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

for_each_scalar!(argument);

impl From<usize> for Argument {
    fn from(value: usize) -> Self {
        Self::U64(value as u64)
    }
}

/// The bytes of each argument, when there are as many arguments as parameters and each has its parameter's size.
pub(super) fn encode(
    entry: &str,
    parameter_bytes: &[usize],
    arguments: &[Argument],
) -> Result<Vec<Vec<u8>>, DeviceError> {
    let invalid = |reason| DeviceError::InvalidLaunch {
        entry: entry.to_owned(),
        reason,
    };
    if arguments.len() != parameter_bytes.len() {
        return Err(invalid(format!(
            "it takes {} arguments, and {} are given",
            parameter_bytes.len(),
            arguments.len()
        )));
    }
    let encoded: Vec<Vec<u8>> = arguments.iter().map(Argument::to_bytes).collect();
    for (index, (bytes, &expected)) in encoded.iter().zip(parameter_bytes).enumerate() {
        if bytes.len() != expected {
            return Err(invalid(format!(
                "its parameter {index} (counted from 0) has {expected} bytes, and the argument has {}",
                bytes.len()
            )));
        }
    }
    Ok(encoded)
}

/// As [`encode`], for safe functions, which need the sizes of the parameters: the driver reads as many bytes as the kernel takes.
pub(super) fn encode_known(
    entry: &str,
    parameter_bytes: Option<&[usize]>,
    arguments: &[Argument],
) -> Result<Vec<Vec<u8>>, DeviceError> {
    let parameter_bytes = parameter_bytes.ok_or_else(|| DeviceError::InvalidLaunch {
        entry: entry.to_owned(),
        reason: "its arguments cannot be checked here, because its PTX cannot be parsed: launch it on a stream"
            .to_owned(),
    })?;
    encode(entry, parameter_bytes, arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_fit_are_encoded_in_order() {
        let arguments = [7_i32.into(), 1_usize.into()];
        assert_eq!(
            encode("k", &[4, 8], &arguments).expect("they fit"),
            [vec![7, 0, 0, 0], vec![1, 0, 0, 0, 0, 0, 0, 0]]
        );
    }

    #[test]
    fn a_wrong_number_or_size_is_told() {
        let sentence = |parameters: &[usize], arguments: &[Argument]| {
            encode("k", parameters, arguments)
                .expect_err("they do not fit")
                .to_string()
        };
        assert_eq!(
            sentence(&[8, 8], &[7_u64.into()]),
            "kernel 'k' cannot be launched: it takes 2 arguments, and 1 are given"
        );
        assert_eq!(
            sentence(&[8, 8], &[7_u64.into(), 7_i32.into()]),
            "kernel 'k' cannot be launched: its parameter 1 (counted from 0) has 8 bytes, and the argument has 4"
        );
    }

    #[test]
    fn a_safe_function_takes_no_arguments_that_it_cannot_check() {
        assert_eq!(
            encode_known("k", Some(&[4]), &[7_i32.into()]).expect("they fit"),
            [[7, 0, 0, 0]]
        );
        let error = encode_known("k", None, &[]).expect_err("nobody knows what it takes");
        assert_eq!(
            error.to_string(),
            "kernel 'k' cannot be launched: its arguments cannot be checked here, because its PTX cannot be parsed: launch it on a stream"
        );
    }

    #[test]
    fn scalars_are_little_endian_and_of_their_own_width() {
        assert_eq!(Argument::from(-2_i8).to_bytes(), [0xfe]);
        assert_eq!(Argument::from(200_u8).to_bytes(), [200]);
        assert_eq!(Argument::from(-2_i16).to_bytes(), [0xfe, 0xff]);
        assert_eq!(Argument::from(0x0102_u16).to_bytes(), [2, 1]);
        assert_eq!(Argument::from(-2_i32).to_bytes(), [0xfe, 0xff, 0xff, 0xff]);
        assert_eq!(Argument::from(0x0102_0304_u32).to_bytes(), [4, 3, 2, 1]);
        assert_eq!(Argument::from(-1_i64).to_bytes(), [0xff; 8]);
        assert_eq!(
            Argument::from(0x0102_0304_0506_0708_u64).to_bytes(),
            [8, 7, 6, 5, 4, 3, 2, 1]
        );
        assert_eq!(Argument::from(1.0_f32).to_bytes(), [0, 0, 0x80, 0x3f]);
        assert_eq!(
            Argument::from(1.0_f64).to_bytes(),
            [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]
        );
    }

    #[test]
    fn sizes_addresses_and_structs() {
        assert_eq!(Argument::from(5_usize), Argument::U64(5));
        assert_eq!(
            Argument::Address(0x100).to_bytes(),
            [0, 1, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(Argument::Bytes(vec![1, 2, 3]).to_bytes(), [1, 2, 3]);
    }
}
