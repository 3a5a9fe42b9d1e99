//! Sizes as people write them: `2^24`, `16M`, `3*2^30`, `1_000_000`, and several of them: `2^10..2^28`.

/// Reads a size: a decimal number, with `_` between digits wherever that helps; a power `2^24`; a number with
/// one of the suffixes `K`, `M`, `G`, which multiply by 2^10, 2^20, 2^30 (so `16M` is `2^24`); or a product of such, `3*2^30`.
///
/// # Errors
/// One sentence on what cannot be read, or on a size beyond 64 bits.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let too_large = || format!("'{text}' is beyond 2^64 - 1");
    let mut product = Some(1_u128);
    for factor in text.split('*') {
        let factor = parse_factor(factor).ok_or_else(|| unreadable(text))?;
        product = product.and_then(|product| product.checked_mul(factor));
    }
    product
        .and_then(|size| u64::try_from(size).ok())
        .ok_or_else(too_large)
}

/// A factor of a size; one that is too large for the type saturates.
fn parse_factor(text: &str) -> Option<u128> {
    if let Some((base, exponent)) = text.split_once('^') {
        let (base, exponent) = (digits(base)?, digits(exponent)?);
        let exponent = u32::try_from(exponent).unwrap_or(u32::MAX);
        return Some(base.saturating_pow(exponent));
    }
    let (number, unit) = match text.char_indices().next_back() {
        Some((end, 'K' | 'k')) => (&text[..end], 1 << 10),
        Some((end, 'M' | 'm')) => (&text[..end], 1 << 20),
        Some((end, 'G' | 'g')) => (&text[..end], 1 << 30),
        _ => (text, 1),
    };
    Some(digits(number)?.saturating_mul(unit))
}

/// Reads a size that fits this computer's word: a number of elements or threads.
///
/// # Errors
/// As [`parse_size`].
pub fn parse_count(text: &str) -> Result<usize, String> {
    usize::try_from(parse_size(text)?)
        .map_err(|_| format!("'{text}' is too large for this machine"))
}

/// Reads several sizes of at least 1: sizes and ranges with commas between them. Gives each size once, from small to large. The
/// range `2^10..2^28` doubles from its first size up to its last, which is included if doubling reaches it; `2^10..2^28*4`
/// multiplies by four: after the last size, `*` is always followed by that factor.
///
/// # Errors
/// One sentence on what cannot be read, on a size of 0, or on an empty range.
pub fn parse_sizes(text: &str) -> Result<Vec<usize>, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => sizes.push(parse_count(part)?),
            Some((first, rest)) => {
                let (last, factor) = match rest.rsplit_once('*') {
                    None => (rest, 2),
                    Some((last, factor)) => (last, parse_count(factor)?),
                };
                sizes.extend(range(
                    part,
                    parse_count(first)?,
                    parse_count(last)?,
                    factor,
                )?);
            }
        }
    }
    if sizes.contains(&0) {
        return Err(format!("'{text}' has a size of 0; begin with 1"));
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// The sizes from the first to the last, each `factor` times the one before.
fn range(text: &str, first: usize, last: usize, factor: usize) -> Result<Vec<usize>, String> {
    if first == 0 || first > last || factor < 2 {
        return Err(format!(
            "'{text}' is no range of sizes; write it like 2^10..2^28, from small to large, or 2^10..2^28*4"
        ));
    }
    let next = |&size: &usize| size.checked_mul(factor).filter(|&size| size <= last);
    Ok(std::iter::successors(Some(first), next).collect())
}

/// The shortest way to write a size: powers of two from `2^10` on as powers, other sizes in full.
pub fn short(size: usize) -> String {
    if size.is_power_of_two() && size >= 1 << 10 {
        format!("2^{}", size.trailing_zeros())
    } else {
        size.to_string()
    }
}

fn unreadable(text: &str) -> String {
    format!("'{text}' is not a size; write it like 2^24, 16M, 3*2^30 or 1_000_000")
}

/// Decimal digits with single underscores between them. A number that is too long for the type saturates, and is then refused as
/// too large.
fn digits(text: &str) -> Option<u128> {
    let well_formed = text
        .split('_')
        .all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()));
    well_formed.then(|| text.replace('_', "").parse().unwrap_or(u128::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn several_sizes_are_a_list_with_ranges() {
        for (text, sizes) in [
            ("2^4", &[16][..]),
            ("1..8", &[1, 2, 4, 8]),
            ("1..9", &[1, 2, 4, 8]),
            ("3..48*4", &[3, 12, 48]),
            ("3*2..3*2^3*2", &[6, 12, 24]),
            ("7..7", &[7]),
            ("1K,10..20,5,1024", &[5, 10, 20, 1024]),
            ("2^62..2^63", &[1 << 62, 1 << 63]),
        ] {
            assert_eq!(parse_sizes(text).as_deref(), Ok(sizes), "{text}");
        }
    }

    #[test]
    fn ranges_of_nothing_are_refused() {
        for (text, culprit) in [
            (
                "8..4",
                "'8..4' is no range of sizes; write it like 2^10..2^28",
            ),
            ("1,0..4", "'0..4' is no range"),
            ("1..8*1", "'1..8*1' is no range"),
            ("0", "has a size of 0"),
            ("4,0", "has a size of 0"),
            ("", "'' is not a size"),
            ("1..", "'' is not a size"),
            ("..8", "'' is not a size"),
            ("1,,2", "'' is not a size"),
            ("1..2..4", "'2..4' is not a size"),
            ("1..8*", "'' is not a size"),
            ("1..=8", "'=8' is not a size"),
            ("1..2^64", "beyond 2^64 - 1"),
        ] {
            let message = parse_sizes(text).expect_err(text);
            assert!(message.contains(culprit), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn a_range_goes_from_the_first_towards_the_last(
            first in 1_usize..1 << 40,
            last in 1_usize..usize::MAX,
            factor in 2_usize..1 << 40,
        ) {
            match parse_sizes(&format!("{first}..{last}*{factor}")) {
                Err(_) => prop_assert!(first > last),
                Ok(sizes) => {
                    prop_assert_eq!(sizes[0], first);
                    prop_assert!(sizes.windows(2).all(|pair| pair[1] == pair[0] * factor));
                    let end = sizes[sizes.len() - 1];
                    prop_assert!(end <= last && end.checked_mul(factor).is_none_or(|next| next > last));
                }
            }
        }

        #[test]
        fn short_sizes_read_back(size in 0_usize..usize::MAX, exponent in 0_u32..64) {
            prop_assert_eq!(parse_count(&short(size)), Ok(size));
            prop_assert_eq!(parse_count(&short(1 << exponent)), Ok(1 << exponent));
        }
    }

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
            ("3*2^30", 3 << 30),
            ("2*3K*5", 30 << 10),
            ("0*2^127", 0),
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
            "2^32*2^32",
            "2^64*2^64*2^64",
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
            "16MiB", "½", "0x10", "3*", "*3", "2**3",
        ] {
            let message = parse_size(text).unwrap_err();
            assert!(
                message.contains("write it like 2^24, 16M, 3*2^30 or 1_000_000"),
                "{message}"
            );
        }
    }
}
