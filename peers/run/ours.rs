//! Kernels of ours as contenders: the steps of the ladder, and those that add up nothing.

use crate::answer::Answer;
use crate::arena::{Arena, Input, fold};
use crate::clock::HOLD;
use crate::contender::Contender;
use crate::element::Element;
use crate::error::PeersError;
use crate::record::{Finds, LeftOut, Maker};
use warpfold::Device;
use warpfold::device::{Argument, Buffer, Kernel, Shape};
use warpfold_kernels::catalogue::{Finish, Lesson, Operator, Part, Role, lessons_of};

/// `read_all(input, folds, n)`: see there.
const READ_ALL: &str = include_str!("../../course/src/host_lesson/roofline/read_all.ptx");
/// Threads of its blocks, the 16-byte words that a block reads, and the bytes that it leaves.
const READ_ALL_BLOCK: u32 = 512;
const READ_ALL_TILE: usize = 4 * READ_ALL_BLOCK as usize;
const READ_ALL_FOLD_BYTES: usize = READ_ALL_BLOCK as usize / 32 * 4;

/// A kernel with what it writes to.
pub struct Ours<T: Element> {
    name: &'static str,
    gives: Gives,
    kernel: Kernel,
    /// The kernel's parameters in their order.
    roles: &'static [Role],
    shape: Shape,
    input: Input,
    /// What the kernel takes for n.
    count: usize,
    /// What it leaves to be put together.
    out: Buffer<T>,
    /// Partial sums, and a counter of 32 bits or 64, for those who put them together themselves.
    scratch: Option<(Buffer<T>, Buffer<u64>)>,
}

/// What a launch leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// Sums, the sum of which is that of the input.
    Sums,
    /// Words, the exclusive or of which is that of the input.
    Folds,
    Nothing,
}

/// The ladder, where it is for this type, and who of it cannot run on this GPU.
pub fn ladder<T: Element>(
    machine: &Device,
    n: usize,
    block: u32,
) -> Result<(Vec<Ours<T>>, Vec<LeftOut>), PeersError> {
    let device = machine;
    // Step 12 takes part as what the library makes of it, which clears the totals; step 12b, which the library does not launch, does
    // not.
    let lessons = lessons_of(Part::Ladder).iter().filter(|lesson| {
        lesson.reduction().is_some_and(|reduction| {
            reduction.element_type == T::ELEMENT_TYPE
                && !matches!(reduction.finish, Finish::Total | Finish::TotalInTurns)
        })
    });
    let (able, unable): (Vec<&Lesson>, Vec<&Lesson>) =
        lessons.partition(|lesson| lesson.least_sm <= device.sm());
    let left_out = unable.into_iter().map(|lesson| LeftOut {
        name: lesson.id.to_owned(),
        at: None,
        reason: format!("it needs sm_{}", lesson.least_sm),
    });
    let loaded = able
        .into_iter()
        .filter_map(|lesson| Ours::lesson(machine, lesson, n, block).transpose());
    Ok((loaded.collect::<Result<_, _>>()?, left_out.collect()))
}

/// The launch that does nothing, and the one that only reads; without the latter where there is less to read than a word of 16 bytes,
/// or something beside whole ones.
pub fn ceilings<T: Element>(machine: &Device, n: usize) -> Result<Vec<Ours<T>>, PeersError> {
    let device = machine;
    let mut all = vec![Ours {
        name: "empty launch",
        gives: Gives::Nothing,
        kernel: device.load(HOLD)?.kernel("empty")?,
        roles: Finish::PartialPerBlock.roles(),
        shape: Shape::linear(1, 32),
        input: Input::Shared { skip: 0 },
        count: n,
        out: device.allocate(0)?,
        scratch: None,
    }];
    let bytes = n * size_of::<T>();
    let words = bytes / 16;
    let blocks = words.div_ceil(READ_ALL_TILE);
    let grid = u32::try_from(blocks).ok();
    if let Some(grid) = grid.filter(|&grid| grid > 0 && bytes.is_multiple_of(16)) {
        all.push(Ours {
            name: "read_all",
            gives: Gives::Folds,
            kernel: device.load(READ_ALL)?.kernel("read_all")?,
            roles: Finish::PartialPerBlock.roles(),
            shape: Shape::linear(grid, READ_ALL_BLOCK),
            input: Input::Shared { skip: 0 },
            count: words,
            out: device.allocate(blocks * READ_ALL_FOLD_BYTES / size_of::<T>())?,
            scratch: None,
        });
    }
    Ok(all)
}

impl<T: Element> Ours<T> {
    /// A step of the ladder, if it takes blocks of this size.
    fn lesson(
        machine: &Device,
        lesson: &Lesson,
        n: usize,
        block: u32,
    ) -> Result<Option<Self>, PeersError> {
        let device = machine;
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
            gives: Gives::Sums,
            kernel: machine.kernel(lesson.module, entry)?,
            roles: reduction.finish.roles(),
            shape: Shape::linear(blocks, block)
                .with_dynamic_shared_bytes(reduction.dynamic_shared_bytes(variant))
                .with_cooperative(lesson.cooperative),
            input: match reduction.in_place {
                true => Input::Overwritten,
                false => Input::Shared { skip: 0 },
            },
            count: n,
            out: device.allocate(if one_launch { 1 } else { partials })?,
            scratch: match one_launch {
                true => Some((device.allocate(partials)?, device.upload(&[0])?)),
                false => None,
            },
        }))
    }
}

impl<T: Element> Contender<T> for Ours<T> {
    fn maker(&self) -> Maker {
        match self.gives {
            Gives::Sums => Maker::Warpfold,
            Gives::Folds | Gives::Nothing => Maker::Ceiling,
        }
    }

    fn name(&self) -> &str {
        self.name
    }

    fn time_ms(&mut self, arena: &mut Arena<'_, T>, finds: Finds) -> Result<f64, PeersError> {
        let (out, count) = (self.out.argument(), Argument::from(self.count));
        let (partials, counter) = match &self.scratch {
            None => (out.clone(), None),
            Some((partials, counter)) => (partials.argument(), Some(counter.argument())),
        };
        let argument = |role: &Role| match role {
            Role::Count => Some(count.clone()),
            Role::Partials => Some(partials.clone()),
            Role::Total => Some(out.clone()),
            Role::Counter => counter.clone(),
            _ => None,
        };
        arena.time_ms(finds, &self.input, |stream, input| {
            let of_role = |role| match role {
                &Role::Input => input.argument(),
                role => argument(role).expect("`ladder` leaves out the finishes that take more"),
            };
            let arguments: Vec<Argument> = self.roles.iter().map(of_role).collect();
            // SAFETY: the kernels of the catalogue take these arguments for their finish, and keep to `count` elements of the input,
            // to one partial sum for each block, one total and one counter; `read_all` to one word for each warp, and `empty` to
            // nothing. All are alive until the time is taken.
            unsafe { stream.launch(&self.kernel, &self.shape, &arguments) }?;
            Ok(())
        })
    }

    fn spoil(&mut self) -> Result<(), PeersError> {
        Ok(self.out.write(&vec![T::NO_PARTIAL; self.out.len()])?)
    }

    fn answer(&self) -> Result<Answer<T>, PeersError> {
        let left = self.out.read()?;
        Ok(match self.gives {
            Gives::Sums => Answer::Sum(T::finish(Operator::Sum, &left)),
            Gives::Folds => Answer::Fold(fold(&left)),
            Gives::Nothing => Answer::Nothing,
        })
    }
}
