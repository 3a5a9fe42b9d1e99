//! PTX, compiled and loaded by the driver.

use super::{compiler_log::CompilerLog, link, session::Session};
use crate::device::{DeviceError, LoadOptions, newer, overlap, ptx::check_driver};
use std::{
    ffi::{CStr, CString},
    ptr,
    rc::Rc,
};
use warpfold_driver::{Failure, sys};
use warpfold_emulator::Module;

/// PTX that the driver has loaded. Kernels and graphs share it, and it is unloaded with the last of them.
pub(in crate::device) struct GpuModule {
    handle: sys::CUmodule,
    /// The same PTX, parsed: it says what parameters its entries take; drivers tell only from CUDA 12.4 on. `None` where it has what
    /// the parser does not know.
    text: Option<Module>,
    /// Entries of the text that no GPU can run, because they wait on the device.
    waiting: Vec<String>,
    /// Whether its kernels wait for the launches before them.
    overlaps: bool,
    session: Rc<Session>,
}

impl GpuModule {
    /// Kernels that launch others, which are linked, get as many registers as they like, and overlap with none.
    pub(super) fn load(
        session: &Rc<Session>,
        ptx: &str,
        options: LoadOptions,
    ) -> Result<Rc<Self>, DeviceError> {
        check_driver(ptx, session.driver)?;
        let newer = newer::for_gpu(ptx, session.information.sm);
        let ptx = newer.as_deref().unwrap_or(ptx);
        let overlapping = match options.overlaps && !link::is_needed(ptx) {
            true if overlap::is_possible(session.information.sm, session.driver) => {
                overlap::waiting(ptx, options.registers.is_some())
            }
            _ => None,
        };
        let overlaps = overlapping.is_some();
        let ptx = overlapping.as_deref().unwrap_or(ptx);
        let text = Module::parse(ptx).ok();
        let (kept, waiting) = match &text {
            Some(text) if link::is_needed(ptx) => link::without_waits(ptx, text),
            _ => (ptx.to_owned(), Vec::new()),
        };
        let image = CString::new(kept).map_err(|error| DeviceError::NotText {
            position: error.nul_position(),
        })?;
        session.activate()?;
        let handle = if link::is_needed(ptx) {
            load_linked(&image)?
        } else {
            compile(&image, options.registers)?
        };
        Ok(Rc::new(Self {
            handle,
            text,
            waiting,
            overlaps,
            session: session.clone(),
        }))
    }

    /// Whether its kernels wait themselves for the launches before them, so that a launch may say that it is to be set up early.
    pub(super) fn overlaps(&self) -> bool {
        self.overlaps
    }

    pub(super) fn session(&self) -> &Rc<Session> {
        &self.session
    }

    /// The sizes of an entry's parameters; `None` where the PTX could not be parsed.
    pub(super) fn parameter_bytes(&self, entry: &str) -> Result<Option<Vec<usize>>, DeviceError> {
        let Some(text) = &self.text else {
            return Ok(None);
        };
        let parameters = text.parameters(entry).ok_or_else(|| no_entry(entry))?;
        let bytes = parameters.iter().map(|parameter| parameter.bytes);
        Ok(Some(bytes.collect()))
    }

    /// The driver's handle of an entry, which is good while the module is loaded.
    pub(super) fn function(&self, entry: &str) -> Result<sys::CUfunction, DeviceError> {
        if self.waiting.iter().any(|waiting| waiting == entry) {
            return Err(DeviceError::WaitsOnDevice {
                entry: entry.to_owned(),
            });
        }
        // Of an empty name some drivers say that it is invalid, and not that there is no such entry.
        let name = CString::new(entry).ok().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| no_entry(entry))?;
        self.session.activate()?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, `function` may be written, and `name` ends with a zero byte.
        unsafe { sys::cuModuleGetFunction(&raw mut function, self.handle, name.as_ptr()) }
            .map_err(|failure| {
                if failure.code() == Failure::NOT_FOUND {
                    no_entry(entry)
                } else {
                    failure.into()
                }
            })?;
        Ok(function)
    }
}

impl Drop for GpuModule {
    fn drop(&mut self) {
        // A kernel of the module may still be running. Where it cannot be waited for, for example after a kernel fault, the module goes
        // with its context.
        if self.session.wait_for_all().is_ok() {
            // SAFETY: the handle comes from a successful load. Nothing runs any more, and nothing can be launched: kernels and graphs,
            // made ready or not, hold the module.
            let _ = unsafe { sys::cuModuleUnload(self.handle) };
        }
    }
}

fn load_linked(ptx: &CStr) -> Result<sys::CUmodule, DeviceError> {
    let image = link::link(ptx)?;
    let mut handle = ptr::null_mut();
    // SAFETY: `handle` may be written, and the image is what the driver's linker has made.
    unsafe { sys::cuModuleLoadData(&raw mut handle, image.as_ptr().cast()) }?;
    Ok(handle)
}

fn compile(image: &CStr, registers: Option<u32>) -> Result<sys::CUmodule, DeviceError> {
    let mut log = CompilerLog::new(registers);
    let (count, options, values) = log.options();
    let mut handle = ptr::null_mut();
    // SAFETY: `handle` may be written, `image` ends with a zero byte, and the log outlives the call, which ends its use.
    unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut handle,
            image.as_ptr().cast(),
            count,
            options,
            values,
        )
    }
    .map_err(|failure| log.refusal(failure))?;
    Ok(handle)
}

fn no_entry(entry: &str) -> DeviceError {
    DeviceError::NoEntry {
        entry: entry.to_owned(),
    }
}
