//! Functions of floats. Each is made of operations that round correctly, in a fixed order, so that a GPU, the emulator and a CPU
//! give the same bits; but for those that say *about*.

#[cfg(any(
    target_arch = "nvptx64",
    target_feature = "sm_80",
    target_feature = "compute_80"
))]
use crate::unroll::each_of;

/// A float of 32 or 64 bits.
pub trait Float:
    Copy
    + Send
    + Sync
    + PartialOrd
    + core::ops::Add<Output = Self>
    + core::ops::Sub<Output = Self>
    + core::ops::Mul<Output = Self>
    + core::ops::Div<Output = Self>
{
    /// 0.0
    const ZERO: Self;
    /// ∞
    const INFINITE: Self;

    /// The nearest float to a count.
    fn of_count(count: u64) -> Self;
    /// Without its sign.
    fn magnitude(self) -> Self;
    /// The lesser; NaN if one is NaN, and −0.0 is less than 0.0.
    fn minimum(self, other: Self) -> Self;
    /// The greater; NaN if one is NaN, and 0.0 is greater than −0.0.
    fn maximum(self, other: Self) -> Self;
    /// The least of several, as [`minimum`](Self::minimum) gives it; ∞ of none.
    fn least_of<const V: usize, const N: usize>(values: [[Self; N]; V]) -> Self;
    /// The greatest of several, as [`maximum`](Self::maximum) gives it; −∞ of none.
    fn greatest_of<const V: usize, const N: usize>(values: [[Self; N]; V]) -> Self;
    /// The lesser of two numbers, and of a number and a NaN the number.
    fn lesser_number(self, other: Self) -> Self;
    /// The greater of two numbers, and of a number and a NaN the number.
    fn greater_number(self, other: Self) -> Self;
    /// `self` · `factor` + `term`, rounded once.
    fn multiply_add(self, factor: Self, term: Self) -> Self;
    /// The square root, rounded correctly.
    fn square_root(self) -> Self;
    /// e to the power of a number that is not above 0: off by less than one unit in the last place, and 0 where that would be
    /// subnormal.
    fn exp_of_negative(self) -> Self;
    /// The same by the fastest way there is, whose last bits differ from one machine to another: off by less than two units in the last
    /// place and what the product with log₂ e is rounded by.
    fn about_exp_of_negative(self) -> Self;
    /// The natural logarithm: −∞ of 0, NaN below; off by less than two units in the last place. Subnormal numbers are taken for 0.
    fn logarithm(self) -> Self;
}

/// `a` · `b` + `c` on the host, rounded once: by `libm` where the system's function rounds twice, as that does which MinGW links on Windows.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! fused {
    ($function:ident, $a:ident, $b:ident, $c:ident) => {{
        #[cfg(windows)]
        {
            libm::$function($a, $b, $c)
        }
        #[cfg(not(windows))]
        {
            $a.mul_add($b, $c)
        }
    }};
}

