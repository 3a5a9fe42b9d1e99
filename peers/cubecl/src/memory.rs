//! Memory on the GPU: CubeCL's own, and that of another process.

use cubecl::cuda::CudaRuntime;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cudarc::driver::DriverError;
use cudarc::driver::sys;

/// What CubeCL launches by.
pub type Client = ComputeClient<CudaRuntime>;

/// The types, by their names in the other process.
const TYPES: [(&str, ElemType); 7] = [
    ("i8", ElemType::Int(IntKind::I8)),
    ("i32", ElemType::Int(IntKind::I32)),
    ("i64", ElemType::Int(IntKind::I64)),
    ("u32", ElemType::UInt(UIntKind::U32)),
    ("bf16", ElemType::Float(FloatKind::BF16)),
    ("f32", ElemType::Float(FloatKind::F32)),
    ("f64", ElemType::Float(FloatKind::F64)),
];

/// The type of this name.
pub fn element(name: &str) -> Result<ElemType, String> {
    let of = TYPES.iter().find(|(known, _)| *known == name);
    of.map(|(_, of)| *of)
        .ok_or_else(|| format!("there is no element type {name} here"))
}

/// What the other process calls this type.
pub fn name(of: StorageType) -> Result<&'static str, String> {
    let known = TYPES
        .iter()
        .find(|(_, known)| StorageType::from(*known) == of);
    known
        .map(|(name, _)| *name)
        .ok_or_else(|| format!("{of:?} has no name here"))
}

/// Where CubeCL's memory is.
pub fn address(client: &Client, of: &Handle) -> Result<u64, String> {
    match client.get_resource(of.clone()) {
        Ok(resource) => Ok(resource.resource().ptr),
        Err(error) => Err(format!("{error:?}")),
    }
}

/// A matrix, row by row, at the beginning of a buffer.
///
/// # Safety
/// The buffer has room for it.
pub unsafe fn matrix(of: &Handle, [rows, columns]: [usize; 2]) -> TensorBinding<CudaRuntime> {
    // SAFETY: the caller's promise; the strides are those of a matrix of this shape.
    unsafe {
        TensorBinding::from_raw_parts(of.clone(), [columns, 1].into(), [rows, columns].into())
    }
}

/// Waits for all that CubeCL has queued.
pub fn wait(client: &Client) -> Result<(), String> {
    cubecl::future::block_on(client.sync()).map_err(|error| format!("{error:?}"))
}

/// Memory of another process, open as long as this value.
pub struct Shared {
    address: u64,
    bytes: usize,
}

impl Shared {
    /// Opens it by its handle.
    pub fn open(handle: &[u8], bytes: usize) -> Result<Self, String> {
        let mut shared = sys::CUipcMemHandle { reserved: [0; 64] };
        if handle.len() != shared.reserved.len() {
            return Err(format!("a handle has 64 bytes, and not {}", handle.len()));
        }
        for (to, &from) in shared.reserved.iter_mut().zip(handle) {
            *to = from.cast_signed();
        }
        let mut address = 0;
        // SAFETY: it writes to the place it is given. CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
        unsafe { sys::cuIpcOpenMemHandle_v2(&mut address, shared, 1).result() }.map_err(text)?;
        Ok(Self { address, bytes })
    }

    /// Fills memory of CubeCL's with what it begins with.
    pub fn copy_to(&self, client: &Client, to: &Handle) -> Result<(), String> {
        let (to, bytes) = self.other(client, to)?;
        // SAFETY: there is as much memory in either place, and CubeCL has nothing queued.
        unsafe { copy(self.address, to, bytes) }
    }

    /// Copies to its beginning what CubeCL has left in memory of its own.
    pub fn copy_from(&self, client: &Client, from: &Handle) -> Result<(), String> {
        let (from, bytes) = self.other(client, from)?;
        // SAFETY: there is as much memory in either place, and CubeCL has nothing queued.
        unsafe { copy(from, self.address, bytes) }
    }

    /// Where memory of CubeCL's is, and its bytes, which are no more than there are here. Waits for all that is queued.
    fn other(&self, client: &Client, of: &Handle) -> Result<(u64, usize), String> {
        let bytes = of.size_in_used() as usize;
        if bytes > self.bytes {
            return Err(format!("{bytes} bytes are more than {}", self.bytes));
        }
        let address = address(client, of)?;
        wait(client)?;
        Ok((address, bytes))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it has been opened, and whatever used it has ended. Where it fails, the process gives it back when it ends.
        let _ = unsafe { sys::cuIpcCloseMemHandle(self.address) };
    }
}

/// Copies memory, and waits for it.
///
/// # Safety
/// There are as many bytes at either address, and nothing is queued that uses them.
unsafe fn copy(from: u64, to: u64, bytes: usize) -> Result<(), String> {
    // SAFETY: the caller's promise.
    unsafe {
        sys::cuMemcpyDtoD_v2(to, from, bytes)
            .result()
            .and_then(|()| sys::cuCtxSynchronize().result())
            .map_err(text)
    }
}

fn text(error: DriverError) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_their_names_and_the_other_way_round() {
        for (known, of) in TYPES {
            assert_eq!(element(known), Ok(of));
            assert_eq!(name(of.into()), Ok(known));
        }
        assert!(element("f16").is_err());
    }
}
