//! What a failed call of the driver says about itself.

use crate::library;
use crate::version::OLDEST_VERSION;
use std::{
    ffi::{CStr, c_char},
    fmt, ptr,
};

/// A call of the driver that did not answer `CUDA_SUCCESS`.
///
/// Its text is one clause: `cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE (invalid argument)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    call: &'static str,
    /// `None` where there is no such function to call.
    code: Option<u32>,
}

impl Failure {
    /// `CUDA_ERROR_OUT_OF_MEMORY`
    pub const OUT_OF_MEMORY: u32 = 2;
    /// `CUDA_ERROR_NO_DEVICE`
    pub const NO_DEVICE: u32 = 100;
    /// `CUDA_ERROR_NOT_FOUND`
    pub const NOT_FOUND: u32 = 500;
    /// `CUDA_ERROR_NOT_READY`
    pub const NOT_READY: u32 = 600;
    /// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`
    pub const PEER_ACCESS_ALREADY_ENABLED: u32 = 704;
    /// `CUDA_ERROR_STREAM_CAPTURE_MERGE`
    pub const STREAM_CAPTURE_MERGE: u32 = 902;
    /// `CUDA_ERROR_STREAM_CAPTURE_UNJOINED`
    pub const STREAM_CAPTURE_UNJOINED: u32 = 904;
    /// `CUDA_ERROR_STREAM_CAPTURE_ISOLATION`
    pub const STREAM_CAPTURE_ISOLATION: u32 = 905;
    /// `CUDA_ERROR_CAPTURED_EVENT`
    pub const CAPTURED_EVENT: u32 = 907;
    /// `CUDA_ERROR_UNKNOWN`
    pub const UNKNOWN: u32 = 999;

    /// The function `call` answered with this code, which is not that of success.
    pub const fn new(call: &'static str, code: u32) -> Self {
        Self {
            call,
            code: Some(code),
        }
    }

    /// What came of a call: a code, or nothing where there is no such function.
    pub(crate) fn check(call: &'static str, answer: Option<u32>) -> Result<(), Self> {
        match answer {
            Some(0) => Ok(()),
            code => Err(Self { call, code }),
        }
    }

    /// The function that was called: `cuLaunchKernel`.
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// The driver's number for what went wrong: 700 for an illegal address. Without a driver it is [`Self::NO_DEVICE`], and
    /// [`Self::NOT_FOUND`] for a function that the driver lacks.
    pub fn code(&self) -> u32 {
        self.code.unwrap_or_else(|| {
            if library::library().is_ok() {
                Self::NOT_FOUND
            } else {
                Self::NO_DEVICE
            }
        })
    }

    /// Whether the code is that of a kernel that faulted while it ran. The context answers every later call with the same code.
    pub fn is_kernel_fault(&self) -> bool {
        // From CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ASSERT, CUDA_ERROR_HARDWARE_STACK_ERROR on to CUDA_ERROR_LAUNCH_FAILED.
        matches!(self.code, Some(700 | 710 | 714..=719))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} failed: ", self.call)?;
        let Some(code) = self.code else {
            return if library::library().is_ok() {
                write!(
                    formatter,
                    "the NVIDIA driver has no such function: update it to one that supports CUDA {OLDEST_VERSION} or later"
                )
            } else {
                formatter.write_str("CUDA_ERROR_NO_DEVICE (there is no NVIDIA driver)")
            };
        };
        match (
            describe("cuGetErrorName", code),
            describe("cuGetErrorString", code),
        ) {
            (Some(name), Some(text)) => write!(formatter, "{name} ({text})"),
            (Some(name), None) => formatter.write_str(&name),
            (None, _) => write!(formatter, "error {code} (which the driver has no name for)"),
        }
    }
}

impl std::error::Error for Failure {}

/// What the driver's function `cuGetErrorName` or `cuGetErrorString` says of a code.
fn describe(function: &str, code: u32) -> Option<String> {
    type Describer = unsafe extern "system" fn(u32, *mut *const c_char) -> u32;
    // SAFETY: both functions have this signature.
    let describer = unsafe { library::function::<Describer>(function) }?;
    let mut text = ptr::null();
    // SAFETY: `text` may be written; the functions accept any code.
    if unsafe { describer(code, &raw mut text) } != 0 {
        return None;
    }
    if text.is_null() {
        return None;
    }
    // SAFETY: on success the driver has stored a pointer to a constant string that lives as long as its library.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// The code to give to `cust`, which takes it as a Rust enum of the codes of CUDA 11.4: any other value would be undefined behaviour.
/// Codes that drivers have learnt since come out as `CUDA_ERROR_UNKNOWN`, as do those that no caller tells apart.
#[cfg(feature = "cust")]
pub(crate) fn code_for_cust(answer: Result<(), Failure>) -> u32 {
    match answer.map_err(|failure| failure.code()) {
        Ok(()) => 0,
        // Those of values, memory, initialisation, devices, contexts, binaries, PTX, handles, names, readiness, faults and launches.
        Err(code @ (1..=3 | 100 | 101 | 201 | 209 | 218 | 400 | 500 | 600)) => code,
        Err(code @ (700 | 701 | 719 | 801)) => code,
        Err(_) => Failure::UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_no_failure() {
        assert_eq!(Failure::check("cuInit", Some(0)), Ok(()));
    }

    #[test]
    fn a_failure_has_its_call_and_its_code() {
        let failure =
            Failure::check("cuMemAlloc_v2", Some(12_345)).expect_err("this is no success");
        assert_eq!((failure.call(), failure.code()), ("cuMemAlloc_v2", 12_345));
        assert_eq!(failure, Failure::new("cuMemAlloc_v2", 12_345));
    }

    #[test]
    fn a_function_that_is_not_there_says_what_is_missing() {
        let failure =
            Failure::check("cuFromTheFuture", None).expect_err("there is no such function");
        let (code, reason) = if library::library().is_ok() {
            let reason = format!(
                "the NVIDIA driver has no such function: update it to one that supports CUDA {OLDEST_VERSION} or later"
            );
            (Failure::NOT_FOUND, reason)
        } else {
            let reason = "CUDA_ERROR_NO_DEVICE (there is no NVIDIA driver)".to_owned();
            (Failure::NO_DEVICE, reason)
        };
        assert_eq!(failure.code(), code);
        assert_eq!(
            failure.to_string(),
            format!("cuFromTheFuture failed: {reason}")
        );
    }

    #[test]
    fn faults_of_kernels_are_told_from_other_failures() {
        for (code, fault) in [
            (700, true),
            (710, true),
            (716, true),
            (719, true),
            (1, false),
            (100, false),
            (701, false),
            (720, false),
        ] {
            let failure = Failure::new("cuStreamSynchronize", code);
            assert_eq!(failure.is_kernel_fault(), fault, "code {code}");
        }
    }

    #[cfg(feature = "cust")]
    #[test]
    fn cust_is_given_codes_that_it_knows() {
        let code = |code| code_for_cust(Err(Failure::new("cuLaunchKernel", code)));
        assert_eq!(code_for_cust(Ok(())), 0);
        assert_eq!([1, 2, 218, 719].map(code), [1, 2, 218, 719]);
        assert_eq!([12_345, 911].map(code), [Failure::UNKNOWN; 2]);
    }
}
