//! PTX whose kernels launch grids, linked with the device runtime by the driver.

use super::{compiler_log::CompilerLog, device_runtime};
use crate::device::DeviceError;
use std::ffi::{CStr, CString};
use std::{ptr, slice};
use warpfold_driver::Failure;
use warpfold_driver::sys::{self, CUjitInputType};
use warpfold_emulator::Module;

/// The wait for grids, which devices could do up to CUDA 11.
const WAIT: &str = "cudaDeviceSynchronize";

/// Whether a module calls the device runtime.
pub(super) fn is_needed(ptx: &str) -> bool {
    ptx.contains("__cudaCDP2")
}

/// The module without the entries that wait on the device, and their names: with them no driver would take it.
pub(super) fn without_waits(ptx: &str, module: &Module) -> (String, Vec<String>) {
    let mut kept = ptx.to_owned();
    let mut waiting = Vec::new();
    for entry in module.entries() {
        if let Some(source) = module.function_source(entry)
            && source.contains(WAIT)
        {
            kept = kept.replacen(source, "", 1);
            waiting.push(entry.to_owned());
        }
    }
    (kept, waiting)
}

/// Machine code of the module and of what it takes from the device runtime.
pub(super) fn link(ptx: &CStr) -> Result<Vec<u8>, DeviceError> {
    let library = device_runtime::find()?;
    let library = CString::new(library.into_os_string().into_encoded_bytes()).map_err(|error| {
        DeviceError::NotText {
            position: error.nul_position(),
        }
    })?;
    let mut log = CompilerLog::new(None);
    let (count, options, values) = log.options();
    let mut state = ptr::null_mut();
    // SAFETY: `state` may be written, and the log outlives the linker, which is dropped below before the log is read.
    unsafe { sys::cuLinkCreate_v2(count, options, values, &raw mut state) }?;
    let linker = Linker(state);
    let linked = linker.link(ptx, &library);
    drop(linker);
    linked.map_err(|failure| log.refusal(failure))
}

/// The driver's linker at work.
struct Linker(sys::CUlinkState);

impl Linker {
    fn link(&self, ptx: &CStr, library: &CStr) -> Result<Vec<u8>, Failure> {
        let (mut image, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: the linker is alive, both texts end with a zero byte, which the length of PTX includes, and the driver writes to
        // neither; without options there are no values either.
        unsafe {
            sys::cuLinkAddData_v2(
                self.0,
                CUjitInputType::PTX,
                ptx.as_ptr().cast_mut().cast(),
                ptx.count_bytes() + 1,
                c"kernels".as_ptr(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            )?;
            sys::cuLinkAddFile_v2(
                self.0,
                CUjitInputType::LIBRARY,
                library.as_ptr(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            )?;
            sys::cuLinkComplete(self.0, &raw mut image, &raw mut bytes)?;
        }
        // SAFETY: the linker has this many bytes of machine code there while it lives.
        Ok(unsafe { slice::from_raw_parts(image.cast::<u8>(), bytes) }.to_vec())
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. What fails here has failed before.
        let _ = unsafe { sys::cuLinkDestroy(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_wait_are_left_out() {
        let ptx = "\
.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b32 e) cudaDeviceSynchronize();
.visible .entry waits()
{
{ .param .b32 e; call (e), cudaDeviceSynchronize, (); }
ret;
}
.visible .entry goes_on()
{
ret;
}
";
        let module = Module::parse(ptx).unwrap();
        let (kept, waiting) = without_waits(ptx, &module);
        assert_eq!(waiting, ["waits"]);
        let module = Module::parse(&kept).unwrap();
        assert_eq!(module.entries().collect::<Vec<_>>(), ["goes_on"]);
    }
}
