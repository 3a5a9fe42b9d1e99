//! The demonstrations of the part `Nested`.

use crate::case::{Case, CaseArgument, Outputs};
use crate::lesson::{self, LessonError};
use crate::prepared::{PreparedLesson, Verdict};
use warpfold::device::{DeviceError, Shape};
use warpfold_kernels::catalogue::{Lesson, Nested, Variant};

/// The parent of a block of the host's grid.
const HOST: u32 = u32::MAX;
/// The most blocks of a tree that are drawn.
const MOST_DRAWN: usize = 64;

/// Sets up a demonstration.
pub(super) fn prepare(
    which: Nested,
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
    _seed: u64,
) -> Result<PreparedLesson, LessonError> {
    match which {
        Nested::Tree => tree(lesson, variant, n),
    }
}

/// Grids of one block, or two from two elements on, as deep as the variant says. The kernel takes
/// `(records, counter, parent, depth, deepest, status)`.
fn tree(
    lesson: &'static Lesson,
    variant: Variant,
    n: usize,
) -> Result<PreparedLesson, LessonError> {
    let deepest = variant.parameter.unwrap_or(0);
    let blocks = u32::try_from(n).map_or(Nested::MOST_BLOCKS, |n| n.min(Nested::MOST_BLOCKS));
    let total: u64 = (0..=deepest)
        .map(|depth| u64::from(blocks).pow(depth + 1))
        .sum();
    let number = |value: u32| CaseArgument::scalar(value);
    let case = Case {
        entry: lesson::entry(lesson, variant)?,
        // Each block but the deepest launches a grid.
        shape: Shape::linear(blocks.max(1), variant.block).with_pending_grids(total),
        arguments: vec![
            CaseArgument::output(3 * total as usize, UNWRITTEN),
            CaseArgument::rewritten(vec![0_u32]),
            number(HOST),
            number(0),
            number(deepest),
            CaseArgument::rewritten(vec![0_u32]),
        ],
    };
    let judge = move |outputs: &Outputs<'_>| {
        let code = outputs.read::<u32>(5)?[0];
        if code != 0 {
            return Err(DeviceError::GridRefused { code });
        }
        let records = outputs.read::<u32>(0)?;
        let tree = Tree {
            taken: outputs.read::<u32>(1)?[0],
            records: records.as_chunks().0.to_vec(),
            blocks,
            deepest,
        };
        Ok(Verdict {
            mistake: tree.mistake(),
            facts: vec![
                ("blocks of the tree", tree.records.len().to_string()),
                ("block, and those of the grid it launched", tree.draw()),
            ],
        })
    };
    let case = (blocks != 0).then_some(case);
    // SAFETY: the kernel takes these arguments: there are three words for each block of the tree, and the counter begins with 0.
    Ok(unsafe { PreparedLesson::of_case(lesson, case, judge) })
}

/// What each record holds before the launch.
const UNWRITTEN: u32 = 0xdead_beef;

/// The records of a tree's blocks: number, number of the parent, depth.
struct Tree {
    records: Vec<[u32; 3]>,
    /// How many numbers the blocks have taken.
    taken: u32,
    /// Blocks of each grid.
    blocks: u32,
    deepest: u32,
}

impl Tree {
    /// What is wrong with it, in words that follow the name of the lesson.
    fn mistake(&self) -> Option<String> {
        let total = self.records.len();
        if self.taken as usize != total {
            return Some(format!(
                "runs {} blocks, which should be {total}",
                self.taken
            ));
        }
        for (index, &[number, parent, depth]) in self.records.iter().enumerate() {
            if number as usize != index {
                return Some(format!(
                    "leaves number {number} in record {index}, which should be {index}"
                ));
            }
            let of_parent = match parent {
                HOST => Some(0),
                parent if parent < number => Some(self.records[parent as usize][2] + 1),
                _ => None,
            };
            if of_parent != Some(depth) || depth > self.deepest {
                return Some(format!(
                    "records block {number} at depth {depth} under block {parent}, which is not one level above it"
                ));
            }
            let children = self.children(number).count();
            let expected = if depth < self.deepest { self.blocks } else { 0 };
            if children != expected as usize {
                return Some(format!(
                    "records {children} blocks under block {number}, which should be {expected}"
                ));
            }
        }
        None
    }

    fn children(&self, of: u32) -> impl Iterator<Item = u32> {
        let children = self.records.iter().filter(move |record| record[1] == of);
        children.map(|record| record[0])
    }

    /// A line for each block, indented by its depth.
    fn draw(&self) -> String {
        let mut lines = vec!["host".to_owned()];
        let mut rest: Vec<(u32, String)> = Vec::new();
        let push = |rest: &mut Vec<(u32, String)>, of: u32, indent: &str| {
            let children: Vec<u32> = self.children(of).collect();
            let own = children
                .iter()
                .map(|&child| (child, indent.to_owned()))
                .rev();
            rest.extend(own);
        };
        push(&mut rest, HOST, "");
        while let Some((number, indent)) = rest.pop() {
            if lines.len() > MOST_DRAWN || lines.len() > self.records.len() {
                lines.push(format!("… of {} blocks", self.records.len()));
                break;
            }
            let is_last = rest.last().is_none_or(|(_, next)| *next != indent);
            let (branch, below) = if is_last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            lines.push(format!("{indent}{branch}{number}"));
            if number as usize != self.records.len() {
                push(&mut rest, number, &format!("{indent}{below}"));
            }
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        Tree {
            records: vec![
                [0, HOST, 0],
                [1, HOST, 0],
                [2, 1, 1],
                [3, 1, 1],
                [4, 0, 1],
                [5, 0, 1],
            ],
            taken: 6,
            blocks: 2,
            deepest: 1,
        }
    }

    #[test]
    fn a_tree_is_drawn_with_its_children_in_order() {
        assert_eq!(tree().mistake(), None);
        assert_eq!(
            tree().draw(),
            "host\n├─ 0\n│  ├─ 4\n│  └─ 5\n└─ 1\n   ├─ 2\n   └─ 3"
        );
    }

    #[test]
    fn each_mistake_is_named() {
        let mistake = |change: &dyn Fn(&mut Tree)| {
            let mut tree = tree();
            change(&mut tree);
            tree.mistake().expect("a mistake")
        };
        assert_eq!(
            mistake(&|tree| tree.taken = 4),
            "runs 4 blocks, which should be 6"
        );
        assert_eq!(
            mistake(&|tree| tree.records[3][0] = UNWRITTEN),
            "leaves number 3735928559 in record 3, which should be 3"
        );
        assert_eq!(
            mistake(&|tree| tree.records[5][2] = 2),
            "records block 5 at depth 2 under block 0, which is not one level above it"
        );
        assert_eq!(
            mistake(&|tree| tree.records[5][1] = 1),
            "records 1 blocks under block 0, which should be 2"
        );
    }

    #[test]
    fn a_broken_tree_is_drawn_to_an_end() {
        let mut tree = tree();
        tree.records[4] = [0, 0, 0];
        assert!(tree.draw().contains("… of 6 blocks"), "{}", tree.draw());
    }
}
