//! The memories that the addresses of a kernel may lead to.

use std::sync::MutexGuard;

use crate::error::FreePlace;
use crate::memory::Memory;
use crate::region::Region;
use crate::window;

/// The memory of a kernel's own device, and those of the other devices that share its address space.
#[derive(Clone, Copy)]
pub(crate) struct Memories<'m> {
    pub own: &'m Memory,
    /// The others; the own one may be among them.
    all: &'m [&'m Memory],
}

impl<'m> Memories<'m> {
    pub fn new(own: &'m Memory, all: &'m [&'m Memory]) -> Self {
        Self { own, all }
    }

    /// The memory that an address would be in, if it is there.
    fn at(self, address: u64) -> Option<&'m Memory> {
        // Every device has constants of its own, all at the same addresses.
        if address < window::GLOBAL {
            return Some(self.own);
        }
        let device = window::device_of(address)?;
        if device == self.own.device() {
            return Some(self.own);
        }
        let mut all = self.all.iter().copied();
        all.find(|memory| memory.device() == device)
    }

    /// The allocation that an address lies in, as of [`Memory::region`]: of a peer's, those of the host, where the kernel may go there.
    pub fn region(self, address: u64) -> Option<Region<'m>> {
        let memory = self.at(address)?;
        let is_own = memory.device() == self.own.device();
        let is_open = is_own || self.own.reaches(memory.device()) && !window::is_heap(address);
        memory.region(address).filter(|_| is_open)
    }

    /// The number of the device in whose live allocation an address is that the kernel may not access, and whether that is in the heap.
    pub fn out_of_reach(self, address: u64) -> Option<(u8, bool)> {
        let memory = self.at(address)?;
        let exists = memory.region(address).is_some();
        let is_open = self.region(address).is_some();
        (exists && !is_open).then(|| (memory.device(), window::is_heap(address)))
    }

    /// As of [`Memory::freed`].
    pub fn freed(self, address: u64, launch: u64) -> Option<(u64, u64, Option<FreePlace>)> {
        let memory = self.at(address)?;
        let freed = memory.freed(address, launch);
        if memory.device() == self.own.device() {
            return freed;
        }
        // The launches of another device have other numbers.
        freed.map(|(base, bytes, _)| (base, bytes, None))
    }

    /// As of [`Memory::is_near`].
    pub fn is_near(self, address: u64) -> bool {
        self.at(address)
            .is_some_and(|memory| memory.is_near(address))
    }

    /// As of [`Memory::nearest`].
    pub fn nearest(self, address: u64) -> Option<(u64, u64)> {
        self.at(address).unwrap_or(self.own).nearest(address)
    }

    /// As of [`Memory::lock_pairs`], of the memory that an address is in.
    pub fn lock_pairs(self, address: u64) -> MutexGuard<'m, ()> {
        self.at(address).unwrap_or(self.own).lock_pairs()
    }

    /// As of [`Memory::update_pair`].
    pub fn update_pair(
        self,
        region: &Region<'_>,
        offset: u64,
        f: impl Fn([u64; 2]) -> [u64; 2],
    ) -> [u64; 2] {
        let memory = self.at(region.base).unwrap_or(self.own);
        memory.update_pair(region, offset, f)
    }
}
