//! Where guest addresses lie: windows of the generic address space, each far larger than what it maps, and the addresses of a
//! cluster's shared memory.

/// First generic address of the block's shared memory.
pub const SHARED: u64 = 0x0100_0000_0000;
/// First generic address of the thread's local memory.
pub const LOCAL: u64 = 0x0200_0000_0000;
/// First generic address of the kernel's parameters.
pub const PARAM: u64 = 0x0300_0000_0000;
/// Length of each of these windows.
pub const LENGTH: u64 = 0x0100_0000_0000;
/// Addresses of functions, for calls through pointers.
pub const FUNCTIONS: u64 = 0x0400_0000_0000;
/// First address of the buffers for the parameters of launches from the device; they are global memory of their block.
pub const BUFFERS: u64 = 0x0600_0000_0000;
/// First address of constant memory.
pub const CONST: u64 = 0x0500_0000_0000;
/// First address of global memory, which reaches to the end.
pub const GLOBAL: u64 = 0x7f00_0000_0000;
/// First address of the heap, which is the last of global memory.
pub const HEAP: u64 = 0x1_0000_0000_0000;

/// The addresses of a device in global memory and heap are those of device 0 plus its number shifted by this.
const DEVICE_SHIFT: u32 = 52;

/// The first of a device's addresses, from which the constants above count.
pub const fn first_of(device: u8) -> u64 {
    (device as u64) << DEVICE_SHIFT
}

/// The number of the device whose global memory or heap an address would lie in; `None` where there are not that many devices.
pub const fn device_of(address: u64) -> Option<u8> {
    let device = address >> DEVICE_SHIFT;
    if device <= u8::MAX as u64 {
        Some(device as u8)
    } else {
        None
    }
}

/// An address counted from the first of its device.
pub const fn within_device(address: u64) -> u64 {
    address & ((1 << DEVICE_SHIFT) - 1)
}

/// Whether an address is in the heap of its device, or past it.
pub const fn is_heap(address: u64) -> bool {
    within_device(address) >= HEAP
}

/// An address in the shared memory of a cluster is an offset in this many low bits, and above them the rank of the block, counted
/// from 1. Without a rank it is in the block's own memory.
pub const RANK_SHIFT: u32 = 24;
/// The most blocks of a cluster, with what CUDA calls a non-portable size.
pub const MOST_CLUSTER_BLOCKS: u32 = 16;
