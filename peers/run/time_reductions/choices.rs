//! What is worth a try.

use warpfold::Matrix;
use warpfold::reduce::choice::{Choice, MULTIPROCESSORS, THREADS_OF_COLUMNS};
use warpfold::reduce::table::{Launch, Problem};
use warpfold_device::rows::PACKED_BYTES;

/// The launches of choices, each once.
pub fn launches(
    problem: &Problem,
    choices: impl IntoIterator<Item = Choice>,
) -> Vec<(Option<String>, Launch)> {
    let mut launches: Vec<(Option<String>, Launch)> = Vec::new();
    for choice in choices {
        let launch = choice.launch(problem);
        if !launches.iter().any(|(_, known)| *known == launch) {
            launches.push((Some(format!("{choice:?}")), launch));
        }
    }
    launches
}

/// What is worth a try at a shape.
pub fn choices(problem: &Problem) -> Vec<Choice> {
    let Matrix { rows, columns, .. } = problem.matrix;
    let bytes = columns * problem.value_bytes;
    let mut choices = Vec::new();
    if bytes >= 1024 && rows >= 8 {
        choices.extend([64, 128, 256, 512, 1024].map(|block| Choice::Whole { block }));
    }
    if bytes >= 1 << 14 {
        for block in [128, 256, 512, 1024] {
            for of_each in [1, 2, 4, 6, 8, 16, 32] {
                let blocks = of_each * MULTIPROCESSORS;
                if rows < 2 * blocks as usize {
                    choices.push(Choice::Shared { block, blocks });
                }
            }
        }
    }
    for blocks in [8, 16, 32]
        .map(|of_each| of_each * MULTIPROCESSORS)
        .into_iter()
        .chain([u32::MAX])
    {
        for lanes in [1, 2, 4, 8, 16, 32] {
            let vectors = bytes.div_ceil(16);
            if lanes <= vectors.max(1) && vectors <= 16 * lanes
                || lanes == 32 && (512..=65536).contains(&bytes)
            {
                choices.push(Choice::Lanes {
                    lanes: lanes as u32,
                    blocks,
                });
            }
        }
        if bytes <= PACKED_BYTES {
            choices.extend([128, 256].map(|block| Choice::Packed { block, blocks }));
        }
    }
    choices
}

/// What is worth a try for columns: strips of any width, and any number of blocks for each, up to four times as many in all as run at once.
pub fn choices_of_columns(problem: &Problem) -> Vec<Choice> {
    let Matrix { columns, .. } = problem.matrix;
    let (lanes, block) = (problem.lanes, problem.limits.threads);
    let most_blocks = (4 * problem.limits.resident * MULTIPROCESSORS) as usize;
    let vectors = columns.div_ceil(lanes);
    let mut choices = Vec::new();
    for width in [8, 16, 32, 64, 128, 256] {
        if width > block || width > 8 && width as usize >= 2 * vectors {
            continue;
        }
        let strips = vectors.div_ceil(width as usize);
        let (mut slices, mut step) = (1_usize, 1);
        while slices == 1 || strips * slices <= most_blocks {
            let blocks =
                (strips * slices).saturating_mul(block as usize) / THREADS_OF_COLUMNS as usize;
            if let Ok(blocks) = u32::try_from(blocks.max(1)) {
                choices.push(Choice::Columns { width, blocks });
            }
            // 1, 2, 3, 4, 6, 8, 12, 16, 24 …
            slices += step;
            if slices.is_power_of_two() && slices > 2 {
                step = slices / 2;
            }
        }
    }
    choices
}

/// What is worth a try for one row of this many bytes.
pub fn choices_of_one(bytes: usize) -> Vec<Choice> {
    let mut choices = Vec::new();
    for block in [128, 192, 256, 288, 352, 384, 512, 1024] {
        for blocks in [
            1, 2, 4, 8, 16, 32, 64, 66, 128, 132, 256, 264, 512, 528, 792, 1056, 2112,
        ] {
            let threads = (blocks * block) as usize;
            if (16..=1 << 14).contains(&(bytes / threads)) || blocks == 1 && bytes <= 1 << 16 {
                choices.push(Choice::Shared { block, blocks });
            }
        }
    }
    choices
}
