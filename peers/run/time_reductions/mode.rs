//! What is timed.

use std::num::NonZeroUsize;
use std::str::FromStr;
use warpfold::Along;

/// What is reduced, and which launches are shown.
#[derive(Debug, PartialEq, Eq)]
pub enum Mode {
    /// Rows, and the marked launches.
    Marked,
    /// Rows of more numbers of bytes.
    Every,
    /// Rows whose bytes are no power of two.
    Odd,
    /// Columns.
    Columns,
    /// Segments.
    Segments,
    /// One row alone.
    Single,
    /// Matrices of these numbers of columns, and the chosen launch, or all of them.
    Only(Along, Vec<NonZeroUsize>, Shown),
}

/// Which launches are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The chosen one.
    Chosen,
    /// All that are worth a try.
    All,
}

impl Mode {
    /// Whether launches are shown that are neither chosen nor the fastest.
    pub fn shows_all(&self) -> bool {
        match self {
            Self::Every | Self::Odd | Self::Columns | Self::Single => true,
            Self::Only(_, _, shown) => *shown == Shown::All,
            Self::Marked | Self::Segments => false,
        }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let columns = |text: &str| -> Option<Vec<NonZeroUsize>> {
            text.split(',').map(|number| number.parse().ok()).collect()
        };
        let only = |along, text, shown| Some(Self::Only(along, columns(text)?, shown));
        let mode = match text.split_once('=') {
            Some(("rows", text)) => only(Along::Rows, text, Shown::Chosen),
            Some(("every", text)) => only(Along::Rows, text, Shown::All),
            Some(("columns", text)) => only(Along::Columns, text, Shown::Chosen),
            _ => match text {
                "every" => Some(Self::Every),
                "odd" => Some(Self::Odd),
                "columns" => Some(Self::Columns),
                "segments" => Some(Self::Segments),
                "single" => Some(Self::Single),
                _ => None,
            },
        };
        mode.ok_or_else(|| {
            format!("there is no mode `{text}`: give every, odd, columns, segments, single, rows=10,257, every=10,257 or columns=10,257")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_a_word_or_numbers_of_columns() {
        let numbers = [10, 257].map(|number| NonZeroUsize::new(number).expect("it is not 0"));
        assert_eq!(
            "rows=10,257".parse(),
            Ok(Mode::Only(Along::Rows, numbers.into(), Shown::Chosen))
        );
        assert_eq!(
            "every=10,257".parse(),
            Ok(Mode::Only(Along::Rows, numbers.into(), Shown::All))
        );
        assert_eq!("odd".parse(), Ok(Mode::Odd));
        for text in ["", "rows", "rows=", "columns=10,0", "rows=ten"] {
            let refused = text.parse::<Mode>().expect_err("it is no mode");
            assert!(
                refused.starts_with(&format!("there is no mode `{text}`: ")),
                "{refused}"
            );
        }
    }
}
