//! Integers of 8 and 16 bits, of which many are taken together in a word before it is converted to a float: exactly, and on most GPUs in far less
//! time than in `f64`.

use core::cell::Cell;

use crate::element::Element;
use crate::number::Number;

/// Whether values are such integers, of at most this many bytes.
#[inline(always)]
pub(super) const fn is_small<T: Element>(bytes: usize) -> bool {
    size_of::<T>() <= bytes && size_of::<T::Wide>() == 4 && !<T::Wide as Number>::IS_FLOAT
}

/// The number of 32 bits with these bits.
#[inline(always)]
pub(super) fn of_bits<N: Number>(bits: u32) -> N {
    N::ADDITIVE_IDENTITY.map_words(
        #[inline(always)]
        |_| bits,
    )
}

/// Its bits.
#[inline(always)]
pub(super) fn bits_of<N: Number>(number: N) -> u32 {
    let bits = Cell::new(0);
    number.map_words(
        #[inline(always)]
        |word| {
            bits.set(word);
            word
        },
    );
    bits.get()
}

/// Whether some of the values may be below 0.
#[inline(always)]
fn are_signed<T: Element>() -> bool {
    T::Wide::LEAST < T::Wide::ADDITIVE_IDENTITY
}

/// The magnitude of a value.
#[inline(always)]
pub(super) fn magnitude<T: Element>(value: T) -> u32 {
    let bits = bits_of(value.widen());
    if are_signed::<T>() {
        (bits as i32).unsigned_abs()
    } else {
        bits
    }
}

/// The square of a value of 8 bits.
#[inline(always)]
pub(super) fn square<T: Element>(value: T) -> u32 {
    // Of a negative number, too, these are the bits of the square.
    let bits = bits_of(value.widen());
    bits.wrapping_mul(bits)
}
