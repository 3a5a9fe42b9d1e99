//! The CPU references: the same sum on the host, four ways.
//!
//! They are the first part of the course, and what a GPU has to beat. All of them add `i32` values and wrap on overflow,
//! as the kernels do, so the order of the additions cannot change the result.

use warpfold::cpu::cores;

/// One CPU reference, as the command line lists and runs it.
#[derive(Clone, Copy, Debug)]
pub struct CpuReference {
    /// What the user types: `warpfold run <id>`.
    pub id: &'static str,
    /// A few words for tables.
    pub title: &'static str,
    /// Whether it overwrites the values it adds.
    pub in_place: bool,
    /// The wrapping sum of the values.
    pub sum: fn(&mut [i32]) -> i32,
}

/// All CPU references in reading order.
pub const CPU_REFERENCES: &[CpuReference] = &[
    CpuReference {
        id: "cpu_sequential",
        title: "one loop, left to right",
        in_place: false,
        sum: |values| cpu_sequential(values),
    },
    CpuReference {
        id: "cpu_recursive_neighbored",
        title: "neighbours first: stride 1, 2, 4, …",
        in_place: true,
        sum: cpu_recursive_neighbored,
    },
    CpuReference {
        id: "cpu_recursive_interleaved",
        title: "halves folded: stride n/2, n/4, …",
        in_place: true,
        sum: cpu_recursive_interleaved,
    },
    CpuReference {
        id: "cpu_parallel",
        title: "all cores",
        in_place: false,
        sum: |values| cpu_parallel(values),
    },
];

/// The wrapping sum, one value after the other. Every other sum is compared with this one.
pub fn cpu_sequential(values: &[i32]) -> i32 {
    values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
}

/// The wrapping sum by a tree of neighbours, in place: at stride 1, 2, 4, … every second survivor takes
/// the one `stride` to its right, until the stride covers the array and the sum is in the first element.
pub fn cpu_recursive_neighbored(values: &mut [i32]) -> i32 {
    fn add_neighbours(values: &mut [i32], stride: usize) -> i32 {
        if stride >= values.len() {
            return values.first().copied().unwrap_or(0);
        }
        for left in (0..values.len() - stride).step_by(2 * stride) {
            values[left] = values[left].wrapping_add(values[left + stride]);
        }
        add_neighbours(values, 2 * stride)
    }
    add_neighbours(values, 1)
}

/// The wrapping sum by folding, in place: the upper half is added onto the lower half until one element is left. If the length is
/// odd, the lower half is the longer one, and its last element waits for the next fold.
pub fn cpu_recursive_interleaved(values: &mut [i32]) -> i32 {
    if values.len() <= 1 {
        return values.first().copied().unwrap_or(0);
    }
    let (lower, upper) = values.split_at_mut(values.len().div_ceil(2));
    for (low, high) in lower.iter_mut().zip(upper) {
        *low = low.wrapping_add(*high);
    }
    cpu_recursive_interleaved(lower)
}

/// The wrapping sum on all cores: what a GPU has to beat.
pub fn cpu_parallel(values: &[i32]) -> i32 {
    // Long enough to outweigh handing it to another core, short enough to balance the cores.
    const CHUNK_ELEMENTS: usize = 1 << 16;
    let sums = cores::map_parts(values, CHUNK_ELEMENTS, cpu_sequential);
    cpu_sequential(&sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every reference must give `expected` on `values`.
    #[track_caller]
    fn check(values: &[i32], expected: i32) {
        for reference in CPU_REFERENCES {
            let mut copy = values.to_vec();
            assert_eq!((reference.sum)(&mut copy), expected, "{}", reference.id);
            if !reference.in_place {
                assert_eq!(copy, values, "{} changed its input", reference.id);
            }
        }
    }

    #[test]
    fn the_sum_of_nothing_is_zero() {
        check(&[], 0);
    }

    #[test]
    fn the_sum_of_one_value_is_that_value() {
        check(&[-7], -7);
    }

    #[test]
    fn sums_wrap() {
        check(&[i32::MAX, 1], i32::MIN);
    }

    #[test]
    fn odd_lengths_lose_nothing() {
        for n in 1..200 {
            let values: Vec<i32> = (1..=n).collect();
            check(&values, n * (n + 1) / 2);
        }
    }

    proptest! {
        #[test]
        fn all_references_agree(values in prop::collection::vec(any::<i32>(), 0..20_000)) {
            let exact: i64 = values.iter().map(|&value| i64::from(value)).sum();
            // Wrapping is arithmetic modulo 2^32, which is what the truncation does to the exact sum.
            check(&values, exact as i32);
        }
    }
}
