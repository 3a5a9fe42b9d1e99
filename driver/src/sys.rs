//! The driver's functions and types under its own names, of those that are called here.
//!
//! A type that has more values or members in C than here is a number or a struct with as much room, never a Rust enum: a newer driver
//! may know values that are not listed. Tests compare all of it with `cust_raw`, which was made from CUDA's headers.

#![allow(
    non_camel_case_types,
    non_snake_case,
    clippy::too_many_arguments,
    reason = "the names and parameters are the driver's"
)]

use crate::{Failure, library};
use std::{
    ffi::{c_char, c_int, c_uchar, c_uint, c_void},
    sync::OnceLock,
};

#[cfg(all(test, feature = "cust", target_os = "linux"))]
mod tests;

/// The index of a GPU.
pub type CUdevice = c_int;

/// An address in the memory of a device. The driver's is as wide as a pointer, and no driver is loaded where that is not 64 bits.
pub type CUdeviceptr = u64;

macro_rules! handles {
    ($($name:ident: $opaque:ident, $what:literal;)*) => { $(
        #[doc(hidden)]
        #[repr(C)]
        #[derive(Debug)]
        pub struct $opaque {
            _private: [u8; 0],
        }

        #[doc = $what]
        pub type $name = *mut $opaque;
    )* };
}

handles! {
    CUcontext: Context, "A context.";
    CUevent: Event, "An event.";
    CUfunction: Function, "A kernel in a module.";
    CUgraph: Graph, "A graph.";
    CUgraphExec: ExecutableGraph, "A graph, made ready.";
    CUgraphNode: GraphNode, "A node of a graph.";
    CUlinkState: LinkState, "A linker at work.";
    CUmodule: Module, "A module.";
    CUstream: Stream, "A stream; null is the default stream, [`CU_STREAM_PER_THREAD`] the calling thread's own.";
}

macro_rules! numbers {
    ($($name:ident: $what:literal { $($value:ident = $number:literal,)* })*) => { $(
        #[doc = $what]
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub u32);

        impl $name {
            $(
                #[doc = concat!("`", stringify!($number), "`")]
                pub const $value: Self = Self($number);
            )*
        }
    )* };
}

numbers! {
    CUaccessProperty: "`CU_ACCESS_PROPERTY_…`" {
        NORMAL = 0,
        STREAMING = 1,
        PERSISTING = 2,
    }
    CUdevice_attribute: "`CU_DEVICE_ATTRIBUTE_…`" {
        MULTIPROCESSOR_COUNT = 16,
        PCI_BUS_ID = 33,
        PCI_DEVICE_ID = 34,
        MEMORY_CLOCK_RATE = 36,
        GLOBAL_MEMORY_BUS_WIDTH = 37,
        L2_CACHE_SIZE = 38,
        PCI_DOMAIN_ID = 50,
        COMPUTE_CAPABILITY_MAJOR = 75,
        COMPUTE_CAPABILITY_MINOR = 76,
        MAX_PERSISTING_L2_CACHE_SIZE = 108,
        MAX_ACCESS_POLICY_WINDOW_SIZE = 109,
    }
    CUdevice_P2PAttribute: "`CU_DEVICE_P2P_ATTRIBUTE_…`" {
        PERFORMANCE_RANK = 1,
        ACCESS_SUPPORTED = 2,
        NATIVE_ATOMIC_SUPPORTED = 3,
    }
    CUfunction_attribute: "`CU_FUNC_ATTRIBUTE_…`" {
        MAX_THREADS_PER_BLOCK = 0,
        SHARED_SIZE_BYTES = 1,
        NUM_REGS = 4,
        MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    }
    CUjitInputType: "`CU_JIT_INPUT_…`" {
        PTX = 1,
        LIBRARY = 4,
    }
    CUjit_option: "`CU_JIT_…`" {
        MAX_REGISTERS = 0,
        ERROR_LOG_BUFFER = 5,
        ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    }
    CUlaunchAttributeID: "`CU_LAUNCH_ATTRIBUTE_…`" {
        PROGRAMMATIC_STREAM_SERIALIZATION = 6,
    }
    CUlimit: "`CU_LIMIT_…`" {
        DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
        PERSISTING_L2_CACHE_SIZE = 6,
    }
    CUpointer_attribute: "`CU_POINTER_ATTRIBUTE_…`" {
        CONTEXT = 1,
        DEVICE_ORDINAL = 9,
    }
    CUstreamAttrID: "`CU_STREAM_ATTRIBUTE_…`" {
        ACCESS_POLICY_WINDOW = 1,
    }
    CUstreamCaptureMode: "`CU_STREAM_CAPTURE_MODE_…`" {
        THREAD_LOCAL = 1,
    }
    CUstreamCaptureStatus: "`CU_STREAM_CAPTURE_STATUS_…`" {
        NONE = 0,
    }
}

