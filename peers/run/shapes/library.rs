//! The contenders in C++: each of `peers/shapes/*.cu` is a shared library of its own, so that they are compiled side by side, and one
//! that does not compile takes no other with it.

use super::contender::{Queue, Queued};
use super::problem::{Problem, ProblemShape};
use super::results::{ResultType, Results};
use crate::error::PeersError;
use crate::record::{Finds, Maker};
use crate::shapes_record::Group;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::rc::Rc;
use warpfold::device::{Buffer, Device, Stream};
use warpfold::{Along, Matrix};

/// What is to be reduced, as `peers/shapes/contender.h` has it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Task {
    /// The values.
    pub values: u64,
    /// The keys.
    pub keys: u64,
    /// Where segments begin, and the last ends.
    pub offsets: u64,
    /// Where results go.
    pub results: u64,
    /// Where the keys of runs go.
    pub keys_of_runs: u64,
    /// Where the number of runs goes.
    pub runs: u64,
    /// How many values.
    pub n: u64,
    /// How many rows, segments or runs.
    pub rows: u64,
    /// How many values a row has.
    pub columns: u64,
    /// Scratch memory, which a contender has of its own.
    pub scratch: u64,
    /// Its bytes.
    pub scratch_bytes: usize,
    /// The stream of a launch.
    pub stream: usize,
}

/// The open library: `contender.h` says what the functions do.
pub struct Library {
    count: unsafe extern "C" fn() -> u32,
    compiler: unsafe extern "C" fn() -> *const c_char,
    note: unsafe extern "C" fn() -> *const c_char,
    text: unsafe extern "C" fn(u32, u32) -> *const c_char,
    scratch_bytes: unsafe extern "C" fn(u32, *const Task, *mut usize) -> c_int,
    launch: unsafe extern "C" fn(u32, *const Task) -> c_int,
    error: unsafe extern "C" fn(c_int) -> *const c_char,
    // After the functions, which are good as long as it is open.
    _library: libloading::Library,
}

/// What `text` tells of a contender.
#[derive(Clone, Copy)]
enum Told {
    Name = 0,
    Kind = 1,
    Operator = 2,
    ElementType = 3,
    ResultType = 4,
    Captured = 5,
}

impl Library {
    /// Opens a library that one of the sources was compiled to.
    ///
    /// # Errors
    /// It cannot be opened, or is none of these.
    pub fn open(path: &Path) -> Result<Rc<Self>, PeersError> {
        // SAFETY: what is run on loading is the CUDA runtime's; each symbol has the signature that `contender.h` gives it.
        let opened = unsafe {
            libloading::Library::new(path).and_then(|library| {
                Ok(Self {
                    count: *library.get(c"shapes_count")?,
                    compiler: *library.get(c"shapes_compiler")?,
                    note: *library.get(c"shapes_note")?,
                    text: *library.get(c"shapes_text")?,
                    scratch_bytes: *library.get(c"shapes_scratch_bytes")?,
                    launch: *library.get(c"shapes_launch")?,
                    error: *library.get(c"shapes_error")?,
                    _library: library,
                })
            })
        };
        opened.map(Rc::new).map_err(|source| PeersError::Library {
            path: path.to_owned(),
            source,
        })
    }

    /// What the library was built with.
    pub fn compiler(&self) -> String {
        // SAFETY: it takes nothing, and answers with a text.
        unsafe { text((self.compiler)()) }
    }

    /// What is to be said of its contenders, if anything.
    pub fn note(&self) -> Option<String> {
        // SAFETY: it takes nothing, and answers with a text.
        let note = unsafe { text((self.note)()) };
        (!note.is_empty()).then_some(note)
    }

    fn told(&self, index: u32, what: Told) -> String {
        // SAFETY: the index is below the count, as every caller's, and the answer is a text.
        unsafe { text((self.text)(index, what as u32)) }
    }

