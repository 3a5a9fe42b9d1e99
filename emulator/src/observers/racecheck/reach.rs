//! How far strong accesses and fences reach: those of `.cta` and `.cluster` scope are none for other blocks and clusters.

use std::sync::Arc;

use super::clocks::Knowledge;
use crate::observer::Scope;

/// The threads that a strong access is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of the block with this number.
    Block(u32),
    /// Those of the cluster with this number.
    Cluster(u32),
    /// All.
    Gpu,
}

impl Reach {
    /// Whether two strong accesses, each of a thread of the block before it, are about each other's threads (*morally strong*, PTX ISA
    /// §8.7). One for a cluster and one for all are taken to be in the same cluster.
    pub fn is_mutual((block, reach): (u32, Self), (other_block, other): (u32, Self)) -> bool {
        block == other_block
            || match (reach, other) {
                (Self::Block(_), _) | (_, Self::Block(_)) => false,
                (Self::Cluster(one), Self::Cluster(other)) => one == other,
                (Self::Gpu, _) | (_, Self::Gpu) => true,
            }
    }
}

/// What the last writes to a location have handed on, by how far each reaches.
#[derive(Debug, Default)]
pub(super) struct HandedOn(Vec<Part>);

#[derive(Debug)]
struct Part {
    reach: Reach,
    /// The block that has written it, if that is only one.
    block: Option<u32>,
    knowledge: Arc<Knowledge>,
}

impl HandedOn {
    /// Adds what a thread of a block hands on.
    pub fn add(&mut self, reach: Reach, block: u32, knowledge: &Arc<Knowledge>) {
        match self.0.iter_mut().find(|part| part.reach == reach) {
            Some(part) => {
                if part.block != Some(block) {
                    part.block = None;
                }
                if !Arc::ptr_eq(&part.knowledge, knowledge) {
                    Arc::make_mut(&mut part.knowledge).add(knowledge);
                }
            }
            None => self.0.push(Part {
                reach,
                block: Some(block),
                knowledge: Arc::clone(knowledge),
            }),
        }
    }

    /// What a thread of a block, of a cluster, may learn, with the scope that its read and its fence need for that.
    pub fn parts_for(
        &self,
        block: u32,
        cluster: Reach,
    ) -> impl Iterator<Item = (Scope, &Arc<Knowledge>)> {
        self.0.iter().filter_map(move |part| {
            let scope = match part.reach {
                _ if part.block == Some(block) => Scope::Block,
                Reach::Block(_) => return None,
                reach @ Reach::Cluster(_) if reach != cluster => return None,
                Reach::Cluster(_) => Scope::Cluster,
                Reach::Gpu => Scope::Gpu,
            };
            Some((scope, &part.knowledge))
        })
    }
}
