//! Kernel arguments as people write them: `i32:7`, `bytes:0a0b`, `buf:i32:iota:1024`.

use std::path::PathBuf;
use std::str::FromStr;
use warpfold_course::element::ElementType;
use warpfold_course::random;
use warpfold_course::size::parse_count;
use warpfold_kernels::for_each_scalar;

/// One argument of `--arg`, read but not yet on the device.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A value passed as it is.
    Scalar(ElementType, Vec<u8>),
    /// A struct passed by value, byte for byte.
    Bytes(Vec<u8>),
    /// A buffer, passed by its address.
    Buffer(ElementType, Contents),
}

/// What a buffer holds before the launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// So many elements that are not written, for `warpfold check`; the emulator has zeros there.
    Uninitialised(usize),
    /// So many zeros.
    Zeros(usize),
    /// 0, 1, 2, …: so many, wrapping where the type ends.
    Iota(usize),
    /// Seeded random values.
    Random {
        /// Number of elements.
        n: usize,
        /// Seed of the generator.
        seed: u64,
        /// Least and greatest value.
        range: Range,
    },
    /// The bytes of a file.
    File(PathBuf),
}

/// The range of random values, in the kind of number that the element type holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Both ends included.
    Integers(i128, i128),
    /// The upper end excluded.
    Floats(f64, f64),
}

/// Reads one `--arg`.
///
/// # Errors
/// One sentence: what is wrong and how it is written.
pub fn parse_argument(text: &str) -> Result<Argument, String> {
    let (kind, rest) = text.split_once(':').ok_or_else(|| {
        format!("'{text}' is not an argument; write it like i32:7, bytes:0a0b or buf:i32:zeros:64")
    })?;
    match kind {
        "bytes" => parse_hex(rest).map(Argument::Bytes),
        "buf" => parse_buffer(rest),
        _ => {
            let element_type: ElementType = kind.parse().map_err(|_| {
                format!(
                    "'{kind}' is not a kind of argument; use an element type ({}), bytes or buf",
                    ElementType::NAMES
                )
            })?;
            Ok(Argument::Scalar(
                element_type,
                parse_scalar(element_type, rest)?,
            ))
        }
    }
}

impl Contents {
    /// The bytes of a buffer of this type, little-endian.
    ///
    /// # Errors
    /// One sentence on a file that cannot be read or is no whole number of elements, or on too little memory.
    pub fn bytes(&self, element_type: ElementType) -> Result<Vec<u8>, String> {
        match self {
            Self::Uninitialised(n) | Self::Zeros(n) => {
                let mut bytes = reserve(*n, element_type)?;
                bytes.resize(n * element_type.bytes(), 0);
                Ok(bytes)
            }
            Self::Iota(n) => {
                let mut bytes = reserve(*n, element_type)?;
                for index in 0..*n {
                    push_number(&mut bytes, element_type, index as i128, index as f64);
                }
                Ok(bytes)
            }
            Self::Random { n, seed, range } => {
                let mut bytes = reserve(*n, element_type)?;
                match *range {
                    Range::Integers(low, high) => random::integers(*n, *seed, low, high)
                        .for_each(|value| push_number(&mut bytes, element_type, value, 0.0)),
                    Range::Floats(low, high) => random::floats(*n, *seed, low, high)
                        .for_each(|value| push_number(&mut bytes, element_type, 0, value)),
                }
                Ok(bytes)
            }
            Self::File(path) => {
                let bytes = std::fs::read(path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                if !bytes.len().is_multiple_of(element_type.bytes()) {
                    return Err(format!(
                        "{} holds {} bytes, which is no whole number of {element_type} elements of {} bytes",
                        path.display(),
                        bytes.len(),
                        element_type.bytes()
                    ));
                }
                Ok(bytes)
            }
        }
    }
}

fn reserve(n: usize, element_type: ElementType) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    n.checked_mul(element_type.bytes())
        .and_then(|length| bytes.try_reserve_exact(length).ok())
        .ok_or_else(|| {
            format!("there is not enough memory for a buffer of {n} {element_type} elements")
        })?;
    Ok(bytes)
}

