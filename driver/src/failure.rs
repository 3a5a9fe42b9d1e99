//! What a failed call of the driver says about itself.

use crate::library;
use cust_raw::CUresult;
use std::{
    cell::Cell,
    ffi::{CStr, c_char},
    fmt, ptr,
};

/// A call of the driver that did not answer `CUDA_SUCCESS`.
///
/// Its text is one clause: `cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE (invalid argument)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    call: &'static str,
    code: u32,
}

thread_local! {
    static LAST: Cell<Option<Failure>> = const { Cell::new(None) };
}

/// The last call on this thread that failed; later calls that succeed leave it in place.
pub fn last_failure() -> Option<Failure> {
    LAST.get()
}

/// What a call answered, as the failure that it left behind.
///
/// # Errors
/// The last failure on this thread, unless the call answered `CUDA_SUCCESS`.
pub fn check(result: CUresult) -> Result<(), Failure> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        failed => Err(Failure::last_or(failed as u32)),
    }
}

impl Failure {
    /// The last failure on this thread or, where there was none, one of this code of which it is not known which call it was.
    pub fn last_or(code: u32) -> Self {
        last_failure().unwrap_or(Self {
            call: "a call of the driver",
            code,
        })
    }

    /// The function that was called: `cuLaunchKernel`.
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// The driver's number for what went wrong: 700 for an illegal address.
    pub fn code(&self) -> u32 {
        self.code
    }

    /// Whether the code is that of a kernel that faulted while it ran. The context answers every later call with the same code.
    pub fn is_kernel_fault(&self) -> bool {
        use CUresult as Code;
        [
            Code::CUDA_ERROR_ILLEGAL_ADDRESS,
            Code::CUDA_ERROR_ASSERT,
            Code::CUDA_ERROR_HARDWARE_STACK_ERROR,
            Code::CUDA_ERROR_ILLEGAL_INSTRUCTION,
            Code::CUDA_ERROR_MISALIGNED_ADDRESS,
            Code::CUDA_ERROR_INVALID_ADDRESS_SPACE,
            Code::CUDA_ERROR_INVALID_PC,
            Code::CUDA_ERROR_LAUNCH_FAILED,
        ]
        .iter()
        .any(|&code| code as u32 == self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} failed: ", self.call)?;
        match (
            describe("cuGetErrorName", self.code),
            describe("cuGetErrorString", self.code),
        ) {
            (Some(name), Some(text)) => write!(formatter, "{name} ({text})"),
            (Some(name), None) => formatter.write_str(&name),
            (None, _) if library::library().is_err() => {
                formatter.write_str("CUDA_ERROR_NO_DEVICE (there is no NVIDIA driver)")
            }
            (None, _) => write!(
                formatter,
                "error {} (which the driver has no name for)",
                self.code
            ),
        }
    }
}

impl std::error::Error for Failure {}

/// Remembers a failed call and gives its result the type that callers expect.
///
/// [`CUresult`] is a Rust enum of the codes of CUDA 11.4, and any other value of it would be undefined behaviour. Drivers of today
/// know more codes; those, and those that no caller tells apart, come out as `CUDA_ERROR_UNKNOWN`. [`last_failure`] has the real one.
pub(crate) fn record(call: &'static str, code: u32) -> CUresult {
    if code == CUresult::CUDA_SUCCESS as u32 {
        return CUresult::CUDA_SUCCESS;
    }
    LAST.set(Some(Failure { call, code }));
    [
        CUresult::CUDA_ERROR_INVALID_VALUE,
        CUresult::CUDA_ERROR_OUT_OF_MEMORY,
        CUresult::CUDA_ERROR_NOT_INITIALIZED,
        CUresult::CUDA_ERROR_NO_DEVICE,
        CUresult::CUDA_ERROR_INVALID_DEVICE,
        CUresult::CUDA_ERROR_INVALID_CONTEXT,
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
        CUresult::CUDA_ERROR_INVALID_PTX,
        CUresult::CUDA_ERROR_INVALID_HANDLE,
        CUresult::CUDA_ERROR_NOT_FOUND,
        CUresult::CUDA_ERROR_NOT_READY,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        CUresult::CUDA_ERROR_LAUNCH_FAILED,
        CUresult::CUDA_ERROR_NOT_SUPPORTED,
    ]
    .into_iter()
    .find(|&known| known as u32 == code)
    .unwrap_or(CUresult::CUDA_ERROR_UNKNOWN)
}

/// What the driver's function `cuGetErrorName` or `cuGetErrorString` says of a code.
fn describe(describer: &str, code: u32) -> Option<String> {
    type Describer = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
    // SAFETY: this is the signature of both functions; the enum that the first parameter has in C is 32 bits wide.
    let describer: Describer = unsafe { library::function(describer) }?;
    let mut text = ptr::null();
    // SAFETY: `text` may be written; the functions accept any code.
    let answer = unsafe { describer(code, &raw mut text) };
    if answer != 0 || text.is_null() {
        return None;
    }
    // SAFETY: on success the driver has stored a pointer to a constant string that lives as long as its library.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_no_failure() {
        let before = last_failure();
        assert_eq!(record("cuInit", 0), CUresult::CUDA_SUCCESS);
        assert_eq!(last_failure(), before);
    }

    #[test]
    fn a_failure_is_remembered_with_its_call() {
        assert_eq!(
            record("cuMemAlloc_v2", 2),
            CUresult::CUDA_ERROR_OUT_OF_MEMORY
        );
        let failure = last_failure().expect("it has just failed");
        assert_eq!((failure.call(), failure.code()), ("cuMemAlloc_v2", 2));
    }

    #[test]
    fn a_code_from_the_future_is_passed_on_as_unknown_and_remembered_as_it_is() {
        assert_eq!(
            record("cuLaunchKernel", 12_345),
            CUresult::CUDA_ERROR_UNKNOWN
        );
        assert_eq!(last_failure().expect("it has just failed").code(), 12_345);
    }

    #[test]
    fn a_result_is_checked_against_what_was_recorded() {
        assert_eq!(check(CUresult::CUDA_SUCCESS), Ok(()));
        let failure = check(record("cuEventCreate", 801)).expect_err("801 is no success");
        assert_eq!((failure.call(), failure.code()), ("cuEventCreate", 801));
    }

    #[test]
    fn failures_of_other_threads_stay_there() {
        record("cuInit", 100);
        let elsewhere = std::thread::spawn(last_failure)
            .join()
            .expect("the thread does not panic");
        assert_eq!(elsewhere, None);
    }

    #[test]
    fn faults_of_kernels_are_told_from_other_failures() {
        for (code, fault) in [
            (700, true),
            (716, true),
            (719, true),
            (1, false),
            (100, false),
        ] {
            record("cuStreamSynchronize", code);
            let failure = last_failure().expect("it has just failed");
            assert_eq!(failure.is_kernel_fault(), fault, "code {code}");
        }
    }
}
