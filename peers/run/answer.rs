//! What a contender finds out.

/// What a contender says of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer<T> {
    /// The sum of all elements: of integers modulo 2^32 or 2^64.
    Sum(T),
    /// The exclusive or of all words of 32 bits.
    Fold(u32),
    /// It does not look at the input.
    Nothing,
}
