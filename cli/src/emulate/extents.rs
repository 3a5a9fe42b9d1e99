//! Grids and blocks as people write them: `8`, `8x4`, `8,4,2`.

use std::fmt;
use warpfold_course::size::parse_size;

/// The extent of a grid or a block in x, y and z; none is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents(pub [u32; 3]);

impl fmt::Display for Extents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(formatter, "{x}")?;
        if y > 1 || z > 1 {
            write!(formatter, "×{y}")?;
        }
        if z > 1 {
            write!(formatter, "×{z}")?;
        }
        Ok(())
    }
}

/// Reads one to three sizes separated by `x` or `,`; what is left out is 1.
///
/// # Errors
/// One sentence on what cannot be read, a zero, or an extent beyond 32 bits.
pub fn parse_extents(text: &str) -> Result<Extents, String> {
    let mut extents = [1; 3];
    let parts: Vec<&str> = text.split(['x', ',']).collect();
    if parts.len() > extents.len() {
        return Err(format!(
            "'{text}' has {} extents; a shape has at most 3, like 8,4,2",
            parts.len()
        ));
    }
    for (extent, part) in extents.iter_mut().zip(parts) {
        let size = parse_size(part.trim())
            .map_err(|_| format!("'{text}' is not a shape; write it like 8, 8x4 or 8,4,2"))?;
        *extent = match u32::try_from(size) {
            Ok(0) => return Err(format!("'{text}' has an extent of 0; each is at least 1")),
            Ok(extent) => extent,
            Err(_) => return Err(format!("'{text}' has an extent beyond 2^32 - 1")),
        };
    }
    Ok(Extents(extents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_one_to_three_extents() {
        assert_eq!(parse_extents("8"), Ok(Extents([8, 1, 1])));
        assert_eq!(parse_extents("8x4"), Ok(Extents([8, 4, 1])));
        assert_eq!(parse_extents("8,4,2"), Ok(Extents([8, 4, 2])));
        assert_eq!(parse_extents("2^16"), Ok(Extents([65536, 1, 1])));
    }

    #[test]
    fn shapes_print_without_their_trailing_ones() {
        assert_eq!(Extents([8, 1, 1]).to_string(), "8");
        assert_eq!(Extents([8, 4, 1]).to_string(), "8×4");
        assert_eq!(Extents([8, 1, 2]).to_string(), "8×1×2");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "0", "8x", "x", "1x2x3x4", "-1", "8,0", "2^32", "a"] {
            assert!(parse_extents(text).is_err(), "{text}");
        }
    }
}
