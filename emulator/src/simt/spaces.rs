//! The memories that the threads of a block have in common.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::address::Where;
use crate::memories::Memories;
use crate::region::Region;
use crate::types::Space;
use crate::window;

/// Where an address leads, resolved.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub region: Region<'a>,
    pub offset: u64,
    pub space: Space,
}

/// The memories that a block's accesses may go to, but for those that each thread or call has of its own.
pub(crate) struct Spaces<'m> {
    pub memory: Memories<'m>,
    pub parameters: Region<'m>,
    pub shared: Arc<[AtomicU64]>,
    pub shared_bytes: u64,
    /// The last region of global memory that was accessed.
    cached: Region<'m>,
}

impl<'m> Spaces<'m> {
    pub fn new(memory: Memories<'m>, parameters: Region<'m>, shared_bytes: u64) -> Self {
        Self {
            memory,
            parameters,
            shared: (0..shared_bytes.div_ceil(8))
                .map(|_| AtomicU64::new(0))
                .collect(),
            shared_bytes,
            cached: Region::new(0, 0, false, &[]),
        }
    }

    /// The region that an address points into, in the common cases of global, shared and parameter memory.
    #[inline(always)]
    pub fn region(&mut self, place: Where, address: u64) -> Option<(Region<'_>, Space)> {
        match place {
            Where::Global | Where::Generic if address >= window::GLOBAL => {
                if address.wrapping_sub(self.cached.base) >= self.cached.bytes {
                    let region = self.memory.region(address)?;
                    if window::is_heap(address) {
                        // Any thread may free it at any time.
                        return Some((region, Space::Global));
                    }
                    self.cached = region;
                }
                Some((self.cached, Space::Global))
            }
            Where::EntryParameter => Some((self.parameters, Space::Param)),
            Where::Shared | Where::ClusterShared => Some((self.shared_region(), Space::Shared)),
            Where::Generic if address.wrapping_sub(window::SHARED) < window::LENGTH => {
                let bytes = self.shared_bytes;
                let region = Region::new(window::SHARED, bytes, false, &self.shared);
                Some((region, Space::Shared))
            }
            _ => None,
        }
    }

    pub fn shared_region(&self) -> Region<'_> {
        Region::new(0, self.shared_bytes, false, &self.shared)
    }
}
