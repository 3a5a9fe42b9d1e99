//! Types that memory holds and arithmetic does not know: floats of 16 bits, and truth values of a byte.

/// A float of 16 bits, with 11 bits of mantissa (IEEE 754 binary16).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F16(
    /// Its bits.
    pub u16,
);

/// A float of 16 bits with the exponent of `f32` and 8 bits of mantissa (bfloat16).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bf16(
    /// Its bits.
    pub u16,
);

/// A truth value as others store it: 0 is false, and any other byte is true. A Rust `bool` may hold no other byte than 0 and 1.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bool(
    /// Its byte.
    pub u8,
);

crate::words! { F16 { 0 } Bf16 { 0 } Bool { 0 } }

/// Any bits are a value.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! plain {
    ($($value:ident)*) => {$(
        // SAFETY: zero bits are a value.
        unsafe impl bytemuck::Zeroable for $value {}
        // SAFETY: it is laid out as the integer in it, whose bits are all values.
        unsafe impl bytemuck::Pod for $value {}
    )*};
}

#[cfg(not(target_arch = "nvptx64"))]
plain! { F16 Bf16 Bool }

impl F16 {
    /// The nearest to `value`, of two equally near ones that with an even mantissa. A NaN stays a NaN.
    #[inline(always)]
    pub fn from_f32(value: f32) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let bits: u16;
            // SAFETY: arithmetic on registers.
            unsafe {
                core::arch::asm!(
                    "cvt.rn.f16.f32 {bits}, {value};",
                    bits = out(reg16) bits,
                    value = in(reg32) value.to_bits(),
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            Self(bits)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        Self(on_the_host::narrow(value))
    }

    /// The same number, negated if that is wanted; 0.0 for both zeros, and for any NaN the one with the greatest bits without a sign.
    #[inline(always)]
    pub(crate) fn canonical<const IS_NEGATED: bool>(self) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let bits: u16;
            macro_rules! with_zero {
                ($operation:literal) => {
                    core::arch::asm!(
                        concat!($operation, ".rn.f16 {bits}, {zero}, {half};"),
                        bits = out(reg16) bits,
                        zero = in(reg16) 0_u16,
                        half = in(reg16) self.0,
                        options(pure, nomem, nostack, preserves_flags),
                    )
                };
            }
            // SAFETY: arithmetic on registers.
            unsafe {
                if IS_NEGATED {
                    with_zero!("sub");
                } else {
                    with_zero!("add");
                }
            }
            Self(bits)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        Self(on_the_host::canonical(if IS_NEGATED {
            self.0 ^ on_the_host::SIGN
        } else {
            self.0
        }))
    }
}

impl Bf16 {
    /// The nearest to `value`, of two equally near ones that with an even mantissa. A NaN stays a NaN.
    #[inline(always)]
    pub fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            // Quiet, so that the upper half is not that of an infinity.
            return Self((bits >> 16) as u16 | 0x40);
        }
        Self((bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }
}

impl From<F16> for f32 {
    /// Exact.
    #[inline(always)]
    fn from(half: F16) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let bits: u32;
            // SAFETY: arithmetic on registers.
            unsafe {
                core::arch::asm!(
                    "cvt.f32.f16 {bits}, {half};",
                    bits = out(reg32) bits,
                    half = in(reg16) half.0,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            f32::from_bits(bits)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        on_the_host::widen(half.0)
    }
}

impl From<Bf16> for f32 {
    /// Exact.
    #[inline(always)]
    fn from(half: Bf16) -> Self {
        f32::from_bits(u32::from(half.0) << 16)
    }
}

impl From<F16> for f64 {
    /// Exact.
    #[inline(always)]
    fn from(half: F16) -> Self {
        f32::from(half).into()
    }
}

impl From<Bf16> for f64 {
    /// Exact.
    #[inline(always)]
    fn from(half: Bf16) -> Self {
        f32::from(half).into()
    }
}

impl From<Bool> for u32 {
    /// 1 for true, 0 for false.
    #[inline(always)]
    fn from(truth: Bool) -> Self {
        (truth.0 != 0).into()
    }
}

impl From<Bool> for u64 {
    /// 1 for true, 0 for false.
    #[inline(always)]
    fn from(truth: Bool) -> Self {
        (truth.0 != 0).into()
    }
}

impl From<bool> for Bool {
    #[inline(always)]
    fn from(truth: bool) -> Self {
        Self(truth.into())
    }
}

/// What the device has instructions for.
#[cfg(not(target_arch = "nvptx64"))]
mod on_the_host {
    /// The powers of two that are the least normal number and the last place of the subnormal ones.
    const LEAST_EXPONENT: i32 = -14;
    const LAST_PLACE: f32 = 1.0 / (1 << 24) as f32;

