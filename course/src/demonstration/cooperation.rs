//! The demonstrations of the part `Cooperation`.

use super::launch::{first_difference, row_of_threads};
use super::{atomics, questions};
use crate::case::{Case, CaseArgument, Outputs};
use crate::lesson::{self, LessonError};
use crate::prepared::{PreparedLesson, Verdict};
use crate::random;
use warpfold::device::{DeviceError, Shape};
use warpfold_kernels::catalogue::{Cooperation, Half, Lesson, Question, Variant};
use warpfold_kernels::cooperation::c04_active_mask::{DID_NOT_ASK, FOUND_ITSELF};
use warpfold_kernels::cooperation::c06b_peterson::{LOCK_WORDS, ROUNDS};

/// The value of an answer that no kernel has written.
const UNWRITTEN: u32 = 0xdead_beef;

/// The most blocks of `critical_section`: 32 threads of each stand in one line.
const MOST_BLOCKS_IN_LINE: u32 = 8;

/// Sets up a demonstration.
pub(super) fn prepare(
    which: Cooperation,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    seed: u64,
) -> Result<PreparedLesson, LessonError> {
    let host_memory = || LessonError::host_memory(n);
    let block = variant.block as usize;
    let launch = Launch {
        lesson,
        entry: lesson::entry(lesson, variant)?,
        shape: row_of_threads(lesson, variant, n, n)?,
        n,
    };
    Ok(match which {
        Cooperation::Question(question) => {
            let values = questions::values(n, block, seed).map_err(host_memory())?;
            launch.question(question, values, block)
        }
        Cooperation::ActiveMask => {
            launch.active_mask(questions::values(n, block, seed).map_err(host_memory())?)
        }
        Cooperation::FencePublish => {
            let two_blocks_each =
                row_of_threads(lesson, variant, 2 * n.next_multiple_of(block), n)?;
            let values = random::i32_values(n, seed).map_err(host_memory())?;
            launch.in_shape(two_blocks_each).fence_publish(values)
        }
        Cooperation::FenceScopes => {
            // Half of a block writes, and the other half passes on to a second block.
            let elements = n.next_multiple_of(block / 2);
            let two_blocks_each = row_of_threads(lesson, variant, 4 * elements, n)?;
            let values = random::i32_values(n, seed).map_err(host_memory())?;
            launch.in_shape(two_blocks_each).fence_scopes(values)
        }
        Cooperation::CriticalSection => {
            let blocks = launch.shape.grid[0].min(MOST_BLOCKS_IN_LINE);
            let values = random::i32_values(n, seed).map_err(host_memory())?;
            // The lanes of each block's first warp enter.
            let in_line = Shape::linear(blocks, variant.block);
            launch.in_shape(in_line).lock(1, 32 * blocks, values)
        }
        Cooperation::Peterson => {
            let values = random::i32_values(n, seed).map_err(host_memory())?;
            let two_blocks = Shape::linear(2, variant.block);
            launch
                .in_shape(two_blocks)
                .lock(LOCK_WORDS, 2 * ROUNDS, values)
        }
        Cooperation::CoalescedGroup => {
            let values = random::i32_values(n, seed).map_err(host_memory())?;
            launch.coalesced_group(values)
        }
        Cooperation::Atomics => {
            let values = atomics::values(n, seed).map_err(host_memory())?;
            launch.atomics(values, block)
        }
        Cooperation::AtomicsOnFloats => {
            launch.atomics_on_floats(random::i32_values(n, seed).map_err(host_memory())?)
        }
        Cooperation::NarrowAtomics(half) => launch.narrow_atomics(half, seed),
        Cooperation::WideSwap => {
            launch.wide_swap(random::i32_values(n, seed).map_err(host_memory())?)
        }
    })
}

/// A launch over `n` elements.
struct Launch {
    lesson: &'static Lesson,
    entry: &'static str,
    shape: Shape,
    n: usize,
}