/// An instruction of the device on floats, and what the host has for it.
macro_rules! instruction {
    ($name:ident: $value:ident = $register:ident, $bits:ident, $instruction:expr, ($($argument:ident),+), $host:expr) => {
        #[inline(always)]
        fn $name($($argument: $value),+) -> $value {
            #[cfg(target_arch = "nvptx64")]
            {
                let result: $bits;
                // SAFETY: arithmetic on registers.
                unsafe {
                    core::arch::asm!(
                        $instruction,
                        $($argument = in($register) $argument.to_bits(),)+
                        result = out($register) result,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                $value::from_bits(result)
            }
            #[cfg(not(target_arch = "nvptx64"))]
            $host
        }
    };
}

instruction!(fma_32: f32 = reg32, u32, "fma.rn.f32 {result}, {a}, {b}, {c};", (a, b, c), fused!(fmaf, a, b, c));
instruction!(fma_64: f64 = reg64, u64, "fma.rn.f64 {result}, {a}, {b}, {c};", (a, b, c), fused!(fma, a, b, c));
instruction!(sqrt_32: f32 = reg32, u32, "sqrt.rn.f32 {result}, {a};", (a), a.sqrt());
instruction!(sqrt_64: f64 = reg64, u64, "sqrt.rn.f64 {result}, {a};", (a), a.sqrt());

/// The lesser or the greater by comparisons, on a host: the left one if it is NaN, is before the other, or is the zero of that sign; otherwise
/// the right one: it is before the other, it alone is NaN, or both are the same.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! by_comparisons {
    ($left:ident $before:tt $right:ident, $sign:ident) => {{
        let is_left = ($left $before $right) | $left.is_nan() | (($left == $right) & $left.$sign());
        if is_left { $left } else { $right }
    }};
}

macro_rules! float {
    (
        $value:ident $bits:ident: $fma:ident $sqrt:ident $minimum:ident, $maximum:ident, $least_of:ident, $greatest_of:ident,
        $lesser:ident, $greater:ident, $about_exp:ident,
        mantissa $mantissa:literal bias $bias:literal least $least:literal
        ln2 $ln2_high:literal + $ln2_low:literal
        exp [$($exp:expr),+] ln [$($ln:expr),+]
    ) => {
        impl Float for $value {
            const ZERO: Self = 0.0;
            const INFINITE: Self = $value::INFINITY;

            #[inline(always)]
            fn of_count(count: u64) -> Self {
                count as $value
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                Self::from_bits(self.to_bits() & ($bits::MAX >> 1))
            }

            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                $minimum(self, other)
            }

            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                $maximum(self, other)
            }

            #[inline(always)]
            fn least_of<const V: usize, const N: usize>(values: [[Self; N]; V]) -> Self {
                $least_of(values)
            }

            #[inline(always)]
            fn greatest_of<const V: usize, const N: usize>(values: [[Self; N]; V]) -> Self {
                $greatest_of(values)
            }

            #[inline(always)]
            fn lesser_number(self, other: Self) -> Self {
                $lesser(self, other)
            }

            #[inline(always)]
            fn greater_number(self, other: Self) -> Self {
                $greater(self, other)
            }

            #[inline(always)]
            fn about_exp_of_negative(self) -> Self {
                $about_exp(self)
            }

            #[inline(always)]
            fn multiply_add(self, factor: Self, term: Self) -> Self {
                $fma(self, factor, term)
            }

            #[inline(always)]
            fn square_root(self) -> Self {
                $sqrt(self)
            }

            #[inline(always)]
            fn exp_of_negative(self) -> Self {
                // Adding it leaves a whole number in the lowest bits of the mantissa.
                const ROUNDER: $value = 1.5 * (1_u64 << $mantissa) as $value;
                let shifted = $fma(self, core::$value::consts::LOG2_E, ROUNDER);
                let power = shifted - ROUNDER;
                // e^self = 2^power · e^rest, with |rest| up to ½ ln 2; its series follows.
                let rest = $fma(power, -$ln2_high, self);
                let rest = $fma(power, -$ln2_low, rest);
                let mut series = 0.0;
                $(series = $fma(series, rest, $exp);)+
                let scale = Self::from_bits((shifted.to_bits().wrapping_add($bias) << $mantissa) & ($bits::MAX >> 1));
                // False of NaN, which the product keeps.
                if self < $least { 0.0 } else { series * scale }
            }

            #[inline(always)]
            fn logarithm(self) -> Self {
                const SQRT_HALF: $bits = core::$value::consts::FRAC_1_SQRT_2.to_bits();
                let bits = self.to_bits();
                // self = 2^power · mantissa, with a mantissa from √½ to √2.
                let power = arithmetic_shift!($bits, bits.wrapping_sub(SQRT_HALF), $mantissa);
                let mantissa = Self::from_bits(bits.wrapping_sub((power as $bits) << $mantissa));
                // ln mantissa = 2 artanh ratio; its series follows.
                let ratio = (mantissa - 1.0) / (mantissa + 1.0);
                let square = ratio * ratio;
                let mut series = 0.0;
                $(series = $fma(series, square, $ln);)+
                let power = power as $value;
                let small = $fma(ratio * square, series, power * $ln2_low);
                let logarithm = $fma(power, $ln2_high, $fma(2.0, ratio, small));
                if self < Self::MIN_POSITIVE {
                    if self < 0.0 { Self::NAN } else { Self::NEG_INFINITY }
                } else if self < Self::INFINITY {
                    logarithm
                } else {
                    // ∞ or NaN.
                    self
                }
            }
        }
    };
}

/// The bits shifted as those of a signed number.
macro_rules! arithmetic_shift {
    (u32, $bits:expr, $distance:expr) => {
        ($bits as i32) >> $distance
    };
    (u64, $bits:expr, $distance:expr) => {
        ($bits as i64) >> $distance
    };
}

