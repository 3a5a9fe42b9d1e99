//! How a launch is timed, and what comes of it.

/// How to time a kernel on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Timed launches; at least 1 is made.
    pub repeat: usize,
    /// Overwrite the L2 cache before each launch, outside the timed region: the kernel then reads from memory.
    pub cold: bool,
}

/// Device times of repeated launches of one kernel, in milliseconds, in the order of the launches.
///
/// Each is the time between two events around one launch, which is about 0.005 ms for a kernel that does nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// One time per launch; never empty.
    pub elapsed_ms: Vec<f64>,
}

impl Times {
    /// The middle one, or the mean of the two in the middle.
    pub fn median_ms(&self) -> f64 {
        let mut sorted = self.elapsed_ms.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len().is_multiple_of(2) {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        } else {
            sorted[middle]
        }
    }

    /// The shortest.
    pub fn fastest_ms(&self) -> f64 {
        self.elapsed_ms
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(elapsed_ms: &[f64]) -> Times {
        Times {
            elapsed_ms: elapsed_ms.to_vec(),
        }
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(times(&[3.0, 1.0, 10.0]).median_ms(), 3.0);
        assert_eq!(times(&[4.0, 1.0, 2.0, 10.0]).median_ms(), 3.0);
        assert_eq!(times(&[7.0]).median_ms(), 7.0);
    }

    #[test]
    fn the_fastest_is_the_smallest() {
        assert_eq!(times(&[3.0, 1.0, 10.0]).fastest_ms(), 1.0);
    }
}
