//! Our contenders: the steps of the ladder, what the library launches, and the kernel that only reads.

use crate::arena::{Answer, Arena};
use crate::contender::{Contender, NOT_WRITTEN};
use crate::error::PeersError;
use crate::record::{Cache, LeftOut, Maker};
use warpfold::device::{Buffer, Kernel, Shape};
use warpfold::machine::Machine;
use warpfold::sum::{Mode, Summer};
use warpfold_kernels::catalogue::{Finish, Lesson, Part, lessons_of};

/// `read_all(input, folds, n)`: see there.
const READ_ALL: &str = include_str!("../../host/src/host_lesson/roofline/read_all.ptx");
/// Threads of its blocks, the 16-byte words that a block reads, and the words that it leaves.
const READ_ALL_BLOCK: u32 = 512;
const READ_ALL_TILE: usize = 4 * READ_ALL_BLOCK as usize;
const READ_ALL_FOLDS: usize = READ_ALL_BLOCK as usize / 32;

/// A kernel with what it writes to.
pub struct Ours {
    name: &'static str,
    maker: Maker,
    kernel: Kernel,
    shape: Shape,
    in_place: bool,
    /// What the kernel takes for n.
    count: usize,
    /// What it leaves to be put together.
    out: Buffer<i32>,
    /// Partial sums, and a counter of 32 bits or 64, for those who put them together themselves.
    scratch: Option<(Buffer<i32>, Buffer<u64>)>,
}

/// The ladder, and who of it cannot run on this GPU.
pub fn ladder(
    machine: &Machine,
    n: usize,
    block: u32,
) -> Result<(Vec<Ours>, Vec<LeftOut>), PeersError> {
    let device = machine.device();
    // The flagships take part as what the library makes of them.
    let lessons = lessons_of(Part::Ladder).iter().filter(|lesson| {
        lesson.reduction().is_some_and(|reduction| {
            !matches!(reduction.finish, Finish::Total | Finish::TotalInTurns)
        })
    });
    let (able, unable): (Vec<&Lesson>, Vec<&Lesson>) =
        lessons.partition(|lesson| lesson.least_sm <= device.sm());
    let left_out = unable.into_iter().map(|lesson| LeftOut {
        name: lesson.id.to_owned(),
        reason: format!("it needs sm_{}", lesson.least_sm),
    });
    let loaded = able
        .into_iter()
        .filter_map(|lesson| Ours::lesson(machine, lesson, n, block).transpose());
    Ok((loaded.collect::<Result<_, _>>()?, left_out.collect()))
}

impl Ours {
    /// A step of the ladder, if it takes blocks of this size.
    fn lesson(
        machine: &Machine,
        lesson: &Lesson,
        n: usize,
        block: u32,
    ) -> Result<Option<Self>, PeersError> {
        let device = machine.device();
        let variant = lesson.usual(block);
        let (Some(reduction), Some(entry)) = (lesson.reduction(), lesson.entry(variant)) else {
            return Ok(None);
        };
        let blocks = reduction.blocks(n as u64, variant, device.multiprocessors());
        let Ok(blocks) = u32::try_from(blocks) else {
            return Ok(None);
        };
        let one_launch = reduction.finish == Finish::OneLaunch;
        let partials = blocks as usize;
        Ok(Some(Self {
            name: lesson.id,
            maker: Maker::Warpfold,
            kernel: machine.kernel(lesson.part.module(), entry)?,
            shape: Shape::linear(blocks, block)
                .with_dynamic_shared_bytes(reduction.dynamic_shared_bytes(variant))
                .with_cooperative(lesson.cooperative),
            in_place: reduction.in_place,
            count: n,
            out: device.allocate(if one_launch { 1 } else { partials })?,
            scratch: match one_launch {
                true => Some((device.allocate(partials)?, device.upload(&[0])?)),
                false => None,
            },
        }))
    }

    /// What only reads; `None` where there is less to read than a word of 16 bytes, or something beside whole ones.
    pub fn read_all(machine: &Machine, n: usize) -> Result<Option<Self>, PeersError> {
        let device = machine.device();
        let words = n / 4;
        let blocks = words.div_ceil(READ_ALL_TILE);
        let Some(grid) = u32::try_from(blocks)
            .ok()
            .filter(|&grid| grid > 0 && n.is_multiple_of(4))
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            name: "read_all",
            maker: Maker::Ceiling,
            kernel: device.load(READ_ALL)?.kernel("read_all")?,
            shape: Shape::linear(grid, READ_ALL_BLOCK),
            in_place: false,
            count: words,
            out: device.allocate(blocks * READ_ALL_FOLDS)?,
            scratch: None,
        }))
    }
}

impl Contender for Ours {
    fn maker(&self) -> Maker {
        self.maker
    }

    fn name(&self) -> &str {
        self.name
    }

    fn time_ms(&mut self, arena: &mut Arena, cache: Cache) -> Result<f64, PeersError> {
        let out = self.out.argument();
        let behind_input = match &self.scratch {
            None => vec![out, self.count.into()],
            Some((partials, counter)) => {
                vec![
                    partials.argument(),
                    self.count.into(),
                    out,
                    counter.argument(),
                ]
            }
        };
        arena.time_ms(cache, self.in_place, |stream, input| {
            let mut arguments = vec![input.argument()];
            arguments.extend(behind_input.iter().cloned());
            // SAFETY: the kernels of the catalogue take these arguments for their finish, and keep to `count` elements of the input,
            // to one partial sum for each block, one total and one counter; `read_all` to one word for each warp. All are alive
            // until the time is taken.
            unsafe { stream.launch(&self.kernel, &self.shape, &arguments) }?;
            Ok(())
        })
    }

    fn spoil(&mut self) -> Result<(), PeersError> {
        Ok(self.out.write(&vec![NOT_WRITTEN; self.out.len()])?)
    }

    fn answer(&self) -> Result<Answer, PeersError> {
        let left = self.out.read()?;
        Ok(match self.maker {
            Maker::Ceiling => Answer::Fold(left.into_iter().fold(0, |fold, word| fold ^ word)),
            _ => Answer::Sum(left.into_iter().fold(0, i32::wrapping_add)),
        })
    }
}

/// What the library makes of the flagship.
pub struct Sum<'m> {
    summer: Summer<'m, i32>,
    spoilt: bool,
}

impl<'m> Sum<'m> {
    /// Prepares it.
    pub fn new(machine: &'m Machine) -> Result<Self, PeersError> {
        Ok(Self {
            summer: Summer::new(machine)?,
            spoilt: false,
        })
    }
}

impl Contender for Sum<'_> {
    fn maker(&self) -> Maker {
        Maker::Warpfold
    }

    fn name(&self) -> &str {
        "warpfold::sum"
    }

    fn time_ms(&mut self, arena: &mut Arena, cache: Cache) -> Result<f64, PeersError> {
        self.spoilt = false;
        let n = arena.n();
        arena.time_ms(cache, false, |stream, input| {
            Ok(self.summer.queue(stream, input.slice(..n), Mode::Fast)?)
        })
    }

    /// A sum is the answer only after another launch: it stands in another place each time.
    fn spoil(&mut self) -> Result<(), PeersError> {
        self.spoilt = true;
        Ok(())
    }

    fn answer(&self) -> Result<Answer, PeersError> {
        let sum = self.summer.result()?;
        Ok(Answer::Sum(if self.spoilt { NOT_WRITTEN } else { sum }))
    }
}
