//! The memory of other GPUs.

use super::Gpu;
use super::memory::Allocation;
use super::queue::Queue;
use super::session::Session;
use super::stream::Stream;
use crate::device::DeviceError;
use crate::device::link::PeerLink;
use std::rc::Rc;
use warpfold_driver::{
    Failure,
    sys::{self, CUdevice_P2PAttribute},
};

impl Gpu {
    /// What kernels of this GPU may do with the memory of the other.
    pub(in crate::device) fn peer_link(&self, peer: &Self) -> Result<PeerLink, DeviceError> {
        let (from, to) = (self.session.device(), peer.session.device());
        if from == to {
            return Ok(PeerLink::SAME);
        }
        let mut can_access = 0;
        // SAFETY: `can_access` may be written, and the driver has counted both.
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can_access, from, to) }?;
        let attribute = |attribute: CUdevice_P2PAttribute| {
            let mut value = 0;
            // SAFETY: `value` may be written, and the driver has counted both.
            let asked =
                unsafe { sys::cuDeviceGetP2PAttribute(&raw mut value, attribute, from, to) };
            // A driver that does not know the attribute promises nothing.
            asked.map_or(0, |()| value)
        };
        Ok(PeerLink {
            has_access: can_access != 0,
            has_atomics: can_access != 0
                && attribute(CUdevice_P2PAttribute::NATIVE_ATOMIC_SUPPORTED) != 0,
            rank: attribute(CUdevice_P2PAttribute::PERFORMANCE_RANK).unsigned_abs(),
        })
    }

    /// Lets kernels of this GPU access the memory of the other, for as long as the primary context lives.
    pub(in crate::device) fn enable_peer_access(&self, peer: &Self) -> Result<(), DeviceError> {
        if self.session.device() == peer.session.device() {
            return Ok(());
        }
        self.session.activate()?;
        // SAFETY: a context is current, and the peer's is retained. 0 is the only value that the flags have.
        match unsafe { sys::cuCtxEnablePeerAccess(peer.session.context(), 0) } {
            Err(failure) if failure.code() != Failure::PEER_ACCESS_ALREADY_ENABLED => {
                Err(failure.into())
            }
            _ => Ok(()),
        }
    }
}

impl Stream {
    /// Queues a copy between memories of one size, one of which is of this stream's GPU and the other of any.
    pub(in crate::device) fn copy_between(
        &self,
        from: &Allocation,
        to: &mut Allocation,
    ) -> Result<(), DeviceError> {
        let own = self.session();
        let other = if Rc::ptr_eq(own, from.session()) {
            Rc::clone(to.session())
        } else if Rc::ptr_eq(own, to.session()) {
            Rc::clone(from.session())
        } else {
            return Err(DeviceError::OtherDevice);
        };
        if self.is_capturing()? {
            return Err(DeviceError::OtherDevice);
        }
        // What is queued on the other GPU for its memory comes before, and its freeing, which waits for that GPU's default stream, after.
        let activate = |session: &Rc<Session>| session.activate();
        Queue::follow_across(
            (self.queue(), || activate(own)),
            (&Queue::DEFAULT, || activate(&other)),
        )?;
        own.activate()?;
        let copied = if to.bytes() == 0 {
            Ok(())
        } else {
            // SAFETY: both are as long as that, and are freed, read and written by the host only after the copy: on this stream's GPU all of
            // that waits for its streams, and on the other for the default stream, which waits for this copy.
            unsafe {
                sys::cuMemcpyPeerAsync(
                    to.address(),
                    to.session().context(),
                    from.address(),
                    from.session().context(),
                    to.bytes(),
                    self.handle(),
                )
            }
        };
        Queue::follow_across(
            (&Queue::DEFAULT, || activate(&other)),
            (self.queue(), || activate(own)),
        )?;
        Ok(copied?)
    }
}
