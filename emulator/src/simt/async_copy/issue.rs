//! The issue of copies, where all that they name is checked.

use crate::address::{Address, Where};
use crate::code::{AsyncCopy, CopySource};
use crate::error::Fault;
use crate::observer::{AccessKind, Observer};
use crate::registers::{LANES, each_lane};
use crate::row::Row;
use crate::simt::block::Block;
use crate::simt::copies::{Contents, Pending};
use crate::simt::site::{Faulty, Site};
use crate::types::Space;
use crate::window::{MOST_CLUSTER_BLOCKS, RANK_SHIFT};

impl<O: Observer> Block<'_, '_, O> {
    /// Issues copies of a warp's lanes.
    pub(in crate::simt) fn issue_copy(&mut self, site: Site, copy: &AsyncCopy) -> Faulty<()> {
        let from = match &copy.from {
            CopySource::Memory { from, .. } => from.place,
            CopySource::Registers(_) => Where::Shared,
        };
        let mut pending = Pending::new(site, copy, from);
        if let CopySource::Registers(rows) = &copy.from {
            pending.contents = Contents::Words(self.words_of(site, rows));
        }
        for lane in (0..LANES).filter(|lane| site.lanes >> lane & 1 == 1) {
            self.check_copy(site, copy, lane, &mut pending)
                .map_err(|fault| (fault, lane as u32))?;
        }
        match copy.multicast {
            Some(mask) => self.multicast(site, pending, mask),
            None => {
                self.begin_copy(pending);
                Ok(())
            }
        }
    }

    fn begin_copy(&mut self, mut pending: Pending) {
        self.copies.issued += 1;
        pending.number = self.copies.issued;
        self.observer.copy(pending.event());
        let mut elsewhere = 0;
        if let Some(mbarriers) = &pending.completes {
            each_lane(pending.lanes, |lane| {
                elsewhere |= u32::from(mbarriers[lane] >> RANK_SHIFT != 0) << lane;
            });
        }
        if elsewhere != 0 {
            let at_once = pending.take(elsewhere);
            self.finish_copy(&at_once);
        }
        if pending.lanes != 0 {
            self.copies.pending.push(pending);
        }
    }

    /// Issues a copy for each block of the cluster that the lanes' masks name, as if each had come from the same read.
    fn multicast(&mut self, site: Site, pending: Pending, mask: u32) -> Faulty<()> {
        let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
        let masks = registers.narrow[mask as usize];
        let blocks: u32 = self.shape.cluster.iter().product();
        let mut told = 0;
        for rank in 0..MOST_CLUSTER_BLOCKS {
            let mut part = pending.clone();
            part.lanes = 0;
            each_lane(pending.lanes, |lane| {
                part.lanes |= (masks[lane] >> rank & 1) << lane;
            });
            if part.lanes == 0 {
                continue;
            }
            let first = part.lanes.trailing_zeros();
            if rank >= blocks {
                let message =
                    format!("a multicast to block {rank} of a cluster that has {blocks} blocks");
                return Err((Fault::BadOperand(message), first));
            }
            let place = |address: u64| {
                let offset = address & ((1 << RANK_SHIFT) - 1);
                self.shared_offset(
                    Where::ClusterShared,
                    u64::from(rank + 1) << RANK_SHIFT | offset,
                )
            };
            part.to.addresses = part.to.addresses.map(place);
            part.completes = part.completes.map(|mbarriers| mbarriers.map(place));
            // The other block may have ended.
            let to = part.to.addresses[first as usize];
            self.target(
                site,
                first as usize,
                Where::ClusterShared,
                to,
                1,
                AccessKind::Store,
            )
            .map_err(|fault| (fault, first))?;
            each_lane(part.lanes & told, |lane| part.from.bytes[lane] = 0);
            told |= part.lanes;
            self.begin_copy(part);
        }
        Ok(())
    }

    /// The lanes' registers as words.
    fn words_of(&self, site: Site, rows: &[Row]) -> Vec<[u32; LANES]> {
        let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
        let mut words = Vec::with_capacity(4);
        for &row in rows {
            match row {
                Row::Narrow(row) => words.push(registers.narrow[row as usize]),
                Row::Wide(row) => {
                    let row = &registers.wide[row as usize];
                    words.push(row.map(|value| value as u32));
                    words.push(row.map(|value| (value >> 32) as u32));
                }
            }
        }
        words
    }