macro_rules! scalars {
    ($($variant:ident $value:ident $kind:ident $bits:tt;)*) => {
        /// Appends `integer` (wrapped to the type's width), or `float` for a float type.
        fn push_number(bytes: &mut Vec<u8>, element_type: ElementType, integer: i128, float: f64) {
            match element_type {
                $(ElementType::$variant => {
                    bytes.extend_from_slice(&scalars!(@pick $kind integer float as $value).to_le_bytes());
                })*
            }
        }

        /// The bytes of a value of this type.
        fn parse_scalar(element_type: ElementType, text: &str) -> Result<Vec<u8>, String> {
            match element_type {
                $(ElementType::$variant => {
                    let value = scalars!(@parse $kind $value element_type text)?;
                    Ok((value as $value).to_le_bytes().to_vec())
                })*
            }
        }
    };
    (@pick integer $integer:ident $float:ident as $value:ident) => { ($integer as $value) };
    (@pick float $integer:ident $float:ident as $value:ident) => { ($float as $value) };
    (@parse integer $value:ident $element_type:ident $text:ident) => { parse_integer($element_type, $text) };
    (@parse float $value:ident $element_type:ident $text:ident) => { parse_float::<$value>($element_type, $text) };
}

for_each_scalar!(scalars);

fn parse_integer(element_type: ElementType, text: &str) -> Result<i128, String> {
    let (low, high) = element_type
        .integer_range()
        .unwrap_or((i128::MIN, i128::MAX));
    let value: i128 = text
        .parse()
        .map_err(|_| format!("'{text}' is not a value of type {element_type}"))?;
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(format!(
            "{text} does not fit the type {element_type}, which goes from {low} to {high}"
        ))
    }
}

fn parse_float<T: FromStr>(element_type: ElementType, text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("'{text}' is not a value of type {element_type}"))
}

fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    let nibbles: Option<Vec<u8>> = text
        .chars()
        .map(|character| character.to_digit(16).map(|nibble| nibble as u8))
        .collect();
    match nibbles {
        Some(nibbles) if !nibbles.is_empty() && nibbles.len().is_multiple_of(2) => Ok(nibbles
            .chunks_exact(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()),
        _ => Err(format!(
            "'{text}' is not a string of bytes; write two hexadecimal digits per byte, like 0a0b"
        )),
    }
}

/// Reads what follows `buf:`.
fn parse_buffer(text: &str) -> Result<Argument, String> {
    const FORMS: &str = "buf:TYPE:zeros:N, buf:TYPE:uninit:N, buf:TYPE:iota:N, buf:TYPE:random:N:SEED:LO:HI or buf:TYPE:file:PATH";
    let unreadable = || format!("'buf:{text}' is not a buffer; write {FORMS}");
    let (name, rest) = text.split_once(':').ok_or_else(unreadable)?;
    let element_type: ElementType = name
        .parse()
        .map_err(|error: warpfold_course::element::UnknownElementType| error.to_string())?;
    let (contents, rest) = rest.split_once(':').ok_or_else(unreadable)?;
    let contents = match contents {
        "uninit" => Contents::Uninitialised(parse_count(rest)?),
        "zeros" => Contents::Zeros(parse_count(rest)?),
        "iota" => Contents::Iota(parse_count(rest)?),
        "random" => parse_random(element_type, rest).ok_or_else(unreadable)??,
        "file" if !rest.is_empty() => Contents::File(PathBuf::from(rest)),
        _ => return Err(unreadable()),
    };
    Ok(Argument::Buffer(element_type, contents))
}

