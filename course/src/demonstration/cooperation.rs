//! The demonstrations of the part `Cooperation`.

use super::launch::{first_difference, row_of_threads};
use super::{atomics, questions};
use crate::case::{Case, CaseArgument, Outputs};
use crate::lesson::{self, LessonError};
use crate::prepared::{PreparedLesson, Verdict};
use crate::random;
use warpfold::device::{DeviceError, Shape};
use warpfold_kernels::catalogue::{Cooperation, Lesson, Question, Variant};
use warpfold_kernels::cooperation::c04_active_mask::{DID_NOT_ASK, FOUND_ITSELF};

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
        Cooperation::CriticalSection => {
            let blocks = launch.shape.grid[0].min(MOST_BLOCKS_IN_LINE);
            let values = random::i32_values(n, seed).map_err(host_memory())?;
            let in_line = Shape::linear(blocks, variant.block);
            launch.in_shape(in_line).critical_section(values)
        }
        Cooperation::Atomics => {
            let values = atomics::values(n, seed).map_err(host_memory())?;
            launch.atomics(values, block)
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

    /// Threads add their shares to two words under one lock.
    fn critical_section(self, values: Vec<i32>) -> PreparedLesson {
        let sum = values
            .iter()
            .fold(0_i32, |sum, &value| sum.wrapping_add(value));
        // The lanes of each block's first warp.
        let entries = 32 * self.shape.grid[0];
        let arguments = vec![
            CaseArgument::input(values),
            CaseArgument::rewritten(vec![0_u32]),
            CaseArgument::rewritten(vec![0_i32]),
            CaseArgument::rewritten(vec![0_u32]),
        ];
        let judge = move |outputs: &Outputs<'_>| {
            let found = outputs.read::<i32>(2)?[0];
            let entered = outputs.read::<u32>(3)?[0];
            let lock = outputs.read::<u32>(1)?[0];
            let mistake = if lock != 0 {
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
                    ("threads that entered", entered.to_string()),
                    ("their sum", found.to_string()),
                    ("sum on the CPU", sum.to_string()),
                ],
                mistake,
            })
        };
        // SAFETY: the kernel takes n values and, of one word each, the lock, which is open, the total and the number of entries.
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
