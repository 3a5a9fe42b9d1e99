//! Values that the lanes of a warp can hand to one another.

/// A value that is made of 32-bit words. A shuffle moves one word; a value goes through the same shuffle word by word.
///
/// Implemented for numbers (those of 64 bits are two words, smaller ones are one), pairs, triples and arrays of such
/// values, and the operators' states. For a structure of your own, [`words!`](crate::words!) does it. A value has at most as many words as
/// bytes, for which blocks have [`slots`](crate::slots).
pub trait Words: Copy {
    /// The value with `map` applied to each of its words.
    fn map_words(self, map: impl Fn(u32) -> u32 + Copy) -> Self;
}

/// `one_word!(f32: |value| its bits, |bits| value);`
macro_rules! one_word {
    ($($value:ident: $to_bits:expr, $from_bits:expr;)*) => {$(
        impl Words for $value {
            #[inline(always)]
            fn map_words(self, map: impl Fn(u32) -> u32 + Copy) -> Self {
                ($from_bits)(map(($to_bits)(self)))
            }
        }
    )*};
}

one_word! {
    i8: |value: i8| value as u32, |bits: u32| bits as i8;
    u8: |value: u8| u32::from(value), |bits: u32| bits as u8;
    i16: |value: i16| value as u32, |bits: u32| bits as i16;
    u16: |value: u16| u32::from(value), |bits: u32| bits as u16;
    i32: |value: i32| value as u32, |bits: u32| bits as i32;
    u32: |value: u32| value, |bits: u32| bits;
    f32: f32::to_bits, f32::from_bits;
    bool: |value: bool| u32::from(value), |bits: u32| bits != 0;
}

/// Like [`one_word!`], for values of 64 bits.
macro_rules! two_words {
    ($($value:ident: $to_bits:expr, $from_bits:expr;)*) => {$(
        impl Words for $value {
            #[inline(always)]
            fn map_words(self, map: impl Fn(u32) -> u32 + Copy) -> Self {
                let bits: u64 = ($to_bits)(self);
                let (low, high) = (map(bits as u32), map((bits >> 32) as u32));
                ($from_bits)(u64::from(high) << 32 | u64::from(low))
            }
        }
    )*};
}

two_words! {
    i64: |value: i64| value as u64, |bits: u64| bits as i64;
    u64: |value: u64| value, |bits: u64| bits;
    f64: f64::to_bits, f64::from_bits;
}

impl<A: Words, B: Words> Words for (A, B) {
    #[inline(always)]
    fn map_words(self, map: impl Fn(u32) -> u32 + Copy) -> Self {
        (self.0.map_words(map), self.1.map_words(map))
    }
}

impl<A: Words, B: Words, C: Words> Words for (A, B, C) {
    #[inline(always)]
    fn map_words(self, map: impl Fn(u32) -> u32 + Copy) -> Self {
        (
            self.0.map_words(map),
            self.1.map_words(map),
            self.2.map_words(map),
        )
    }
}

impl<T: Words, const N: usize> Words for [T; N] {
    #[inline(always)]
    fn map_words(mut self, map: impl Fn(u32) -> u32 + Copy) -> Self {
        let mut index = 0;
        while index < N {
            self[index] = self[index].map_words(map);
            index += 1;
        }
        self
    }
}

/// Implements [`Words`] for structures whose fields have it: `words! { Span { first, last } Best<T> { value, index } }`.
#[macro_export]
macro_rules! words {
    ($($name:ident $(<$($parameter:ident),+>)? { $($field:tt),+ $(,)? })*) => {$(
        impl$(<$($parameter: $crate::words::Words),+>)? $crate::words::Words for $name$(<$($parameter),+>)? {
            #[inline(always)]
            fn map_words(self, map: impl Fn(u32) -> u32 + Copy) -> Self {
                Self { $($field: $crate::words::Words::map_words(self.$field, map)),+ }
            }
        }
    )*};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Span<T> {
        first: T,
        last: i8,
    }

    words! { Span<T> { first, last } }

    #[test]
    fn every_word_is_mapped_once_and_values_survive() {
        let value = (
            (-1_i8, 200_u8, -300_i16),
            (u64::MAX - 1, f64::MIN_POSITIVE),
            [Span {
                first: -0.0_f32,
                last: i8::MIN,
            }; 3],
        );
        let words = core::cell::Cell::new(0);
        let same = value.map_words(|word| {
            words.set(words.get() + 1);
            word
        });
        assert_eq!(same, value);
        assert!(same.2[0].first.is_sign_negative());
        assert_eq!(words.get(), 3 + 4 + 6);
        assert_eq!(
            0x0000_0001_ffff_ffff_u64.map_words(|word| !word),
            0xffff_fffe_0000_0000
        );
    }
}
