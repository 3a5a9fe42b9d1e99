//! What the last writes to a location have handed on to those who read it.

use std::sync::Arc;

use super::clocks::Knowledge;
use super::reach::{Reach, Strong};
use crate::observer::Scope;

/// What the last writes to a location have handed on, by how far each reaches.
#[derive(Debug, Default)]
pub(super) struct HandedOn(Vec<Part>);

#[derive(Debug)]
struct Part {
    reach: Reach,
    /// The block that has written it, if that is only one.
    block: Option<u32>,
    /// The device, likewise.
    device: Option<u8>,
    knowledge: Arc<Knowledge>,
}

impl HandedOn {
    /// Adds what a thread hands on.
    pub fn add(&mut self, by: Strong, knowledge: &Arc<Knowledge>) {
        let Strong {
            block,
            device,
            reach,
        } = by;
        match self.0.iter_mut().find(|part| part.reach == reach) {
            Some(part) => {
                if part.block != Some(block) {
                    part.block = None;
                }
                if part.device != Some(device) {
                    part.device = None;
                }
                if !Arc::ptr_eq(&part.knowledge, knowledge) {
                    Arc::make_mut(&mut part.knowledge).add(knowledge);
                }
            }
            None => self.0.push(Part {
                reach,
                block: Some(block),
                device: Some(device),
                knowledge: Arc::clone(knowledge),
            }),
        }
    }

    /// What a thread of a block, of a cluster, of a device may learn, with the scope that its read and its fence need for that; `None` in place of a
    /// scope where what was handed on is for others only.
    pub fn parts_for(
        &self,
        block: u32,
        cluster: Reach,
        device: u8,
    ) -> impl Iterator<Item = (Option<Scope>, &Arc<Knowledge>)> {
        self.0.iter().map(move |part| {
            let scope = match part.reach {
                _ if part.block == Some(block) => Some(Scope::Block),
                Reach::Block(_) => None,
                reach @ Reach::Cluster(_) => (reach == cluster).then_some(Scope::Cluster),
                Reach::Gpu(of) => (of == device).then_some(Scope::Gpu),
                Reach::System if part.device == Some(device) => Some(Scope::Gpu),
                Reach::System => Some(Scope::System),
            };
            (scope, &part.knowledge)
        })
    }
}
