//! What is wrong with an address that leads nowhere.

use super::block::Block;
use crate::error::Fault;
use crate::observer::Observer;
use crate::types::Space;
use crate::window;

/// A null pointer with so small an offset is still called one.
const NULL_BYTES: u64 = 4096;

/// An access that failed.
pub(super) struct Failed {
    /// `load`, `store` or `atomic`.
    pub access: &'static str,
    pub bytes: u64,
    /// The space that the instruction names.
    pub named: Space,
    /// The space whose bounds were missed.
    pub space: Space,
    pub address: u64,
    /// The memory whose bounds were missed, where there is but one in that space: its length.
    pub extent: Option<u64>,
}

impl<O: Observer> Block<'_, '_, O> {
    /// The fault, as near to its cause as the address tells.
    pub(super) fn diagnose(&self, failed: &Failed) -> Fault {
        let &Failed {
            access,
            bytes: length,
            named,
            space,
            address,
            extent,
        } = failed;
        let bytes = length as usize;
        // What `ld.shared` and `ld.local` take is never a generic address, not even one of their own space.
        if matches!(named, Space::Global | Space::Shared | Space::Local)
            && let Some(meant) = space_of(address)
            && (meant != Space::Global || named != Space::Global)
        {
            return Fault::WrongSpace {
                access,
                bytes,
                space: named,
                address,
                meant,
            };
        }
        if space == Space::Global {
            let memories = self.spaces.memory;
            if let Some((device, is_heap)) = memories.out_of_reach(address) {
                return Fault::NoPeerAccess {
                    access,
                    bytes,
                    space: named,
                    address,
                    device,
                    from: memories.own.device(),
                    is_heap,
                };
            }
            let launch = self.run.family.number;
            if let Some((base, allocated, by)) = self.spaces.memory.freed(address, launch) {
                return Fault::Freed {
                    access,
                    bytes,
                    space: named,
                    address,
                    base,
                    allocated,
                    by,
                };
            }
            if named == Space::Generic && address != 0 && address < self.spaces.shared_bytes {
                return Fault::SharedOffset {
                    access,
                    bytes,
                    address,
                };
            }
            if address < NULL_BYTES {
                return Fault::Null {
                    access,
                    bytes,
                    space: named,
                    address,
                    is_in_shared: named == Space::Generic && address < self.spaces.shared_bytes,
                };
            }
            if named == Space::Generic && !self.spaces.memory.is_near(address) {
                return Fault::NoSpace {
                    access,
                    bytes,
                    address,
                };
            }
        }
        let nearest = match extent {
            Some(extent) => Some((0, extent)),
            None => self.spaces.memory.nearest(address),
        };
        Fault::OutOfBounds {
            access,
            bytes,
            space: named,
            address,
            nearest,
        }
    }
}

/// Where a generic address points; `None` where no space is mapped.
fn space_of(address: u64) -> Option<Space> {
    let in_window = |first: u64| (first..first + window::LENGTH).contains(&address);
    if address >= window::GLOBAL {
        Some(Space::Global)
    } else if in_window(window::SHARED) {
        Some(Space::Shared)
    } else if in_window(window::LOCAL) {
        Some(Space::Local)
    } else if in_window(window::PARAM) {
        Some(Space::Param)
    } else if in_window(window::CONST) {
        Some(Space::Const)
    } else {
        None
    }
}
