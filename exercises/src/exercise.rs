//! What an exercise is: a row of the catalogue, and the texts in its folder.

use crate::carried::{FILES, file};
use crate::case::Case;
use crate::stage::Stage;

/// An exercise. Its texts lie in the folder `exercises/NN_id/`.
#[derive(Clone, Copy, Debug)]
pub struct Exercise {
    /// Its number, from 1.
    pub number: u32,
    /// Its name on the command line, and that of its folder after the number.
    pub id: &'static str,
    /// What lists call it.
    pub title: &'static str,
    /// The lesson that teaches what it takes, as `warpfold lessons` lists it.
    pub lesson: &'static str,
    /// The name of the kernel.
    pub kernel: &'static str,
    /// Threads of a block, B.
    pub block: usize,
    /// Elements of a block.
    pub tile: usize,
    /// The numbers of elements that a solution has to be right for.
    pub sizes: Sizes,
    /// How many elements past a 256-byte boundary the arrays begin; the counter is measured at the first.
    pub offsets: &'static [usize],
    /// The launch for a number of elements and an offset, with the oracle's answer.
    pub case: fn(usize, usize) -> Case,
    /// The counter that gives stars.
    pub counter: Counter,
    /// What must not be paid elsewhere.
    pub gates: &'static [Gate],
    /// Instructions that a solution must not contain.
    pub forbidden: &'static [Forbidden],
    /// What convicts the starter.
    pub starter: Stage,
}

/// The offsets of most exercises.
pub const OFFSETS: &[usize] = &[0, 1, 2, 3];

/// The numbers of elements that a solution has to be right for.
#[derive(Clone, Copy, Debug)]
pub enum Sizes {
    /// 1, 31 to 33, B ± 1, tile ± 1, a prime beyond three tiles, and 0.
    Usual,
    /// The usual ones, and these.
    And(&'static [usize]),
    /// These alone; the last is the one that runs in many orders.
    Only(&'static [usize]),
}

/// The counter that gives stars, in one launch.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Its name, as `warpfold profile --help` lists it.
    pub metric: &'static str,
    /// Whether little or much of it is good.
    pub better: Better,
    /// Elements of the launch that is measured.
    pub n: usize,
}

/// Which way a counter is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The less the better.
    Less,
    /// The more the better.
    More,
}

/// A counter that may not exceed a multiple of the reference's.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Its name, as `warpfold profile --help` lists it.
    pub metric: &'static str,
    /// How many times the reference's count is allowed; 0 where the reference has none of it.
    pub factor: f64,
}

/// An instruction that a solution must not contain.
#[derive(Clone, Copy, Debug)]
pub struct Forbidden {
    /// How it begins in PTX: `atom`, `ld.shared`.
    pub instruction: &'static str,
    /// Why, in words that follow "`atom` is forbidden here: ".
    pub because: &'static str,
}

/// A solution that is listed as wrong.
#[derive(Clone, Copy, Debug)]
pub struct Wrong {
    /// The name of its file.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// What must convict it.
    pub convicted_by: Option<Stage>,
}

impl Exercise {
    /// The name of its folder, and of the reader's file without its ending.
    pub fn folder(&self) -> String {
        format!("{:02}_{}", self.number, self.id)
    }

    /// What is wanted.
    pub fn task(&self) -> &'static str {
        self.text("task.md")
    }

    /// What the reader begins with.
    pub fn starter_text(&self) -> &'static str {
        self.text("starter.rs")
    }

    /// The solution that others are compared with.
    pub fn reference(&self) -> &'static str {
        self.text("reference.rs")
    }

    /// The hints after the one that the reader's own run gives: a question, then a skeleton.
    pub fn hints(&self) -> Vec<&'static str> {
        let hints = self.text("hints.md").split("\n---\n");
        hints.map(str::trim).collect()
    }

    /// The solutions that are listed as wrong.
    pub fn wrong(&self) -> Vec<Wrong> {
        let folder = format!("{}/wrong/", self.folder());
        let files = FILES.iter();
        files
            .filter_map(|&(path, text)| {
                let name = path.strip_prefix(&folder)?;
                Some(Wrong {
                    name,
                    text,
                    convicted_by: convicted_by(text),
                })
            })
            .collect()
    }

    /// The numbers of elements, in the order in which they are tried.
    pub fn sizes(&self) -> Vec<usize> {
        let (block, tile) = (self.block, self.tile);
        let mut sizes = vec![1, 31, 32, 33, block - 1, block, block + 1];
        sizes.extend([tile - 1, tile, tile + 1, self.many()]);
        match self.sizes {
            Sizes::Usual => {}
            Sizes::And(others) => sizes.extend(others),
            Sizes::Only(sizes) => return sizes.to_vec(),
        }
        sizes.retain(|&n| n != 0);
        sizes.sort_unstable();
        sizes.dedup();
        sizes.push(0);
        sizes
    }

    /// The number of elements that runs in many orders: several blocks, the last of which is cut short.
    pub fn many(&self) -> usize {
        match self.sizes {
            Sizes::Only([.., last]) => *last,
            _ => prime_above(3 * self.block.max(self.tile)),
        }
    }

    fn text(&self, name: &str) -> &'static str {
        file(&format!("{}/{name}", self.folder())).unwrap_or_default()
    }
}

/// What the first line of a wrong solution says: `//! Convicted by: races`.
fn convicted_by(text: &str) -> Option<Stage> {
    let stage = text.lines().next()?.strip_prefix("//! Convicted by: ")?;
    Stage::find(stage.trim())
}

fn prime_above(n: usize) -> usize {
    let is_prime = |&n: &usize| (2..).take_while(|d| d * d <= n).all(|d| n % d != 0);
    (n + 1..).find(is_prime).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_is_a_prime_beyond_three_tiles() {
        assert_eq!(prime_above(192), 193);
        assert_eq!(prime_above(768), 769);
        assert_eq!(prime_above(3072), 3079);
    }

    #[test]
    fn the_first_line_names_the_stage() {
        assert_eq!(
            convicted_by("//! Convicted by: races\n"),
            Some(Stage::Races)
        );
        assert_eq!(convicted_by("//! Convicted by: luck\n"), None);
        assert_eq!(convicted_by("fn main() {}"), None);
    }
}
