//! Runs one form on many operands.

use super::common::{Machine, block};

/// The bits of an operand or result, in a register of any width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits(pub u64);

macro_rules! bits {
    ($($name:ident: $ty:ty, $from:expr, $to:expr;)*) => {$(
        impl Bits {
            pub fn $name(self) -> $ty { let from: fn(u64) -> $ty = $from; from(self.0) }
        }
        impl From<$ty> for Bits {
            fn from(value: $ty) -> Self { let to: fn($ty) -> u64 = $to; Self(to(value)) }
        }
    )*};
}
bits! {
    u16: u16, |bits| bits as u16, u64::from;
    i16: i16, |bits| bits as i16, |value| value as u16 as u64;
    u32: u32, |bits| bits as u32, u64::from;
    i32: i32, |bits| bits as i32, |value| value as u32 as u64;
    u64: u64, |bits| bits, |value| value;
    i64: i64, |bits| bits as i64, |value| value as u64;
    f32: f32, |bits| f32::from_bits(bits as u32), |value| u64::from(value.to_bits());
    f64: f64, f64::from_bits, f64::to_bits;
    bool: bool, |bits| bits & 1 == 1, u64::from;
}

/// Operand values of one width: all edges, and some without pattern.
#[derive(Clone, Copy)]
pub enum Values {
    Int16,
    Int32,
    Int64,
    F32,
    F64,
    /// Doubles of moderate size.
    Tame64,
    /// Shift amounts, positions and lengths, below and beyond every width.
    Amounts,
    Bools,
}

impl Values {
    fn list(self) -> Vec<u64> {
        let mut values: Vec<u64> = match self {
            Self::Int16 | Self::Int32 | Self::Int64 => {
                let bits = match self {
                    Self::Int16 => 16,
                    Self::Int32 => 32,
                    _ => 64,
                };
                let mask = u64::MAX >> (64 - bits);
                let top = 1u64 << (bits - 1);
                [
                    0,
                    1,
                    2,
                    7,
                    31,
                    100,
                    0x55aa_33cc_0f0f_1234,
                    top - 1,
                    top,
                    top + 1,
                    mask - 6,
                    mask - 1,
                    mask,
                    0x9e37_79b9_7f4a_7c15,
                ]
                .map(|value| value & mask)
                .to_vec()
            }
            Self::F32 => [
                0.0,
                1.0,
                1.5,
                2.5,
                3.0,
                0.1,
                1e10,
                16_777_217.0,
                3e38,
                f32::MAX,
                f32::MIN_POSITIVE,
                1e-45,
                1.1e-38,
                f32::INFINITY,
                f32::NAN,
                4.5e9,
                0.999_999_94,
            ]
            .iter()
            .flat_map(|value: &f32| [*value, -*value])
            .map(|value| u64::from(value.to_bits()))
            .collect(),
            Self::F64 => [
                0.0,
                1.0,
                1.5,
                2.5,
                0.1,
                1e300,
                9_007_199_254_740_993.0,
                1e19,
                4.5e9,
                f64::MAX,
                f64::MIN_POSITIVE,
                5e-324,
                1e-310,
                3.5e38,
                1e-40,
                f64::INFINITY,
                f64::NAN,
            ]
            .iter()
            .flat_map(|value: &f64| [*value, -*value])
            .map(f64::to_bits)
            .collect(),
            Self::Tame64 => [
                1.0,
                3.0,
                0.1,
                -7.3,
                1e10,
                -2.5e-9,
                1e15 + 0.3,
                -1.0 / 3.0,
                123.456,
                9_007_199_254_740_991.0,
            ]
            .map(f64::to_bits)
            .to_vec(),
            Self::Amounts => vec![
                0,
                1,
                5,
                8,
                15,
                16,
                17,
                31,
                32,
                33,
                63,
                64,
                65,
                255,
                256,
                0xffff_ffff,
            ],
            Self::Bools => return vec![0, 1],
        };
        values.dedup();
        values
    }
}

/// Up to this many combinations of operands are tried: all if there are fewer.
const MOST_CASES: usize = 768;

/// Combinations of the operands' values.
pub fn combinations(operands: &[Values]) -> Vec<[u64; 3]> {
    let lists: Vec<Vec<u64>> = operands.iter().map(|values| values.list()).collect();
    let all: usize = lists.iter().map(Vec::len).product();
    // A stride without a factor in common with any list's length visits every value of every list.
    let (count, stride) = if all <= MOST_CASES {
        (all, 1)
    } else {
        (MOST_CASES, 7919)
    };
    (0..count)
        .map(|case| {
            let mut index = case * stride % all;
            let mut operands = [0; 3];
            for (operand, list) in operands.iter_mut().zip(&lists) {
                *operand = list[index % list.len()];
                index /= list.len();
            }
            operands
        })
        .collect()
}

