//! The lengths of segments.

/// The spreads of lengths that are measured, with their means.
pub const SPREADS: [(&str, usize); 17] = [
    ("uniform", 1),
    ("uniform", 4),
    ("uniform", 8),
    ("uniform", 16),
    ("uniform", 32),
    ("uniform", 64),
    ("uniform", 128),
    ("uniform", 512),
    ("uniform", 4096),
    ("uniform", 65536),
    ("uniform", 1 << 22),
    ("equal", 4),
    ("equal", 32),
    ("equal", 64),
    ("equal", 256),
    ("zipf", 32),
    ("giant", 4),
];

/// Where segments of about this mean length begin in `n` values: of lengths from 0 to twice the mean, all alike, by Zipf's law, or one
/// giant with half of the values among equal ones.
pub fn offsets(spread: &str, mean: usize, n: usize) -> Vec<u32> {
    let mut offsets = vec![0_u32];
    let mut place = 0;
    let mut state = 7_u64;
    while place < n {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let random = (state >> 33) as usize;
        let length = match spread {
            "uniform" => random % (2 * mean + 1),
            // 1 / u for equally likely u: half of the segments are of 1 or 2 values, and a few have most.
            "zipf" => ((1_u64 << 31) / (random as u64 + 1)).min(1 << 24) as usize,
            "giant" if place >= n / 4 && place < n / 2 => n / 2,
            _ => mean,
        };
        place = (place + length).min(n);
        offsets.push(place as u32);
    }
    offsets
}
