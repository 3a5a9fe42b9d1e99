//! The bindings are those of CUDA's headers, as `cust_raw` has them.

use super::*;
use std::any::type_name;

/// The pointers that it is made of, and its size.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pointers: Vec<&'static str>,
    bytes: usize,
}

impl Parameter {
    fn of<T>() -> Self {
        let words = type_name::<T>().split(' ');
        Self {
            pointers: words.filter(|word| word.starts_with('*')).collect(),
            bytes: size_of::<T>(),
        }
    }
}

pub(super) trait Signature {
    fn parameters() -> Vec<Parameter>;
}

macro_rules! signatures {
    ($($convention:literal ($($parameter:ident)*))*) => { $(
        impl<$($parameter,)* Answer> Signature for unsafe extern $convention fn($($parameter),*) -> Answer {
            fn parameters() -> Vec<Parameter> {
                assert_eq!(size_of::<Answer>(), 4);
                vec![$(Parameter::of::<$parameter>()),*]
            }
        }
    )* };
}

macro_rules! both {
    ($($parameters:tt)*) => { signatures! { $("C" $parameters "system" $parameters)* } };
}

both! {
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) (A B C D E F G H I)
    (A B C D E F G H I J) (A B C D E F G H I J K)
}

pub(super) fn parameters<S: Signature>(_: S) -> Vec<Parameter> {
    S::parameters()
}

#[test]
fn functions_take_what_they_take_in_cuda() {
    for (name, [here, in_cuda]) in super::parameters() {
        assert_eq!(here, in_cuda, "{name}");
    }
}

#[test]
fn structs_are_laid_out_as_in_cuda() {
    macro_rules! same {
        ($($name:ident { $($field:ident),* })*) => { $(
            assert_eq!(size_of::<$name>(), size_of::<cust_raw::$name>(), stringify!($name));
            assert_eq!(
                [$(std::mem::offset_of!($name, $field)),*],
                [$(std::mem::offset_of!(cust_raw::$name, $field)),*],
                stringify!($name)
            );
        )* };
    }
    same! {
        CUipcMemHandle { reserved }
        CUaccessPolicyWindow { base_ptr, num_bytes, hitRatio, hitProp, missProp }
        CUDA_KERNEL_NODE_PARAMS {
            func, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, kernelParams, extra
        }
    }
}

#[test]
fn numbers_are_those_of_cuda() {
    macro_rules! same {
        ($($name:ident { $($here:ident = $in_cuda:ident),* $(,)? })*) => { $(
            $(assert_eq!($name::$here.0, cust_raw::$name::$in_cuda as u32, stringify!($in_cuda));)*
        )* };
    }
    same! {
        CUaccessProperty {
            NORMAL = CU_ACCESS_PROPERTY_NORMAL,
            STREAMING = CU_ACCESS_PROPERTY_STREAMING,
            PERSISTING = CU_ACCESS_PROPERTY_PERSISTING,
        }
        CUdevice_attribute {
            MULTIPROCESSOR_COUNT = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            MEMORY_CLOCK_RATE = CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
            GLOBAL_MEMORY_BUS_WIDTH = CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
            PCI_BUS_ID = CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
            PCI_DEVICE_ID = CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
            L2_CACHE_SIZE = CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
            PCI_DOMAIN_ID = CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
            COMPUTE_CAPABILITY_MAJOR = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            COMPUTE_CAPABILITY_MINOR = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            MAX_PERSISTING_L2_CACHE_SIZE = CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE,
            MAX_ACCESS_POLICY_WINDOW_SIZE = CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE,
        }
        CUdevice_P2PAttribute {
            PERFORMANCE_RANK = CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
            ACCESS_SUPPORTED = CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
            NATIVE_ATOMIC_SUPPORTED = CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
        }
        CUfunction_attribute {
            MAX_THREADS_PER_BLOCK = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
            SHARED_SIZE_BYTES = CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            NUM_REGS = CU_FUNC_ATTRIBUTE_NUM_REGS,
            MAX_DYNAMIC_SHARED_SIZE_BYTES = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        }
        CUjitInputType { PTX = CU_JIT_INPUT_PTX, LIBRARY = CU_JIT_INPUT_LIBRARY }
        CUjit_option {
            ERROR_LOG_BUFFER = CU_JIT_ERROR_LOG_BUFFER,
            ERROR_LOG_BUFFER_SIZE_BYTES = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        }
        CUlimit {
            DEV_RUNTIME_PENDING_LAUNCH_COUNT = CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
            PERSISTING_L2_CACHE_SIZE = CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
        }
        CUpointer_attribute {
            CONTEXT = CU_POINTER_ATTRIBUTE_CONTEXT,
            DEVICE_ORDINAL = CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        }
        CUstreamAttrID { ACCESS_POLICY_WINDOW = CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW }
        CUstreamCaptureMode { THREAD_LOCAL = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL }
        CUstreamCaptureStatus { NONE = CU_STREAM_CAPTURE_STATUS_NONE }
    }
    assert_eq!(
        [
            CU_EVENT_DISABLE_TIMING,
            CU_MEM_ATTACH_GLOBAL,
            CU_MEMHOSTALLOC_DEVICEMAP,
            CU_MEMHOSTALLOC_WRITECOMBINED,
            CU_STREAM_DEFAULT,
            CU_STREAM_NON_BLOCKING,
        ],
        [
            cust_raw::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32,
            cust_raw::CUmemAttach_flags_enum::CU_MEM_ATTACH_GLOBAL as u32,
            cust_raw::CU_MEMHOSTALLOC_DEVICEMAP,
            cust_raw::CU_MEMHOSTALLOC_WRITECOMBINED,
            cust_raw::CUstream_flags_enum::CU_STREAM_DEFAULT as u32,
            cust_raw::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32,
        ]
    );
}

#[test]
fn faults_of_kernels_have_the_codes_of_cuda() {
    use cust_raw::CUresult as Code;
    for code in [
        Code::CUDA_ERROR_ILLEGAL_ADDRESS,
        Code::CUDA_ERROR_ASSERT,
        Code::CUDA_ERROR_HARDWARE_STACK_ERROR,
        Code::CUDA_ERROR_ILLEGAL_INSTRUCTION,
        Code::CUDA_ERROR_MISALIGNED_ADDRESS,
        Code::CUDA_ERROR_INVALID_ADDRESS_SPACE,
        Code::CUDA_ERROR_INVALID_PC,
        Code::CUDA_ERROR_LAUNCH_FAILED,
    ] {
        let failure = Failure::new("cuStreamSynchronize", code as u32);
        assert!(failure.is_kernel_fault(), "{code:?}");
    }
    for (here, code) in [
        (Failure::OUT_OF_MEMORY, Code::CUDA_ERROR_OUT_OF_MEMORY),
        (Failure::NO_DEVICE, Code::CUDA_ERROR_NO_DEVICE),
        (Failure::NOT_FOUND, Code::CUDA_ERROR_NOT_FOUND),
        (Failure::NOT_READY, Code::CUDA_ERROR_NOT_READY),
        (
            Failure::STREAM_CAPTURE_MERGE,
            Code::CUDA_ERROR_STREAM_CAPTURE_MERGE,
        ),
        (
            Failure::STREAM_CAPTURE_UNJOINED,
            Code::CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
        ),
        (
            Failure::STREAM_CAPTURE_ISOLATION,
            Code::CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
        ),
        (Failure::CAPTURED_EVENT, Code::CUDA_ERROR_CAPTURED_EVENT),
        (Failure::UNKNOWN, Code::CUDA_ERROR_UNKNOWN),
    ] {
        assert_eq!(here, code as u32);
    }
}
