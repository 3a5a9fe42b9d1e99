//! Which elements of the input flow into which values of a trace.

use std::ops::Range;
use warpfold_emulator::{Trace, TraceEvent};

/// The elements that each value of a trace is made of, by comparison with traces of other inputs.
pub(super) struct Flow {
    /// The trace without its values: all that may not differ.
    skeleton: Trace,
    /// The values, in the order of the events and their lanes.
    values: Vec<u64>,
    /// The elements that have been found to flow into each of them; `None` once the events themselves have differed.
    elements: Option<Vec<Vec<usize>>>,
}

impl Flow {
    /// Nothing is known yet of the values of this trace.
    pub fn new(trace: &Trace) -> Self {
        let mut skeleton = trace.clone();
        let values = take_values(&mut skeleton);
        Self {
            skeleton,
            elements: Some(vec![Vec::new(); values.len()]),
            values,
        }
    }

    /// Takes the trace of another input as the one to compare with.
    pub fn begin(&mut self, mut other: Trace) {
        self.values = take_values(&mut other);
        if other != self.skeleton {
            self.elements = None;
        }
    }

    /// Compares with the trace of an input that differs in these elements, which always flow together. They must come in ascending
    /// order.
    pub fn compare(&mut self, changed: Range<usize>, mut other: Trace) {
        let values = take_values(&mut other);
        if other != self.skeleton {
            self.elements = None;
        }
        let Some(elements) = &mut self.elements else {
            return;
        };
        for ((elements, own), other) in elements.iter_mut().zip(&self.values).zip(&values) {
            if own != other {
                elements.extend(changed.clone());
            }
        }
    }

    /// What each value is made of, in the order of the events and their lanes; nothing where that cannot be told.
    pub fn into_elements(self) -> impl Iterator<Item = Vec<usize>> {
        self.elements.into_iter().flatten()
    }
}

/// Takes the values out of a trace and puts zeros in their place.
fn take_values(trace: &mut Trace) -> Vec<u64> {
    let mut values = Vec::new();
    for event in trace.blocks.iter_mut().flat_map(|block| &mut block.events) {
        match event {
            TraceEvent::Access { lanes, .. } => {
                let moved = lanes.iter_mut().flat_map(|access| &mut access.values);
                values.extend(moved.map(std::mem::take));
            }
            TraceEvent::Exchange { lanes, .. } => {
                let brought = lanes.iter_mut().map(|exchange| &mut exchange.value);
                values.extend(brought.map(|value| u64::from(std::mem::take(value))));
            }
            TraceEvent::WarpBarrier { .. }
            | TraceEvent::BlockBarrier { .. }
            | TraceEvent::GridLaunch { .. }
            | TraceEvent::GridWait { .. } => {}
        }
    }
    values
}