    pub const SIGN: u16 = 0x8000;

    pub fn canonical(bits: u16) -> u16 {
        match bits & !SIGN {
            0 => 0,
            0x7c01.. => 0x7fff,
            _ => bits,
        }
    }

    pub fn widen(bits: u16) -> f32 {
        let (exponent, mantissa) = (u32::from(bits) >> 10 & 0x1f, u32::from(bits) & 0x3ff);
        let magnitude = match exponent {
            0 => mantissa as f32 * LAST_PLACE,
            0x1f => f32::from_bits(0x7f80_0000 | mantissa << 13),
            _ => f32::from_bits((exponent + 112) << 23 | mantissa << 13),
        };
        f32::from_bits(magnitude.to_bits() | (u32::from(bits) & 0x8000) << 16)
    }

    pub fn narrow(value: f32) -> u16 {
        let sign = (value.to_bits() >> 16) as u16 & SIGN;
        let magnitude = value.abs();
        let bits = magnitude.to_bits();
        let exponent = (bits >> 23) as i32 - 127;
        let rest = if magnitude.is_nan() {
            0x7fff
        } else if exponent < LEAST_EXPONENT {
            // A multiple of the last place, which this rounds to; it may be the least normal number.
            (magnitude / LAST_PLACE).round_ties_even() as u16
        } else {
            // The mantissa may be rounded up to the next exponent, and the greatest to infinity.
            let rounded = bits + 0xfff + (bits >> 13 & 1);
            ((rounded >> 13).saturating_sub(112 << 10)).min(0x7c00) as u16
        };
        sign | rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_and_has_its_value() {
        for bits in 0..=u16::MAX {
            let half = f32::from(F16(bits));
            let brain = f32::from(Bf16(bits));
            if half.is_nan() {
                assert!(f32::from(F16::from_f32(half)).is_nan());
            } else {
                assert_eq!(F16::from_f32(half), F16(bits));
            }
            if brain.is_nan() {
                assert!(f32::from(Bf16::from_f32(brain)).is_nan());
            } else {
                assert_eq!(Bf16::from_f32(brain), Bf16(bits));
            }
        }
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (1, 5.960_464_5e-8),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(f32::from(F16(bits)), value);
        }
        assert!(f32::from(F16(0x8000)).is_sign_negative());
    }

    /// The nearest half is the one that no other is nearer than; of two, the even one.
    #[test]
    fn halves_are_rounded_to_the_nearest_even() {
        for bits in 0..0x7bff_u16 {
            let (low, high) = (f32::from(F16(bits)), f32::from(F16(bits + 1)));
            let middle = (low + high) / 2.0;
            let even = F16(bits + (bits & 1));
            assert_eq!(F16::from_f32(middle), even, "{middle}");
            assert_eq!(F16::from_f32(-middle), F16(even.0 | 0x8000));
            assert_eq!(F16::from_f32(middle.next_down()), F16(bits), "{middle}");
            assert_eq!(F16::from_f32(middle.next_up()), F16(bits + 1), "{middle}");
        }
        assert_eq!(F16::from_f32(65519.0), F16(0x7bff));
        assert_eq!(F16::from_f32(65520.0), F16(0x7c00));
        assert_eq!(F16::from_f32(f32::MAX), F16(0x7c00));
        for bits in 0..0x7f7f_u16 {
            let low = f32::from(Bf16(bits));
            let middle = f32::from_bits((u32::from(bits) << 16) + 0x8000);
            assert_eq!(Bf16::from_f32(middle), Bf16(bits + (bits & 1)), "{low}");
            assert_eq!(Bf16::from_f32(middle.next_down()), Bf16(bits));
            assert_eq!(Bf16::from_f32(middle.next_up()), Bf16(bits + 1));
        }
    }
}
