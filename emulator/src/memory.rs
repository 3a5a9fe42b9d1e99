//! The global memory of an emulated device.
//!
//! Guest addresses are numbers of the guest's own; every access is checked against the live allocations. Blocks of a launch run
//! on several host threads, and guests race: all guest accesses are therefore atomic on the host (relaxed unless the
//! instruction orders more), which costs nothing on common hosts and leaves no undefined behaviour to a racing guest.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard};

use crate::error::{FreePlace, MemoryError};
use crate::heap::{DEFAULT_HEAP_BYTES, Heap};
use crate::region::{Region, zeroed};
use crate::window;

/// Every allocation starts at a multiple of this.
const ALIGNMENT: u64 = 256;
/// Unmapped addresses after every allocation.
const GUARD: u64 = 256;
/// What an emulated device has unless told otherwise.
const DEFAULT_LIMIT: usize = match 64_usize.checked_mul(1 << 30) {
    Some(bytes) => bytes,
    None => usize::MAX,
};

/// An address this far from all allocations may still come from a pointer to one.
const NEAR_BYTES: u64 = 64 << 30;

/// The global memory of an emulated device.
#[derive(Debug)]
pub struct Memory {
    /// The number of the device.
    device: u8,
    /// The devices whose memory its kernels may access.
    peers: BTreeSet<u8>,
    /// Live allocations in ascending order of address.
    allocations: Vec<Allocation>,
    /// Where the next allocation goes.
    next: u64,
    /// Where the next constant variable goes.
    next_constant: u64,
    in_use: usize,
    limit: usize,
    /// First address and length of those that were freed, in ascending order of address.
    freed: Vec<(u64, u64)>,
    /// Held while 128 bits are accessed as one.
    pairs: Mutex<()>,
    /// What kernels allocate themselves.
    heap: Heap,
}

