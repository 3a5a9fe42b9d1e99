//! How the lengths of segments differ.

/// A way in which lengths differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// From 1 to twice the mean, all equally often.
    Uniform,
    /// One segment with half of the values, in the midst of equal ones.
    Giant,
    /// By Zipf's law: the number of segments that are longer than x falls as x to the power of −4/3.
    Zipf,
}

impl Spread {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Uniform, Self::Giant, Self::Zipf];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Giant => "giant",
            Self::Zipf => "zipf",
        }
    }

    /// Where segments of about this mean length begin in n values, and where the last one ends. None is empty.
    pub fn offsets(self, mean: usize, n: usize) -> Vec<u32> {
        let mut offsets = Vec::with_capacity(n / mean + n / mean / 4 + 2);
        offsets.push(0);
        let (mut place, mut has_giant) = (0, false);
        let mut state = 7_u64;
        while place < n {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // 31 bits that change from the first on.
            let random = (state >> 33) as usize;
            let length = match self {
                Self::Uniform => 1 + random % (2 * mean - 1),
                Self::Giant if place >= n / 4 && !has_giant => {
                    has_giant = true;
                    n / 2
                }
                Self::Giant => (mean / 2).max(1),
                Self::Zipf => {
                    let share = (random + 1) as f64 / (1_u64 << 31) as f64;
                    (mean as f64 / 4.0 * share.powf(-0.75)) as usize
                }
            };
            place = (place + length.max(1)).min(n);
            offsets.push(place as u32);
        }
        offsets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_have_the_mean_that_was_asked_for_and_none_is_empty() {
        let n = 1 << 20;
        for spread in Spread::ALL {
            for mean in [4, 32, 1024] {
                let offsets = spread.offsets(mean, n);
                assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]));
                assert_eq!(offsets.last().map(|&end| end as usize), Some(n));
                let found = n as f64 / (offsets.len() - 1) as f64 / mean as f64;
                assert!((0.5..2.0).contains(&found), "{spread:?}, {mean}: {found}");
            }
        }
    }

    #[test]
    fn the_giant_has_half_of_the_values() {
        let offsets = Spread::Giant.offsets(4, 1 << 16);
        let lengths = offsets.windows(2).map(|pair| pair[1] - pair[0]);
        assert_eq!(lengths.max(), Some(1 << 15));
    }
}
