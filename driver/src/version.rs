//! Versions of CUDA, as drivers tell them.

use std::fmt;

/// The oldest driver that has every function of [`sys`](crate::sys).
pub const OLDEST_VERSION: Version = Version {
    major: 11,
    minor: 0,
};

/// The newest CUDA that a driver supports: `13.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 13 of 13.0
    pub major: u32,
    /// 0 of 13.0
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}