float! {
    f32 u32: fma_32 sqrt_32 minimum_32, maximum_32, least_of_32, greatest_of_32,
    lesser_32, greater_32, about_exp_32,
    mantissa 23 bias 127 least -87.0
    // The sum of both is ln 2; the first has so few bits that its product with a power of two in use is exact.
    ln2 0.693_145_75 + 1.428_606_8e-6
    // 1 ∕ 7! to 1 ∕ 0!
    exp [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
    // 2 ∕ 11 to 2 ∕ 3
    ln [2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0]
}

float! {
    f64 u64: fma_64 sqrt_64 minimum_64, maximum_64, least_of_64, greatest_of_64,
    lesser_64, greater_64, about_exp_64,
    mantissa 52 bias 1023 least -708.0
    ln2 0.693_147_180_369_123_8 + 1.908_214_929_270_587_7e-10
    // 1 ∕ 13! to 1 ∕ 0!
    exp [
        1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0, 1.0 / 362_880.0,
        1.0 / 40_320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0
    ]
    // 2 ∕ 23 to 2 ∕ 3
    ln [
        2.0 / 23.0, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0,
        2.0 / 5.0, 2.0 / 3.0
    ]
}

// The lesser or the greater of two numbers, and of a number and a NaN the number.
instruction!(lesser_32: f32 = reg32, u32, "min.f32 {result}, {a}, {b};", (a, b), a.min(b));
instruction!(greater_32: f32 = reg32, u32, "max.f32 {result}, {a}, {b};", (a, b), a.max(b));
instruction!(lesser_64: f64 = reg64, u64, "min.f64 {result}, {a}, {b};", (a, b), a.min(b));
instruction!(greater_64: f64 = reg64, u64, "max.f64 {result}, {a}, {b};", (a, b), a.max(b));

/// The lesser or the greater of two and of several, `$of_two` and `$of_several`. A GPU puts back the NaN that its instruction drops: of
/// several once, after a look at each pair.
macro_rules! extremes {
    ($value:ident: $of_two:ident, $of_several:ident, $number:ident, $before:tt, $sign:ident, $last:expr) => {
        #[inline(always)]
        fn $of_two(left: $value, right: $value) -> $value {
            #[cfg(target_arch = "nvptx64")]
            {
                let number = $number(left, right);
                if left.is_nan() | right.is_nan() { $value::NAN } else { number }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            by_comparisons!(left $before right, $sign)
        }

        #[inline(always)]
        fn $of_several<const V: usize, const N: usize>(values: [[$value; N]; V]) -> $value {
            #[cfg(target_arch = "nvptx64")]
            {
                let mut number = $last;
                let mut is_nan = false;
                each_of(
                    values,
                    #[inline(always)]
                    |place, value| {
                        number = $number(number, value);
                        // Of each pair at once: one instruction.
                        if place % 2 == 1 {
                            is_nan |= values[(place - 1) / N][(place - 1) % N].is_nan() | value.is_nan();
                        } else if place + 1 == V * N {
                            is_nan |= value.is_nan();
                        }
                    },
                );
                if is_nan { $value::NAN } else { number }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            values.as_flattened().iter().fold($last, |left, &right| $of_two(left, right))
        }
    };
}

extremes!(f64: minimum_64, least_of_64, lesser_64, <, is_sign_negative, f64::INFINITY);
extremes!(f64: maximum_64, greatest_of_64, greater_64, >, is_sign_positive, f64::NEG_INFINITY);

/// Of `f32` there is an instruction that keeps a NaN, from sm_80 on.
#[cfg(any(target_feature = "sm_80", target_feature = "compute_80"))]
macro_rules! keeping_nan {
    ($instruction:literal) => {
        concat!($instruction, ".NaN.f32 {result}, {a}, {b};")
    };
}

/// A text for sm_70 says so in comments: what loads it may put the line after `//from sm_80 on:` in the place of those after `//before:`.
#[cfg(target_feature = "sm_70")]
#[cfg(not(target_feature = "sm_80"))]
macro_rules! keeping_nan {
    ($instruction:literal) => {
        concat!(
            "{{\n//from sm_80 on:\n//",
            $instruction,
            ".NaN.f32 {result}, {a}, {b};\n//before:\n.reg .pred %are_numbers;\n\
             setp.num.f32 %are_numbers, {a}, {b};\n",
            $instruction,
            ".f32 {result}, {a}, {b};\nselp.b32 {result}, {result}, 0x7fffffff, %are_numbers;\n//end\n}}",
        )
    };
}

#[cfg(any(
    target_feature = "sm_70",
    target_feature = "sm_80",
    target_feature = "compute_80"
))]
macro_rules! extremes_of_32 {
    ($of_two:ident, $of_several:ident, $number:ident, $before:tt, $sign:ident, $last:expr, $instruction:literal) => {
        instruction!($of_two: f32 = reg32, u32, keeping_nan!($instruction), (a, b), a);

        #[inline(always)]
        fn $of_several<const V: usize, const N: usize>(values: [[f32; N]; V]) -> f32 {
            let mut extreme = $last;
            each_of(
                values,
                #[inline(always)]
                |_, value| extreme = $of_two(extreme, value),
            );
            extreme
        }
    };
}

