// Plain functions that a test runs on the host and, compiled to PTX by rustc, in the emulator.

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[inline(never)]
pub fn branches(i: u32) -> u64 {
    match i % 13 {
        0 => u64::from(i) * 3,
        1 => mix(u64::from(i)),
        2 => 7,
        3 => u64::from(i.rotate_left(i & 31)),
        4 => u64::from(i.reverse_bits()),
        5 => u64::from(i.count_ones() + 100 * i.leading_zeros() + 10_000 * i.trailing_zeros()),
        6 => i64::from(i as i8).unsigned_abs(),
        7 => u64::from(i.saturating_sub(1000).wrapping_mul(77) >> (i % 9)),
        8 => u64::from(i.checked_mul(i * 1000).unwrap_or(12345)),
        9 => mix(u64::from(i)) % u64::from(i + 5),
        10 => (mix(u64::from(i)) as i64).div_euclid(i64::from(i) - 1_000_003) as u64,
        _ => 1 << (i & 63),
    }
}

#[inline(never)]
pub fn wide(i: u32) -> u64 {
    let a = u128::from(mix(u64::from(i))) << 40 | u128::from(i);
    let b = u128::from(mix(u64::from(i) + 1)) + 3;
    let (q, r) = (a / b, a % b);
    let signed = -(a as i128 >> (i & 63)) / i128::from(i + 2);
    (q as u64)
        ^ (r as u64)
        ^ ((r >> 64) as u64)
        ^ signed as u64
        ^ a.wrapping_mul(b).leading_zeros() as u64
}

#[inline(never)]
pub fn floats(i: u32) -> u64 {
    let x = f64::from(i) * 0.37 - 11.0;
    let y = (i as f32) / 3.0 - 20.5;
    let casts = (x as i32) as u64
        ^ (y as u8) as u64
        ^ ((x * 1e12) as i64) as u64
        ^ u64::from((x * f64::NAN) as u32 + i)
        ^ (y as i64 as f32).to_bits() as u64;
    let order = u64::from(x < f64::from(y))
        + 2 * u64::from(x.is_nan() || y <= f32::MAX)
        + 4 * u64::from(x.max(f64::from(y)) == x)
        + 8 * u64::from(x.min(0.5) > 0.0);
    x.to_bits()
        ^ u64::from((y * y + 1.5).to_bits())
        ^ (x / f64::from(y)).to_bits().rotate_left(7)
        ^ casts
        ^ order
        ^ (mix(u64::from(i)) as f64).to_bits()
        ^ u64::from((mix(u64::from(i)) as i64 as f32).to_bits())
}

trait Shape {
    fn area(&self) -> u64;
}
struct Square(u64);
struct Strip(u64, u64);
impl Shape for Square {
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}
impl Shape for Strip {
    fn area(&self) -> u64 {
        self.0 * self.1 + 1
    }
}

#[inline(never)]
pub fn objects(i: u32) -> u64 {
    let (square, strip) = (Square(u64::from(i)), Strip(u64::from(i), 5));
    let shapes: [&dyn Shape; 2] = [&square, &strip];
    shapes[i as usize % 2].area()
}

#[inline(never)]
fn ackermann(m: u32, n: u32) -> u32 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

#[inline(never)]
pub fn recursion(i: u32) -> u64 {
    u64::from(ackermann(i % 3, i % 6))
}

static PRIMES: [u16; 10] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29];

#[inline(never)]
pub fn tables(i: u32) -> u64 {
    let mut counts = [0u32; 10];
    for (at, prime) in PRIMES.iter().enumerate() {
        let mut left = i + 1;
        while left.is_multiple_of(u32::from(*prime)) {
            left /= u32::from(*prime);
            counts[at] += 1;
        }
    }
    counts.sort_unstable();
    counts
        .iter()
        .fold(0, |sum, &count| sum * 7 + u64::from(count))
        + u64::from(PRIMES[i as usize % 10])
}