/// `CU_EVENT_DISABLE_TIMING`
pub const CU_EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_MEM_ATTACH_GLOBAL`
pub const CU_MEM_ATTACH_GLOBAL: c_uint = 1;
/// `CU_MEMHOSTALLOC_DEVICEMAP`
pub const CU_MEMHOSTALLOC_DEVICEMAP: c_uint = 2;
/// `CU_MEMHOSTALLOC_WRITECOMBINED`
pub const CU_MEMHOSTALLOC_WRITECOMBINED: c_uint = 4;
/// `CU_STREAM_DEFAULT`
pub const CU_STREAM_DEFAULT: c_uint = 0;
/// `CU_STREAM_NON_BLOCKING`
pub const CU_STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_STREAM_PER_THREAD`
pub const CU_STREAM_PER_THREAD: CUstream = std::ptr::without_provenance_mut(2);

/// What another process opens memory by.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CUipcMemHandle {
    /// Its bytes.
    pub reserved: [u8; 64],
}

/// An access policy.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the names are the driver's")]
pub struct CUaccessPolicyWindow {
    pub base_ptr: *mut c_void,
    pub num_bytes: usize,
    pub hitRatio: f32,
    pub hitProp: CUaccessProperty,
    pub missProp: CUaccessProperty,
}

/// The value of a stream's attribute. The driver reads all of it: 64 bytes since CUDA 11.8.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the names are the driver's")]
pub union CUstreamAttrValue {
    pub pad: [u64; 8],
    pub accessPolicyWindow: CUaccessPolicyWindow,
    pub programmaticStreamSerializationAllowed: c_int,
}

/// An attribute of a launch.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the names are the driver's")]
pub struct CUlaunchAttribute {
    pub id: CUlaunchAttributeID,
    pub pad: [u8; 4],
    /// The driver has one type for the values of both.
    pub value: CUstreamAttrValue,
}

/// A launch with attributes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the names are the driver's")]
pub struct CUlaunchConfig {
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub hStream: CUstream,
    pub attrs: *const CUlaunchAttribute,
    pub numAttrs: c_uint,
}

/// A kernel's launch as a node of a graph.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the names are the driver's")]
pub struct CUDA_KERNEL_NODE_PARAMS {
    pub func: CUfunction,
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

/// Defines functions that look for their namesake in the driver's library at their first call, and pass their arguments on.
macro_rules! looked_for {
    ($( fn $name:ident($($argument:ident: $kind:ty),* $(,)?); )*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the driver.")]
            ///
            /// # Errors
            /// The driver's answer, where it is not `CUDA_SUCCESS`; or there is no driver, or this function is missing in it.
            ///
            /// # Safety
            /// What the driver's documentation asks for.
            pub unsafe fn $name($($argument: $kind),*) -> Result<(), Failure> {
                static FUNCTION: OnceLock<Option<unsafe extern "system" fn($($kind),*) -> u32>> = OnceLock::new();
                // SAFETY: the signature is the one that the driver documents for this name.
                let function = FUNCTION.get_or_init(|| unsafe { library::function(stringify!($name)) });
                // SAFETY: the caller's contract is the driver's.
                Failure::check(stringify!($name), function.map(|function| unsafe { function($($argument),*) }))
            }
        )*
    };
}

/// As `looked_for!`. With the feature `cust` they are also what `cust` links against: symbols of the driver's names.
macro_rules! functions {
    ($( fn $name:ident($($argument:ident: $kind:ty),* $(,)?); )*) => {
        looked_for! { $( fn $name($($argument: $kind),*); )* }

        /// The symbols that `cust` links against.
        #[cfg(feature = "cust")]
        pub mod symbols {
            use super::*;

            $(
                #[doc = concat!("`", stringify!($name), "` of the driver.")]
                ///
                /// # Safety
                /// What the driver's documentation asks for.
                #[unsafe(no_mangle)]
                pub unsafe extern "system" fn $name($($argument: $kind),*) -> u32 {
                    // SAFETY: the caller's contract is the same.
                    crate::failure::code_for_cust(unsafe { super::$name($($argument),*) })
                }
            )*
        }

        /// Each function's parameters, here and in `cust_raw`.
        #[cfg(all(test, feature = "cust", target_os = "linux"))]
        fn parameters() -> Vec<(&'static str, [Vec<tests::Parameter>; 2])> {
            vec![$((
                stringify!($name),
                [
                    tests::parameters(symbols::$name as unsafe extern "system" fn($(inferred!($kind)),*) -> _),
                    tests::parameters(cust_raw::$name as unsafe extern "C" fn($(inferred!($kind)),*) -> _),
                ],
            )),*]
        }
    };
}