/// On a host, and by rust-cuda for sm_70.
#[cfg(not(any(
    target_feature = "sm_70",
    target_feature = "sm_80",
    target_feature = "compute_80"
)))]
macro_rules! extremes_of_32 {
    ($of_two:ident, $of_several:ident, $number:ident, $before:tt, $sign:ident, $last:expr, $instruction:literal) => {
        extremes!(f32: $of_two, $of_several, $number, $before, $sign, $last);
    };
}

extremes_of_32!(minimum_32, least_of_32, lesser_32, <, is_sign_negative, f32::INFINITY, "min");
extremes_of_32!(maximum_32, greatest_of_32, greater_32, >, is_sign_positive, f32::NEG_INFINITY, "max");

/// e to the power of a number that is not above 0, by the GPU's own powers of two, which are off by up to two units in the last place.
#[inline(always)]
fn about_exp_32(value: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        instruction!(power_of_two: f32 = reg32, u32, "ex2.approx.ftz.f32 {result}, {a};", (a), a);
        power_of_two(value * core::f32::consts::LOG2_E)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value.exp_of_negative()
}

/// A GPU has none of 64 bits.
#[inline(always)]
fn about_exp_64(value: f64) -> f64 {
    value.exp_of_negative()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The distance of a result from the right one, in units of its last place.
    fn ulps(found: f32, right: f64) -> f64 {
        let unit =
            f64::from(f32::from_bits((right as f32).to_bits() + 1)) - f64::from(right as f32);
        ((f64::from(found) - right) / unit.abs()).abs()
    }

    #[test]
    fn exponentials_at_the_ends() {
        for (x, e) in [
            (0.0, 1.0),
            (-0.0, 1.0),
            (f32::NEG_INFINITY, 0.0),
            (-88.0, 0.0),
            (f32::MIN, 0.0),
        ] {
            assert_eq!(x.exp_of_negative(), e, "{x}");
            assert_eq!(
                f64::from(x).exp_of_negative(),
                if x == -88.0 {
                    (-88.0_f64).exp_of_negative()
                } else {
                    e.into()
                }
            );
        }
        assert!(f32::NAN.exp_of_negative().is_nan() && f64::NAN.exp_of_negative().is_nan());
        assert!((-f32::NAN).exp_of_negative().is_nan() && (-f64::NAN).exp_of_negative().is_nan());
    }

    #[test]
    fn logarithms_at_the_ends() {
        for (x, ln) in [
            (1.0, 0.0),
            (0.0, f64::NEG_INFINITY),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(x.logarithm(), ln);
            assert_eq!((x as f32).logarithm(), ln as f32);
        }
        for x in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            assert!(
                x.logarithm().is_nan() && (x as f32).logarithm().is_nan(),
                "{x}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn exponentials(x in -87.0_f64..0.0, wide in -700.0_f64..0.0) {
            let single = x as f32;
            prop_assert!(ulps(single.exp_of_negative(), f64::from(single).exp()) < 1.0);
            let (found, right) = (wide.exp_of_negative(), wide.exp());
            prop_assert!((found - right).abs() <= right * 3.0 * f64::EPSILON, "{found} {right}");
        }

        #[test]
        fn logarithms(exponent in -120.0_f64..120.0) {
            let wide = exponent.exp2();
            let single = wide as f32;
            prop_assert!(ulps(single.logarithm(), f64::from(single).ln()) < 2.0, "{single}");
            let (found, right) = (wide.logarithm(), wide.ln());
            prop_assert!((found - right).abs() <= right.abs() * 3.0 * f64::EPSILON, "{found} {right}");
        }

        #[test]
        fn near_one(distance in -1e-3_f64..1e-3) {
            let x = 1.0 + distance;
            prop_assert!((x.logarithm() - x.ln()).abs() <= x.ln().abs() * 3.0 * f64::EPSILON);
        }
    }
}