impl Launch {
    fn in_shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// The launch with these arguments and, last, n.
    ///
    /// # Safety
    /// They are the arguments of the lesson's kernel, whose buffers are as large as the launch takes.
    unsafe fn prepared(
        self,
        mut arguments: Vec<CaseArgument<'static>>,
        judge: impl Fn(&Outputs<'_>) -> Result<Verdict, DeviceError> + 'static,
    ) -> PreparedLesson {
        arguments.push(CaseArgument::scalar(self.n));
        let case = Case {
            entry: self.entry,
            shape: self.shape,
            arguments,
        };
        let case = (self.n > 0).then_some(case);
        // SAFETY: the caller's contract is the same.
        unsafe { PreparedLesson::of_case(self.lesson, case, judge) }
    }

    /// Each thread gets an answer about its block or its warp.
    fn question(self, question: Question, values: Vec<i32>, block: usize) -> PreparedLesson {
        let expected = questions::answers(question, &values, block);
        let arguments = vec![
            CaseArgument::input(values),
            CaseArgument::output(self.n, UNWRITTEN),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let found = outputs.read::<u32>(1)?;
            Ok(Verdict {
                facts: question_facts(question, &found),
                mistake: first_difference("answers", &found, expected.iter().copied()),
            })
        };
        // SAFETY: these kernels take n values and n answers, with a thread for each in whole blocks.
        unsafe { self.prepared(arguments, judge) }
    }

    /// The lanes with positive elements ask who is there.
    fn active_mask(self, values: Vec<i32>) -> PreparedLesson {
        let asks = |value: &i32| {
            if *value > 0 {
                FOUND_ITSELF
            } else {
                DID_NOT_ASK
            }
        };
        let expected: Vec<u32> = values.iter().map(asks).collect();
        let arguments = vec![
            CaseArgument::input(values),
            CaseArgument::output(self.n, UNWRITTEN),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let found = outputs.read::<u32>(1)?;
            let count = |answer| found.iter().filter(|&&found| found == answer).count();
            let found_itself = count(FOUND_ITSELF);
            let asked = found.len() - count(DID_NOT_ASK);
            Ok(Verdict {
                facts: vec![
                    ("lanes that asked", asked.to_string()),
                    ("found themselves and askers only", found_itself.to_string()),
                ],
                mistake: first_difference("answers", &found, expected.iter().copied()),
            })
        };
        // SAFETY: the kernel takes n values and n answers, with a thread for each in whole blocks.
        unsafe { self.prepared(arguments, judge) }
    }

    /// The positive values in any order, how many they are, and their sum.
    fn coalesced_group(self, values: Vec<i32>) -> PreparedLesson {
        let mut expected: Vec<i32> = values.iter().copied().filter(|&value| value > 0).collect();
        expected.sort_unstable();
        let sum = expected
            .iter()
            .fold(0_i32, |sum, &value| sum.wrapping_add(value));
        let arguments = vec![
            CaseArgument::input(values),
            CaseArgument::output(self.n, 0_i32),
            CaseArgument::rewritten(vec![0_u32]),
            CaseArgument::rewritten(vec![0_i32]),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let mut kept = outputs.read::<i32>(1)?;
            let count = outputs.read::<u32>(2)?[0];
            let found_sum = outputs.read::<i32>(3)?[0];
            kept.truncate(count as usize);
            kept.sort_unstable();
            let mistake = if count as usize != expected.len() {
                Some(format!(
                    "counts {count} positive elements, which should be {}",
                    expected.len()
                ))
            } else if found_sum != sum {
                Some(format!("adds up {found_sum}, which should be {sum}"))
            } else {
                first_difference("kept, in order", &kept, expected.iter().copied())
            };
            Ok(Verdict {
                facts: vec![
                    ("elements kept", count.to_string()),
                    ("their sum", found_sum.to_string()),
                    ("sum on the CPU", sum.to_string()),
                ],
                mistake,
            })
        };
        // SAFETY: the kernel takes n values, room for as many, and one word each for the count, which is 0, and the sum, with a thread for
        // each value in whole blocks.
        unsafe { self.prepared(arguments, judge) }
    }

    /// Half of the blocks publish values that the other half receives.
    fn fence_publish(self, values: Vec<i32>) -> PreparedLesson {
        // What X holds before the launch; no value is the same.
        let old = i32::MIN;
        let values: Vec<i32> = values.into_iter().map(|value| value.max(old + 1)).collect();
        let arguments = vec![
            CaseArgument::input(values.clone()),
            CaseArgument::rewritten(vec![old; self.n]),
            CaseArgument::rewritten(vec![0_u32; self.n]),
            CaseArgument::rewritten(vec![0_u32]),
            CaseArgument::output(self.n, old + 1),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let seen = outputs.read::<i32>(4)?;
            let stale = seen.iter().filter(|&&value| value == old).count();
            let fresh = seen.iter().zip(&values).filter(|(a, b)| a == b).count();
            Ok(Verdict {
                facts: vec![
                    ("Y new, X new", fresh.to_string()),
                    ("Y new, X old", stale.to_string()),
                ],
                mistake: first_difference("seen", &seen, values.iter().copied()),
            })
        };
        // SAFETY: the kernel takes four buffers of n values and one ticket. What Y and the tickets hold is 0, and half of the blocks have a
        // thread for each value.
        unsafe { self.prepared(arguments, judge) }
    }

    /// Values go from a writer over a courier to a reader, who leaves a receipt.
    fn fence_scopes(self, values: Vec<i32>) -> PreparedLesson {
        // What X holds before the launch; no value is the same.
        let old = i32::MIN;
        let values: Vec<i32> = values.into_iter().map(|value| value.max(old + 1)).collect();
        let flags = || CaseArgument::rewritten(vec![0_u32; self.n]);
        let arguments = vec![
            CaseArgument::input(values.clone()),
            CaseArgument::rewritten(vec![old; self.n]),
            flags(),
            flags(),
            CaseArgument::rewritten(vec![0_u32]),
            CaseArgument::output(self.n, old + 1),
            flags(),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let seen = outputs.read::<i32>(5)?;
            let receipts = outputs.read::<u32>(6)?;
            let stale = seen.iter().filter(|&&value| value == old).count();
            let receipted = receipts.iter().filter(|&&receipt| receipt == 1).count();
            Ok(Verdict {
                facts: vec![
                    ("receipts", receipted.to_string()),
                    ("flag new, X old", stale.to_string()),
                ],
                mistake: first_difference("seen", &seen, values.iter().copied())
                    .or_else(|| first_difference("receipts", &receipts, values.iter().map(|_| 1))),
            })
        };
        // SAFETY: the kernel takes six buffers of n values and one ticket. The flags and the ticket are 0, and half of the threads of half of
        // the blocks are one for each value.
        unsafe { self.prepared(arguments, judge) }
    }

    /// Threads add their shares to two words under one lock, and enter so often.
    fn lock(self, words: usize, entries: u32, values: Vec<i32>) -> PreparedLesson {
        let sum = values
            .iter()
            .fold(0_i32, |sum, &value| sum.wrapping_add(value));
        let arguments = vec![
            CaseArgument::input(values),
            CaseArgument::rewritten(vec![0_u32; words]),
            CaseArgument::rewritten(vec![0_i32]),
            CaseArgument::rewritten(vec![0_u32]),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let found = outputs.read::<i32>(2)?[0];
            let entered = outputs.read::<u32>(3)?[0];
            let lock = outputs.read::<u32>(1)?;
            let closed = lock.into_iter().find(|&word| word != 0);
            let mistake = if let Some(lock) = closed {
                Some(format!("leaves {lock} in its lock, which should be 0"))
            } else if entered != entries {
                Some(format!(
                    "counts {entered} entries, which should be {entries}"
                ))
            } else {
                (found != sum).then(|| format!("gives {found}, which should be {sum}"))
            };
            Ok(Verdict {
                facts: vec![
                    ("times that a thread entered", entered.to_string()),
                    ("their sum", found.to_string()),
                    ("sum on the CPU", sum.to_string()),
                ],
                mistake,
            })
        };
        // SAFETY: both kernels take n values, the words of the lock, which is open, and one word each for the total and the number of
        // entries.
        unsafe { self.prepared(arguments, judge) }
    }

    /// Every atomic operation, on tables of words: one for each block, one for the device, one for the system.
    fn atomics(self, values: Vec<u64>, block: usize) -> PreparedLesson {
        let of_all = atomics::expected(&values);
        let of_blocks: Vec<_> = values.chunks(block).map(atomics::expected).collect();
        let tables = |count| CaseArgument::rewritten(atomics::initial().repeat(count));
        let arguments = vec![
            CaseArgument::input(values),
            tables(of_blocks.len()),
            tables(1),
            tables(1),
        ];
        let expected = atomics::Scopes {
            blocks: of_blocks.concat(),
            device: of_all.to_vec(),
            system: of_all.to_vec(),
        };
        let judge = move |outputs: &Outputs<'_>| {
            let found = atomics::Scopes {
                blocks: outputs.read(1)?,
                device: outputs.read(2)?,
                system: outputs.read(3)?,
            };
            Ok(Verdict {
                facts: found.facts(&expected),
                mistake: found.mistake(&expected),
            })
        };
        // SAFETY: the kernel takes n values, a table for each block, and one each for the device and for the system.
        unsafe { self.prepared(arguments, judge) }
    }
}

