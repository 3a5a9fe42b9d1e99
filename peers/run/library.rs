//! The contenders of `peers/reduce.cu`, which are in a shared library.

use crate::arena::{Answer, Arena};
use crate::contender::{Contender, NOT_WRITTEN};
use crate::error::PeersError;
use crate::record::{Cache, Maker};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::rc::Rc;
use warpfold::device::{Argument, Buffer, Device};

type Launch = unsafe extern "C" fn(
    index: u32,
    input: *mut c_void,
    n: usize,
    out: *mut c_void,
    scratch: *mut c_void,
    scratch_bytes: usize,
    block: u32,
    stream: *mut c_void,
    answer: *mut i32,
) -> c_int;

/// The open library: `reduce.cu` says what the functions do.
pub struct Library {
    count: unsafe extern "C" fn() -> u32,
    compiler: unsafe extern "C" fn() -> *const c_char,
    maker: unsafe extern "C" fn(u32) -> *const c_char,
    name: unsafe extern "C" fn(u32) -> *const c_char,
    in_place: unsafe extern "C" fn(u32) -> u32,
    results: unsafe extern "C" fn(u32, usize, u32) -> usize,
    scratch_bytes: unsafe extern "C" fn(u32, usize, u32, *mut usize) -> c_int,
    launch: Launch,
    error: unsafe extern "C" fn(c_int) -> *const c_char,
    // Behind the functions, which are good as long as it is open.
    _library: libloading::Library,
}

/// One contender with its memory.
pub struct Theirs {
    library: Rc<Library>,
    index: u32,
    name: String,
    maker: Maker,
    n: usize,
    block: u32,
    out: Buffer<i32>,
    scratch: Buffer<u8>,
    /// Of who answers on the host.
    answer: Option<i32>,
}

impl Library {
    /// Opens a library that `reduce.cu` was compiled to.
    pub fn open(path: &Path) -> Result<Rc<Self>, PeersError> {
        // SAFETY: what is run on loading is the CUDA runtime's; each symbol has the signature that `reduce.cu` gives it.
        let opened = unsafe {
            libloading::Library::new(path).and_then(|library| {
                Ok(Self {
                    count: *library.get(c"peers_count")?,
                    compiler: *library.get(c"peers_compiler")?,
                    maker: *library.get(c"peers_maker")?,
                    name: *library.get(c"peers_name")?,
                    in_place: *library.get(c"peers_in_place")?,
                    results: *library.get(c"peers_results")?,
                    scratch_bytes: *library.get(c"peers_scratch_bytes")?,
                    launch: *library.get(c"peers_launch")?,
                    error: *library.get(c"peers_error")?,
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

    /// All contenders, with memory for n elements.
    pub fn contenders(
        self: &Rc<Self>,
        device: &Device,
        n: usize,
        block: u32,
    ) -> Result<Vec<Theirs>, PeersError> {
        // SAFETY: it takes nothing.
        let count = unsafe { (self.count)() };
        (0..count)
            .map(|index| Theirs::new(self, device, index, n, block))
            .collect()
    }

    /// What an error is called.
    fn message(&self, error: c_int) -> String {
        // SAFETY: it takes any number, and answers with a text.
        unsafe { text((self.error)(error)) }
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

impl Theirs {
    fn new(
        library: &Rc<Library>,
        device: &Device,
        index: u32,
        n: usize,
        block: u32,
    ) -> Result<Self, PeersError> {
        let mut scratch_bytes = 0;
        // SAFETY: the index is below the count, the count of bytes may be written, and the names are texts.
        let (name, maker, results, error) = unsafe {
            (
                text((library.name)(index)),
                text((library.maker)(index)),
                (library.results)(index, n, block),
                (library.scratch_bytes)(index, n, block, &raw mut scratch_bytes),
            )
        };
        if error != 0 {
            let message = library.message(error);
            return Err(PeersError::Contender { name, n, message });
        }
        Ok(Self {
            library: library.clone(),
            index,
            name,
            maker: if maker == "CUDA C++" {
                Maker::CudaCpp
            } else {
                Maker::Library
            },
            n,
            block,
            out: device.allocate(results)?,
            scratch: device.upload(&vec![0; scratch_bytes])?,
            answer: None,
        })
    }
}

/// The address of a buffer on the GPU, as the CUDA runtime has it.
fn address<T: warpfold::device::Pod>(buffer: &Buffer<T>) -> *mut c_void {
    match buffer.argument() {
        Argument::Address(address) => std::ptr::without_provenance_mut(address as usize),
        _ => std::ptr::null_mut(),
    }
}

impl Contender for Theirs {
    fn maker(&self) -> Maker {
        self.maker
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn time_ms(&mut self, arena: &mut Arena, cache: Cache) -> Result<f64, PeersError> {
        // SAFETY: the index is below the count.
        let in_place = unsafe { (self.library.in_place)(self.index) } != 0;
        let mut answer = 0;
        let elapsed_ms = arena.time_ms(cache, in_place, |stream, input| {
            // SAFETY: the input has n elements, `out` and `scratch` are as large as the library asked for, all are in the primary context
            // that the CUDA runtime uses as well, and they and the answer outlive the launch, whose end the arena awaits.
            let error = unsafe {
                (self.library.launch)(
                    self.index,
                    address(input),
                    self.n,
                    address(&self.out),
                    address(&self.scratch),
                    self.scratch.bytes(),
                    self.block,
                    stream.raw()?,
                    &raw mut answer,
                )
            };
            if error == 0 {
                return Ok(());
            }
            Err(PeersError::Contender {
                name: self.name.clone(),
                n: self.n,
                message: self.library.message(error),
            })
        })?;
        self.answer = self.out.is_empty().then_some(answer);
        Ok(elapsed_ms)
    }

    fn spoil(&mut self) -> Result<(), PeersError> {
        self.answer = None;
        Ok(self.out.write(&vec![NOT_WRITTEN; self.out.len()])?)
    }

    fn answer(&self) -> Result<Answer, PeersError> {
        let left = self.out.read()?.into_iter();
        Ok(Answer::Sum(
            left.chain(self.answer).fold(0, i32::wrapping_add),
        ))
    }
}
