//! Kernels whose names begin alike, each loaded when it is first needed, and the memory that their blocks hand states to each other in.

use crate::device::{
    Argument, Buffer, Device, DeviceError, Kernel, LoadOptions, Shape, Slice, Stream, StreamOrder,
};
use crate::kernels::Error;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use warpfold_device::scan::BLOCK;
use warpfold_emulator::entries::Entries;
use warpfold_reductions::Text;

/// The kernels and the memory of a reduction or a scan.
pub(crate) struct Family {
    ptx: Source,
    /// What the kernels' names begin with.
    name: String,
    kernels: HashMap<&'static str, Rc<Kernel>>,
    workspace: Workspace,
    /// That of the launches, which share the workspace.
    order: StreamOrder,
    /// Whether a launch has failed: some blocks may have come to their end and others not, so that the words are not used again.
    is_spoiled: Cell<bool>,
}

/// Where the kernels come from.
#[derive(Clone)]
pub(crate) enum Source {
    /// The library's text of a type, whose entries are looked for once.
    Library(&'static Entries<'static>),
    /// A text of the caller's own.
    Own(Rc<str>),
}

impl Source {
    /// A text of the library. It is kept after the first call.
    pub(crate) fn of_library(text: &'static Text) -> Self {
        static READ: Mutex<BTreeMap<&'static str, &'static Entries<'static>>> =
            Mutex::new(BTreeMap::new());
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = read.entry(text.name()).or_insert_with(|| {
            let entries = Entries::of(text.read().leak());
            Box::leak(Box::new(entries.expect("compilers end what they begin")))
        });
        Self::Library(entries)
    }

    /// The text of an entry alone: a driver compiles all that it is given.
    fn only(&self, entry: &str) -> Option<String> {
        match self {
            Self::Library(entries) => entries.only(entry),
            Self::Own(text) => Entries::of(text)?.only(entry),
        }
    }
}

/// The memory that a launch of several blocks needs.
struct Workspace {
    /// The states of the blocks, as words of 8 bytes.
    states: Buffer<u64>,
    /// Words that are 0 between the launches.
    words: Buffer<u32>,
}

/// What a launch needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// What the kernel's name ends with.
    pub(crate) suffix: &'static str,
    /// Words of 8 bytes for states.
    pub(crate) states: usize,
    /// Words of 8 bytes that are 0, for slots.
    pub(crate) slots: usize,
    /// Words of 4 bytes that are 0, after those.
    pub(crate) words: usize,
    /// The most registers that a thread gets on a GPU.
    pub(crate) registers: Option<u32>,
}

impl Needs {
    /// The threads of a multiprocessor that the tiles of a launch are shared by, if they [look back](warpfold_device::look_back). Most of the
    /// time is waiting: on an H100 the 2^23 runs of 2^28 keys take 1153 µs with 1024 threads, 1041 with these, and 1011 with 1536; other
    /// runs, and scans, take longer with 1536 than with these.
    pub(crate) const RESIDENT: usize = 1280;

    /// A kernel that takes no workspace.
    pub(crate) const fn kernel(suffix: &'static str) -> Self {
        Self {
            suffix,
            states: 0,
            slots: 0,
            words: 0,
            registers: None,
        }
    }

    /// Those of a kernel whose tiles look back: words of 8 bytes, which are 0, and no more registers than leave room for
    /// [`Self::RESIDENT`] threads.
    pub(crate) fn to_look_back(suffix: &'static str, words: usize) -> Self {
        const REGISTERS: usize = 65536;
        // Registers come in multiples of 8.
        const OF_THREAD: usize = REGISTERS / Needs::RESIDENT / 8 * 8;
        Self {
            suffix,
            states: 0,
            slots: words,
            words: 0,
            registers: Some(OF_THREAD as u32),
        }
    }

    /// How its kernel is loaded. Kernels of families follow each other closely, also in graphs.
    fn options(&self) -> LoadOptions {
        LoadOptions {
            registers: self.registers,
            overlaps: true,
        }
    }

    /// Words of 4 bytes that are 0, in all.
    fn zeros(&self) -> usize {
        self.slots.saturating_mul(2).saturating_add(self.words)
    }

    /// Bytes of the device's memory.
    pub(crate) fn bytes(&self) -> usize {
        let long = self.states.saturating_add(self.slots);
        let bytes = long.saturating_mul(size_of::<u64>());
        bytes.saturating_add(self.words.saturating_mul(size_of::<u32>()))
    }
}

impl Family {
    pub(crate) fn new(device: &Device, ptx: Source, name: String) -> Result<Self, DeviceError> {
        Ok(Self {
            ptx,
            name,
            kernels: HashMap::new(),
            workspace: Workspace {
                states: device.allocate(0)?,
                words: device.allocate(0)?,
            },
            order: StreamOrder::default(),
            is_spoiled: Cell::new(false),
        })
    }