    /// Takes one lane's operands.
    fn check_copy(
        &self,
        site: Site,
        copy: &AsyncCopy,
        lane: usize,
        pending: &mut Pending,
    ) -> Result<(), Fault> {
        let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
        let bytes = match (&copy.from, &pending.contents) {
            (CopySource::Memory { bytes, .. }, _) => registers.narrow[*bytes as usize][lane],
            (_, Contents::Words(words)) => 4 * words.len() as u32,
            _ => 0,
        };
        if copy.is_bulk && !bytes.is_multiple_of(16) {
            let message = format!("a bulk copy of {bytes} bytes, which is no multiple of 16");
            return Err(Fault::BadOperand(message));
        }
        // Both addresses are aligned to the unit, whatever the length.
        let unit = if copy.is_bulk { 16 } else { bytes.max(4) };
        if let CopySource::Memory {
            from,
            source_bytes,
            ignored,
            ..
        } = &copy.from
        {
            let is_ignored = |code| registers.predicate(code) >> lane & 1 == 1;
            let source_bytes = match *ignored {
                Some(code) if is_ignored(code) => 0,
                _ => registers.narrow[*source_bytes as usize][lane],
            };
            if source_bytes > bytes {
                let message = format!("a copy of {bytes} bytes from a source of {source_bytes}");
                return Err(Fault::BadOperand(message));
            }
            let kind = AccessKind::Load;
            pending.from.addresses[lane] =
                self.check_side(site, lane, from, unit, source_bytes, kind)?;
            pending.from.bytes[lane] = source_bytes;
            if let Contents::Memory(bytes) = &mut pending.contents {
                bytes[lane] = source_bytes;
            }
        }
        let (kind, _) = pending.access();
        let to = self.check_side(site, lane, &copy.to, unit, bytes, kind)?;
        (pending.to.addresses[lane], pending.to.bytes[lane]) = (to, bytes);
        if let (Some(mbarriers), Some(operand)) = (&mut pending.completes, &copy.completes) {
            mbarriers[lane] = self.check_side(site, lane, operand, 8, 8, AccessKind::Atomic)?;
            if let CopySource::Registers(_) = &copy.from {
                check_ranks(to, mbarriers[lane])?;
            }
        }
        Ok(())
    }

    /// The address of one side of a lane's copy, in the space itself. Finds the fault of a range that is not inside one region: at
    /// its first word, or at the first past the region.
    #[inline(always)]
    fn check_side(
        &self,
        site: Site,
        lane: usize,
        operand: &Address,
        unit: u32,
        bytes: u32,
        kind: AccessKind,
    ) -> Result<u64, Fault> {
        let registers = &self.warps[site.warp].frames[site.frame as usize].registers;
        let (place, address) = (operand.place, registers.address(operand, lane));
        if !address.is_multiple_of(u64::from(unit)) {
            return Err(Fault::Misaligned {
                access: kind.name(),
                bytes: unit as usize,
                space: place.space(),
                address,
            });
        }
        if bytes != 0 {
            let first = 1 << bytes.min(4).ilog2();
            let target = self.target(site, lane, place, address, first, kind)?;
            if place == Where::Generic && target.space != Space::Shared {
                let message = format!(
                    "an asynchronous store to {} memory, where it must be to another block's shared memory in the cluster",
                    target.space.name()
                );
                return Err(Fault::BadOperand(message));
            }
            let inside = target.region.bytes - target.offset;
            if u64::from(bytes) > inside {
                let past = address + inside / 4 * 4;
                self.target(site, lane, place, past, 4, kind)?;
            }
        }
        Ok(match place {
            Where::Shared | Where::ClusterShared | Where::Generic => {
                self.shared_offset(place, address)
            }
            _ => address,
        })
    }
}

/// Checks what `st.async` and `red.async` ask of the blocks that the destination and the mbarrier are in.
fn check_ranks(to: u64, mbarrier: u64) -> Result<(), Fault> {
    let message = if to >> RANK_SHIFT != mbarrier >> RANK_SHIFT {
        "an asynchronous store to one block's shared memory with an mbarrier in another's: both must be in the same"
    } else if to >> RANK_SHIFT == 0 {
        "an asynchronous store to the block's own shared memory, where it must be to another block's in the cluster"
    } else {
        return Ok(());
    };
    Err(Fault::BadOperand(message.to_owned()))
}