/// Reads `N:SEED:LO:HI`; `None` where these are not four.
fn parse_random(element_type: ElementType, text: &str) -> Option<Result<Contents, String>> {
    let [n, seed, low, high] = <[&str; 4]>::try_from(text.split(':').collect::<Vec<_>>()).ok()?;
    let contents = || {
        let empty = || format!("the range from {low} to {high} is empty; put the lower end first");
        let range = if element_type.integer_range().is_some() {
            let (low, high) = (
                parse_integer(element_type, low)?,
                parse_integer(element_type, high)?,
            );
            if low > high {
                return Err(empty());
            }
            Range::Integers(low, high)
        } else {
            let (from, to): (f64, f64) = (
                parse_float(element_type, low)?,
                parse_float(element_type, high)?,
            );
            if !(to - from).is_finite() {
                return Err(format!("the range from {low} to {high} is not finite"));
            }
            if from > to {
                return Err(empty());
            }
            Range::Floats(from, to)
        };
        let seed = seed
            .parse()
            .map_err(|_| format!("'{seed}' is not a seed; write a number from 0 to 2^64 - 1"))?;
        Ok(Contents::Random {
            n: parse_count(n)?,
            seed,
            range,
        })
    };
    Some(contents())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a buffer argument starts with.
    #[track_caller]
    fn buffer_bytes(text: &str) -> Vec<u8> {
        match parse_argument(text) {
            Ok(Argument::Buffer(element_type, contents)) => contents.bytes(element_type).unwrap(),
            other => panic!("{text} reads as {other:?}"),
        }
    }

    #[test]
    fn scalars_of_every_width_are_little_endian() {
        for (text, bytes) in [
            ("i8:-1", vec![0xff]),
            ("u8:255", vec![0xff]),
            ("i16:-2", vec![0xfe, 0xff]),
            ("u16:258", vec![2, 1]),
            ("i32:7", vec![7, 0, 0, 0]),
            ("u32:4294967295", vec![0xff; 4]),
            ("i64:-1", vec![0xff; 8]),
            ("u64:10", vec![10, 0, 0, 0, 0, 0, 0, 0]),
            ("f32:1.5", 1.5_f32.to_le_bytes().to_vec()),
            ("f64:-2.5e3", (-2500_f64).to_le_bytes().to_vec()),
        ] {
            let Ok(Argument::Scalar(element_type, read)) = parse_argument(text) else {
                panic!("{text} is no scalar");
            };
            assert_eq!(read, bytes, "{text}");
            assert_eq!(read.len(), element_type.bytes(), "{text}");
        }
    }

    #[test]
    fn bytes_are_hexadecimal() {
        assert_eq!(
            parse_argument("bytes:0aFf"),
            Ok(Argument::Bytes(vec![0x0a, 0xff]))
        );
    }

    #[test]
    fn buffers_hold_what_they_say() {
        assert_eq!(buffer_bytes("buf:u16:zeros:3"), [0; 6]);
        assert_eq!(buffer_bytes("buf:u16:iota:3"), [0, 0, 1, 0, 2, 0]);
        assert_eq!(
            buffer_bytes("buf:u8:iota:2^8"),
            (0..=255).collect::<Vec<u8>>()
        );
        assert_eq!(buffer_bytes("buf:i8:iota:257")[256], 0, "iota wraps");
        assert_eq!(
            buffer_bytes("buf:f32:iota:2"),
            [0_f32.to_le_bytes(), 1_f32.to_le_bytes()].concat()
        );
        assert_eq!(
            buffer_bytes("buf:i64:random:4:1:-3:-3"),
            (-3_i64).to_le_bytes().repeat(4)
        );
        assert_eq!(
            buffer_bytes("buf:f64:random:2:1:0.5:0.5"),
            0.5_f64.to_le_bytes().repeat(2)
        );
        assert_eq!(
            buffer_bytes("buf:i32:random:9:1:-5:5"),
            buffer_bytes("buf:i32:random:9:1:-5:5")
        );
        assert_ne!(
            buffer_bytes("buf:i32:random:9:1:-5:5"),
            buffer_bytes("buf:i32:random:9:2:-5:5")
        );
    }

    #[test]
    fn a_file_keeps_its_colons() {
        assert_eq!(
            parse_argument("buf:u8:file:a:b"),
            Ok(Argument::Buffer(
                ElementType::U8,
                Contents::File("a:b".into())
            ))
        );
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (text, culprit) in [
            ("7", "'7' is not an argument"),
            ("int:7", "'int' is not a kind of argument"),
            ("i32:seven", "'seven' is not a value of type i32"),
            ("i8:128", "128 does not fit the type i8"),
            ("u32:-1", "-1 does not fit the type u32"),
            ("f32:x", "'x' is not a value of type f32"),
            ("bytes:", "not a string of bytes"),
            ("bytes:abc", "not a string of bytes"),
            ("bytes:zz", "not a string of bytes"),
            ("buf:i32", "is not a buffer"),
            ("buf:i33:zeros:1", "'i33' is not an element type"),
            ("buf:i32:ones:1", "is not a buffer"),
            ("buf:i32:zeros:x", "'x' is not a size"),
            ("buf:i32:file:", "is not a buffer"),
            ("buf:i32:random:1:2:3", "is not a buffer"),
            ("buf:i32:random:1:x:3:4", "'x' is not a seed"),
            ("buf:i8:random:1:2:3:400", "400 does not fit the type i8"),
            ("buf:i32:random:1:2:4:3", "is empty"),
            ("buf:f32:random:1:2:4:3", "is empty"),
            ("buf:f64:random:1:2:0:inf", "is not finite"),
        ] {
            let message = parse_argument(text).unwrap_err();
            assert!(message.contains(culprit), "{text}: {message}");
        }
    }

    #[test]
    fn a_buffer_larger_than_memory_is_refused() {
        let Ok(Argument::Buffer(element_type, contents)) = parse_argument("buf:f64:zeros:2^62")
        else {
            panic!("no buffer");
        };
        assert!(
            contents
                .bytes(element_type)
                .unwrap_err()
                .contains("not enough memory")
        );
    }
}