    /// The same kernels with a workspace of its own, so that launches of the two need no order.
    pub(crate) fn with_own_workspace(&self, device: &Device) -> Result<Self, DeviceError> {
        let others = Self::new(device, self.ptx.clone(), self.name.clone())?;
        Ok(Self {
            kernels: self.kernels.clone(),
            ..others
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Loads the kernel and allocates what there is not.
    pub(crate) fn prepare(&mut self, device: &Device, needs: &Needs) -> Result<(), Error> {
        if !self.kernels.contains_key(needs.suffix) {
            let entry = format!("{}{}", self.name, needs.suffix);
            let text = self
                .ptx
                .only(&entry)
                .ok_or_else(|| Error::NoKernel(entry.clone()))?;
            let module = device.load_with(&text, needs.options())?;
            let kernel = module.kernel(&entry)?;
            self.kernels.insert(needs.suffix, Rc::new(kernel));
        }
        let Workspace { states, words } = &mut self.workspace;
        if states.len() < needs.states {
            *states = device.allocate(needs.states)?;
        }
        if words.len() < needs.zeros() || self.is_spoiled.get() {
            *words = device.upload(&vec![0; needs.zeros()])?;
            self.is_spoiled.set(false);
        }
        Ok(())
    }

    /// Whether there is nothing to load or to allocate.
    pub(crate) fn is_prepared(&self, needs: &Needs) -> bool {
        !self.is_spoiled.get()
            && self.kernels.contains_key(needs.suffix)
            && self.workspace.states.len() >= needs.states
            && self.workspace.words.len() >= needs.zeros()
    }

    /// As [`Self::prepare`], before a launch on this stream: refused where that would be captured.
    pub(crate) fn prepare_on(
        &mut self,
        device: &Device,
        stream: Option<&Stream>,
        needs: &Needs,
    ) -> Result<(), Error> {
        if let Some(stream) = stream {
            stream.check_device(device)?;
        }
        if self.is_prepared(needs) {
            return Ok(());
        }
        if let Some(stream) = stream
            && stream.is_capturing()?
        {
            return Err(Error::Unprepared);
        }
        self.prepare(device, needs)
    }

    /// A kernel that has been prepared.
    pub(crate) fn kernel(&self, suffix: &str) -> &Kernel {
        &self.kernels[suffix]
    }

    /// The addresses of the states and of the words, which change when more is prepared.
    pub(crate) fn addresses(&self) -> [u64; 2] {
        let Workspace { states, words } = &self.workspace;
        [Slice::from(states).address(), Slice::from(words).address()]
    }

    /// The states, from a word of 8 bytes on, and the words, as kernels take them.
    pub(crate) fn workspace(&self) -> [Argument; 2] {
        [
            self.workspace.states.argument(),
            self.workspace.words.argument(),
        ]
    }

    /// The words alone.
    pub(crate) fn words(&self) -> Argument {
        self.workspace.words.argument()
    }

    /// The words as slots, and those after them.
    pub(crate) fn slots(&self, needs: &Needs) -> [Argument; 2] {
        let words = &self.workspace.words;
        [words.argument(), words.slice(2 * needs.slots..).argument()]
    }

    /// The states from a word of 8 bytes on.
    pub(crate) fn states_from(&self, word: usize) -> Argument {
        self.workspace.states.slice(word..).argument()
    }

    /// Queues a kernel that has been prepared on a stream; without one it waits. It comes after the launch before, on whichever stream that
    /// was.
    ///
    /// # Safety
    /// As for [`Stream::launch`].
    pub(crate) unsafe fn launch(
        &self,
        stream: Option<&Stream>,
        suffix: &str,
        shape: &Shape,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        let kernel = self.kernel(suffix);
        // SAFETY: the caller's contract is the same.
        let launched = unsafe { self.order.launch(stream, kernel, shape, arguments) };
        if launched.is_err() {
            self.spoil();
        }
        launched
    }

    /// Gives the words up, for others that are 0 before the next launch.
    pub(crate) fn spoil(&self) {
        self.is_spoiled.set(true);
    }
}

/// What is kept with a device from one call of a function to the next, by the kernels' names.
#[derive(Default)]
pub(crate) struct Attached(RefCell<HashMap<String, Family>>);

impl Attached {
    /// Runs a function with the library's kernels of this name, which are in this text.
    pub(crate) fn with<R>(
        device: &Device,
        name: String,
        text: &'static Text,
        function: impl FnOnce(&mut Family) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let attached = device.attached::<Self>();
        let kept = attached.0.borrow_mut().remove(&name);
        let mut family = match kept {
            Some(family) => family,
            None => Family::new(device, Source::of_library(text), name.clone())?,
        };
        let result = function(&mut family);
        attached.0.borrow_mut().insert(name, family);
        result
    }
}

/// The launch of a kernel whose blocks take this many tiles in turn: no more blocks than run at the same time, and one at least.
pub(crate) fn one_pass(device: &Device, tiles: usize) -> Shape {
    const RESIDENT: usize = Needs::RESIDENT / BLOCK as usize;
    let at_once = device.multiprocessors() as usize * RESIDENT;
    Shape::linear(tiles.clamp(1, at_once) as u32, BLOCK)
}