#[derive(Debug)]
struct Allocation {
    base: u64,
    bytes: usize,
    read_only: bool,
    words: Box<[AtomicU64]>,
    /// Which bytes the host has written: offsets from `base`, first and past the last, in ascending order and apart.
    written: Vec<(u64, u64)>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// An empty memory of 64 GiB, on a 32-bit host of 4 GiB; the host commits a page when it is first written.
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// An empty memory whose buffers and variables hold at most `limit` bytes; the heap of kernels comes on top.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            device: 0,
            peers: BTreeSet::new(),
            allocations: Vec::new(),
            next: window::GLOBAL,
            next_constant: window::CONST,
            in_use: 0,
            limit,
            freed: Vec::new(),
            pairs: Mutex::new(()),
            heap: Heap::new(0, DEFAULT_HEAP_BYTES),
        }
    }

    /// The empty memory of one of several devices, as [`Memory::new`]. Devices of different numbers share one address space: no two of
    /// them have an address of global memory in common. Those that work together have different numbers; a device alone has number 0.
    pub fn of_device(device: u8) -> Self {
        Self {
            device,
            next: window::first_of(device) + window::GLOBAL,
            heap: Heap::new(device, DEFAULT_HEAP_BYTES),
            ..Self::new()
        }
    }

    /// The number of the device.
    pub fn device(&self) -> u8 {
        self.device
    }

    /// From now on, kernels of this device may access what the host has allocated on the peer and will, as after
    /// `cuCtxEnablePeerAccess`. It holds in this direction only. Until then such an access is a trap.
    pub fn enable_peer_access(&mut self, peer: u8) {
        self.peers.insert(peer);
    }

    /// Takes back what [`Memory::enable_peer_access`] has allowed.
    pub fn disable_peer_access(&mut self, peer: u8) {
        self.peers.remove(&peer);
    }

    /// Whether kernels of this device may access the memory of that one; a device always may access its own.
    pub fn reaches(&self, device: u8) -> bool {
        device == self.device || self.peers.contains(&device)
    }

    /// The number of the device to whose global memory an address belongs, whether or not anything is allocated there; `None` for other
    /// addresses. With it an observer tells accesses to peers from others ([`AccessEvent`](crate::AccessEvent)).
    pub fn device_of(address: u64) -> Option<u8> {
        let is_global = address >= window::GLOBAL;
        is_global.then(|| window::device_of(address)).flatten()
    }

    /// The same with a new, empty heap of `bytes` bytes, rounded down to a multiple of 16, from which kernels allocate with `malloc`.
    /// By default it has 8 MiB. `malloc` returns null if the heap or the host has no room. Only kernels reach the heap: [`Memory::read`],
    /// [`Memory::write`] and [`Memory::copy`] refuse its addresses.
    pub fn with_heap(self, bytes: usize) -> Self {
        Self {
            heap: Heap::new(self.device, bytes),
            ..self
        }
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }

    /// Allocates `bytes` bytes (0 is allowed) at a multiple of 256 and returns the guest address. The contents are zeros, on
    /// which a guest must not rely.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`] when the limit or the host's memory does not suffice.
    pub fn allocate(&mut self, bytes: usize) -> Result<u64, MemoryError> {
        let words = self.words(bytes as u64)?;
        Ok(self.place(bytes, ALIGNMENT, false, words))
    }

    /// Allocates a module's variable, in constant memory or in global.
    pub(crate) fn allocate_variable(
        &mut self,
        bytes: u64,
        align: u64,
        constant: bool,
    ) -> Result<u64, MemoryError> {
        let words = self.words(bytes)?;
        // There is room for as many.
        let bytes = bytes as usize;
        Ok(self.place(bytes, align.max(ALIGNMENT), constant, words))
    }

    /// The host's memory for an allocation.
    fn words(&self, bytes: u64) -> Result<Box<[AtomicU64]>, MemoryError> {
        let exhausted = MemoryError::Exhausted {
            bytes,
            in_use: self.in_use,
            limit: self.limit,
        };
        let next = window::within_device(self.next);
        let end = next.saturating_add(bytes).saturating_add(1 << 20);
        let ends_below_heap = end < window::HEAP;
        if bytes > (self.limit - self.in_use) as u64 || !ends_below_heap {
            return Err(exhausted);
        }
        // The limit is one of the host's.
        zeroed(bytes.div_ceil(8) as usize).ok_or(exhausted)
    }

    /// Gives an allocation its address. No address is given twice, so that a stale pointer never hits a newer buffer.
    fn place(&mut self, bytes: usize, align: u64, constant: bool, words: Box<[AtomicU64]>) -> u64 {
        let next = if constant {
            &mut self.next_constant
        } else {
            &mut self.next
        };
        let base = next.next_multiple_of(align);
        *next = (base + bytes as u64).next_multiple_of(ALIGNMENT) + GUARD;
        self.in_use += bytes;
        let index = self
            .allocations
            .partition_point(|allocation| allocation.base < base);
        let allocation = Allocation {
            base,
            bytes,
            read_only: constant,
            words,
            written: Vec::new(),
        };
        self.allocations.insert(index, allocation);
        base
    }

    /// Frees an allocation by its first address.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`] when no live allocation starts there.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let index = self
            .allocations
            .binary_search_by_key(&address, |allocation| allocation.base)
            .map_err(|_| MemoryError::NotAllocated { address })?;
        let freed = self.allocations.remove(index);
        self.in_use -= freed.bytes;
        let place = self.freed.partition_point(|&(base, _)| base < freed.base);
        self.freed.insert(place, (freed.base, freed.bytes as u64));
        Ok(())
    }

    /// Copies bytes from the host to the guest.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] when the range is not inside one live allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.put(address, bytes)?;
        self.mark_written(address, bytes.len());
        Ok(())
    }

    /// As [`Memory::write`], without counting the bytes as written.
    pub(crate) fn put(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let region = self.range(address, bytes.len())?;
        let mut offset = address - region.base;
        let mut rest = bytes;
        while !rest.is_empty() {
            if offset.is_multiple_of(8)
                && let Some((word, tail)) = rest.split_first_chunk::<8>()
            {
                region.store::<u64>(offset, u64::from_le_bytes(*word));
                (offset, rest) = (offset + 8, tail);
            } else {
                region.store::<u8>(offset, rest[0]);
                (offset, rest) = (offset + 1, &rest[1..]);
            }
        }
        Ok(())
    }

    /// Copies bytes from the guest to the host.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] when the range is not inside one live allocation.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let region = self.range(address, bytes.len())?;
        let mut offset = address - region.base;
        let mut rest = bytes;
        while !rest.is_empty() {
            if offset.is_multiple_of(8) && rest.len() >= 8 {
                let (word, tail) = rest.split_at_mut(8);
                word.copy_from_slice(&region.load::<u64>(offset).to_le_bytes());
                (offset, rest) = (offset + 8, tail);
            } else {
                let (byte, tail) = rest.split_at_mut(1);
                byte[0] = region.load::<u8>(offset);
                (offset, rest) = (offset + 1, tail);
            }
        }
        Ok(())
    }

    /// Copies `bytes` bytes inside the guest's memory; the ranges may overlap.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] when either range is not inside one live allocation.
    pub fn copy(&mut self, from: u64, to: u64, bytes: usize) -> Result<(), MemoryError> {
        self.range(to, bytes)?;
        let mut buffer = vec![0; bytes];
        self.read(from, &mut buffer)?;
        self.write(to, &buffer)
    }

    /// Notes that bytes of one live allocation have a value.
    pub(crate) fn mark_written(&mut self, address: u64, bytes: usize) {
        let index = self
            .allocations
            .partition_point(|allocation| allocation.base <= address);
        let Some(allocation) = index
            .checked_sub(1)
            .map(|index| &mut self.allocations[index])
        else {
            return;
        };
        let (mut first, mut end) = (
            address - allocation.base,
            address - allocation.base + bytes as u64,
        );
        if first < end {
            // Ranges that touch the new one become part of it.
            allocation.written.retain(|&(from, to)| {
                let apart = to < first || end < from;
                if !apart {
                    (first, end) = (first.min(from), end.max(to));
                }
                apart
            });
            let place = allocation
                .written
                .partition_point(|&(from, _)| from < first);
            allocation.written.insert(place, (first, end));
        }
    }

    /// The ranges that the host has written, first address and past the last, in ascending order.
    pub(crate) fn written(&self) -> impl Iterator<Item = (u64, u64)> {
        self.allocations.iter().flat_map(|allocation| {
            let base = allocation.base;
            allocation
                .written
                .iter()
                .map(move |&(first, end)| (base + first, base + end))
        })
    }

    /// First address and length of the freed allocation that an address lies in, and which thread freed it, where a thread of the
    /// launch of this number did.
    pub(crate) fn freed(&self, address: u64, launch: u64) -> Option<(u64, u64, Option<FreePlace>)> {
        if window::is_heap(address) {
            return self.heap.freed(address, launch);
        }
        let index = self.freed.partition_point(|&(base, _)| base <= address);
        let (base, bytes) = self.freed[index.checked_sub(1)?];
        (address - base < bytes).then_some((base, bytes, None))
    }

    /// Whether an address is near enough to an allocation to come from a pointer to it.
    pub(crate) fn is_near(&self, address: u64) -> bool {
        let first = window::first_of(self.device);
        let of_host = first + window::GLOBAL - NEAR_BYTES..self.next + NEAR_BYTES;
        let of_heap = first + window::HEAP..self.heap.end() + NEAR_BYTES;
        of_host.contains(&address) || of_heap.contains(&address)
    }

    /// First address and length in bytes of every live allocation, in ascending order of address.
    pub fn allocations(&self) -> impl Iterator<Item = (u64, usize)> {
        self.allocations
            .iter()
            .map(|allocation| (allocation.base, allocation.bytes))
    }

    fn range(&self, address: u64, bytes: usize) -> Result<Region<'_>, MemoryError> {
        let error = MemoryError::OutOfBounds { address, bytes };
        let region = self.below(address).ok_or(error.clone())?;
        if !region.holds(address - region.base, bytes as u64) {
            Err(error)
        } else {
            Ok(region)
        }
    }

    /// The allocation that an address lies in; its end counts as inside, for ranges of length 0.
    pub(crate) fn region(&self, address: u64) -> Option<Region<'_>> {
        let below = match window::is_heap(address) {
            true => self.heap.below(address),
            false => self.below(address),
        };
        below.filter(|region| address - region.base <= region.bytes)
    }

    /// Keeps other threads from accessing 128 bits as one until it is dropped.
    pub(crate) fn lock_pairs(&self) -> MutexGuard<'_, ()> {
        self.pairs
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Replaces two 64-bit words of a region by `f` of them, atomically as seen by other accesses to 128 bits; returns the old ones.
    pub(crate) fn update_pair(
        &self,
        region: &Region<'_>,
        offset: u64,
        f: impl Fn([u64; 2]) -> [u64; 2],
    ) -> [u64; 2] {
        let _guard = self.lock_pairs();
        let old = [region.load(offset), region.load(offset + 8)];
        let new = f(old);
        region.store(offset, new[0]);
        region.store(offset + 8, new[1]);
        old
    }

    /// First address and length in bytes of the allocation that begins nearest below an address, or, where there is none, above.
    pub(crate) fn nearest(&self, address: u64) -> Option<(u64, u64)> {
        if window::is_heap(address) {
            return self.heap.nearest(address);
        }
        let after = |&(base, _): &(u64, usize)| base > address;
        let below = self.below(address);
        below.map(|region| (region.base, region.bytes)).or_else(|| {
            let (base, bytes) = self.allocations().find(after)?;
            Some((base, bytes as u64))
        })
    }

    /// The host's live allocation with the greatest base not above the address.
    fn below(&self, address: u64) -> Option<Region<'_>> {
        let index = self
            .allocations
            .partition_point(|allocation| allocation.base <= address);
        let allocation = &self.allocations[index.checked_sub(1)?];
        Some(Region::new(
            allocation.base,
            allocation.bytes as u64,
            allocation.read_only,
            &allocation.words,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_reads_at_any_offset() {
        let mut memory = Memory::new();
        let address = memory.allocate(21).unwrap();
        assert_eq!(address % 256, 0);
        let bytes: Vec<u8> = (1..=18).collect();
        memory.write(address + 3, &bytes).unwrap();
        let mut read = vec![0; 21];
        memory.read(address, &mut read).unwrap();
        assert_eq!(read, [&[0, 0, 0], &bytes[..]].concat());
        memory.copy(address + 3, address, 18).unwrap();
        memory.read(address, &mut read[..18]).unwrap();
        assert_eq!(read[..18], bytes);
    }

    #[test]
    fn misuse_is_named() {
        let mut memory = Memory::with_limit(100);
        let address = memory.allocate(60).unwrap();
        assert_eq!(
            memory.allocate(41),
            Err(MemoryError::Exhausted {
                bytes: 41,
                in_use: 60,
                limit: 100
            })
        );
        assert!(memory.write(address, &[0; 61]).is_err());
        assert!(memory.read(address + 60, &mut [0]).is_err());
        assert!(memory.read(address - 1, &mut [0]).is_err());
        memory.free(address).unwrap();
        assert_eq!(
            memory.free(address),
            Err(MemoryError::NotAllocated { address })
        );
        assert!(memory.read(address, &mut [0]).is_err());
        assert!(memory.allocate(100).is_ok());
    }

    #[test]
    fn it_knows_what_the_host_has_written() {
        let mut memory = Memory::new();
        let one = memory.allocate(100).unwrap();
        let other = memory.allocate(100).unwrap();
        let written = |memory: &Memory| memory.written().collect::<Vec<_>>();
        assert_eq!(written(&memory), []);
        memory.write(one + 40, &[1; 8]).unwrap();
        memory.write(one + 20, &[1; 8]).unwrap();
        memory.write(other, &[1; 100]).unwrap();
        let expected = [
            (one + 20, one + 28),
            (one + 40, one + 48),
            (other, other + 100),
        ];
        assert_eq!(written(&memory), expected);
        // What touches the new range on either side becomes one with it.
        memory.write(one + 28, &[1; 12]).unwrap();
        assert_eq!(written(&memory)[0], (one + 20, one + 48));
        memory.put(one, &[1; 4]).unwrap();
        memory.write(one, &[]).unwrap();
        assert_eq!(written(&memory).len(), 2);
        memory.free(other).unwrap();
        assert_eq!(written(&memory), [(one + 20, one + 48)]);
    }

    #[test]
    fn it_remembers_what_was_freed() {
        let mut memory = Memory::new();
        let addresses: Vec<u64> = (0..3).map(|_| memory.allocate(60).unwrap()).collect();
        memory.free(addresses[2]).unwrap();
        memory.free(addresses[0]).unwrap();
        assert_eq!(
            memory.freed(addresses[0] + 59, 0),
            Some((addresses[0], 60, None))
        );
        assert_eq!(memory.freed(addresses[0] + 60, 0), None);
        assert_eq!(memory.freed(addresses[1], 0), None);
        assert_eq!(
            memory.freed(addresses[2], 0),
            Some((addresses[2], 60, None))
        );
        assert_eq!(
            memory.allocations().collect::<Vec<_>>(),
            [(addresses[1], 60)]
        );
    }

    #[test]
    fn nothing_has_an_address_too() {
        let mut memory = Memory::new();
        let (a, b) = (memory.allocate(0).unwrap(), memory.allocate(0).unwrap());
        assert_ne!(a, b);
        memory.write(a, &[]).unwrap();
        assert!(memory.write(a, &[1]).is_err());
    }
}
