//! The questions that threads ask about their block or their warp, and the answers, computed by loops.

use crate::random;
use std::collections::TryReserveError;
use warpfold_kernels::catalogue::Question;

/// Threads of a warp.
const WARP: usize = 32;

/// `n` values from −2 to 2, whose warps and pairs of blocks of `block` are of six kinds in turn: mixed, all positive, none,
/// only one, all but one, and all equal. No question has the same answer everywhere.
pub(super) fn values(n: usize, block: usize, seed: u64) -> Result<Vec<i32>, TryReserveError> {
    let mut values = random::i32_values(n, seed)?;
    for value in &mut values {
        *value = value.rem_euclid(5) - 2;
    }
    // By warps in every second pair of blocks, and by whole blocks in the others.
    for (number, blocks) in values.chunks_mut(12 * block).enumerate() {
        let group = if number % 2 == 0 { WARP } else { block };
        for (kind, group) in blocks.chunks_mut(group).enumerate() {
            shape(kind % 6, group);
        }
    }
    Ok(values)
}

/// Gives a group of values its kind.
fn shape(kind: usize, group: &mut [i32]) {
    let chosen = group[0].unsigned_abs() as usize * 11 % group.len();
    let (first, as_first) = (group[0], group.to_vec());
    for (index, (value, old)) in group.iter_mut().zip(as_first).enumerate() {
        let positive = old.abs().max(1);
        *value = match kind {
            0 => old,
            1 => positive,
            2 => -positive,
            3 if index == chosen => positive,
            3 => -old.abs(),
            4 if index == chosen => -old.abs(),
            4 => positive,
            _ => first,
        };
    }
}

/// The answer that each thread must get.
pub(super) fn answers(question: Question, values: &[i32], block: usize) -> Vec<u32> {
    let group = match question {
        Question::BlockCount | Question::BlockAll | Question::BlockAny => block,
        _ => WARP,
    };
    let of_group = |group: &[i32]| -> Vec<u32> {
        let positive = group.iter().filter(|&&value| value > 0).count();
        let answer = |mine: i32| match question {
            Question::BlockCount => positive as u32,
            Question::BlockAll | Question::WarpAll => (positive == group.len()).into(),
            Question::BlockAny | Question::WarpAny => (positive > 0).into(),
            Question::WarpBallot => mask(group, |value| value > 0),
            Question::WarpEqual => mask(group, |value| value == mine),
            Question::WarpAllEqual if group.iter().all(|&value| value == mine) => {
                mask(group, |_| true)
            }
            Question::WarpAllEqual => 0,
        };
        group.iter().map(|&mine| answer(mine)).collect()
    };
    values.chunks(group).flat_map(of_group).collect()
}

/// The lanes whose values are of some kind, one bit each.
fn mask(warp: &[i32], is_in: impl Fn(i32) -> bool) -> u32 {
    let bits = warp.iter().enumerate();
    bits.fold(0, |mask, (lane, &value)| {
        mask | u32::from(is_in(value)) << lane
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTIONS: [Question; 8] = [
        Question::BlockCount,
        Question::BlockAll,
        Question::BlockAny,
        Question::WarpAll,
        Question::WarpAny,
        Question::WarpBallot,
        Question::WarpEqual,
        Question::WarpAllEqual,
    ];

    #[test]
    fn no_question_has_one_answer_only() {
        for block in [64, 1024] {
            let values = values(40_000, block, 3).unwrap();
            for question in QUESTIONS {
                let answers = answers(question, &values, block);
                assert_eq!(answers.len(), values.len());
                let differ = answers.iter().any(|answer| *answer != answers[0]);
                assert!(differ, "{question:?}, block {block}");
            }
        }
    }

    #[test]
    fn answers_by_hand() {
        let mut values = vec![0; 34];
        values[..4].copy_from_slice(&[3, -1, 3, 1]);
        values[32..].copy_from_slice(&[5, 5]);
        let answer = |question, thread: usize| answers(question, &values, 64)[thread];
        assert_eq!(answer(Question::BlockCount, 0), 5);
        assert_eq!(answer(Question::WarpBallot, 9), 0b1101);
        assert_eq!(answer(Question::WarpEqual, 2), 0b101);
        assert_eq!(answer(Question::WarpAllEqual, 0), 0);
        assert_eq!(answer(Question::WarpAllEqual, 33), 0b11);
        assert_eq!(answer(Question::WarpAll, 32), 1);
        assert_eq!(answer(Question::BlockAll, 32), 0);
    }
}
