//! PTX, compiled by the driver.

use super::{Kernel, link, session::Session};
use crate::device::{DeviceError, ptx::check_driver};
use std::{
    ffi::{CStr, CString, c_void},
    ptr,
    rc::Rc,
};
use warpfold_driver::{
    Failure,
    sys::{self, CUjit_option},
};
use warpfold_emulator::Module as PtxModule;

/// Room for what the driver's compiler writes about PTX that it refuses; it leaves out what does not fit.
pub(super) const LOG_BYTES: usize = 16 * 1024;

/// PTX that the driver has compiled and loaded.
pub(in crate::device) struct Module(Rc<LoadedModule>);

/// Keeps a module loaded for itself and for the kernels in it.
pub(super) struct LoadedModule {
    handle: sys::CUmodule,
    /// The same PTX as text, which says what parameters its entries take; drivers tell only from CUDA 12.4 on. `None` where it
    /// holds what the parser does not know: then the driver's word is all there is.
    text: Option<PtxModule>,
    /// Entries of the text that no GPU can run, because they wait on the device.
    waiting: Vec<String>,
    pub(super) session: Rc<Session>,
}

impl Module {
    pub(super) fn load(session: &Rc<Session>, ptx: &str) -> Result<Self, DeviceError> {
        check_driver(ptx, session.driver)?;
        let text = PtxModule::parse(ptx).ok();
        let (kept, waiting) = match &text {
            Some(text) if link::is_needed(ptx) => link::without_waits(ptx, text),
            _ => (ptx.to_owned(), Vec::new()),
        };
        let image = CString::new(kept).map_err(|error| DeviceError::NotText {
            position: error.nul_position(),
        })?;
        session.activate()?;
        let handle = if link::is_needed(ptx) {
            Self::load_linked(&image)?
        } else {
            Self::compile(&image)?
        };
        Ok(Self(Rc::new(LoadedModule {
            handle,
            text,
            waiting,
            session: session.clone(),
        })))
    }

    fn load_linked(ptx: &CStr) -> Result<sys::CUmodule, DeviceError> {
        let image = link::link(ptx)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the image is what the driver's linker has made.
        unsafe { sys::cuModuleLoadData(&raw mut handle, image.as_ptr().cast()) }?;
        Ok(handle)
    }

    fn compile(image: &CStr) -> Result<sys::CUmodule, DeviceError> {
        let mut log = vec![0_u8; LOG_BYTES];
        let mut options = [
            CUjit_option::ERROR_LOG_BUFFER,
            CUjit_option::ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // An option whose value fits a pointer is passed in its place.
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            ptr::without_provenance_mut(LOG_BYTES),
        ];
        let mut handle = ptr::null_mut();
        // SAFETY: `image` ends with a zero byte, the two options have a value each, and `log` has as many bytes as they say.
        unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut handle,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        }
        .map_err(|failure| refusal(failure, &log))?;
        Ok(handle)
    }

    pub(in crate::device) fn kernel(&self, entry: &str) -> Result<Kernel, DeviceError> {
        let no_entry = || DeviceError::NoEntry {
            entry: entry.to_owned(),
        };
        if self.0.waiting.iter().any(|waiting| waiting == entry) {
            return Err(DeviceError::WaitsOnDevice {
                entry: entry.to_owned(),
            });
        }
        let name = CString::new(entry).map_err(|_| no_entry())?;
        let parameter_bytes = match &self.0.text {
            None => None,
            Some(text) => {
                let parameters = text.parameters(entry).ok_or_else(no_entry)?;
                Some(parameters.iter().map(|parameter| parameter.bytes).collect())
            }
        };
        self.0.session.activate()?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, and `name` ends with a zero byte.
        unsafe { sys::cuModuleGetFunction(&raw mut function, self.0.handle, name.as_ptr()) }
            .map_err(|failure| {
                if failure.code() == Failure::NOT_FOUND {
                    no_entry()
                } else {
                    failure.into()
                }
            })?;
        Kernel::new(entry, function, parameter_bytes, self.0.clone())
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // After a kernel fault neither call succeeds, and the module goes with its context.
        let _ = self.session.activate();
        // SAFETY: the handle comes from a successful load and is used by nothing that outlives this value.
        let _ = unsafe { sys::cuModuleUnload(self.handle) };
    }
}

/// The driver's answer with the lines of its compiler's log, where it wrote one: it does not about PTX of a later version than its own.
pub(super) fn refusal(failure: Failure, log: &[u8]) -> DeviceError {
    let text = CStr::from_bytes_until_nul(log).map_or_else(
        |_| String::from_utf8_lossy(log),
        |text| text.to_string_lossy().into_owned().into(),
    );
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    DeviceError::Load {
        failure,
        log: if lines.is_empty() {
            "its compiler wrote no log".to_owned()
        } else {
            lines.join("; ")
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(log: &[u8]) -> String {
        match refusal(Failure::new("cuModuleLoadDataEx", 218), log) {
            DeviceError::Load { log, .. } => log,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_log_is_one_line() {
        assert_eq!(
            sentence(
                b"ptxas application ptx input, line 3; error   : a\nptxas fatal   : b\n\0\0\0"
            ),
            "ptxas application ptx input, line 3; error   : a; ptxas fatal   : b"
        );
    }

    #[test]
    fn a_log_without_text_or_without_end_is_no_trouble() {
        assert_eq!(sentence(&[0; 8]), "its compiler wrote no log");
        assert_eq!(sentence(b"cut o"), "cut o");
    }
}
