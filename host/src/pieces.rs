//! Values that come to a device piece by piece, so that there may be more of them than it has memory for.

use crate::chunks;
use crate::device::{Buffer, Device, Slice, Stream};
use crate::family::{Family, Source};
use crate::kernels::Error;
use crate::reduce::Form;
use warpfold_device::fixed::CHUNK;
use warpfold_reductions::Text;

/// About how many states are allocated at once.
const STATES: usize = 1 << 16;

/// The kernels of an operator over a type on a device, and the states of the chunks of those pieces that it has been given.
///
/// The order is that of [`warpfold_device::fixed`] over all values: a result has the same bits as the
/// [deterministic](crate::sum::Mode::Deterministic) one of the values in memory, whichever device has had which piece.
#[doc(hidden)]
pub struct UntypedPieces {
    family: Family,
    parameter: Option<u64>,
    form: Form,
    /// The chunks of a piece.
    chunks: usize,
    /// The states of neighbouring pieces, allocated when the first of them comes. Those of other devices' pieces are never written.
    blocks: Vec<Option<Buffer<u8>>>,
}

impl UntypedPieces {
    /// The kernels of an operator, by its name there, in a text of the library, loaded, for pieces of this many values; only the last
    /// may be shorter.
    ///
    /// # Errors
    /// A device fails.
    ///
    /// # Panics
    /// A piece is no whole number of chunks.
    ///
    /// # Safety
    /// The form is that of the operator and the text's type, with its accumulator.
    pub unsafe fn of_library(
        device: &Device,
        operator: &str,
        text: &'static Text,
        parameter: Option<u64>,
        form: Form,
        values: usize,
    ) -> Result<Self, Error> {
        assert!(
            values > 0 && values.is_multiple_of(CHUNK),
            "a piece has whole chunks"
        );
        let name = format!("{operator}_{}", text.name());
        let mut family = Family::new(device, Source::of_library(text), name)?;
        for needs in [chunks::OF_A_PART, chunks::OF_ALL] {
            family.prepare(device, &needs)?;
        }
        Ok(Self {
            family,
            parameter,
            form,
            chunks: values / CHUNK,
            blocks: Vec::new(),
        })
    }

    /// Bytes of a state.
    pub fn state_bytes(&self) -> usize {
        self.form.state_bytes()
    }

    /// The pieces whose states are allocated together.
    fn pieces_of_block(&self) -> usize {
        (STATES / self.chunks).max(1)
    }

    /// Queues the states of the piece of this number, whose values lie here.
    ///
    /// # Errors
    /// The device has no room for more states, or it fails.
    ///
    /// # Safety
    /// - The values are at an address for their type.
    /// - Nothing writes them until the kernel has ended.
    pub unsafe fn queue(
        &mut self,
        (device, stream): (&Device, &Stream),
        number: u64,
        values: Slice<'_, u8>,
    ) -> Result<(), Error> {
        let n = values.len() / self.form.value_bytes;
        if n == 0 {
            return Ok(());
        }
        let pieces = self.pieces_of_block();
        let of_piece = self.chunks * self.state_bytes();
        let (block, place) = (number as usize / pieces, number as usize % pieces);
        if self.blocks.len() <= block {
            self.blocks.resize_with(block + 1, || None);
        }
        let states = match &mut self.blocks[block] {
            Some(states) => states,
            none => none.insert(device.allocate(pieces * of_piece)?),
        };
        let states = states.slice(place * of_piece..).argument();
        let before = number * (self.chunks * CHUNK) as u64;
        // SAFETY: the caller's promise, and the piece has room for the states of its chunks, which are its own.
        unsafe {
            chunks::queue_part(
                &mut self.family,
                (device, stream),
                values,
                (n, before),
                states,
                self.parameter,
            )
        }
    }

    /// Hands over the states of these pieces, ascending, of which the last may have fewer chunks than the others have: the place of the first byte
    /// among the states of all pieces, and the bytes. Waits for what is queued.
    ///
    /// # Errors
    /// A kernel has faulted.
    ///
    /// # Panics
    /// A piece has not been queued here.
    pub fn states<E: From<Error>>(
        &self,
        numbers: &[u64],
        mut take: impl FnMut(usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let pieces = self.pieces_of_block();
        let of_piece = self.chunks * self.state_bytes();
        let block_of = |number: &u64| *number as usize / pieces;
        for numbers in numbers.chunk_by(|one, next| block_of(one) == block_of(next)) {
            let block = block_of(&numbers[0]);
            let states = self.blocks[block].as_ref().expect("its pieces were queued");
            let states = states.read().map_err(Error::from)?;
            for run in numbers.chunk_by(|one, next| one + 1 == *next) {
                let place = (run[0] as usize - block * pieces) * of_piece;
                let bytes = &states[place..][..run.len() * of_piece];
                take(run[0] as usize * of_piece, bytes)?;
            }
        }
        Ok(())
    }

    /// The result of `total` values from the states of all their chunks, which are in this device's memory; waits for it.
    ///
    /// # Errors
    /// The device fails.
    ///
    /// # Safety
    /// The states are those of as many values.
    pub unsafe fn finish(
        &mut self,
        device: &Device,
        states: &Buffer<u8>,
        total: u64,
    ) -> Result<Vec<u8>, Error> {
        let total = total as usize;
        let result = device.allocate::<u8>(self.form.result_bytes)?;
        let count = total.div_ceil(CHUNK);
        // SAFETY: the caller's promise, and a device allocates at addresses for any type.
        unsafe {
            chunks::queue_all(
                &mut self.family,
                (device, None),
                (states.slice(..), count),
                total,
                result.slice(..),
                self.parameter,
            )?;
        };
        Ok(result.read()?)
    }
}
