//! What the driver's compiler and linker write about PTX that they refuse.

use crate::device::DeviceError;
use std::ffi::{CStr, c_void};
use std::ptr;
use warpfold_driver::{Failure, sys::CUjit_option};

/// Room for what is written; what does not fit is left out.
const BYTES: usize = 16 * 1024;

/// The options of the driver's compiler, which ask for a log, and the log.
pub(super) struct CompilerLog {
    text: Vec<u8>,
    options: Vec<CUjit_option>,
    values: Vec<*mut c_void>,
}

impl CompilerLog {
    /// `registers` are the most that a thread gets.
    pub(super) fn new(registers: Option<u32>) -> Self {
        let mut text = vec![0; BYTES];
        // An option whose value fits into a pointer is passed in its place.
        let mut options = vec![
            (CUjit_option::ERROR_LOG_BUFFER, text.as_mut_ptr().cast()),
            (
                CUjit_option::ERROR_LOG_BUFFER_SIZE_BYTES,
                ptr::without_provenance_mut(text.len()),
            ),
        ];
        options.extend(registers.map(|most| {
            let most = ptr::without_provenance_mut(most as usize);
            (CUjit_option::MAX_REGISTERS, most)
        }));
        let (options, values) = options.into_iter().unzip();
        Self {
            text,
            options,
            values,
        }
    }

    /// The number of options, the options, and a value for each. They are good while the log lives, and it is not read before the
    /// driver has finished with them.
    pub(super) fn options(&mut self) -> (u32, *mut CUjit_option, *mut *mut c_void) {
        (
            self.options.len() as u32,
            self.options.as_mut_ptr(),
            self.values.as_mut_ptr(),
        )
    }

    /// The driver's answer with the lines of the log. The log is empty for PTX of a later version than the driver's own.
    pub(super) fn refusal(&self, failure: Failure) -> DeviceError {
        refusal(failure, &self.text)
    }
}

fn refusal(failure: Failure, log: &[u8]) -> DeviceError {
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
