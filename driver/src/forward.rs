//! The functions of the driver that programs call, each passed on to its namesake in the driver's library.

use crate::{failure, library};
use cust_raw::{
    CUDA_KERNEL_NODE_PARAMS, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent,
    CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode, CUipcMemHandle,
    CUjit_option, CUjitInputType, CUlimit, CUlinkState, CUmodule, CUresult, CUstream,
    CUstreamAttrID, CUstreamAttrValue, CUstreamCaptureMode, CUstreamCaptureStatus,
};
use std::{
    ffi::{c_char, c_int, c_uchar, c_uint, c_void},
    sync::OnceLock,
};

/// Defines functions of the driver's names that pass their arguments on, with the compiler's proof that each signature is the
/// one that `cust_raw` declares.
///
/// The results of the driver's own functions are taken as integers, since they may be codes that [`CUresult`] does not have.
macro_rules! forward {
    ($( fn $name:ident($($argument:ident: $kind:ty),* $(,)?); )*) => { $(
        const _: unsafe extern "C" fn($($kind),*) -> CUresult = cust_raw::$name;

        #[doc = concat!("`", stringify!($name), "` of the driver.")]
        ///
        /// # Safety
        /// What the driver's documentation asks for.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> CUresult {
            static FUNCTION: OnceLock<Option<unsafe extern "C" fn($($kind),*) -> u32>> = OnceLock::new();
            // SAFETY: the signature is the one that the driver documents for this name.
            let function = FUNCTION.get_or_init(|| unsafe { library::function(stringify!($name)) });
            let code = match function {
                // SAFETY: the caller's contract is the driver's.
                Some(function) => unsafe { function($($argument),*) },
                None if library::library().is_ok() => CUresult::CUDA_ERROR_NOT_FOUND as u32,
                None => CUresult::CUDA_ERROR_NO_DEVICE as u32,
            };
            failure::record(stringify!($name), code)
        }
    )* };
}

// Starting, devices and contexts.
forward! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuGetErrorString(error: CUresult, text: *mut *const c_char);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuCtxSetCurrent(context: CUcontext);
    fn cuCtxSynchronize();
    fn cuCtxGetLimit(value: *mut usize, limit: CUlimit);
    fn cuCtxSetLimit(limit: CUlimit, value: usize);
    fn cuCtxResetPersistingL2Cache();
}

// Memory.
forward! {
    fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(address: CUdeviceptr);
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuIpcGetMemHandle(handle: *mut CUipcMemHandle, address: CUdeviceptr);
    fn cuMemsetD8Async(address: CUdeviceptr, value: c_uchar, bytes: usize, stream: CUstream);
}

// Memory of the host that a device knows.
forward! {
    fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, host: *mut c_void, flags: c_uint);
    fn cuMemFreeHost(address: *mut c_void);
    fn cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint);
    fn cuMemPrefetchAsync(address: CUdeviceptr, bytes: usize, to: CUdevice, stream: CUstream);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
}

// Modules and launches.
forward! {
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
}

// Linking.
forward! {
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
}

// Streams and events.
forward! {
    fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuStreamSetAttribute(
        stream: CUstream,
        attribute: CUstreamAttrID,
        value: *const CUstreamAttrValue,
    );
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamCopyAttributes(to: CUstream, from: CUstream);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventSynchronize(event: CUevent);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    fn cuEventDestroy_v2(event: CUevent);
}

// Graphs.
forward! {
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
}
