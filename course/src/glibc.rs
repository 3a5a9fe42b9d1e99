//! `rand()` of the GNU C library, whose numbers many a published result is made from.

/// Words of its state.
const DEGREE: usize = 31;

/// How far apart the two words are whose sum is the next.
const SEPARATION: usize = 3;

/// The additive feedback generator that glibc calls `TYPE_3`: word i is the sum of words i − 3 and i − 31, and a number its upper 31 bits.
#[derive(Clone, Debug)]
pub(crate) struct Rand {
    state: [u32; DEGREE],
    front: usize,
}

impl Rand {
    /// The generator as `srand(seed)` leaves it; a program that does not call it gets seed 1.
    pub fn new(seed: u32) -> Self {
        const MODULUS: i64 = (1 << 31) - 1;
        let mut state = [seed.max(1); DEGREE];
        for i in 1..DEGREE {
            let before = i64::from(state[i - 1].cast_signed());
            state[i] = (16_807 * before).rem_euclid(MODULUS) as u32;
        }
        let mut rand = Self {
            state,
            front: SEPARATION,
        };
        for _ in 0..10 * DEGREE {
            rand.next();
        }
        rand
    }

    /// The next number, from 0 to 2^31 − 1.
    pub fn next(&mut self) -> u32 {
        let rear = (self.front + DEGREE - SEPARATION) % DEGREE;
        let sum = self.state[self.front].wrapping_add(self.state[rear]);
        self.state[self.front] = sum;
        self.front = (self.front + 1) % DEGREE;
        sum >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers that a C program prints on Linux.
    #[test]
    fn the_numbers_are_those_of_the_c_library() {
        let first = |seed| {
            let mut rand = Rand::new(seed);
            [(); 5].map(|()| rand.next())
        };
        let of_one = [
            1_804_289_383,
            846_930_886,
            1_681_692_777,
            1_714_636_915,
            1_957_747_793,
        ];
        assert_eq!(first(1), of_one);
        assert_eq!(first(0), of_one);
        assert_eq!(first(42)[..2], [71_876_166, 708_592_740]);
        assert_eq!(first(3_000_000_000)[..2], [2_058_147_116, 854_483_408]);
    }
}
