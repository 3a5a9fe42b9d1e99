//! Which elements of the input flow into which values of a trace.

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
        let values = values_of(trace);
        Self {
            skeleton: without_values(trace),
            elements: Some(vec![Vec::new(); values.len()]),
            values,
        }
    }

    /// Compares with the trace of an input that differs in one element. Elements must come in ascending order.
    pub fn compare(&mut self, element: usize, other: &Trace) {
        if without_values(other) != self.skeleton {
            self.elements = None;
        }
        let Some(elements) = &mut self.elements else {
            return;
        };
        for ((elements, own), other) in elements.iter_mut().zip(&self.values).zip(values_of(other))
        {
            if *own != other && elements.last() != Some(&element) {
                elements.push(element);
            }
        }
    }

    /// What each value is made of, in the order of the events and their lanes; nothing where that cannot be told.
    pub fn into_elements(self) -> impl Iterator<Item = Vec<usize>> {
        self.elements.into_iter().flatten()
    }
}

fn values_of(trace: &Trace) -> Vec<u64> {
    let events = trace.blocks.iter().flat_map(|block| &block.events);
    let mut values = Vec::new();
    for event in events {
        match event {
            TraceEvent::Access { lanes, .. } => {
                values.extend(lanes.iter().flat_map(|access| &access.values));
            }
            TraceEvent::Exchange { lanes, .. } => {
                values.extend(lanes.iter().map(|exchange| u64::from(exchange.value)));
            }
            TraceEvent::WarpBarrier { .. } | TraceEvent::BlockBarrier { .. } => {}
        }
    }
    values
}

fn without_values(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    for event in trace.blocks.iter_mut().flat_map(|block| &mut block.events) {
        match event {
            TraceEvent::Access { lanes, .. } => {
                lanes.iter_mut().for_each(|access| access.values.fill(0));
            }
            TraceEvent::Exchange { lanes, .. } => {
                lanes.iter_mut().for_each(|exchange| exchange.value = 0);
            }
            TraceEvent::WarpBarrier { .. } | TraceEvent::BlockBarrier { .. } => {}
        }
    }
    trace
}
