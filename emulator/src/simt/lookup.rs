//! From an address to the memory that it leads to, or to what is wrong with it.

use std::sync::atomic::AtomicU64;

use super::block::Block;
use super::diagnosis::Failed;
use super::site::Site;
use super::spaces::Target;
use crate::address::Where;
use crate::code::COPY_GUARD_BYTES;
use crate::error::Fault;
use crate::observer::{AccessKind, Observer};
use crate::region::Region;
use crate::registers::LANES;
use crate::types::Space;
use crate::window::{self, RANK_SHIFT};

impl<O: Observer> Block<'_, '_, O> {
    /// Finds the memory that one lane's address leads to, or the fault.
    pub(super) fn target(
        &self,
        site: Site,
        lane: usize,
        place: Where,
        address: u64,
        bytes: u64,
        kind: AccessKind,
    ) -> Result<Target<'_>, Fault> {
        let (space, mut in_space) = resolve(place, address);
        let region = match space {
            Space::Shared if in_space >> RANK_SHIFT == 0 => Some(self.spaces.shared_region()),
            Space::Shared if in_space >> RANK_SHIFT == u64::from(self.rank()) + 1 => {
                in_space &= (1 << RANK_SHIFT) - 1;
                Some(self.spaces.shared_region())
            }
            Space::Shared => match self.shared_of_rank(in_space)? {
                None => Some(self.spaces.shared_region()),
                // An H200 stops with an illegal instruction.
                Some(_) if place == Where::Shared => {
                    let message = format!(
                        "{} of another block's shared memory by `.shared`, which means the block's own: `.shared::cluster` or a generic address leads there",
                        kind.name()
                    );
                    return Err(Fault::BadOperand(message));
                }
                region => region,
            },
            Space::Local => Some(self.local_region(site, lane)),
            Space::Param if place == Where::FrameParameter => {
                Some(self.frame_parameters(site, lane))
            }
            Space::Param => Some(self.spaces.parameters),
            Space::Global | Space::Const | Space::Generic => self
                .spaces
                .memory
                .region(address)
                .filter(|region| region.read_only == (space == Space::Const))
                .or_else(|| self.launches.buffer(address)),
        };
        let shown = match place {
            Where::Generic => Space::Generic,
            _ => space,
        };
        let access = kind.name();
        if !address.is_multiple_of(bytes) {
            return Err(Fault::Misaligned {
                access,
                bytes: bytes as usize,
                space: shown,
                address,
            });
        }
        if let Some(region) = region {
            let offset = in_space.wrapping_sub(region.base);
            if region.holds(offset, bytes) {
                if region.read_only && kind != AccessKind::Load {
                    return Err(Fault::ReadOnly { access, address });
                }
                if space == Space::Local && self.code.copies_parameters {
                    self.check_copies(site, access, shown, address, offset, bytes)?;
                }
                return Ok(Target {
                    region,
                    offset,
                    space,
                });
            }
        }
        Err(self.diagnose(&Failed {
            access,
            bytes,
            named: shown,
            space,
            address,
            extent: match space {
                Space::Shared | Space::Local | Space::Param => region.map(|region| region.bytes),
                Space::Global | Space::Const | Space::Generic => None,
            },
        }))
    }

    /// A thread's local memory up to the end of its frame.
    fn local_region(&self, site: Site, lane: usize) -> Region<'_> {
        let warp = &self.warps[site.warp];
        let frame = &warp.frames[site.frame as usize];
        let end = frame.local_base + self.code.functions[frame.code as usize].local_bytes;
        Region::new(0, u64::from(end), false, lane_words(&warp.local, lane))
    }

    /// Refuses an access in local memory that leaves, or misses by a little, the copy of a parameter in one of the open calls.
    fn check_copies(
        &self,
        site: Site,
        access: &'static str,
        space: Space,
        address: u64,
        offset: u64,
        bytes: u64,
    ) -> Result<(), Fault> {
        let frames = &self.warps[site.warp].frames;
        let mut frame = &frames[site.frame as usize];
        while u64::from(frame.local_base) > offset {
            frame = &frames[frame.caller as usize];
        }
        let code = &self.code.functions[frame.code as usize];
        for copy in &code.copies {
            let start = u64::from(frame.local_base + copy.local);
            let end = start + u64::from(copy.from.bytes);
            let guard = u64::from(COPY_GUARD_BYTES);
            let is_near = offset < end + guard && offset + bytes > start - guard;
            let is_inside = offset >= start && offset + bytes <= end;
            if is_near && !is_inside {
                return Err(Fault::OutsideParameter {
                    access,
                    bytes: bytes as usize,
                    space,
                    address,
                    parameter: copy.name.clone(),
                    function: code.name.clone(),
                    base: address.wrapping_sub(offset).wrapping_add(start),
                    length: copy.from.bytes,
                });
            }
        }
        Ok(())
    }

    pub(super) fn frame_parameters(&self, site: Site, lane: usize) -> Region<'_> {
        let frame = &self.warps[site.warp].frames[site.frame as usize];
        let words = lane_words(&frame.parameters, lane);
        Region::new(0, 8 * words.len() as u64, false, words)
    }
}

/// The space that an address lies in, and its number there.
fn resolve(place: Where, address: u64) -> (Space, u64) {
    match place {
        Where::Shared | Where::ClusterShared => (Space::Shared, address),
        Where::Local => (Space::Local, address),
        Where::EntryParameter | Where::FrameParameter => (Space::Param, address),
        Where::Global => (Space::Global, address),
        Where::Const => (Space::Const, address),
        Where::Generic => {
            let windows = [
                (window::SHARED, Space::Shared),
                (window::LOCAL, Space::Local),
                (window::PARAM, Space::Param),
            ];
            for (first, space) in windows {
                if address.wrapping_sub(first) < window::LENGTH {
                    return (space, address - first);
                }
            }
            if address.wrapping_sub(window::CONST) < window::LENGTH {
                (Space::Const, address)
            } else {
                (Space::Global, address)
            }
        }
    }
}

/// One lane's piece of a memory that holds as much for each lane in turn.
fn lane_words(words: &[AtomicU64], lane: usize) -> &[AtomicU64] {
    let per_lane = words.len() / LANES;
    &words[lane * per_lane..(lane + 1) * per_lane]
}
