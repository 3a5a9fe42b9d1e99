//! The contenders of `peers/reduce.cu` and what it includes, which are in a shared library.

use crate::answer::Answer;
use crate::arena::{Arena, Input};
use crate::contender::Contender;
use crate::element::{self, Element};
use crate::error::PeersError;
use crate::record::{Finds, LeftOut, Maker};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::rc::Rc;
use warpfold::device::{Argument, Buffer, Device};
use warpfold_kernels::catalogue::Operator;

type Launch = unsafe extern "C" fn(
    index: u32,
    input: *mut c_void,
    n: usize,
    out: *mut c_void,
    scratch: *mut c_void,
    scratch_bytes: usize,
    block: u32,
    stream: *mut c_void,
    answer: *mut c_void,
) -> c_int;

/// The open library: `reduce.cu` says what the functions do.
pub struct Library {
    count: unsafe extern "C" fn() -> u32,
    compiler: unsafe extern "C" fn() -> *const c_char,
    maker: unsafe extern "C" fn(u32) -> *const c_char,
    name: unsafe extern "C" fn(u32) -> *const c_char,
    element_type: unsafe extern "C" fn(u32) -> *const c_char,
    in_place: unsafe extern "C" fn(u32) -> u32,
    results: unsafe extern "C" fn(u32, usize, u32) -> usize,
    scratch_bytes: unsafe extern "C" fn(u32, usize, u32, *mut usize) -> c_int,
    launch: Launch,
    error: unsafe extern "C" fn(c_int) -> *const c_char,
    left_out_name: unsafe extern "C" fn(u32) -> *const c_char,
    left_out_reason: unsafe extern "C" fn(u32) -> *const c_char,
    // After the functions, which can be called as long as it is open.
    _library: libloading::Library,
}

/// One contender with its memory.
pub struct Theirs<T: Element> {
    library: Rc<Library>,
    index: u32,
    name: String,
    maker: Maker,
    n: usize,
    block: u32,
    out: Buffer<T>,
    scratch: Buffer<u8>,
    /// Of who answers on the host.
    answer: Option<T>,
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
                    element_type: *library.get(c"peers_element_type")?,
                    in_place: *library.get(c"peers_in_place")?,
                    results: *library.get(c"peers_results")?,
                    scratch_bytes: *library.get(c"peers_scratch_bytes")?,
                    launch: *library.get(c"peers_launch")?,
                    error: *library.get(c"peers_error")?,
                    left_out_name: *library.get(c"peers_left_out_name")?,
                    left_out_reason: *library.get(c"peers_left_out_reason")?,
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

    /// What is not in the library, because what it was built with has it not.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let named = |index| {
            // SAFETY: both take any number, and answer with a text or, after the last, with null.
            let (name, reason) =
                unsafe { ((self.left_out_name)(index), (self.left_out_reason)(index)) };
            // SAFETY: neither is null, or both are.
            let texts = || unsafe { (text(name), text(reason)) };
            (!name.is_null()).then(|| {
                let (name, reason) = texts();
                LeftOut {
                    name,
                    at: None,
                    reason,
                }
            })
        };
        (0..).map_while(named).collect()
    }

    /// All contenders for the type, the counterparts of the ladder's steps among them where they are asked for, with memory for n
    /// elements, or what is wrong with one of them.
    pub fn contenders<T: Element>(
        self: &Rc<Self>,
        device: &Device,
        n: usize,
        block: u32,
        with_ladder: bool,
    ) -> impl Iterator<Item = Result<Theirs<T>, PeersError>> {
        // SAFETY: it takes nothing.
        let count = unsafe { (self.count)() };
        (0..count)
            .filter(move |&index| {
                // SAFETY: the index is below the count, and the answer is a text.
                let of_type = unsafe { text((self.element_type)(index)) };
                of_type == element::name::<T>()
                    && (with_ladder || self.maker(index) != Maker::CudaCpp)
            })
            .map(move |index| Theirs::new(self, device, index, n, block))
    }

    fn maker(&self, index: u32) -> Maker {
        // SAFETY: the index is below the count, as every caller's, and the answer is a text.
        match unsafe { text((self.maker)(index)) }.as_str() {
            "CUDA C++" => Maker::CudaCpp,
            _ => Maker::Library,
        }
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

impl<T: Element> Theirs<T> {
    fn new(
        library: &Rc<Library>,
        device: &Device,
        index: u32,
        n: usize,
        block: u32,
    ) -> Result<Self, PeersError> {
        let mut scratch_bytes = 0;
        // SAFETY: the index is below the count, the count of bytes may be written, and the names are texts.
        let (name, results, error) = unsafe {
            (
                text((library.name)(index)),
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
            maker: library.maker(index),
            n,
            block,
            out: device.allocate(results)?,
            scratch: device.upload(&vec![0; scratch_bytes])?,
            answer: None,
        })
    }
}

/// An address on the GPU, as the CUDA runtime has it.
fn address(argument: Argument) -> *mut c_void {
    match argument {
        Argument::Address(address) => std::ptr::without_provenance_mut(address as usize),
        _ => std::ptr::null_mut(),
    }
}

impl<T: Element> Contender<T> for Theirs<T> {
    fn maker(&self) -> Maker {
        self.maker
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn time_ms(&mut self, arena: &mut Arena<'_, T>, finds: Finds) -> Result<f64, PeersError> {
        // SAFETY: the index is below the count.
        let from = match unsafe { (self.library.in_place)(self.index) } {
            0 => Input::Shared { skip: 0 },
            _ => Input::Overwritten,
        };
        let mut answer = T::NO_PARTIAL;
        let elapsed_ms = arena.time_ms(finds, &from, |stream, input| {
            // SAFETY: the input has n elements of the contender's type, `out` and `scratch` are as large as the library asked for, all are in the primary context
            // that the CUDA runtime uses as well, and they and the answer outlive the launch, whose end the arena awaits.
            let error = unsafe {
                (self.library.launch)(
                    self.index,
                    address(input.argument()),
                    self.n,
                    address(self.out.argument()),
                    address(self.scratch.argument()),
                    self.scratch.bytes(),
                    self.block,
                    stream.raw()?,
                    (&raw mut answer).cast(),
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
        Ok(self.out.write(&vec![T::NO_PARTIAL; self.out.len()])?)
    }

    fn answer(&self) -> Result<Answer<T>, PeersError> {
        let mut left = self.out.read()?;
        left.extend(self.answer);
        Ok(Answer::Sum(T::finish(Operator::Sum, &left)))
    }
}