    /// The numbers of the contenders for this problem.
    pub fn contenders(&self, problem: &Problem) -> Vec<u32> {
        let kinds: &[&str] = match problem.shape {
            ProblemShape::Matrix(..) if problem.group == Group::Graphs => &["array"],
            ProblemShape::Matrix(Matrix { rows: 1, .. }, Along::Rows) => &["array", "rows"],
            ProblemShape::Matrix(_, Along::Rows) => &["rows"],
            ProblemShape::Matrix(_, Along::Columns) => &["columns"],
            ProblemShape::Segments(..) => &["segments"],
            ProblemShape::Scan(Matrix { rows: 1, .. }) => &["scan"],
            ProblemShape::Scan(_) => &["scan of rows"],
            ProblemShape::Keys(_) => &["keys"],
        };
        // SAFETY: it takes nothing.
        let count = unsafe { (self.count)() };
        let is_for = |&index: &u32| {
            kinds.contains(&self.told(index, Told::Kind).as_str())
                && self.told(index, Told::Operator) == problem.operator.asked()
                && self.told(index, Told::ElementType) == problem.element.name()
        };
        (0..count).filter(is_for).collect()
    }

    /// What a contender is called.
    pub fn name(&self, index: u32) -> String {
        self.told(index, Told::Name)
    }

    /// Whether its launches can be captured into a graph.
    pub fn can_be_captured(&self, index: u32) -> bool {
        self.told(index, Told::Captured) == "yes"
    }

    /// A contender for this task, which leaves this many results.
    ///
    /// # Errors
    /// It refuses, or there is no room for its scratch memory.
    ///
    /// # Safety
    /// The addresses of the task are those of as much memory as it says, for results of up to 8 bytes each, as long as the contender
    /// lives, and keys below the number of runs ascend.
    pub unsafe fn contender(
        self: &Rc<Self>,
        device: &Device,
        index: u32,
        count: usize,
        task: Task,
    ) -> Result<Queued<'static>, PeersError> {
        let (library, name) = (self.clone(), self.name(index));
        let n = task.n as usize;
        let failed = move |library: &Self, name: &str, error: c_int| PeersError::Contender {
            name: name.to_owned(),
            n,
            // SAFETY: it takes any number, and answers with a text.
            message: unsafe { text((library.error)(error)) },
        };
        let unknown = |of: &str| PeersError::Contender {
            name: name.clone(),
            n,
            message: format!("its results are `{of}`, which this program does not know"),
        };
        let of = self.told(index, Told::ResultType);
        let of = ResultType::of_name(&of).ok_or_else(|| unknown(&of))?;
        let mut bytes = 0;
        // SAFETY: the index is below the count, and the number of bytes may be written.
        let error = unsafe { (self.scratch_bytes)(index, &raw const task, &raw mut bytes) };
        if error != 0 {
            return Err(failed(self, &name, error));
        }
        let scratch: Buffer<u8> = device.allocate(bytes.max(1))?;
        let queue: Queue<'static> = {
            let name = name.clone();
            Box::new(move |stream: &Stream| {
                let task = Task {
                    scratch: scratch.address(),
                    scratch_bytes: scratch.bytes(),
                    stream: stream.raw()? as usize,
                    ..task
                };
                // SAFETY: the caller's promise; the scratch memory is as large as was asked for, and all memory is in the primary
                // context, in which the CUDA runtime works as well.
                match unsafe { (library.launch)(index, &raw const task) } {
                    0 => Ok(()),
                    error => Err(failed(&library, &name, error)),
                }
            })
        };
        Ok(Queued {
            maker: Maker::Library,
            name,
            queue,
            results: Some(Results {
                address: task.results,
                count,
                of,
            }),
            launches: 1,
            finds: Finds::Cold,
        })
    }
}

/// # Safety
/// The pointer is that of a text that ends with 0.
unsafe fn text(pointer: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

const _: () = assert!(size_of::<*const c_void>() == size_of::<usize>());
