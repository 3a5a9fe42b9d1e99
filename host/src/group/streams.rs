//! The streams that a reduction of parts is queued on.

use crate::device::{DeviceError, Stream};

/// Where the launches of a reduction are queued.
#[derive(Clone, Copy)]
pub(super) enum On<'s> {
    /// On streams of its own.
    Own,
    /// On a stream of the first device, and on streams of its own that wait for it.
    First(&'s Stream),
    /// On a stream of each device. They wait for one another only when all sets of slots have had their turn, and in the fixed order.
    Each(&'s [&'s Stream]),
    /// In a capture: on the caller's stream of the first device and on those others of the caller's that have a part in it already; elsewhere on
    /// recorders of its own.
    Captured(&'s [Option<&'s Stream>]),
}

/// A device's streams, of which a reduction uses one where the caller has none for it.
pub(super) struct OwnStreams {
    pub(super) usual: Stream,
    /// For captures. While an ordinary stream has a part in one, the driver refuses the uploads and downloads of other threads.
    pub(super) recorder: Stream,
}

impl OwnStreams {
    pub(super) fn new(usual: Stream) -> Result<Self, DeviceError> {
        let recorder = usual.recorder()?;
        Ok(Self { usual, recorder })
    }
}

impl<'s> On<'s> {
    /// The caller's stream of a device, by its number.
    pub(super) fn callers(self, rank: usize) -> Option<&'s Stream> {
        match self {
            Self::Own => None,
            Self::First(stream) => (rank == 0).then_some(stream),
            Self::Each(streams) => Some(streams[rank]),
            Self::Captured(streams) => streams[rank],
        }
    }

    /// That of a device, by its number.
    pub(super) fn of(self, rank: usize, own: &'s OwnStreams) -> &'s Stream {
        self.callers(rank).unwrap_or(match self {
            Self::Captured(_) => &own.recorder,
            _ => &own.usual,
        })
    }

    pub(super) fn is_captured(self) -> bool {
        matches!(self, Self::Captured(_))
    }

    /// What [`Self::Captured`] takes, if the first of the caller's streams is being captured.
    ///
    /// # Errors
    /// Only another stream is being captured. Its launch would come with its graph, and the first device would wait for it.
    pub(super) fn captured(
        self,
        devices: usize,
    ) -> Result<Option<Vec<Option<&'s Stream>>>, DeviceError> {
        let captured = (0..devices).map(|rank| match self.callers(rank) {
            Some(stream) => Ok(stream.is_capturing()?.then_some(stream)),
            None => Ok(None),
        });
        let captured: Vec<_> = captured.collect::<Result<_, DeviceError>>()?;
        if captured[0].is_some() {
            return Ok(Some(captured));
        }
        if captured.iter().any(Option::is_some) {
            return Err(DeviceError::Refused(
                "the stream of another device is being captured, and that of the first is not: capture the first, which the others follow"
                    .to_owned(),
            ));
        }
        Ok(None)
    }
}