impl Launch {
    /// Sums of floats that are whole numbers, and their maximum.
    fn atomics_on_floats(self, values: Vec<i32>) -> PreparedLesson {
        // 6 bits and a sign, and no more than 2¹⁸ of them that are not 0: then f32 holds every sum on the way, in any order.
        let apart = self.n.div_ceil(1 << 18).max(1);
        let small = |(index, &value): (usize, &i32)| match index.is_multiple_of(apart) {
            true => (value % 64) as f32,
            false => 0.0,
        };
        let values: Vec<f32> = values.iter().enumerate().map(small).collect();
        let sum: f64 = values.iter().map(|&value| f64::from(value)).sum();
        let greatest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let arguments = vec![
            CaseArgument::input(values),
            CaseArgument::rewritten(vec![0_f32]),
            CaseArgument::rewritten(vec![0_f64]),
            CaseArgument::rewritten(vec![f32::NEG_INFINITY]),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let found = outputs.read::<f32>(1)?[0];
            let wide = outputs.read::<f64>(2)?[0];
            let max = outputs.read::<f32>(3)?[0];
            let wrong = |is_wrong: bool, what: &str, found: f64, expected: f64| {
                is_wrong.then(|| format!("gives {found} for {what}, which should be {expected}"))
            };
            let mistake = wrong(f64::from(found) != sum, "the f32 sum", found.into(), sum)
                .or_else(|| wrong(wide != sum, "the f64 sum", wide, sum))
                .or_else(|| wrong(max != greatest, "the maximum", max.into(), greatest.into()));
            Ok(Verdict {
                facts: vec![
                    ("sum in f32", found.to_string()),
                    ("sum in f64", wide.to_string()),
                    ("sum on the CPU", sum.to_string()),
                    ("greatest", max.to_string()),
                ],
                mistake,
            })
        };
        // SAFETY: the kernel takes n values and one word for each of the two sums and the maximum.
        unsafe { self.prepared(arguments, judge) }
    }

