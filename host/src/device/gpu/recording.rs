//! What a capture keeps for its graph.

use super::module::GpuModule;
use crate::device::DeviceError;
use std::cell::RefCell;
use std::rc::Rc;
use warpfold_driver::Failure;

/// The modules whose kernels a capture has recorded. Its graph keeps them loaded: the driver does not.
#[derive(Default)]
pub(super) struct Recording(RefCell<Vec<Rc<GpuModule>>>);

impl Recording {
    pub(super) fn keep(&self, module: &Rc<GpuModule>) {
        let mut modules = self.0.borrow_mut();
        if !modules.iter().any(|kept| Rc::ptr_eq(kept, module)) {
            modules.push(module.clone());
        }
    }

    pub(super) fn take(&self) -> Vec<Rc<GpuModule>> {
        self.0.take()
    }
}

/// What a failure says of captures, if it says anything of them.
pub(super) fn of_captures(failure: Failure) -> DeviceError {
    match failure.code() {
        Failure::STREAM_CAPTURE_UNJOINED => DeviceError::UnjoinedCapture,
        Failure::STREAM_CAPTURE_MERGE
        | Failure::STREAM_CAPTURE_ISOLATION
        | Failure::CAPTURED_EVENT => DeviceError::EventOfCapture,
        _ => failure.into(),
    }
}
