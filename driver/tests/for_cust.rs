//! Calls that a program makes through `cust_raw` arrive at the driver, or are answered where there is none.
#![cfg(target_os = "linux")]

use cust_raw::CUresult;
use warpfold_driver::{Failure, Unavailable, available, sys};

#[test]
fn a_call_is_answered_with_and_without_a_driver() {
    let availability = available();
    let mut counts = [-1; 2];
    // SAFETY: both counts may be written.
    let (result, answer) = unsafe {
        (
            cust_raw::cuDeviceGetCount(&raw mut counts[0]),
            sys::cuDeviceGetCount(&raw mut counts[1]),
        )
    };
    match availability {
        Ok(version) => {
            println!("the driver supports CUDA {version}");
            assert_eq!((result, answer), (CUresult::CUDA_SUCCESS, Ok(())));
            assert!(counts[0] >= 1, "{counts:?}");
            assert_eq!(counts[0], counts[1]);
        }
        Err(Unavailable::LibraryNotFound(_)) => {
            assert_eq!(result, CUresult::CUDA_ERROR_NO_DEVICE);
            assert_eq!(counts, [-1; 2]);
            let failure = answer.expect_err("there is no driver");
            assert_eq!(failure.code(), Failure::NO_DEVICE);
            assert_eq!(
                failure.to_string(),
                "cuDeviceGetCount failed: CUDA_ERROR_NO_DEVICE (there is no NVIDIA driver)"
            );
        }
        Err(reason) => {
            println!("{reason}");
            assert_eq!(result == CUresult::CUDA_SUCCESS, answer.is_ok());
        }
    }
}
