//! Functions that the device runtime provides to every module: `vprintf`, what a failed `assert` calls, `malloc` and `free`, and
//! those of [`nested`](super::nested).

use super::block::Block;
use super::print::{Arguments, format};
use super::site::{Faulty, Site};
use crate::address::Where;
use crate::code::{Builtin, BuiltinCall, Slice};
use crate::error::{Fault, FreePlace};
use crate::heap::BadFree;
use crate::observer::{AccessKind, Observer, PrintEvent};
use crate::region::Width;

/// Texts are read no further than this.
const TEXT_LIMIT: u64 = 1 << 16;

impl<O: Observer> Block<'_, '_, O> {
    /// Calls a function of the runtime, lane by lane.
    pub(super) fn builtin(&mut self, site: Site, call: &BuiltinCall) -> Faulty<()> {
        let mut rest = site.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            self.builtin_of_lane(site, call, lane as usize)
                .map_err(|fault| (fault, lane))?;
        }
        Ok(())
    }

    fn builtin_of_lane(
        &mut self,
        site: Site,
        call: &BuiltinCall,
        lane: usize,
    ) -> Result<(), Fault> {
        let argument = |index: usize| self.parameter(site, lane, call.arguments[index]);
        let value = match call.function {
            Builtin::Print => self.print(site, lane, argument(0), argument(1))?,
            Builtin::AssertFail => {
                return Err(Fault::Assertion {
                    condition: self.text(site, lane, argument(0))?,
                    file: self.text(site, lane, argument(1))?,
                    line: argument(2) as u32,
                    function: self.text(site, lane, argument(3))?,
                });
            }
            Builtin::Allocate => self.spaces.memory.own.heap().allocate(argument(0)),
            Builtin::Free => {
                self.free(site, lane, argument(0))?;
                0
            }
            Builtin::ParameterBuffer
            | Builtin::LaunchGrid
            | Builtin::TakeError
            | Builtin::PeekError
            | Builtin::WaitForGrids => self.device_runtime(site, call, lane)?,
        };
        if let Some(result) = call.results.first() {
            let parameters = self.frame_parameters(site, lane);
            match result.bytes {
                8 => parameters.store::<u64>(result.offset.into(), value),
                _ => parameters.store::<u32>(result.offset.into(), value as u32),
            }
        }
        Ok(())
    }

    /// Prints, and returns the number of values in the text.
    fn print(
        &mut self,
        site: Site,
        lane: usize,
        template: u64,
        address: u64,
    ) -> Result<u64, Fault> {
        let template = self.text(site, lane, template)?;
        let mut arguments = Buffer {
            block: self,
            site,
            lane,
            address,
        };
        let (text, count) = format(&template, &mut arguments)?;
        self.observer.print(PrintEvent {
            warp: site.warp as u32,
            line: site.line,
            block: self.index,
            thread: self.thread(site.warp, lane as u32),
            text: &text,
        });
        Ok(count.into())
    }

    /// Frees what `malloc` returned; at a null pointer there is nothing to free.
    fn free(&self, site: Site, lane: usize, address: u64) -> Result<(), Fault> {
        if address == 0 {
            return Ok(());
        }
        let here = FreePlace {
            grid: self.shape.number,
            block: self.index,
            thread: self.thread(site.warp, lane as u32),
            line: site.line,
        };
        let memory = self.spaces.memory.own;
        if let Some(piece) = memory.region(address)
            && let Some(line) = self.copies.line_of_one_at(piece.base, piece.bytes)
        {
            let message = format!(
                "free of {address:#x}, which the asynchronous copy of line {line} still uses"
            );
            return Err(Fault::BadOperand(message));
        }
        let freed = memory.heap().free(address, self.run.family.number, here);
        freed.map_err(|bad| match bad {
            BadFree::Twice(by) => Fault::FreedTwice { address, by },
            BadFree::NoPiece => Fault::NotAllocated {
                address,
                nearest: memory.nearest(address),
            },
        })
    }

    /// An argument, which has its natural alignment.
    fn parameter(&self, site: Site, lane: usize, slice: Slice) -> u64 {
        let parameters = self.frame_parameters(site, lane);
        let offset = u64::from(slice.offset);
        match slice.bytes {
            8 => parameters.load::<u64>(offset),
            _ => u64::from(parameters.load::<u32>(offset)),
        }
    }

    /// A value of the guest's memory.
    fn fetch<T: Width>(&self, site: Site, lane: usize, address: u64) -> Result<T, Fault> {
        let kind = AccessKind::Load;
        let target = self.target(site, lane, Where::Generic, address, T::BYTES, kind)?;
        Ok(target.region.load(target.offset))
    }

    /// The text at an address, up to its zero.
    fn text(&self, site: Site, lane: usize, address: u64) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < TEXT_LIMIT {
            match self.fetch::<u8>(site, lane, address.wrapping_add(bytes.len() as u64))? {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The arguments of `printf`, one after the other, each at a multiple of its size.
struct Buffer<'b, 'k, 'm, O> {
    block: &'b Block<'k, 'm, O>,
    site: Site,
    lane: usize,
    address: u64,
}

impl<O: Observer> Arguments for Buffer<'_, '_, '_, O> {
    fn word(&mut self) -> Result<u32, Fault> {
        let address = self.address.next_multiple_of(4);
        self.address = address + 4;
        self.block.fetch(self.site, self.lane, address)
    }

    fn double_word(&mut self) -> Result<u64, Fault> {
        let address = self.address.next_multiple_of(8);
        self.address = address + 8;
        self.block.fetch(self.site, self.lane, address)
    }

    fn text(&mut self) -> Result<String, Fault> {
        let address = self.double_word()?;
        self.block.text(self.site, self.lane, address)
    }
}