/// Runs `text`, in which d, a, b, c stand for registers of the given widths in bits (1 for predicates), on every combination of
/// operands, and compares with `expected`.
#[track_caller]
pub fn check<T: Into<Bits>>(
    text: &str,
    widths: [u32; 4],
    operands: &[Values],
    expected: impl Fn(Bits, Bits, Bits) -> T,
) {
    let cases = combinations(operands);
    let results = run(text, widths, &cases);
    for (case, result) in cases.iter().zip(results) {
        let [a, b, c] = case.map(Bits);
        let wanted = expected(a, b, c).into();
        assert!(
            result == wanted || are_nan(text, widths[0], result, wanted),
            "`{text}` of a = {:#x}, b = {:#x}, c = {:#x} gives {:#x}, not {:#x}",
            a.0,
            b.0,
            c.0,
            result.0,
            wanted.0
        );
    }
}

/// Whether both are NaN, of which double precision leaves sign and payload open.
fn are_nan(text: &str, width: u32, result: Bits, wanted: Bits) -> bool {
    text.contains("f64")
        && match width {
            32 => result.f32().is_nan() && wanted.f32().is_nan(),
            64 => result.f64().is_nan() && wanted.f64().is_nan(),
            _ => false,
        }
}

/// The results of one form for each case.
#[track_caller]
pub fn run(text: &str, widths: [u32; 4], cases: &[[u64; 3]]) -> Vec<Bits> {
    let mut machine = Machine::new(&module(text, widths));
    let mut words: Vec<u64> = cases.iter().flatten().copied().collect();
    let threads = cases.len().next_multiple_of(32);
    words.resize(3 * threads, 0);
    let data = machine.buffer(&words);
    let out = machine.buffer(&vec![0u64; threads]);
    let mut shape = block(256);
    shape.grid[0] = threads.div_ceil(256) as u32;
    let arguments = [out.address, data.address, threads as u64];
    machine
        .launch("test", &shape, &arguments)
        .unwrap_or_else(|error| panic!("{error}"));
    let results: Vec<u64> = machine.read(out);
    results[..cases.len()]
        .iter()
        .map(|&bits| Bits(bits))
        .collect()
}

/// The module of an entry that loads a, b and c, executes the text, and stores d.
pub fn module(text: &str, widths: [u32; 4]) -> String {
    let declare = |name: &str, width: u32| match width {
        0 => String::new(),
        1 => format!(".reg .pred {name};"),
        width => format!(".reg .b{width} {name};"),
    };
    let fetch = |name: &str, width: u32, offset: usize| match width {
        0 => String::new(),
        1 => format!("ld.global.b32 %r2, [%d3+{offset}]; setp.ne.b32 {name}, %r2, 0;"),
        width => format!("ld.global.b{width} {name}, [%d3+{offset}];"),
    };
    let keep = match widths[0] {
        1 => "selp.b64 %d4, 1, 0, d;".to_owned(),
        64 => "mov.b64 %d4, d;".to_owned(),
        width => format!("cvt.u64.u{width} %d4, d;"),
    };
    let clear = match widths[0] {
        1 => "setp.ne.u32 d, 0, 0;".to_owned(),
        width => format!("mov.b{width} d, 0;"),
    };
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64
.visible .entry test(.param .u64 out, .param .u64 data, .param .u64 count) {{
.reg .b32 %r<4>; .reg .b64 %d<8>; .reg .pred %p<4>;
{} {} {} {}
mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;
cvt.u64.u32 %d0, %r0; ld.param.u64 %d1, [count]; setp.ge.u64 %p0, %d0, %d1; @%p0 bra done;
ld.param.u64 %d2, [out]; ld.param.u64 %d3, [data]; mad.lo.u64 %d2, %d0, 8, %d2; mad.lo.u64 %d3, %d0, 24, %d3;
{} {} {} {clear}
{text}
{keep}
st.global.u64 [%d2], %d4;
done: ret;
}}\n",
        declare("d", widths[0]),
        declare("a", widths[1]),
        declare("b", widths[2]),
        declare("c", widths[3]),
        fetch("a", widths[1], 0),
        fetch("b", widths[2], 8),
        fetch("c", widths[3], 16),
    )
}
