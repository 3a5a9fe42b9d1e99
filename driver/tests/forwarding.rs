//! Calls that a program makes through `cust_raw` arrive at the driver, or are answered where there is none.

use cust_raw::CUresult;
use warpfold_driver::{Unavailable, available, last_failure};

#[test]
fn a_call_is_answered_with_and_without_a_driver() {
    let availability = available();
    let mut count = -1;
    // SAFETY: `count` may be written.
    let result = unsafe { cust_raw::cuDeviceGetCount(&raw mut count) };
    match availability {
        Ok(version) => {
            println!("the driver supports CUDA {version}");
            assert_eq!(result, CUresult::CUDA_SUCCESS);
            assert!(count >= 1, "{count} GPUs");
        }
        Err(Unavailable::LibraryNotFound(_)) => {
            assert_eq!(result, CUresult::CUDA_ERROR_NO_DEVICE);
            assert_eq!(count, -1);
            assert_eq!(
                last_failure().map(|failure| failure.to_string()),
                Some(
                    "cuDeviceGetCount failed: CUDA_ERROR_NO_DEVICE (there is no NVIDIA driver)"
                        .to_owned()
                )
            );
        }
        Err(reason) => {
            println!("{reason}");
            assert!(
                result != CUresult::CUDA_SUCCESS || count == 0,
                "{count} GPUs"
            );
        }
    }
}