    /// Sums of halves, which are 0 but for some ones and minus ones: so few that no sum of them rounds.
    fn narrow_atomics(self, half: Half, seed: u64) -> PreparedLesson {
        let (one, most): (u16, usize) = match half {
            Half::F16 => (0x3c00, 2048),
            Half::Bf16 => (0x3f80, 256),
        };
        const SIGN: u16 = 0x8000;
        // Odd, so that there are some at even and at odd places.
        let apart = self.n.div_ceil(most) | 1;
        // Two of three are positive, so that the sum is not about 0.
        let value = |index: usize| match (index as u64).wrapping_add(seed) % 3 {
            _ if !index.is_multiple_of(apart) => 0,
            0 => one | SIGN,
            _ => one,
        };
        let values: Vec<u16> = (0..self.n).map(value).collect();
        let of_sign = |sign: u16| {
            let has_sign = |value: &&u16| **value != 0 && **value & SIGN == sign;
            values.iter().filter(has_sign).count() as i32
        };
        let sum = of_sign(0) - of_sign(SIGN);
        let count = |parity: usize| {
            let of_parity = values.iter().skip(parity).step_by(2);
            of_parity.filter(|&&value| value != 0).count() as u16
        };
        let counts = [count(0), count(1)];
        let mut arguments = vec![
            CaseArgument::input(values),
            CaseArgument::rewritten(vec![0_u16]),
            CaseArgument::rewritten(vec![0_u32]),
        ];
        if half == Half::F16 {
            arguments.push(CaseArgument::rewritten(vec![0_u16; 2]));
        }
        let judge = move |outputs: &Outputs<'_>| {
            let alone = outputs.read::<u16>(1)?[0];
            let pair = outputs.read::<u32>(2)?[0];
            let found = [alone, pair as u16, (pair >> 16) as u16].map(|bits| whole(half, bits));
            let expected = [sum, sum, -sum].map(f64::from);
            let counted = match half {
                Half::F16 => Some(outputs.read::<u16>(3)?),
                Half::Bf16 => None,
            };
            let mut facts = vec![
                ("sum alone", found[0].to_string()),
                ("sums of two", format!("{} and {}", found[1], found[2])),
            ];
            let mut mistake = (found != expected)
                .then(|| format!("gives the sums {found:?}, which should be {expected:?}"));
            if let Some(counted) = counted {
                facts.push(("counters", format!("{} and {}", counted[0], counted[1])));
                mistake = mistake.or_else(|| {
                    (counted != counts)
                        .then(|| format!("counts {counted:?}, which should be {counts:?}"))
                });
            }
            Ok(Verdict { facts, mistake })
        };
        // SAFETY: these kernels take n halves, one for their sum, two in one word for their sums, and that of f16 two counters.
        unsafe { self.prepared(arguments, judge) }
    }

    /// The greatest value and its first place.
    fn wide_swap(self, values: Vec<i32>) -> PreparedLesson {
        // So few different ones that the greatest stands at many places.
        let values: Vec<i64> = values
            .iter()
            .map(|&value| i64::from(value % 1000) << 32)
            .collect();
        let last = |&(place, value): &(usize, &i64)| (*value, std::cmp::Reverse(place));
        let best = values.iter().enumerate().max_by_key(last);
        let none = [i64::MIN, -1];
        let expected = best.map_or(none, |(place, &value)| [value, place as i64]);
        let arguments = vec![
            CaseArgument::input(values),
            CaseArgument::rewritten(none.to_vec()),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let found = outputs.read::<i64>(1)?;
            Ok(Verdict {
                facts: vec![
                    ("greatest", found[0].to_string()),
                    ("its first place", found[1].to_string()),
                ],
                mistake: (found != expected).then(|| {
                    format!(
                        "gives {} at {}, which should be {} at {}",
                        found[0], found[1], expected[0], expected[1]
                    )
                }),
            })
        };
        // SAFETY: the kernel takes n values and the two words, which a buffer's alignment suits.
        unsafe { self.prepared(arguments, judge) }
    }
}

