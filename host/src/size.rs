//! Sizes as people write them: `2^24`, `16M`, `1_000_000`.

/// Reads a size: a decimal number, with `_` between digits wherever that helps; a power `2^24`; or a number with
/// one of the suffixes `K`, `M`, `G`, which multiply by 2^10, 2^20, 2^30 (so `16M` is `2^24`).
///
/// # Errors
/// One sentence on what cannot be read, or on a size beyond 64 bits.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let too_large = || format!("'{text}' is beyond 2^64 - 1");
    if let Some((base, exponent)) = text.split_once('^') {
        let base = digits(base).ok_or_else(|| unreadable(text))?;
        let exponent = digits(exponent).ok_or_else(|| unreadable(text))?;
        let exponent = u32::try_from(exponent).map_err(|_| too_large())?;
        return base
            .checked_pow(exponent)
            .and_then(|size| u64::try_from(size).ok())
            .ok_or_else(too_large);
    }
    let (number, unit) = match text.char_indices().next_back() {
        Some((end, 'K' | 'k')) => (&text[..end], 1 << 10),
        Some((end, 'M' | 'm')) => (&text[..end], 1 << 20),
        Some((end, 'G' | 'g')) => (&text[..end], 1 << 30),
        _ => (text, 1),
    };
    digits(number)
        .ok_or_else(|| unreadable(text))?
        .checked_mul(unit)
        .and_then(|size| u64::try_from(size).ok())
        .ok_or_else(too_large)
}

/// A size as a number of elements or threads of this machine's word.
///
/// # Errors
/// As [`parse_size`].
pub fn parse_count(text: &str) -> Result<usize, String> {
    usize::try_from(parse_size(text)?)
        .map_err(|_| format!("'{text}' is too large for this machine"))
}

fn unreadable(text: &str) -> String {
    format!("'{text}' is not a size; write it like 2^24, 16M or 1_000_000")
}

/// Decimal digits with single underscores between them; what is too long for the type saturates, to be refused as too large.
fn digits(text: &str) -> Option<u128> {
    let well_formed = text
        .split('_')
        .all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()));
    well_formed.then(|| text.replace('_', "").parse().unwrap_or(u128::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        for (text, size) in [
            ("0", 0),
            ("1_000_000", 1_000_000),
            ("2^24", 1 << 24),
            ("2^0", 1),
            ("10^6", 1_000_000),
            ("16M", 1 << 24),
            ("16m", 1 << 24),
            ("1K", 1024),
            ("3G", 3 << 30),
            ("18446744073709551615", u64::MAX),
            ("2^63", 1 << 63),
        ] {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
    }

    #[test]
    fn sizes_beyond_64_bits_are_too_large() {
        for text in [
            "2^64",
            "18446744073709551616",
            "99999999999G",
            "2^4294967296",
            "9^999",
            &"9".repeat(60),
        ] {
            let message = parse_size(text).unwrap_err();
            assert!(message.contains("beyond 2^64 - 1"), "{message}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_ways_to_write_a_size() {
        for text in [
            "", "-1", "+1", "1e6", "1.5M", "M", "2^", "^2", "2^2^2", "_1", "1_", "1__0", "16 M",
            "16MiB", "½", "0x10",
        ] {
            let message = parse_size(text).unwrap_err();
            assert!(
                message.contains("write it like 2^24, 16M or 1_000_000"),
                "{message}"
            );
        }
    }
}