#[cfg(all(test, feature = "cust", target_os = "linux"))]
macro_rules! inferred {
    ($kind:ty) => {
        _
    };
}

functions! {
    // Starting, devices and contexts.
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuGetErrorName(error: u32, text: *mut *const c_char);
    fn cuGetErrorString(error: u32, text: *mut *const c_char);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuCtxSetCurrent(context: CUcontext);
    fn cuCtxGetCurrent(context: *mut CUcontext);
    fn cuCtxGetDevice(device: *mut CUdevice);
    fn cuCtxSynchronize();
    fn cuCtxGetLimit(value: *mut usize, limit: CUlimit);
    fn cuCtxSetLimit(limit: CUlimit, value: usize);
    fn cuCtxResetPersistingL2Cache();

    // Other GPUs' memory.
    fn cuDeviceCanAccessPeer(can_access: *mut c_int, device: CUdevice, peer: CUdevice);
    fn cuDeviceGetP2PAttribute(
        value: *mut c_int,
        attribute: CUdevice_P2PAttribute,
        from: CUdevice,
        to: CUdevice,
    );
    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
    fn cuMemcpyPeerAsync(
        to: CUdeviceptr,
        to_context: CUcontext,
        from: CUdeviceptr,
        from_context: CUcontext,
        bytes: usize,
        stream: CUstream,
    );

    // Memory.
    fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(address: CUdeviceptr);
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuIpcGetMemHandle(handle: *mut CUipcMemHandle, address: CUdeviceptr);
    fn cuMemsetD8Async(address: CUdeviceptr, value: c_uchar, bytes: usize, stream: CUstream);
    fn cuPointerGetAttribute(value: *mut c_void, attribute: CUpointer_attribute, address: CUdeviceptr);

    // Memory of the host that a device knows.
    fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, host: *mut c_void, flags: c_uint);
    fn cuMemFreeHost(address: *mut c_void);
    fn cuMemHostRegister_v2(address: *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemHostUnregister(address: *mut c_void);
    fn cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint);
    fn cuMemPrefetchAsync(address: CUdeviceptr, bytes: usize, to: CUdevice, stream: CUstream);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);

    // Modules and launches.
    fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        options_count: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    );
    fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    fn cuLaunchCooperativeKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
    );
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        block_threads: c_int,
        dynamic_shared_bytes: usize,
    );

    // Linking.
    fn cuLinkCreate_v2(
        options_count: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
        state: *mut CUlinkState,
    );
    fn cuLinkAddData_v2(
        state: CUlinkState,
        kind: CUjitInputType,
        data: *mut c_void,
        bytes: usize,
        name: *const c_char,
        options_count: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    );
    fn cuLinkAddFile_v2(
        state: CUlinkState,
        kind: CUjitInputType,
        path: *const c_char,
        options_count: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    );
    fn cuLinkComplete(state: CUlinkState, image: *mut *mut c_void, bytes: *mut usize);
    fn cuLinkDestroy(state: CUlinkState);

    // Streams and events.
    fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext);
    fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint);
    fn cuStreamSetAttribute(
        stream: CUstream,
        attribute: CUstreamAttrID,
        value: *const CUstreamAttrValue,
    );
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamCopyAttributes(to: CUstream, from: CUstream);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventQuery(event: CUevent);
    fn cuEventSynchronize(event: CUevent);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    fn cuEventDestroy_v2(event: CUevent);

    // Graphs.
    fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode);
    fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
    fn cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus);
    fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint);
    fn cuGraphAddKernelNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        dependencies_count: usize,
        parameters: *const CUDA_KERNEL_NODE_PARAMS,
    );
    fn cuGraphInstantiate_v2(
        executable: *mut CUgraphExec,
        graph: CUgraph,
        error_node: *mut CUgraphNode,
        log: *mut c_char,
        log_bytes: usize,
    );
    fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream);
    fn cuGraphExecDestroy(executable: CUgraphExec);
    fn cuGraphDestroy(graph: CUgraph);

    // What `cust` calls besides: `quick_init`, `DeviceBuffer::zeroed`.
    fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint);
    fn cuMemsetD8_v2(address: CUdeviceptr, value: c_uchar, bytes: usize);
}

looked_for! {
    // Since CUDA 11.8, which is later than `cust_raw`.
    fn cuLaunchKernelEx(
        launch: *const CUlaunchConfig,
        function: CUfunction,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
}