/// What a half stands for, if it is a whole number; NaN for other bits.
fn whole(half: Half, bits: u16) -> f64 {
    let (precision, bias) = match half {
        Half::F16 => (10, 15),
        Half::Bf16 => (7, 127),
    };
    let magnitude = bits & 0x7fff;
    let exponent = i32::from(magnitude >> precision) - bias;
    let significand = f64::from(magnitude & ((1 << precision) - 1) | 1 << precision);
    let value = match magnitude {
        0 => 0.0,
        _ => significand * f64::from(exponent - precision).exp2(),
    };
    let signed = if bits == magnitude { value } else { -value };
    if signed.fract() == 0.0 {
        signed
    } else {
        f64::NAN
    }
}

/// What the answers show.
fn question_facts(question: Question, answers: &[u32]) -> Vec<(&'static str, String)> {
    let count = |is_so: fn(u32) -> bool| answers.iter().filter(|&&answer| is_so(answer)).count();
    match question {
        Question::BlockAll | Question::BlockAny | Question::WarpAll | Question::WarpAny => vec![
            ("threads told yes", count(|answer| answer != 0).to_string()),
            ("threads told no", count(|answer| answer == 0).to_string()),
        ],
        Question::BlockCount => {
            let ends = (answers.iter().min(), answers.iter().max());
            let shown = |end: Option<&u32>| end.map_or_else(String::new, u32::to_string);
            vec![
                ("fewest in a block", shown(ends.0)),
                ("most in a block", shown(ends.1)),
            ]
        }
        Question::WarpBallot | Question::WarpEqual | Question::WarpAllEqual => {
            let bits: u64 = answers
                .iter()
                .map(|mask| u64::from(mask.count_ones()))
                .sum();
            let average = bits as f64 / answers.len().max(1) as f64;
            vec![
                ("lanes in an answer, on average", format!("{average:.2}")),
                (
                    "answers without any",
                    count(|answer| answer == 0).to_string(),
                ),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_that_are_whole_numbers_are_read() {
        for (bits, value) in [
            (0, 0.0),
            (0x3c00, 1.0),
            (0xbc00, -1.0),
            (0x6800, 2048.0),
            (0x4500, 5.0),
        ] {
            assert_eq!(whole(Half::F16, bits), value, "{bits:#x}");
        }
        for (bits, value) in [
            (0x3f80, 1.0),
            (0xbf80, -1.0),
            (0x4380, 256.0),
            (0x40a0, 5.0),
        ] {
            assert_eq!(whole(Half::Bf16, bits), value, "{bits:#x}");
        }
        assert!(whole(Half::F16, 0x3800).is_nan(), "a half");
    }
}
